"""Trajectories from HDF5 files of robomimic, MimicGen and Isaac Lab.

Such a file has a group `data/demo_0`, `data/demo_1`, ... for each demonstration, with its length as
the attribute `num_samples`. `obs` holds arrays by name. Poses of the tool and of objects [T, 4, 4]
are in `datagen_info` (MimicGen) or `obs/datagen_info` (Isaac Lab Mimic, AutoData); recordings of
Isaac Lab that are not annotated yet have poses of objects in `states/rigid_object`. Lists of
demonstrations are in `mask`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.trajectories import Trajectories
from .hdf5 import opened
from .numbers import LARGEST
from .rates import stated_rate

DEMO = "demo_"
EEF_POSE = "eef_pose"
OBJECT_POSES = ("object_poses", "object_pose")  # in datagen_info of MimicGen and of Isaac Lab
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
WIDEST = 256  # columns of an observation: more are features of images, or an image itself


@dataclass(frozen=True)
class Contents:
    """What is read of a file.

    Attributes
    ----------
    demos : tuple of str
        Names of the demonstrations in the order of their numbers, as "demo_0".
    keys : tuple of str
        Names of the arrays, in the order of their columns.
    tools, objects : tuple of str
        Beginnings of the names of the columns of poses: `Pose(name)` takes them.
    left_out : dict of str to str
        Reason by the path in the file, of demonstrations and arrays that are not read.
    """

    demos: tuple[str, ...]
    keys: tuple[str, ...]
    tools: tuple[str, ...]
    objects: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out, in sentences."""
        return tuple(f"Left out: {where} ({why})." for where, why in self.left_out.items())


