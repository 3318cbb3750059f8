"""Writes ends of sub-tasks for MimicGen, Isaac Lab Mimic and AutoData into a copy of an HDF5 file.

Each part of a tool except the last has a signal of 0 and 1 over the steps of a demonstration. The
part [start, e) ends where the signal goes from 0 to 1, at step e - 1. `parse_source_dataset` of
MimicGen (`mimicgen/utils/file_utils.py`) and `DataGenInfoPool` of Isaac Lab and AutoData interpret
it so. If a demonstration lacks a part, the signal stays 0, and all three programs stop with an
error. So a list in `mask` names the complete demonstrations for MimicGen. Isaac Lab has no lists,
so the others are moved out of `data` there. `subtask_configs.py` writes the reference objects.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ..array_types import Int
from ..files.hdf5.opening import changed_copy
from ..files.hdf5.robomimic import EEF_POSE, demos_of, opened_demos, step_count
from ..keystates.subtasks import Subtasks
from ..presentation import unused_name
from .content import Annotations

MASK = "infoatlas"  # name of the list of demonstrations that have all parts
LEFT_OUT = "left_out"  # group for demonstrations that Isaac Lab cannot use
OWN = "source"  # attribute of the signals that are written here: only these may be replaced
VALUE = "infoatlas-rt"
TERM, START = "subtask_term_signals", "subtask_start_signals"


def write_mimicgen(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write a copy of a MimicGen file with the ends of the sub-tasks.

    `data/<demo>/datagen_info/subtask_term_signals/<name>` [T] int64 is 1 from the last step of the
    part on. `mask/infoatlas` lists the demonstrations that have all parts. Signals of other names
    are kept. The annotations are of one tool.
    """
    if len(annotations.subtasks.tools) != 1:
        raise InputError(
            f"sub-tasks are of {len(annotations.subtasks.tools)} tools "
            f"({', '.join(annotations.subtasks.tools)}), and MimicGen has one: pass the sub-tasks "
            "of one of them, or write the format of Isaac Lab"
        )
    names, missing = signal_names(annotations.subtasks), incomplete(annotations)
    check_complete(annotations, path, missing, "MimicGen")
    notes = [f"{demo} is not in mask/{MASK}: {why}" for demo, why in missing.items()]
    with changed_copy(path, out) as file:
        bare = []
        for i, demo in enumerate(_demos(annotations, path, file)):
            info = demo.require_group("datagen_info")
            if not {EEF_POSE, "target_pose", "object_poses"} <= set(info):
                bare.append(annotations.episodes[i])
            group = _own_group(info, TERM)
            for part, name in list(zip(annotations.subtasks.parts, names, strict=True))[:-1]:
                _store(group, name, _mark_end(part.end[i], part.start[i], annotations.lengths[i]))
        if MASK in file.require_group("mask"):
            del file["mask"][MASK]
        complete = [e for e in annotations.episodes if e not in missing]
        file["mask"][MASK] = np.array([e.encode() for e in complete], dtype="S")
    if bare:
        notes.append(
            f"{', '.join(bare[:3])}{' and more' if len(bare) > 3 else ''} have no poses in "
            "datagen_info: run MimicGen's prepare_src_dataset.py, and annotate what it writes"
        )
    return tuple(notes)


