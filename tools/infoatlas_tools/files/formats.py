"""The formats of data sets: how each is recognised, read and annotated.

A new format is a line in `FORMATS`.
"""

import os
from collections.abc import Callable, Container, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from infoatlas_rt.errors import InputError

from ..cameras.camera import Camera
from ..cameras.folders import folder_camera
from ..folder_entries import entries
from ..trajectories import Trajectories
from .choice import take_chosen
from .folders import KINDS, files_in, read_folder
from .hdf5.aloha import read_aloha
from .hdf5.d4rl import read_d4rl
from .hdf5.demonstrations import ARRAYS_SHOWN
from .hdf5.maniskill import maniskill_episodes, read_maniskill
from .hdf5.minari import minari_episodes, minari_file, read_minari
from .hdf5.opening import HDF5_SUFFIXES, first_names, open_hdf5, shown_name
from .hdf5.robomimic import holds_demos, is_isaaclab, read_robomimic
from .lerobot.meta import LeRobotFolder, info_file, is_others
from .lerobot.reader import is_lerobot, lerobot_camera, read_lerobot
from .numbers import NUMPY_SUFFIXES, check_regular, read_arrays, read_json
from .tables.table_formats import NAMED, READERS, read_table

# Options of readers, and the data that they are for.
OPTIONS = {
    "features": "a LeRobot data set or an HDF5 file",
    "env_states": "a ManiSkill file (.h5)",
    "split": "a file of robomimic, MimicGen or Isaac Lab (.hdf5)",
    "episode_column": f"a table ({', '.join(NAMED)})",
}


class Format(NamedTuple):
    """A format of data sets."""

    name: str
    recognises: Callable[[Path, Any], bool]  # from a path, and its open HDF5 file or None
    read: Callable[..., Trajectories]  # from a path and options
    # Those of `OPTIONS` that `read` has, "camera" if the data contain images, and "task" and
    # "only_successful" if it chooses by them itself.
    options: tuple[str, ...] = ("features",)
    # Formats that `annotate` writes for such data alone, the default first.
    annotations: tuple[str, ...] = ()
    opens: Callable[[Path], Any] = Path  # makes the argument of `read`


def _ends(path: Path, suffixes: Container[str]) -> bool:
    return path.suffix.lower() in suffixes and not path.is_dir()


def _has_files(path: Path) -> bool:
    return path.is_dir() and bool(files_in(path)[0])


def _read_folder(path: Path, **options: Any) -> Trajectories:
    open_dataset(files_in(path)[0][0]).check(options)  # a wrong option is no fault of a file
    return read_folder(path, lambda file: open_dataset(file).load(**options, only_successful=False))


_SUBTASKS = ("mimicgen-config", "isaaclab-config")
FORMATS = (  # in the order of recognition
    Format(
        "LeRobot",
        lambda path, _: is_lerobot(path),
        read_lerobot,
        ("features", "camera", "task", "only_successful"),
        ("lerobot",),
        LeRobotFolder,
    ),
    Format(
        "Isaac Lab",
        lambda _, file: is_isaaclab(file),
        read_robomimic,
        ("features", "split"),
        ("isaaclab", "mimicgen", *_SUBTASKS),
    ),
    Format(
        "robomimic",
        lambda _, file: holds_demos(file),
        read_robomimic,
        ("features", "split"),
        ("mimicgen", "isaaclab", *_SUBTASKS),
    ),
    Format(
        "ManiSkill",
        lambda _, file: bool(maniskill_episodes(file)),
        read_maniskill,
        ("features", "env_states", "task", "only_successful"),
        ("maniskill",),
    ),
    Format("Minari", lambda _, file: bool(minari_episodes(file)), read_minari),
    Format("D4RL", lambda _, file: hasattr(file.get("observations"), "shape"), read_d4rl),
    Format("ALOHA", lambda _, file: hasattr(file.get("observations"), "keys"), read_aloha),
    Format("folder", lambda path, _: _has_files(path), _read_folder, tuple(OPTIONS)),
    Format("table", lambda path, _: _ends(path, READERS), read_table, ("episode_column",)),
    Format("NumPy", lambda path, _: _ends(path, NUMPY_SUFFIXES), read_arrays, ()),
)

SUPPORTED = (
    "data/demo_0 (robomimic, MimicGen, Isaac Lab, robosuite), traj_0 (ManiSkill), "
    "observations/qpos (ALOHA), observations with terminals (D4RL) and episode_0/observations "
    "(Minari) are read; or save .npz with states [sum, d] and lengths [N]"
)
_SAVE = "save its numbers with numpy.save, or numpy.savez with states and lengths"
_FROM_PYTHON = f"in Python, {_SAVE}"
_WAYS = {
    ".ulg": "convert it with `ulog2csv FILE` (pip install pyulog), and pass one of the .csv files",
    ".bin": "a log of ArduPilot becomes .csv with `mavlogdump.py --format csv` (pip install "
    "pymavlink)",
    ".mat": "in Matlab, use writematrix(x, 'x.csv'); " + _FROM_PYTHON,
    ".pkl .pickle .p": "it can run programs when it is read: " + _FROM_PYTHON,
    ".json": f"load it in Python with json.load, and {_SAVE}",
    ".jsonl .ndjson": f"load each line in Python with json.loads, and {_SAVE}",
    ".xlsx .xls .ods": "save the sheet as CSV (UTF-8) in the program that made it",
    ".feather": "save it as .parquet: pandas.read_feather(FILE).to_parquet('x.parquet')",
    ".arrow": "save it as .parquet: pyarrow.parquet.write_table(pyarrow.ipc.open_stream(FILE)"
    ".read_all(), 'x.parquet'), or open_file if it is no stream",
    ".pt .pth": f"load it in Python with torch.load, and {_SAVE}",
    ".gz .zip .zst .zstd .bz2 .xz": "unpack it",
}