def read_robomimic(path: str | os.PathLike[str], split: str | None = None) -> Trajectories:
    """Read the demonstrations of a file of robomimic, MimicGen or Isaac Lab.

    Parameters
    ----------
    path : path
    split : str, optional
        Name of a list in `mask`, as "train": the demonstrations in it. All unless given.

    Returns
    -------
    Trajectories
        Observations that are floats of one or two dimensions and at most 256 columns, named
        "key.0", "key.1" ("key" if there is one); then poses as "eef_pose.x" to "eef_pose.qz" of the
        tool ("eef_pose.left.x" if there are several) and "cube.x" to "cube.qz" of an object.
        Quaternions are w, x, y, z and do not change their sign within a demonstration. Its notes
        say what was left out. The rate is the control frequency (Hz) by the attribute `env_args`;
        None if that does not hold it.

    Raises
    ------
    InputError
        h5py is not installed; the file is missing, damaged or of another kind; there is no such
        split; or demonstrations have different columns.
    """
    path = Path(path)
    with opened_demos(path) as file:
        found = _contents(path, file, split)
        states: list[NDArray[Any]] = []
        names: list[str] = []
        total = 0
        for name in found.demos:
            demo = file["data"][name]
            columns = _read(path, demo, found)
            own = [column for column, _ in columns]
            if states and own != names:
                raise InputError(
                    f"{path}: {name} has {len(own)} columns and {found.demos[0]} {len(names)}: "
                    "their observations have different widths, so read them as two files"
                )
            total += len(own) * int(demo.attrs["num_samples"])
            if total > LARGEST:
                raise InputError(f"{path}: more than {LARGEST} numbers: read a split of them")
            states.append(np.stack([values for _, values in columns], axis=1))
            names = own
        rate = _rate(file["data"])
    lengths = np.array([len(s) for s in states])
    try:
        return Trajectories(
            np.concatenate(states), lengths, tuple(names), rate, found.demos, found.notes
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def contents(path: str | os.PathLike[str], split: str | None = None) -> Contents:
    """What `read_robomimic` reads of a file, and what it leaves out.

    Raises
    ------
    InputError
        As `read_robomimic`.
    """
    path = Path(path)
    with opened_demos(path) as file:
        return _contents(path, file, split)


@contextmanager
def opened_demos(path: Path) -> Iterator[Any]:
    """An HDF5 file of demonstrations, open for reading.

    Raises
    ------
    InputError
        h5py is not installed; or the file is missing, damaged or of another kind.
    """
    with opened(path) as (file, h5py):
        data = file.get("data")
        if not isinstance(data, h5py.Group) or not _numbered(data):
            raise InputError(
                f"{path} has {sorted(file)[:5]} and no data/{DEMO}0: pass a file of robomimic, "
                "MimicGen or Isaac Lab"
            )
        yield file


def datagen_info(demo: Any) -> Any:
    """Group of the data generation of a demonstration; None if it has none."""
    for name in ("datagen_info", "obs/datagen_info"):
        if name in demo:
            return demo[name]
    return None


def _numbered(data: Any) -> list[str]:
    names = [n for n in data if n.startswith(DEMO) and n[len(DEMO) :].isdecimal()]
    return sorted(names, key=lambda name: int(name[len(DEMO) :]))


def _contents(path: Path, file: Any, split: str | None) -> Contents:
    data, left_out = file["data"], {}
    demos = _numbered(data)
    if split is not None:
        splits = sorted(file["mask"]) if "mask" in file else []
        if split not in splits:
            raise InputError(
                f"{path} has no split {split!r} but {', '.join(splits) or 'none'}: pass one of "
                "them, or none to read all demonstrations"
            )
        listed = {n.decode() if isinstance(n, bytes) else str(n) for n in file["mask"][split][()]}
        absent = sorted(listed - set(demos))
        if absent:
            raise InputError(f"{path}: mask/{split} has {absent[0]}, which data/ lacks: remove it")
        demos = [name for name in demos if name in listed]
    for name in demos:
        if "num_samples" not in data[name].attrs:
            left_out[f"data/{name}"] = "it has no attribute num_samples: it was not finished"
    demos = [name for name in demos if f"data/{name}" not in left_out]
    if not demos:
        raise InputError(f"{path} has no demonstration with num_samples: record it again")
    first = data[demos[0]]
    poses = {name: where for name, where, _ in _poses(first)}
    keys = []
    for key, node in first["obs"].items() if "obs" in first else ():
        reason = _refused(key, node, int(first.attrs["num_samples"]), poses)
        if reason is None:
            keys.append(key)
        elif key != "datagen_info":
            left_out[f"obs/{key}"] = reason
    for name in demos[1:]:
        demo = data[name]
        absent = [k for k in keys if f"obs/{k}" not in demo]
        absent += sorted(set(poses) ^ {n for n, _, _ in _poses(demo)})
        if absent:
            raise InputError(
                f"{path}: {name} and {demos[0]} do not both have {', '.join(absent)}: record "
                "demonstrations of one task, or read a split"
            )
    if not keys and not poses:
        raise InputError(
            f"{path}: {demos[0]} has no observations that are floats of one or two dimensions and "
            "no poses: extract low-dimensional observations, as robomimic's dataset_states_to_obs"
        )
    tools = tuple(name for name in poses if name.split(".")[0] == EEF_POSE)
    objects = tuple(name for name in poses if name not in tools)
    return Contents(tuple(demos), (*keys, *poses), tools, objects, left_out)


def _refused(key: str, node: Any, length: int, poses: dict[str, str]) -> str | None:
    """Reason why an observation is not read, or None."""
    if not hasattr(node, "dtype"):
        return "a group"
    if key in poses:
        return "a pose has this name"
    if node.dtype.kind != "f":
        return f"{node.dtype}, no float"
    if node.ndim not in (1, 2) or (node.ndim == 2 and not 0 < node.shape[1] <= WIDEST):
        return f"shape {node.shape}"
    return None if len(node) == length else f"{len(node)} rows for {length} samples"


def _poses(demo: Any) -> Iterator[tuple[str, str, Any]]:
    """Beginnings of names, paths and arrays of the poses of a demonstration."""
    info = datagen_info(demo)
    if info is not None:
        tool = info.get(EEF_POSE)
        if hasattr(tool, "dtype"):
            yield EEF_POSE, tool.name, tool
        elif tool is not None:
            for name in tool:
                shown = EEF_POSE if len(tool) == 1 else f"{EEF_POSE}.{name}"
                yield shown, tool[name].name, tool[name]
        for group in OBJECT_POSES:
            for name in info.get(group, ()):
                yield name, info[group][name].name, info[group][name]
        return
    bodies = demo.get("states/rigid_object", {})
    for name in bodies:
        if "root_pose" in bodies[name]:
            yield name, bodies[name]["root_pose"].name, bodies[name]["root_pose"]


def _read(path: Path, demo: Any, found: Contents) -> list[tuple[str, NDArray[Any]]]:
    """Columns [T] of a demonstration with their names."""
    length = int(demo.attrs["num_samples"])
    poses = {name: node for name, _, node in _poses(demo)}
    columns: list[tuple[str, NDArray[Any]]] = []
    for key in found.keys:
        node = poses[key] if key in poses else demo["obs"][key]
        if len(node) != length or node.dtype.kind != "f":
            raise InputError(
                f"{path}: {node.name} is {node.dtype} of {node.shape}, and its demonstration has "
                f"num_samples {length}: record it again"
            )
        values = np.asarray(node[()], np.float64)
        if key not in poses:
            values = values.reshape(length, -1)
            ends = [""] if values.shape[1] == 1 else [f".{i}" for i in range(values.shape[1])]
        elif values.shape[1:] == (4, 4):
            values = np.concatenate([values[:, :3, 3], quaternions(values[:, :3, :3])], axis=1)
            ends = [f".{axis}" for axis in POSE]
        elif values.shape[1:] == (7,):  # the order of its quaternion depends on the version
            ends = [f".{i}" for i in range(7)]
        else:
            raise InputError(f"{path}: {node.name} has shape {values.shape}: store [T, 4, 4]")
        columns += [(f"{key}{end}", values[:, i]) for i, end in enumerate(ends)]
    return columns


def quaternions(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions w, x, y, z of rotations.

    Parameters
    ----------
    rotation : [T, 3, 3] float64

    Returns
    -------
    [T, 4] float64
        w >= 0 at the first step, and the sign is kept from each step to the next.
    """
    r = rotation
    trace = r[:, 0, 0] + r[:, 1, 1] + r[:, 2, 2]
    # Four candidates, each q times four times one of its components: the largest is exact.
    w = np.stack(
        [1 + trace, r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], -1
    )
    candidates = [w]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        own = np.empty_like(w)
        own[:, 0] = r[:, k, j] - r[:, j, k]
        own[:, 1 + i] = 1 + 2 * r[:, i, i] - trace
        own[:, 1 + j] = r[:, j, i] + r[:, i, j]
        own[:, 1 + k] = r[:, k, i] + r[:, i, k]
        candidates.append(own)
    table = np.stack(candidates, axis=1)  # [T, 4, 4]
    norms = np.linalg.norm(table, axis=-1)
    best = table[np.arange(len(r)), norms.argmax(axis=1)]
    unit = best / np.maximum(np.linalg.norm(best, axis=-1, keepdims=True), 1e-12)
    turns = np.ones(len(unit))
    turns[:1] = np.where(unit[:1, 0] < 0, -1.0, 1.0)
    turns[1:] = np.where((unit[1:] * unit[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    signed: NDArray[np.float64] = unit * np.cumprod(turns)[:, None]
    return signed


def _rate(data: Any) -> float | None:
    """Control frequency in Hz by the attribute env_args; None if it does not hold it."""
    text = data.attrs.get("env_args")
    try:
        node = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    node = node if isinstance(node, dict) else {}
    kwargs, simulation = node.get("env_kwargs"), node.get("sim_args")
    if isinstance(kwargs, dict) and "control_freq" in kwargs:
        return stated_rate(kwargs["control_freq"])
    if isinstance(simulation, dict):  # of Isaac Lab
        step, repeats = (stated_rate(simulation.get(name)) for name in ("dt", "decimation"))
        if step is not None and repeats is not None:
            return stated_rate(1 / (step * repeats))
    return None
