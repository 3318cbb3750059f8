"""Formats that annotations are written in."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class WrittenFormat(NamedTuple):
    """A format that annotations are written in, by a function of a module of `annotate`."""

    writer: str
    written: str
    in_place: bool = False
    quality: bool = False
    suffix: str = ""  # of the file; "" for a folder, or for a copy of the data

    def write(self, *arguments: Any, **options: Any) -> tuple[str, ...]:
        """Write annotations, as the modules of `annotate` do."""
        module, function = self.writer.split(".")
        found = getattr(import_module(f"infoatlas_tools.annotate.{module}"), function)
        return tuple(found(*arguments, **options))


FORMATS = {
    "lerobot": WrittenFormat(
        "lerobot_writer.write_lerobot",
        "columns subtask_index and key_state, names of sub-tasks, "
        "SARM's stages, proportions and progress",
        in_place=True,
        quality=True,
    ),
    "mimicgen": WrittenFormat(
        "mimicgen.write_mimicgen",
        "datagen_info/subtask_term_signals and a list of complete demonstrations",
        in_place=True,
    ),
    "isaaclab": WrittenFormat(
        "mimicgen.write_isaaclab",
        "obs/datagen_info/subtask_term_signals and subtask_start_signals",
        in_place=True,
    ),
    "maniskill": WrittenFormat(
        "maniskill_writer.write_maniskill",
        "sub-tasks and key states beside the observations of each episode",
        in_place=True,
    ),
    "mimicgen-config": WrittenFormat(
        "subtask_configs.write_mimicgen_config",
        "reference objects of the sub-tasks, JSON for a configuration of MimicGen",
        suffix=".json",
    ),
    "isaaclab-config": WrittenFormat(
        "subtask_configs.write_isaaclab_config",
        "reference objects of the sub-tasks, JSON of Isaac Lab's SubTaskConfig",
        suffix=".json",
    ),
    "autodata": WrittenFormat(
        "subtask_configs.write_autodata",
        "reference objects and signals of the sub-tasks, YAML of AutoData",
        suffix=".yaml",
    ),
    "rerun": WrittenFormat("rerun.write_rerun", "a folder of recordings for Rerun's viewer"),
    "mcap": WrittenFormat(
        "foxglove.write_foxglove", "a folder of .mcap files of foxglove_msgs/Event"
    ),
    "csv": WrittenFormat(
        "csv_and_json.write_csv",
        "a row for each sub-task and each key state of each demonstration",
        quality=True,
        suffix=".csv",
    ),
    "splits": WrittenFormat(
        "csv_and_json.write_splits",
        "JSON lists of the episodes of each order of sub-tasks",
        suffix=".json",
    ),
    "json": WrittenFormat(
        "csv_and_json.write_json",
        "sub-tasks, key states and demonstrations",
        quality=True,
        suffix=".json",
    ),
}
