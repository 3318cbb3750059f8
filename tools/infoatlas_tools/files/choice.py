"""Chooses episodes by what the files say of them: the task, and whether it succeeded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..array_types import Bool
from ..presentation import ParameterError, first_names
from ..trajectories import Stated, Trajectories, episode_names

SHOWN = 8  # tasks in a message, at most


def choose_episodes(
    stated: Sequence[Stated],
    path: Path,
    task: str | int | None = None,
    only_successful: bool | None = None,
    numbers: Mapping[str, int] | None = None,
) -> tuple[Bool, list[str]]:
    """Episodes to use [N], and sentences about the others, or about several tasks.

    `task` and `only_successful` are those of `load_trajectories`. `numbers` are those of tasks in
    the data set; without them, tasks are numbered in the order in which they occur. InputError if
    there is no such task, or nothing is stated.
    """
    tasks = [own.task for own in stated]
    order = {name: i for i, name in enumerate(dict.fromkeys(tasks))}
    number_of = order if numbers is None else numbers
    names = sorted(order, key=lambda name: number_of.get(name, order[name]))

    def listed(of: Sequence[str]) -> str:
        each = (f"{number_of.get(n, '')} {n or 'none stated'!r} ({of.count(n)})" for n in names)
        return first_names(map(str.strip, each), SHOWN)

    kept, notes = np.ones(len(tasks), bool), list[str]()
    if task is not None:
        found = [n for n in names if n == task] or [
            n for n in names if str(number_of.get(n)) == str(task)
        ]
        if not any(tasks) or len(found) != 1:
            what = f"it has {listed(tasks)}" if any(tasks) else "it names no tasks: leave it out"
            raise ParameterError(f"`task` is {task!r}, and {path} has no such task: {what}")
        kept = np.array([own == found[0] for own in tasks])
        notes.append(f"Read: {kept.sum()} of {len(tasks)} episodes, those of task {found[0]!r}.")
    flags = [own.success for own in stated]
    if only_successful and flags.count(None) == len(flags):
        raise ParameterError(
            f"`only_successful` is for data that say which episodes succeed, and {path} does not: "
            "leave it out"
        )
    count = int(kept.sum())
    known = any(one and flag is not None for one, flag in zip(kept, flags, strict=True))
    if only_successful is not False and known:
        good = kept & np.array([bool(flag) for flag in flags])
        left = count - int(good.sum())
        if not good.any():
            notes.append(f"None of {count} episodes ends in success: all of them are read.")
        elif left:
            notes.append(
                f"Left out: {left} of {count} episodes, which do not end in success. In Python, "
                "only_successful=False reads them."
            )
        kept = good if good.any() else kept
    own = [name for name, one in zip(tasks, kept.tolist(), strict=True) if one]
    if len({*own}) > 1:
        names = [name for name in names if name in own]
        notes.append(
            f"The data are of {len(names)} tasks (with their episodes): {listed(own)}. Key states "
            "are of one task: choose it with --task (task=)."
        )
    return kept, notes


def take_chosen(
    found: Trajectories, path: Path, task: str | int | None, only_successful: bool | None
) -> Trajectories:
    """The trajectories that `choose_episodes` chooses; they keep their names or numbers."""
    stated = found.stated or (Stated(),) * len(found.lengths)
    kept, notes = choose_episodes(stated, path, task, only_successful)
    if kept.all():
        return replace(found, notes=(*found.notes, *notes))
    names, rows = episode_names(found), np.flatnonzero(kept).tolist()
    steps = np.repeat(kept, found.lengths)
    return replace(
        found,
        states=found.states[steps],
        times=None if found.times is None else found.times[steps],
        lengths=found.lengths[kept],
        episodes=tuple(names[i] for i in rows),
        stated=tuple(stated[i] for i in rows),
        notes=(*found.notes, *notes),
    )
