"""The arms: ways of cutting the source demonstrations into parts and choosing their references.

An arm is a function from demonstrations of a task to `Subtasks`.
Unless references are given, all arms choose them by the library's rule: of all sequences of parts
between an arm's cuts, the one with the most information. Neighbouring parts with the same reference
object are merged.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_tools import KeyStates, Pose, Subtasks, Trajectories, discover_keystates
from infoatlas_tools.keystates.contacts.event_names import label_kind
from infoatlas_tools.keystates.subtasks.cuts import make_cuts
from infoatlas_tools.keystates.subtasks.poses import tracks
from infoatlas_tools.keystates.subtasks.reference_information import orientation
from infoatlas_tools.keystates.subtasks.subtask_discovery import ordered_parts
from infoatlas_tools.keystates.subtasks.subtask_results import Subtask

from ..tasks.episode_files import spans
from .sources import Demos, Float
from .tasks import GRASP, Task

SUBTASKS = "sub-tasks"
MORE = "sub-tasks, 1,000 attempts"
FOUND = "key states"
FLAGS = "simulator's flags"
GRIPPER = "gripper rule"
FIVE, ONE = "five even cuts", "one even cut"
RANDOM = "five random cuts"
NONE = "no cut"

RATE = 20.0  # Hz
TOOL = "tool"
MANY = 5  # proposed cuts
KEY_STATES = 8
LATER = 7  # steps after a flag until fingers have closed or opened
CHANGING = 0.2  # of the fastest change of the gripper's opening, and of its range
SMOOTH = 3  # steps


def slug(arm: str) -> str:
    """Name of an arm in file names."""
    return arm.replace(" ", "_").replace("'", "").replace(",", "")


def discover(demos: Demos, without: Sequence[str] = (), **settings: Any) -> KeyStates:
    """Key states of the demonstrations; `settings` are of `discover_keystates`.

    The columns of the bodies in `without` are hidden, including relative positions.
    """
    hidden = [
        i
        for i, name in enumerate(demos.names)
        if any(body in name.rpartition(".")[0].split("_to_") for body in without)
    ]
    recorded = Trajectories(demos.states, names=demos.names, rate=RATE, ignore=hidden)
    return discover_keystates(recorded, **settings)


def subtasks(task: Task, demos: Demos, seed: int) -> Subtasks:
    """The library's sub-tasks, with cuts from motions of objects."""
    return discover(demos).subtasks(tool=Pose(TOOL), objects=task.objects)


