"""Data sets in files: what was recorded comes out, or one error of the library.

A kind of file is a function in `WRITERS`: it writes a random data set into a folder, sound or
damaged, and returns a `Written` (`written.py`) that says what was recorded and what has to happen.
`read` loads it and judges. To add a kind, write such a function in a module of its own, as
`lerobot_files.py`, and add it to `WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from calls import check
from lerobot_files import lerobot
from values import Rng, pick
from written import ANY, READ, REFUSED, Written

from infoatlas_rt import InputError, load_trajectories

WRITERS: tuple[Callable[[Rng, Path], Written], ...] = (lerobot,)


def read(rng: Rng, folder: Path) -> str:
    """A random data set of some kind is read as it was recorded, or refused."""
    writer = pick(rng, WRITERS)
    case = writer(rng, folder)
    about = f"{writer.__name__} ({', '.join(case.what) or 'sound'})"
    try:
        found = load_trajectories(case.path, **case.options)
    except InputError as error:
        check(case.outcome != READ, f"{about}: refused: {error}")
        check(len(str(error)) < 2000 and "\n" not in str(error), f"{about}: {error!s:.3000}")
        return "refused"
    check(case.outcome != REFUSED, f"{about}: read: {found.lengths}, {found.names}, {found.notes}")
    if case.outcome == ANY:
        return "ok"
    parts = np.split(np.asarray(found.states), np.cumsum(found.lengths)[:-1])
    names = found.episodes or tuple(map(str, range(len(parts))))
    check(len(set(names)) == len(names), f"{about}: episodes are {names}")
    for name, states in zip(names, parts, strict=True):
        check(name in case.recorded, f"{about}: episode {name} was not recorded")
        same = np.array_equal(states, case.recorded[name])
        check(same, f"{about}: episode {name} is {states}, not {case.recorded[name]}")
    absent = set(case.recorded) - set(names)
    if case.outcome == READ:
        check(absent == case.left_out, f"{about}: {absent} left out, not {case.left_out}")
    check(bool(found.notes) or not absent, f"{about}: {absent} left out, and no note")
    check(len(set(found.names)) == len(found.names), f"{about}: names {found.names}")
    if case.names is not None:
        check(found.names == case.names, f"{about}: names {found.names}, not {case.names}")
    if case.rate is not ...:
        check(found.rate == case.rate, f"{about}: rate {found.rate}, not {case.rate}")
    return "ok"
