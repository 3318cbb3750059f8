"""Formats that annotations are written in, checks of the place, and complete new files there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infoatlas_rt.cli.console import check_target
from infoatlas_rt.errors import InfoAtlasError, InputError, OutputError

from ..presentation import ParameterError
from ..run_folder import BEFORE, run_folder

if TYPE_CHECKING:
    from ..bags.any_recording import Recording


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
        found = getattr(import_module(f"infoatlas_tools.annotations.{module}"), function)
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


def check_format(
    source: "Recording | None",
    format: str | None = None,
    *,
    language: str | None = None,
    trim: bool = False,
) -> str:
    """Name of the format to write: the given one, or the usual one of the data.

    InputError if the data, or the options of `Annotations.write`, are not of the format.
    """
    from ..files.formats import FORMATS as DATA  # not for --help

    own = source.formats if source else ()
    name = format or next(iter(own), "csv")
    if name not in FORMATS:
        raise ParameterError(f"`format` is {name!r}: use one of {', '.join(FORMATS)}")
    kinds = [each.name for each in DATA if name in each.annotations]
    if kinds and name not in own:
        special = {other for each in DATA for other in each.annotations}
        others = [other for other in FORMATS if other in own or other not in special]
        raise ParameterError(
            f"`format` {name} is for data of {' or '.join(kinds)}, and "
            f"{source.path if source else 'the data'} is none: use {', '.join(others)}"
        )
    if language and name != "lerobot":
        raise ParameterError(f"`language` is for LeRobot, and the format is {name}: leave it out")
    if trim and name != "lerobot":
        raise ParameterError(f"`trim` is for copies of LeRobot data sets, and the format is {name}")
    return name


def check_out(source: "Recording | None", out: str | os.PathLike[str], name: str) -> None:
    """Raise InputError unless a new file or folder of this format can be written at `out`."""
    path, suffix = Path(out), FORMATS[name].suffix
    if path.exists() or path.is_symlink():
        raise InputError(f"{path} exists: choose a name that does not")
    check_target(path)
    if path.suffix.lower() not in ("", suffix or path.suffix.lower()):
        raise ParameterError(
            f"`out` {path}: the format is {name}, so let its name end in {suffix}, or choose "
            "another `format`"
        )
    if source and source.path.is_dir() and source.path.resolve() in path.resolve().parents:
        raise InputError(f"{path} is inside {source.path}: choose a place outside of it")


@contextmanager
def replacing(target: Path, *, overwrite: bool = False, resume: bool = False) -> Iterator[Path]:
    """A path for a new file or folder, which becomes `target` if no error is raised.

    It is on the same disk, beside the target. After an error or an interrupt, the target is
    unchanged, and the new file is removed, unless another run is to `resume` its files.
    `overwrite` replaces an existing target, with the same permissions: a file atomically; a folder
    is moved aside, and back if the new one cannot take its place.
    """
    if overwrite:
        target = target.resolve()
    elif target.exists() or target.is_symlink():
        raise OutputError(f"{target} exists: choose a name that does not")
    try:
        with run_folder(target, resume) as room:
            new = room / target.name
            yield new
            if overwrite:
                shutil.copymode(target, new)
                _swap(target, new, room / BEFORE)
            elif target.exists():
                raise OutputError(f"{target} appeared in the meantime: choose another name")
            else:
                new.rename(target)
    except InfoAtlasError:
        raise
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error}): choose another place") from error


def _swap(target: Path, new: Path, aside: Path) -> None:
    """Put `new` in the place of a file or folder, which goes `aside` if it is a folder."""
    if not target.is_dir():
        new.replace(target)
        return
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise
