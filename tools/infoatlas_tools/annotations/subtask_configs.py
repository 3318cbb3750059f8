"""Writes reference objects of sub-tasks as task configurations for data generation.

MimicGen reads JSON, and Isaac Lab Mimic has the fields of `SubTaskConfig` in Python. The signals
named in them are in the HDF5 file (`mimicgen.py`).
"""

import json
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

from ..files.formats import open_dataset
from ..files.hdf5.robomimic import OBJECT_POSES, datagen_info, opened_demos
from ..keystates.subtasks import WORLD, Subtask
from .content import Annotations
from .mimicgen import MASK, eef_names, signal_names

# Values from the configurations of these programs for stacking cubes.
NEAREST = ("nearest_neighbor_object", {"nn_k": 3})
ANY: tuple[str, dict[str, Any]] = ("random", {})  # the one strategy without a reference object
NOISE, INTERPOLATION = 0.03, 5


def write_mimicgen_config(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write the sub-tasks of a MimicGen configuration, as JSON.

    Merge it into a configuration of the task: `task.task_spec` has the sub-tasks with `object_ref`,
    and `experiment.source.filter_key` names the list of complete demonstrations. The HDF5 file at
    `path` contains the names of objects and end effectors.
    """
    fields, _ = _fields(annotations, path)
    spec = {}
    for number, own in enumerate(next(iter(fields.values())), start=1):
        last = own["subtask_term_signal"] is None
        spec[f"subtask_{number}"] = {
            **own,
            "subtask_term_offset_range": None if last else own["subtask_term_offset_range"],
            "selection_strategy_kwargs": own["selection_strategy_kwargs"] or None,
        }
    source = {"dataset_path": str(path), "filter_key": MASK}
    generation = {"select_src_per_subtask": True}
    config = {
        "experiment": {"source": source, "generation": generation},
        "task": {"task_spec": spec},
    }
    return _write(out, json.dumps(config, indent=4))


def write_isaaclab_config(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write the fields of `SubTaskConfig` of each part, by end effector, as JSON.

    In an environment: `self.subtask_configs = {eef: [SubTaskConfig(**part) for part in parts] for
    eef, parts in json.load(file)["subtask_configs"].items()}`.
    """
    fields, names = _fields(annotations, path)
    for eef, parts in fields.items():
        for own, name, after in zip(parts, names[eef], [*names[eef][1:], ""], strict=True):
            own.update(description=name, next_subtask_description=after)
    return _write(out, json.dumps({"subtask_configs": fields}, indent=4))


def _fields(
    annotations: Annotations, path: Path
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, list[str]]]:
    """Fields that both programs share, and names of the parts, by end effector."""
    subtasks = annotations.subtasks
    if subtasks.seen:
        raise InputError(
            f"the references are objects that camera {subtasks.seen.camera} sees, and generation "
            "needs their poses: find the sub-tasks by a tool and its objects"
        )
    eefs = {tool: tool for tool in subtasks.tools}
    known: list[str] = []
    # Without a file, the configuration is for one that will be recorded later.
    if path.is_file() and "mimicgen" in open_dataset(path).format.annotations:
        with opened_demos(path) as file:
            demo = file["data"].get(annotations.episodes[0])
            info = None if demo is None else datagen_info(demo)
            eefs = eef_names(subtasks, path, info)
            if info is not None:
                known = [name for group in OBJECT_POSES for name in info.get(group, ())]
    fields: dict[str, list[dict[str, Any]]] = {}
    names: dict[str, list[str]] = {}
    signals = signal_names(subtasks)
    for tool in subtasks.tools:
        indices = subtasks.indices(tool)
        for which in indices:
            part, last = subtasks.parts[which], which == indices[-1]
            reference = _reference(part, path, known)
            strategy, kwargs = ANY if reference is None else NEAREST
            fields.setdefault(eefs[tool], []).append(
                {
                    "object_ref": reference,
                    "subtask_term_signal": None if last else signals[which],
                    "subtask_term_offset_range": (0, 0),
                    "selection_strategy": strategy,
                    "selection_strategy_kwargs": dict(kwargs),
                    "action_noise": NOISE,
                    "num_interpolation_steps": INTERPOLATION,
                    "num_fixed_steps": 0,
                    "apply_noise_during_interpolation": False,
                }
            )
            names.setdefault(eefs[tool], []).append(subtasks.names[which])
    return fields, names


def _reference(part: Subtask, path: Path, known: list[str]) -> str | None:
    """Name in the file of a part's reference object; None without one."""
    name = "" if part.reference == WORLD else part.reference
    if name and known and name not in known:
        raise InputError(
            f"{path} has poses of {', '.join(known)} and none of {name!r}, a reference object: "
            "call the object so"
        )
    return name or None


def _write(out: Path, text: str) -> tuple[str, ...]:
    out.write_text(f"{text}\n", encoding="utf-8")
    return ()
