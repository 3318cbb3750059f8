"""Formats that annotations are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Format(NamedTuple):
    """A format that annotations are written in."""

    written: str
    in_place: bool = False
    quality: bool = False


FORMATS = {
    "lerobot": Format(
        "columns language_persistent (v3.0), subtask_index and key_state, names of sub-tasks, "
        "SARM's stages, proportions and progress",
        in_place=True,
        quality=True,
    ),
    "mimicgen": Format(
        "datagen_info/subtask_term_signals and a list of complete demonstrations", in_place=True
    ),
    "isaaclab": Format(
        "obs/datagen_info/subtask_term_signals and subtask_start_signals", in_place=True
    ),
    "maniskill": Format(
        "sub-tasks and key states beside the observations of each episode", in_place=True
    ),
    "mimicgen-config": Format(
        "reference objects of the parts, JSON for a configuration of MimicGen"
    ),
    "isaaclab-config": Format("reference objects of the parts, JSON of Isaac Lab's SubTaskConfig"),
    "autodata": Format("reference objects and signals of the parts, YAML of AutoData"),
    "rerun": Format("a folder of recordings for Rerun's viewer"),
    "mcap": Format("a folder of .mcap files of foxglove_msgs/Event"),
    "csv": Format("a row for each part and each key state of each demonstration", quality=True),
    "json": Format("parts, key states and demonstrations", quality=True),
}


def writers() -> dict[str, Callable[..., tuple[str, ...]]]:
    """The function that writes each format."""
    from ..annotate import (
        csv_and_json,
        foxglove,
        lerobot_writer,
        maniskill_writer,
        mimicgen,
        rerun,
        subtask_configs,
    )

    return {
        "lerobot": lerobot_writer.write_lerobot,
        "mimicgen": mimicgen.write_mimicgen,
        "isaaclab": mimicgen.write_isaaclab,
        "maniskill": maniskill_writer.write_maniskill,
        "mimicgen-config": subtask_configs.write_mimicgen_config,
        "isaaclab-config": subtask_configs.write_isaaclab_config,
        "autodata": subtask_configs.write_autodata,
        "rerun": rerun.write_rerun,
        "mcap": foxglove.write_foxglove,
        "csv": csv_and_json.write_csv,
        "json": csv_and_json.write_json,
    }
