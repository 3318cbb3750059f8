"""Advice for files of other programs that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KNOWN = ".csv, .parquet, .npy or .npz"
_FROM_PYTHON = "in Python, save its numbers with numpy.save, or numpy.savez with states and lengths"
_WAYS = {
    ".ulg": "convert it with `ulog2csv FILE` (pip install pyulog), and pass one of the .csv files",
    ".bin": "a log of ArduPilot becomes .csv with `mavlogdump.py --format csv` (pip install "
    "pymavlink)",
    ".mat": "in Matlab, use writematrix(x, 'x.csv'); " + _FROM_PYTHON,
    ".pkl": "it can run programs when it is read: " + _FROM_PYTHON,
    ".json": "save it as a table: pandas.read_json(FILE).to_csv('x.csv', index=False)",
    ".jsonl": "save it as a table: pandas.read_json(FILE, lines=True).to_csv('x.csv', index=False)",
    ".xlsx": "save the sheet as CSV (UTF-8) in the program that made it",
    ".feather": "save it as .parquet: pandas.read_feather(FILE).to_parquet('x.parquet')",
    ".pt": "save its tensors as .npy: numpy.save('x.npy', torch.load(FILE).numpy())",
    ".gz": "unpack it",
}
_SAME = {
    ".pickle": ".pkl",
    ".p": ".pkl",
    ".xls": ".xlsx",
    ".ods": ".xlsx",
    ".ndjson": ".jsonl",
    ".arrow": ".feather",
    ".pth": ".pt",
    ".zip": ".gz",
    ".zst": ".gz",
    ".bz2": ".gz",
    ".xz": ".gz",
}


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
    folders = [path, *_folders_in(path)] if path.is_dir() else []
    if ".tfrecord" in path.name or any(any(f.glob("*.tfrecord*")) for f in folders):
        return (
            "it is stored as TFRecord (RLDS, TFDS). Convert it to a LeRobot data set, or "
            + _FROM_PYTHON
        )
    if any(_data_format(f / "metadata.json") == "arrow" for f in (path, path / "data")):
        return (
            "it is a data set of Minari, stored as Arrow. Store it with data_format='hdf5', or "
            + _FROM_PYTHON
        )
    suffix = path.suffix.lower()
    return _WAYS.get(_SAME.get(suffix, suffix))


def _folders_in(path: Path) -> list[Path]:
    try:
        return [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _data_format(path: Path) -> Any:
    """`data_format` in the metadata of Minari; None if there is none."""
    try:
        node = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return node.get("data_format") if isinstance(node, dict) else None


def way_out(path: Path) -> str:
    """How to convert any other file to a table or a file of NumPy."""
    if path.suffix.lower() in (".bag", ".mcap", ".db3"):
        return "it is a ROS bag: use infoatlas-rt bag"
    if path.suffix.lower() in (".h5", ".hdf5") or path.is_dir():
        return f"it may hold demonstrations, for infoatlas-rt keystates; {_FROM_PYTHON}"
    return f"convert it; {_FROM_PYTHON}"
