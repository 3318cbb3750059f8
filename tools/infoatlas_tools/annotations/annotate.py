"""Annotates demonstrations with key states and sub-tasks: from a recording to its annotations."""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from ..bags.any_recording import Recording, open_recording
from ..cameras.camera import Camera
from ..files.hdf5.robomimic import EEF_POSE, pose_names
from ..keystates.discovery import discover_keystates
from ..keystates.subtasks.poses import Pose, Position
from ..presentation import ParameterError
from ..trajectories import Trajectories, as_trajectories, episode_names
from .content import Annotations

Bodies = Mapping[str, Pose | Position]


def annotate(
    demonstrations: Recording | Trajectories | Sequence[Any] | str | os.PathLike[str],
    count: int | str = "auto",
    *,
    tools: Bodies | Pose | Position | None = None,
    objects: Bodies | None = None,
    object_names: Mapping[int, str] | None = None,
    names: Sequence[str] | None = None,
    labels: Any = None,
    date: str = "contact",
    executor: Executor | None = None,
    progress: Callable[[float], object] = lambda share: None,
) -> Annotations:
    """Find the key states and the sub-tasks of demonstrations; `Annotations.write` writes them.

    Parameters
    ----------
    demonstrations : path, Recording, Trajectories, or sequence of N arrays [T_i, d]
        A data set, or what `open_recording` opened with its options, such as a rate or a camera.
        Annotations of trajectories can be written as tables only, not into a copy of the data.
    count : int or "auto"
        Largest number of key states in a demonstration, its end not counted; or "auto": those that
        `discover_keystates` chooses.
    tools : Pose, Position, or dict of str to these, optional
        The tool, or each of several by its name. Without tools and objects, those whose poses are
        in a file of MimicGen or Isaac Lab.
    objects : dict of str to Pose or Position, optional
        Objects that a sub-task may be about.
    object_names : dict of int to str, optional
        Names of objects that a camera sees, by their numbers: {1: "bottle"}.
    names : sequence of str, optional
        Names of the sub-tasks in their order, instead of "reach cube" and the like.
    labels : dict, path or Marks, optional
        Known key states, which `discover_keystates` describes, or a file of `infoatlas-rt label`.
    date : "contact" or "command"
        Date of a switch of a gripper, as `discover_keystates` describes.
    executor : concurrent.futures.Executor, optional
        Runs what is done for each demonstration, as `discover_keystates` describes.
    progress : callable
        Is called with the share of the work that is done, from 0 to 1.

    Returns
    -------
    Annotations
        `keystates`, `subtasks` and names of `episodes`; `labels` and `spans(demonstration)` are the
        sub-tasks of steps. `write(out)` writes a copy of the data, `write(out, format="csv")` and
        others a file, and `write(in_place=True)` replaces the data; with `quality`, unusual
        episodes are marked.

    Raises
    ------
    InputError
        The demonstrations cannot be read or have no key states of this kind; names are not as many
        as sub-tasks; or arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import annotate
    >>> moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0) for i in range(6)]
    >>> annotations = annotate([move.cumsum(axis=0) for move in moves], 1, names=["right", "up"])
    >>> annotations.labels, annotations.spans(0)[1]
    (('right', 'up'), Span(start=19, end=40, label=1))
    """
    if isinstance(demonstrations, str | os.PathLike):
        demonstrations = open_recording(demonstrations)
    source = demonstrations if isinstance(demonstrations, Recording) else None
    if isinstance(demonstrations, Recording):
        demonstrations = demonstrations.trajectories
    given = as_trajectories(demonstrations)
    check_bodies(tools, objects)
    if not tools and source:
        tools, objects = known_bodies(source)
    if object_names and given.camera is None:
        raise ParameterError("`object_names` is for objects that `camera` NAME sees: pass it, too")
    if object_names and objects:
        raise ParameterError(
            "`object_names` is for objects of `camera`, and poses are given: leave it out"
        )
    if given.camera is not None:
        follow_reading(given.camera, progress)
    found = discover_keystates(given, count, labels=labels, date=date, executor=executor)
    if given.camera is None:
        progress(0.6)
    subtasks = found.subtasks(tools or None, objects or None, object_names=object_names)
    if names is not None:
        if len(names) != len(subtasks.parts):
            raise ParameterError(
                f"`names` has {len(names)} names, and {len(subtasks.parts)} sub-tasks were found "
                f"({', '.join(subtasks.names)}): pass one for each"
            )
        subtasks = replace(subtasks, given_names=tuple(names))
    progress(1.0)
    return Annotations(found, subtasks, episode_names(given), source)


def check_bodies(tools: Any, objects: Any) -> None:
    """Raise ParameterError if tools are given without objects, or objects without tools."""
    if bool(tools) != bool(objects):
        first, second = ("tools", "objects") if tools else ("objects", "tools")
        raise ParameterError(
            f"`{first}` is given without `{second}`: a sub-task is about both, so name both"
        )


def known_bodies(recording: Recording) -> tuple[dict[str, Pose], dict[str, Pose]]:
    """Tools and objects with poses in a file of MimicGen or Isaac Lab; otherwise empty."""
    if "mimicgen" not in recording.formats:
        return {}, {}
    given = recording.trajectories
    tools, objects = (
        [name for name in names if any(n.startswith(f"{name}.") for n in given.names)]
        for names in pose_names(recording.path, given.episodes[0])
    )
    if not tools or not objects:
        return {}, {}
    return (
        {name.removeprefix(f"{EEF_POSE}."): Pose(name) for name in tools},
        {name: Pose(name) for name in objects},
    )


def follow_reading(camera: Camera, progress: Callable[[float], object]) -> None:
    """Let each pass over the demonstrations' images complete half of what is left."""
    reads = itertools.count(1)
    camera.on_read = lambda: progress(1 - 0.5 ** (next(reads) / len(camera.lengths)))