def write_isaaclab(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write a copy of a file of Isaac Lab Mimic or AutoData with starts and ends of the sub-tasks.

    `data/<demo>/obs/datagen_info/subtask_term_signals/<name>` [T] bool is True from the last step
    of the part on. `subtask_start_signals/<name>`, of all parts, is True from the second step on,
    because SkillGen needs a step between the end of a part and the start of the next one.
    Demonstrations that lack a part, or have no sub-tasks, are moved from `data` to `left_out`,
    because the programs stop at an incomplete demonstration in `data`. The tools have the names of
    end effectors; if there is one of each, the names may differ.
    """
    names, missing = signal_names(annotations.subtasks), incomplete(annotations, least=2)
    check_complete(annotations, path, missing, "Isaac Lab")
    notes = [f"{demo} is moved to {LEFT_OUT}: {why}" for demo, why in missing.items()]
    with changed_copy(path, out) as file:
        bare = []
        lists = {split: demos_of(path, file, split) for split in file.get("mask", ())}
        for i, demo in enumerate(_demos(annotations, path, file)):
            if annotations.episodes[i] in missing:
                continue
            info = demo.require_group("obs/datagen_info")
            eef_names(annotations.subtasks, path, info)
            if not {EEF_POSE, f"target_{EEF_POSE}", "object_pose"} <= set(info):
                bare.append(annotations.episodes[i])
            ends, starts = _own_group(info, TERM), _own_group(info, START)
            for tool in annotations.subtasks.tools:
                own = annotations.subtasks.indices(tool)
                for k in own:
                    part, name = annotations.subtasks.parts[k], names[k]
                    start, end = int(part.start[i]), int(part.end[i])
                    if k != own[-1]:
                        _store(ends, name, _mark_end(end, start, annotations.lengths[i]) > 0)
                    _store(starts, name, np.arange(annotations.lengths[i]) > start)
        data, kept = file["data"], set(annotations.episodes) - set(missing)
        for name in [name for name in data if isinstance(name, str)]:
            if name not in kept:  # another one may be there from an earlier annotation
                file.move(f"data/{name}", unused_name(f"{LEFT_OUT}/{name}", file))
                if name not in missing:
                    notes.append(f"{name} is moved to {LEFT_OUT}: it has no sub-tasks")
        if "total" in data.attrs:
            data.attrs["total"] = sum(step_count(path, data[name]) or 0 for name in data)
        for split, listed in lists.items():
            del file["mask"][split]
            file["mask"][split] = np.array([n.encode() for n in listed if n in kept], dtype="S")
    if bare:
        notes.append(
            f"{', '.join(bare[:3])}{' and more' if len(bare) > 3 else ''} have no poses in "
            "obs/datagen_info: run Isaac Lab's annotate_demos.py, and annotate what it writes"
        )
    return tuple(notes)


def check_complete(
    annotations: Annotations, path: Path, missing: dict[str, str], program: str
) -> None:
    """Raise InputError unless demonstrations can be read, and the program can use one of them."""
    if len(missing) == len(annotations.episodes):
        demo, why = next(iter(missing.items()))
        raise InputError(
            f"{path}: every demonstration lacks a sub-task or has a too short one ({demo}: {why}), "
            f"and {program} accepts complete ones only: look for fewer sub-tasks, as with "
            "--count auto or --label"
        )
    with opened_demos(path):  # before anything is written
        pass


def signal_names(subtasks: Subtasks) -> tuple[str, ...]:
    """A name for the signal of each part: its name in lower case, with "_" between words."""
    found: list[str] = []
    for name in subtasks.names:
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "part"
        found.append(unused_name(plain, found))
    return tuple(found)


def incomplete(annotations: Annotations, least: int = 1) -> dict[str, str]:
    """Why demonstrations cannot be a source; `least` is the smallest number of steps of a part."""
    found: dict[str, str] = {}
    for i, demo in enumerate(annotations.episodes):
        for tool in annotations.subtasks.tools:
            parts, indices = annotations.subtasks.of(tool), annotations.subtasks.indices(tool)
            for k, (part, which) in enumerate(zip(parts, indices, strict=True)):
                name = annotations.subtasks.names[which]
                steps, end = int(part.end[i] - part.start[i]), int(part.end[i])
                # A signal cannot go from 0 to 1 at the first step.
                short = steps < least or (end < 2 and k < len(parts) - 1)
                if steps == 0:
                    found.setdefault(demo, f"it lacks {name!r}")
                elif short:
                    found.setdefault(demo, f"{name!r} has {steps} step{'s' * (steps > 1)}")
                elif part.start[i] != (parts[k - 1].end[i] if k else 0):
                    found.setdefault(demo, f"{name!r} comes in another order")
    return found


def eef_names(subtasks: Subtasks, path: Path, info: Any) -> dict[str, str]:
    """End effector of each tool, by the poses of end effectors in a demonstration."""
    node = info.get(EEF_POSE) if info is not None else None
    known = list(node) if node is not None and not hasattr(node, "dtype") else []
    if len(known) == 1 == len(subtasks.tools):
        return {subtasks.tools[0]: known[0]}
    if known and not set(subtasks.tools) <= set(known):
        raise InputError(
            f"{path} has the end effectors {', '.join(known)}, and sub-tasks are of "
            f"{', '.join(subtasks.tools)}: call the tools so"
        )
    return {tool: tool for tool in subtasks.tools}


def _mark_end(end: int, start: int, length: int) -> Int:
    """1 from the last step of a part on; 0 throughout if there is none."""
    steps = np.arange(length)
    return np.asarray((steps >= end - 1) & (end > start), np.int64)


def _demos(annotations: Annotations, path: Path, file: Any) -> list[Any]:
    """Groups of the demonstrations."""
    found = []
    for name, length in zip(annotations.episodes, annotations.lengths.tolist(), strict=True):
        demo = file["data"].get(name)
        own = None if demo is None else step_count(path, demo)
        if own != length:
            raise InputError(
                f"{path}: {name} has {'no' if own is None else own} samples, and its sub-tasks "
                f"{length}: annotate the file itself"
            )
        found.append(demo)
    return found


def _own_group(info: Any, name: str) -> Any:
    """The group of signals, without those that were written here before."""
    group = info.require_group(name)
    for signal in list(group):
        if group[signal].attrs.get(OWN) == VALUE:
            del group[signal]
    return group


def _store(group: Any, name: str, values: NDArray[Any]) -> None:
    if name in group:
        del group[name]
    group[name] = values
    group[name].attrs[OWN] = VALUE
