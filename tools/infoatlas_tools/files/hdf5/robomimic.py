"""Reads trajectories from HDF5 files of robomimic, MimicGen, Isaac Lab and robosuite.

Such a file has a group `data/demo_0`, `data/demo_1`, ... for each demonstration, with its length as
the attribute `num_samples` (robosuite's collector writes none). `obs` contains arrays by name, also
in groups (Isaac Lab); files of robosuite have `states` and `actions` alone. Poses of the tool and
of objects [T, 4, 4] are in `datagen_info` (MimicGen) or `obs/datagen_info` (Isaac Lab Mimic,
AutoData). Recordings of Isaac Lab that are not annotated have poses of objects in
`states/rigid_object`. Lists of demonstrations are in `mask`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import shown

from ...trajectories import Trajectories
from ..rates import stated_rate, time_faults
from .arrays import Source, find_arrays, find_stated, names_under, open_node
from .demonstrations import FLOATS, Demo, DemoReader, make_trajectories
from .opening import first_names, open_hdf5, shown_name, sort_by_number

EEF_POSE = "eef_pose"
OBJECT_POSES = ("object_poses", "object_pose")  # in datagen_info of MimicGen and of Isaac Lab
STATES = "states"  # states of the simulator; those of MuJoCo begin with its time
_DEMO = re.compile(r"(demo|episode|ep|traj|trajectory)[_-]?[0-9]{1,18}")
_DATAGEN = "datagen_info"
MOSTLY = 0.9  # share of steps that are even; others are faults of a clock
EVEN_CLOCK = 1e-3  # of the median: steps of a simulator's time differ from it by at most so much
_HINT = (
    "pass features=['states'] (--features states) or others of them, or extract observations, as "
    "robomimic's dataset_states_to_obs does"
)


def read_robomimic(
    path: Path, split: str | None = None, features: Sequence[str] | None = None
) -> Trajectories:
    """Read the demonstrations of a file of robomimic, MimicGen, Isaac Lab or robosuite.

    The list `split` in `mask` contains names, or a truth value for each demonstration in the order
    of their numbers. `features` are keys of `obs`, as "robot0_eef_pos", with dots in groups
    ("policy.joint_pos"), and poses, as "eef_pose" and "cubeA". Other arrays of a demonstration are
    given by their path, as "actions" or "states.articulation.robot.joint_position".

    Unless given, they are observations that are floats of one or two dimensions and at most 256
    columns, named "key.0", "key.1" ("key" for a single column). After them come poses, "eef_pose.x"
    to "eef_pose.qz" of the tool ("eef_pose.left.x" if there are several) and "cube.x" to "cube.qz"
    of an object. Quaternions are w, x, y, z and do not change their sign within a demonstration. A
    clock in the first column of `states` is left out. The notes name what was left out. The rate is
    the control frequency (Hz) in the attribute `env_args`, or that of the clock, or None.
    """
    with opened_demos(path) as file:
        reader = DemoReader(path, features, FLOATS, _HINT)
        data = file["data"]
        names, notes = _choose(path, file, split, reader)
        for name in names:
            reader.add(_demo(path, data[name], name, reader))
        states, columns = reader.columns()
        rate = _rate(data)
    if STATES in reader.keys and f"{STATES}.0" in columns:
        clock = columns.index(f"{STATES}.0")
        step = _clock(states[:, clock], np.array(reader.lengths))
        if step is not None:
            columns.remove(f"{STATES}.0")
            faults = time_faults(states[:, clock], np.array(reader.lengths), reader.episodes)
            notes.append(
                f"Left out: {STATES}.0, the simulator's time (steps of {step:.4g} s"
                f"{'; ' * bool(faults)}{faults})."
            )
            states = np.delete(states, clock, axis=1)
            rate = stated_rate(round(1 / step, 6)) if rate is None else rate
    return make_trajectories(reader, states, columns, rate, notes)


def pose_names(path: Path, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Prefixes of the columns of a demonstration's poses: those of tools, and those of objects."""
    with opened_demos(path) as file:
        poses = [pose for pose, _ in _poses(path, file["data"][name])]
    tools = tuple(pose for pose in poses if pose.split(".")[0] == EEF_POSE)
    return tools, tuple(pose for pose in poses if pose not in tools)


