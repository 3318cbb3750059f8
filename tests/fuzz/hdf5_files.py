"""Random HDF5 files of demonstrations, intact or with a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hdf5_layouts import LAYOUTS, Case
from values import Rng, pick
from written import ANY, EITHER, REFUSED, Written

ABSENT = "absent"  # refused, or read without the array of the fault


def hdf5(rng: Rng, folder: Path) -> Written:
    """A data set in one of the layouts, in half of the cases with a fault."""
    case = LAYOUTS[rng.integers(len(LAYOUTS))](rng, folder)
    if rng.random() < 0.5:
        FAULTS[rng.integers(len(FAULTS))](rng, case)
    absent = case.outcome == ABSENT
    columns = {
        key: values for key, values in case.episodes[0].items() if not (absent and key == case.key)
    }
    if absent:
        case.outcome = EITHER if columns else REFUSED
    names = [
        key if values.ndim == 1 or values.shape[1] == 1 else f"{key}.{i}"
        for key, values in columns.items()
        for i in range(values.reshape(len(values), -1).shape[1])
    ]
    recorded = {
        name: np.hstack([own[key].reshape(len(own[key]), -1) for key in columns] or [[]])
        for name, own in zip(case.names, case.episodes, strict=True)
    }
    what = [f"{case.fault} {case.key}".strip()] if case.fault else []
    return Written(
        case.path,
        recorded,
        case.outcome,
        options=case.options,
        names=tuple(names),
        in_order=False,
        what=what,
    )


def _target(rng: Rng, case: Case) -> tuple[int, str, Path, str]:
    """An array that is read: number of its demonstration, name, file and path within it."""
    number = int(rng.integers(len(case.places)))
    key = pick(rng, case.episodes[0])
    path, group = case.places[number]
    with h5py.File(path, "r") as file:
        inside: list[str] = []
        (file[group] if group else file).visititems(
            lambda name, node: inside.append(name) if isinstance(node, h5py.Dataset) else None
        )
    name = next(n for n in inside if n.replace("/", ".") == key)
    return number, key, path, f"{group}/{name}"


def _replace(path: Path, name: str, put: Callable[[Any, str], None]) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]
        put(file, name)


def _mark(case: Case, number: int, key: str, fault: str) -> None:
    """Mark an array as unreadable; it may be left out if nothing else refers to it."""
    first = number == 0 and "features" not in case.options
    case.outcome, case.key, case.fault = ABSENT if first else REFUSED, key, fault


def other_type(rng: Rng, case: Case) -> None:
    """Replace an array by strings, compounds, references, objects, or another dimensionality."""
    number, key, path, name = _target(rng, case)
    n = len(case.episodes[number][key]) if len(case.places) > 1 else 5
    kind = pick(rng, ("S", "str", "compound", "reference", "vlen", "complex", "void", "3d", "0d",
                      "empty", "group", "type", "wide", "huge"))  # fmt: skip

    def put(file: Any, name: str) -> None:
        if kind in ("S", "complex", "void"):
            file[name] = np.zeros(n, {"S": "S4", "complex": "c16", "void": "V5"}[kind])
        elif kind == "str":
            file.create_dataset(name, data=["a"] * n, dtype=h5py.string_dtype())
        elif kind == "compound":
            file[name] = np.zeros(n, [("x", "f8"), ("y", "i4")])
        elif kind == "reference":
            file.create_dataset(name, data=[file.ref] * n, dtype=h5py.ref_dtype)
        elif kind == "vlen":
            file.create_dataset(name, (n,), h5py.vlen_dtype(np.float32))
        elif kind == "empty":
            file[name] = h5py.Empty("f4")
        elif kind == "group":
            file.create_group(name)
        elif kind == "type":
            file[name] = np.dtype("f8")
        elif kind == "huge":
            file.create_dataset(name, (10**12, 100), "f4", chunks=(1, 100))
        else:
            shape = {"3d": (n, 2, 2), "0d": (), "wide": (n, 0)}[kind]
            file[name] = np.ones(shape)

    _replace(path, name, put)
    _mark(case, number, key, f"other type {kind}")
    if kind == "huge":  # it is refused, not left out
        case.outcome = ANY if case.outcome == ABSENT else REFUSED


def other_length(rng: Rng, case: Case) -> None:
    """Remove or add rows."""
    number, key, path, name = _target(rng, case)
    values = case.episodes[number][key]
    rows = len(values) + pick(rng, (-1, 1, 7))
    _replace(path, name, lambda file, n: file.__setitem__(n, np.ones((rows, *values.shape[1:]))))
    _mark(case, number, key, "other length")
    if rows == 0 or len(case.episodes[0]) == 1:  # no other array determines the length
        case.outcome = ANY


def other_width(rng: Rng, case: Case) -> None:
    """Another number of columns in one demonstration."""
    number, key, path, name = _target(rng, case)
    values = case.episodes[number][key]
    if len(case.places) == 1:
        return
    width = values.reshape(len(values), -1).shape[1] + 1
    _replace(path, name, lambda file, n: file.__setitem__(n, np.ones((len(values), width))))
    case.outcome, case.key, case.fault = REFUSED, key, "other width"


def not_finite(rng: Rng, case: Case) -> None:
    """NaN or infinite values in a row."""
    _, key, path, name = _target(rng, case)
    with h5py.File(path, "r+") as file:
        rows = len(file[name])
        file[name][int(rng.integers(rows))] = pick(rng, (np.nan, np.inf, -np.inf))
    case.outcome, case.key, case.fault = REFUSED, key, "not finite"


def missing(rng: Rng, case: Case) -> None:
    """An array is absent in one demonstration, a dangling link, or never written."""
    number, key, path, name = _target(rng, case)
    kind = pick(rng, ("gone", "soft", "external", "circle", "unwritten", "virtual"))
    shape = (len(case.episodes[number][key]), *case.episodes[number][key].shape[1:])

    def put(file: Any, name: str) -> None:
        if kind == "soft":
            file[name] = h5py.SoftLink("/nowhere")
        elif kind == "external":
            file[name] = h5py.ExternalLink("gone.h5", "/x")
        elif kind == "circle":
            file[name] = file
        elif kind == "unwritten":
            file.create_dataset(name, shape, "f4")
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, "f4")
            layout[:] = h5py.VirtualSource("gone.h5", "x", shape)
            file.create_virtual_dataset(name, layout)

    _replace(path, name, put)
    _mark(case, number, key, f"missing {kind}")
    if kind == "gone" and len(case.places) > 1 and "features" not in case.options:
        case.outcome = REFUSED
    elif kind != "gone":
        case.outcome = REFUSED


def additional(rng: Rng, case: Case) -> None:
    """An additional array in one demonstration only."""
    number, _, path, name = _target(rng, case)
    layout = name.rpartition("/")[0]
    if len(case.places) == 1 or "features" in case.options or layout.count("/") == 0:
        return
    if path.name.startswith("episode_"):  # only qpos of ALOHA is read
        return
    with h5py.File(path, "r+") as file:
        file[f"{layout}/one_more"] = np.ones(
            len(case.episodes[number][next(iter(case.episodes[0]))])
        )
    case.outcome, case.key, case.fault = REFUSED, "one_more", "additional"


def bad_count(rng: Rng, case: Case) -> None:
    """num_samples is invalid or wrong."""
    path, group = case.places[int(rng.integers(len(case.places)))]
    if not group.startswith("data/"):
        return
    with h5py.File(path, "r+") as file:
        demo = file["/".join(group.split("/")[:2])]
        demo.attrs["num_samples"] = pick(
            rng, ("forty", -3, np.nan, [1, 2], h5py.Empty("f4"), 2.0**70, 10**6)
        )
    case.outcome, case.fault = REFUSED, "bad count"


def bad_mask(rng: Rng, case: Case) -> None:
    """An invalid list of demonstrations."""
    if "split" not in case.options:
        return
    path = case.places[0][0]
    values = pick(rng, (0, np.zeros((2, 2), "S3"), np.zeros(3), np.array([b"demo_99"]),
                        np.zeros(70, bool), np.array([b"\xff\xfe"]), np.zeros(0, "S3"),
                        np.zeros(2, [("a", "f4")])))  # fmt: skip
    _replace(path, "mask/train", lambda file, name: file.__setitem__(name, values))
    case.outcome, case.fault = REFUSED, "bad mask"


def cut_short(rng: Rng, case: Case) -> None:
    """A truncated file."""
    path = case.places[int(rng.integers(len(case.places)))][0]
    content = path.read_bytes()
    path.write_bytes(content[: int(rng.integers(len(content)))])
    case.outcome, case.fault = REFUSED, "cut short"


def damaged(rng: Rng, case: Case) -> None:
    """Some bytes are changed; numbers may change, so any result is valid except a raw exception."""
    path = case.places[int(rng.integers(len(case.places)))][0]
    content = bytearray(path.read_bytes())
    for place in rng.integers(0, len(content), rng.integers(1, 30)):
        content[place] = int(rng.integers(256))
    path.write_bytes(content)
    case.outcome, case.fault = ANY, "damaged"


def strange_options(rng: Rng, case: Case) -> None:
    """Options for another kind of file, or with unknown names."""
    case.options = pick(rng, (
        {"features": ["nope"]}, {"features": "qpos"}, {"features": []}, {"features": [3]},
        {"split": "nope"}, {"episode_column": "x"}, {"features": ["."]}, {"features": [""]},
    ))  # fmt: skip
    case.outcome, case.fault = REFUSED, "strange options"


def strange_content(rng: Rng, case: Case) -> None:
    """Additional content with names of all kinds."""
    path = case.places[0][0]
    with h5py.File(path, "r+") as file:
        name = pick(rng, ("notes", "\u00e9", "version", "data_1", "x" * 300))
        if name not in file:
            file[name] = pick(rng, (b"text", 3.0, np.zeros(3)))
        raw = pick(rng, (b"\xff\xfe", b"\xed\xa0\x80"))
        if rng.random() < 0.3:
            h5py.h5g.create(file.id, raw)
    case.fault = "strange content"


def mixed_folder(rng: Rng, case: Case) -> None:
    """A file of another layout among those of ALOHA."""
    if not case.path.is_dir() or case.path.name != "aloha":
        return
    with h5py.File(case.path / "episode_99.hdf5", "w") as file:
        file[pick(rng, ("traj_0/obs", "data/demo_0/obs/x", "observations", "x"))] = np.ones((4, 2))
    case.outcome, case.fault = REFUSED, "mixed folder"


FAULTS = (
    other_type, other_type, other_length, other_width, not_finite, missing, missing, additional,
    bad_count, bad_mask, cut_short, damaged, damaged, strange_options, strange_content,
    mixed_folder,
)  # fmt: skip