@dataclass(frozen=True)
class Dataset:
    """A data set whose format is known; `load` reads it."""

    path: Path
    format: Format

    @cached_property
    def content(self) -> Any:
        """What readers and writers share: a `LeRobotFolder`, or the path."""
        return self.format.opens(self.path)

    def check(self, options: Iterable[str]) -> None:
        """InputError if the format has not all of these options."""
        for name in options:
            if name not in self.format.options:
                raise InputError(
                    f"{name} is for {OPTIONS[name]}, and {self.path} is none: leave it out"
                )

    def load(self, **options: Any) -> Trajectories:
        """Read it, with options as in `load_trajectories`; None is the default of each."""
        given = {name: value for name, value in options.items() if value is not None}
        beside = None if "camera" in self.format.options else given.pop("camera", None)
        names = () if "task" in self.format.options else ("task", "only_successful")
        choice = {name: given.pop(name, None) for name in names}
        self.check(given)
        found = self.format.read(self.content, **given)
        if choice:
            found = take_chosen(found, self.path, **choice)
        if beside is None:
            return found
        return replace(found, camera=self.camera(beside, found))

    def camera(self, name: str, found: Trajectories) -> Camera:
        """A camera of these trajectories, which were read before."""
        if "camera" in self.format.options:
            return lerobot_camera(self.content, name, found)
        return folder_camera(name, found.episodes, len(found.lengths))


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Determine the format of a data set."""
    path = Path(path)
    hdf5 = None
    if not is_lerobot(path):
        if way := known_way(path):
            raise InputError(f"{path} is of a kind that is not read: {way}")
        if path.is_dir():
            hdf5 = minari_file(path)
        elif path.suffix.lower() in HDF5_SUFFIXES:
            hdf5 = path
    content: Any = open_hdf5(hdf5) if hdf5 else nullcontext(({}, None))
    with content as (file, _):
        found = next((each for each in FORMATS if each.recognises(path, file)), None)
        if hdf5 and found is None:
            inside = ", ".join(_describe(file, name) for name in list(file)[:ARRAYS_SHOWN])
            raise InputError(f"{hdf5} has {inside or 'nothing'}: {SUPPORTED}")
    if found is None:
        raise no_reader(path)
    return Dataset(path, found)


def no_reader(path: Path) -> InputError:
    """The error for a file or folder that cannot be read, or does not exist."""
    check_regular(path)
    if (way := known_way(path)) or not path.is_dir():
        way = way or _way_out(path)
        return InputError(f"{path} is no {', '.join(NAMED)}, .npy or .npz file: {way}")
    other = f"; {info_file(path)} has no codebase_version, so it is not LeRobot's"
    return InputError(
        f"{path} is neither the folder of a data set (LeRobot, Minari) nor one with a ROS bag or a "
        f"file ({', '.join(kind[0] for kind in KINDS)}) for each demonstration"
        f"{other * is_others(path)}: check the path"
    )


def _describe(file: Any, name: str) -> str:
    node = file.get(name)
    if hasattr(node, "shape"):
        return f"{shown_name(name)} {node.shape} {node.dtype}"
    inside = ", ".join(first_names(node)) if hasattr(node, "keys") else "a link"
    return f"{shown_name(name)} ({inside})"


def known_way(path: Path) -> str | None:
    """How to convert a file or folder of a known kind that cannot be read."""
    if path.name.endswith((".zarr", ".zarr.zip")) or any(
        (path / name).is_file() for name in (".zgroup", ".zarray", ".zattrs", "zarr.json")
    ):
        return (
            f"it is stored as zarr. Save it as .npz, a replay buffer by z = zarr.open("
            f"{str(path)!r}); numpy.savez('demos.npz', states=z['data/state'][:], "
            "lengths=numpy.diff(z['meta/episode_ends'][:], prepend=0))"
        )
    folders = [path, *(own for own in entries(path) if own.is_dir())] if path.is_dir() else []
    if ".tfrecord" in path.name or any(entries(f, "*.tfrecord*") for f in folders):
        return (
            "it is stored as TFRecord (RLDS, TFDS). Convert it to a LeRobot data set, or "
            + _FROM_PYTHON
        )
    metadata = [read_json(f / "metadata.json") for f in (path, path / "data")]
    if any(isinstance(node, dict) and node.get("data_format") == "arrow" for node in metadata):
        return (
            "it is a data set of Minari, stored as Arrow. Store it with data_format='hdf5', or "
            + _FROM_PYTHON
        )
    return next((way for ends, way in _WAYS.items() if path.suffix.lower() in ends.split()), None)


def _way_out(path: Path) -> str:
    """How to convert any other file to a table or a file of NumPy."""
    if path.suffix.lower() in (".bag", ".mcap", ".db3"):
        return "it is a ROS bag: use infoatlas-rt bag"
    if path.suffix.lower() in (".h5", ".hdf5") or path.is_dir():
        return f"it may hold demonstrations, for infoatlas-rt keystates; {_FROM_PYTHON}"
    return f"convert it; {_FROM_PYTHON}"