@contextmanager
def opened_demos(path: Path) -> Iterator[Any]:
    """An open HDF5 file of demonstrations."""
    with open_hdf5(path) as (file, h5py):
        data = file.get("data")
        if not isinstance(data, h5py.Group) or not demo_names(data):
            inside = first_names(data) if isinstance(data, h5py.Group) else "no group"
            raise InputError(
                f"{path} has {first_names(file)} and no data/demo_0 (data: {inside}): pass a file "
                "of robomimic, MimicGen, Isaac Lab or robosuite"
            )
        yield file


def holds_demos(file: Any) -> bool:
    """Whether an open file has demonstrations in `data`."""
    data = file.get("data")
    return hasattr(data, "keys") and len(data) > 0


def is_isaaclab(file: Any) -> bool:
    """Whether an open file is of Isaac Lab: its recorder writes the initial state of an episode."""
    first = next(iter(demo_names(file["data"])), None) if holds_demos(file) else None
    demo: Any = None if first is None else file["data"].get(first)
    return hasattr(demo, "keys") and ("obs/datagen_info" in demo or "initial_state" in demo)


def demo_names(data: Any) -> list[str]:
    """Names of the demonstrations in `data`, in the order of their numbers."""
    return sort_by_number(data, _DEMO)


def datagen_info(demo: Any) -> Any:
    """Group of the data generation of a demonstration; None if it has none."""
    for name in (_DATAGEN, f"obs/{_DATAGEN}"):
        if name in demo:
            return demo[name]
    return None


def step_count(path: Path, demo: Any) -> int | None:
    """Steps of a demonstration: `num_samples`, or the rows of its actions or states, or None."""
    if "num_samples" not in demo.attrs:
        for key in ("actions", STATES):
            node = demo.get(key)
            if len(getattr(node, "shape", None) or ()):
                return int(node.shape[0])
        return None
    value = demo.attrs["num_samples"]
    count = np.asarray(value)
    if count.size != 1 or count.dtype.kind not in "iuf" or not 0 <= count.item() < 2**53:
        raise InputError(
            f"{path}: num_samples of {demo.name} is {shown(value)}: store the number of its steps"
        )
    return int(count.item())


def demos_of(path: Path, file: Any, split: str) -> list[str]:
    """Names of the demonstrations in a list of `mask`, in the order of their numbers."""
    demos = demo_names(file["data"])
    masks = file.get("mask")
    splits = sorted(map(shown_name, masks)) if hasattr(masks, "keys") else []
    if split not in splits:
        raise InputError(
            f"{path} has no split {split!r} but {', '.join(splits) or 'none'}: pass one of "
            "them, or none to read all demonstrations"
        )
    node = open_node(path, masks, split)
    if getattr(node, "ndim", None) != 1 or node.dtype.kind not in "SOb" or node.dtype.names:
        raise InputError(
            f"{path}: mask/{split} is {getattr(node, 'dtype', 'a group')} of "
            f"{getattr(node, 'shape', ())}: store the names of demonstrations"
        )
    values = node[()]
    if values.dtype.kind == "b":
        if len(values) != len(demos):
            raise InputError(
                f"{path}: mask/{split} has {len(values)} values for {len(demos)} demonstrations: "
                "store their names"
            )
        return [name for name, inside in zip(demos, values.tolist(), strict=True) if inside]
    listed = {_text(value) for value in values.tolist()}
    absent = sorted(listed - set(demos))
    if absent:
        raise InputError(
            f"{path}: mask/{split} has {shown_name(absent[0])}, which data/ lacks: remove it"
        )
    return [name for name in demos if name in listed]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _choose(
    path: Path, file: Any, split: str | None, reader: DemoReader
) -> tuple[list[str], list[str]]:
    """Names of the demonstrations to read, and notes on them."""
    data, notes = file["data"], []
    names = demo_names(data) if split is None else demos_of(path, file, split)
    if split is not None:
        rule = ", in the order of numbers" if file["mask"][split].dtype.kind == "b" else ""
        count = len(demo_names(data))
        notes.append(f"Read: {len(names)} of {count} demonstrations, those of mask/{split}{rule}.")
    if not names:
        raise InputError(f"{path}: mask/{split} is empty: choose another split")
    for name in names:
        if not hasattr(open_node(path, data, name), "keys"):
            raise InputError(f"{path}: data/{name} is no group: remove it")
    finished = any("num_samples" in data[name].attrs for name in names)
    kept = []
    for name in names:
        if finished and "num_samples" not in data[name].attrs:
            reader.left_out[f"data/{name}"] = "it has no attribute num_samples: it was not finished"
        elif step_count(path, data[name]) == 0:
            reader.left_out[f"data/{name}"] = "it has no steps"
        else:
            kept.append(name)
    known = set(demo_names(data))
    for name in (name for name in data if name not in known):
        reader.left_out[f"data/{shown_name(name)}"] = "no name as demo_0"
    if not finished and kept:
        notes.append("Steps are counted in the arrays: the file has no num_samples.")
    if not kept:
        reasons = "; ".join(f"{where}: {why}" for where, why in reader.left_out.items())
        raise InputError(f"{path} has no demonstration that is complete ({reasons}): record again")
    return kept, notes