def by_key_states(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts at key states of the robot alone; objects are used for the references only."""
    found = discover(demos, tuple(task.objects), count=KEY_STATES)
    return informed(task, demos, found.steps)


def by_flags(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts a few steps after the simulator's flags; references are given."""
    last = demos.lengths - 2
    columns = [flagged(demos, event, thing) for event, thing in task.cuts]
    return with_references(
        task, demos, [np.where(c < 0, 0, np.minimum(c + LATER, last)) for c in columns]
    )


def by_gripper(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts where the gripper has closed and where it begins to open."""
    changes = [gripper_changes(demos, i) for i in range(len(demos))]
    count = int(np.median([len(own) for own in changes]))
    steps = np.full((len(demos), count), -1, np.int64)
    for row, own in zip(steps, changes, strict=True):
        row[: len(own)] = own[:count]
    return informed(task, demos, np.ma.masked_less(steps, 0))


def by_even_cuts(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts into equal parts of each demonstration."""
    return informed(task, demos, np.ma.array(_even(demos, MANY)))


def by_even_cuts_with_references(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts into as many equal parts as the task has; references are given."""
    return with_references(task, demos, list(_even(demos, len(task.cuts)).T))


def by_random_cuts(task: Task, demos: Demos, seed: int) -> Subtasks:
    """Cuts at random steps, drawn for each demonstration."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(1 + rng.permutation(n - 2)[:MANY]) for n in demos.lengths]
    return informed(task, demos, np.ma.array(rows))


def whole(task: Task, demos: Demos, seed: int) -> Subtasks:
    """No cut: a single part with the first object as its reference."""
    return with_references(task, demos, [])


Arm = Callable[[Task, Demos, int], Subtasks]
ARMS: dict[str, Arm] = {
    SUBTASKS: subtasks,
    MORE: subtasks,
    FOUND: by_key_states,
    FLAGS: by_flags,
    GRIPPER: by_gripper,
    FIVE: by_even_cuts,
    ONE: by_even_cuts_with_references,
    RANDOM: by_random_cuts,
    NONE: whole,
}


def informed(task: Task, demos: Demos, steps: Any) -> Subtasks:
    """Parts between proposed cuts [N, C] (masked if absent), chosen by information."""
    labels = [label_kind(f"cut {j + 1}") for j in range(steps.shape[1])]
    cuts = make_cuts(steps, labels, demos.lengths)
    tool, objects = bodies(task, demos)
    parts = ordered_parts(TOOL, tool, objects, cuts)
    return Subtasks(tuple(parts), demos.lengths, RATE)


def with_references(task: Task, demos: Demos, cuts: Sequence[NDArray[np.int64]]) -> Subtasks:
    """Parts between cuts, each [N], with the task's own references and held objects.

    A part that would end before it begins is empty.
    """
    steps = np.stack([np.zeros_like(demos.lengths), *cuts, demos.lengths], axis=1)
    steps = np.maximum.accumulate(np.minimum(steps, demos.lengths[:, None]), axis=1)
    tool, objects = bodies(task, demos)
    parts = []
    for j in range(len(cuts) + 1):
        reference, held = task.given[j], task.held[j]
        start, end = steps[:, j], steps[:, j + 1]
        rows = np.flatnonzero(end > start)
        turns = orientation(
            tool, objects.get(reference), rows, start[rows], end[rows] - 1, objects.get(held)
        )
        parts.append(Subtask(TOOL, start, end, reference=reference, orientation=turns, held=held))
    return Subtasks(tuple(parts), demos.lengths, RATE)


def bodies(task: Task, demos: Demos) -> tuple[Any, dict[str, Any]]:
    """Tracks of the tool and of each object."""
    return tracks(demos.states, demos.names, Pose(TOOL), TOOL), {
        name: tracks(demos.states, demos.names, where, name) for name, where in task.objects.items()
    }


def flagged(demos: Demos, event: str, thing: str) -> NDArray[np.int64]:
    """First step of an object's grasp, or of what follows it, in each demonstration [N].

    Grasps shorter than `LATER` steps are ignored, and interruptions shorter than that are closed.
    -1 if a demonstration has none.
    """
    found = []
    for flag in demos.flags.get(f"grasped_{thing}", demos.flags["is_grasped"]):
        held = spans(flag, LATER)
        found.append(held[0][0 if event == GRASP else 1] if held else -1)
    return np.array(found, np.int64)


def gripper_changes(demos: Demos, which: int) -> list[int]:
    """Steps at which the gripper has closed or begins to open, in one demonstration."""
    fingers = [
        i
        for i, name in enumerate(demos.names)
        if name.startswith("finger") and name.endswith(".position")
    ]
    opening = demos.states[which][:, fingers].sum(axis=1)
    kernel = np.ones(SMOOTH) / SMOOTH
    speed = np.convolve(np.pad(np.gradient(opening), SMOOTH // 2, mode="edge"), kernel, "valid")
    fast, wide = CHANGING * np.abs(speed).max(), CHANGING * np.ptp(opening)
    found = []
    for sign in (-1, 1):
        edges = np.diff(np.concatenate([[False], sign * speed > fast, [False]]).astype(int))
        for first, last in np.flatnonzero(edges).reshape(-1, 2).tolist():
            if abs(opening[last - 1] - opening[first]) > wide:
                found.append(last if sign < 0 else first)
    return sorted(min(max(step, 1), len(opening) - 2) for step in found)


def _even(demos: Demos, count: int) -> NDArray[np.int64]:
    """[N, count] steps."""
    shares: Float = np.arange(1, count + 1) / (count + 1)
    return np.rint(shares * demos.lengths[:, None]).astype(np.int64)
