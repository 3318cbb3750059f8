"""Files of other programs that are not read, and the way from each to one that is."""

from __future__ import annotations

from pathlib import Path

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
    ".zarr": "save its arrays as .npz: numpy.savez('x.npz', states=..., lengths=...)",
    ".feather": "save it as .parquet: pandas.read_feather(FILE).to_parquet('x.parquet')",
    ".pt": "save its tensors as .npy: numpy.save('x.npy', torch.load(FILE).numpy())",
    ".tfrecord": "a data set in RLDS: convert it to LeRobot's layout, or " + _FROM_PYTHON,
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
    """How to get from a file of a kind that no command reads to one that is read."""
    suffix = path.suffix.lower()
    if any((path / name).is_file() for name in (".zgroup", ".zarray", "zarr.json")):
        suffix = ".zarr"
    return _WAYS.get(_SAME.get(suffix, suffix))


def way_out(path: Path) -> str:
    """How to get from any path that is no table and no file of NumPy to one that is."""
    if path.suffix.lower() in (".bag", ".mcap", ".db3"):
        return "it is a ROS bag: use infoatlas-rt bag"
    if path.suffix.lower() in (".h5", ".hdf5") or path.is_dir():
        return f"it may hold demonstrations, for infoatlas-rt keystates; {_FROM_PYTHON}"
    return f"convert it; {_FROM_PYTHON}"