def _demo(path: Path, group: Any, name: str, reader: DemoReader) -> Demo:
    """Arrays of a demonstration."""
    arrays = find_arrays(path, group, "obs", skip=("next_obs",))
    default = [key for key in names_under(arrays, "obs") if key.split(".")[0] != _DATAGEN]
    poses = dict(_poses(path, group))
    for pose, node in poses.items():
        if pose in default:
            reader.left_out[arrays[pose].path] = "a pose has this name"
            default.remove(pose)
        if not hasattr(node, "shape"):
            raise InputError(f"{path}: {node.name} is a group: store a pose [T, 4, 4]")
        arrays[pose] = Source(node, node.name.removeprefix(f"{group.name}/"))
    length, stated = step_count(path, group), find_stated(group)
    rows = {len(arrays[key].node) for key in default if arrays[key].node.shape}
    if rows and length is not None and length not in rows and not reader.chosen:
        raise InputError(
            f"{path}: num_samples of {group.name} is {length}, and its observations have "
            f"{' or '.join(map(str, sorted(rows)))} rows: store the number of its steps"
        )
    return Demo(name, arrays, (*default, *poses), length, frozenset(poses), stated)


def _poses(path: Path, demo: Any) -> Iterator[tuple[str, Any]]:
    """Prefixes of columns, and arrays, of the poses of a demonstration."""
    info = datagen_info(demo)
    if hasattr(info, "keys"):
        tool: Any = open_node(path, info, EEF_POSE) if EEF_POSE in info else None
        if hasattr(tool, "keys"):
            for name in tool:
                shown = EEF_POSE if len(tool) == 1 else f"{EEF_POSE}.{shown_name(name)}"
                yield shown, open_node(path, tool, name)
        elif tool is not None:
            yield EEF_POSE, tool
        for key in OBJECT_POSES:
            group: Any = open_node(path, info, key) if key in info else None
            for name in group if hasattr(group, "keys") else ():
                yield shown_name(name), open_node(path, group, name)
        return
    bodies = demo.get("states/rigid_object")
    for name in bodies if hasattr(bodies, "keys") else ():
        body = open_node(path, bodies, name)
        if hasattr(body, "keys") and "root_pose" in body:
            yield shown_name(name), open_node(path, body, "root_pose")


def _clock(column: NDArray[np.floating], lengths: NDArray[np.int64]) -> float | None:
    """Step of a column that is the time of a simulator, s; None if it is something else."""
    steps = np.delete(np.diff(column), np.cumsum(lengths)[:-1] - 1)
    if len(steps) < 2:
        return None
    step = float(np.median(steps))
    even = np.abs(steps - step) <= EVEN_CLOCK * step
    return step if step > 0 and even.mean() >= MOSTLY else None


def _rate(data: Any) -> float | None:
    """Control frequency in Hz in the attribute env_args; None if it is not there."""
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
