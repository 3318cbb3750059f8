"""Data sets in files: the recorded data is read, or there is one error of the library.

A kind of file is a function in `WRITERS`. It writes a random data set to a folder, intact or
damaged, and returns a `Written` (`written.py`) with the recorded data and the expected outcome.
`read` loads the data set and compares. To add a kind, write such a function in a new module, such
as `lerobot_files.py`, and add it to `WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from bag_files import bags
from calls import Wrong, check
from hdf5_files import hdf5
from lerobot_files import lerobot
from table_files import table
from values import Rng
from written import ANY, READ, REFUSED, Found, Written

from infoatlas_rt import InputError

WRITERS: tuple[Callable[[Rng, Path], Written], ...] = (lerobot, hdf5, table, bags)


def writer_of(number: int) -> Callable[[Rng, Path], Written]:
    """The kind of a case; all kinds take turns."""
    return WRITERS[number % len(WRITERS)]


def read(number: int, rng: Rng, folder: Path) -> str:
    """Read a random data set of the kind of this number: "ok" or "refused".

    Raises
    ------
    Wrong
        If the result differs from the recorded data, or the data set should be refused.
    """
    writer = writer_of(number)
    case = writer(rng, folder)
    try:
        return judge(case, folder)
    except Exception as error:
        about = f"{writer.__name__} ({', '.join(case.what) or 'sound'})"
        if isinstance(error, Wrong):
            raise Wrong(f"{about}: {error}") from error
        raise RuntimeError(about) from error


def judge(case: Written, folder: Path) -> str:
    """Load a data set and compare: "ok" or "refused"; raises Wrong."""
    try:
        found = case.load(case.path, **case.options)
    except InputError as error:
        text = str(error)
        check(case.outcome != READ, f"refused: {text}")
        check(len(text) < 3000 and "\n" not in text, text[:3000])
        check(str(folder) in text or "features" in text, f"no path: {text}")
        text.encode()
        return "refused"
    check(case.outcome != REFUSED, f"read: {lengths(found)}, {found.names}, {found.notes}")
    if case.outcome == ANY:
        return "ok"
    found = arranged(found, case)
    if case.holes:
        for name, states in found.episodes.items():
            inside = any(rows_of(states, every) for every in case.recorded.values())
            check(inside, f"{name} is no part of one trajectory: {np.array2string(states)[:2000]}")
        return "ok"
    order = [name for name in case.recorded if name in found.episodes]
    check([*found.episodes] == order, f"episodes {[*found.episodes]}, not {[*case.recorded]}")
    for name, states in found.episodes.items():
        difference = differing(states, case.recorded[name])
        check(not difference, f"episode {name}: {difference}")
    absent = set(case.recorded) - set(order)
    expected = absent if case.left_out is None else case.left_out
    check(absent == expected, f"{absent} left out, not {expected}")
    check(bool(found.notes) or not absent, f"{absent} left out, and no note")
    if case.rate is not ...:
        same = found.rate == case.rate or np.isclose(found.rate or 0, case.rate or 0, 1e-6, 0)
        check(bool(same), f"rate {found.rate}, not {case.rate}")
    return "ok"


def differing(states: np.ndarray, recorded: np.ndarray) -> str:
    """How states differ from the recorded ones; empty if they do not."""
    if states.shape != recorded.shape:
        return f"shape {states.shape}, not {recorded.shape}"
    rows = np.flatnonzero((states != recorded).any(axis=1))
    return f"row {rows[0]} is {states[rows[0]]}, not {recorded[rows[0]]}" if len(rows) else ""


def lengths(found: Found) -> dict[str, int]:
    return {name: len(states) for name, states in found.episodes.items()}


def arranged(found: Found, case: Written) -> Found:
    """The found data with coordinates in the order of `case.names`."""
    check(len(set(found.names)) == len(found.names), f"names {found.names}")
    if case.names is None:
        return found
    if not case.in_order:
        check({*found.names} == {*case.names}, f"names {found.names}, not {case.names}")
        order = [found.names.index(name) for name in case.names]
        found = found._replace(names=case.names)
    check(found.names == case.names, f"names {found.names}, not {case.names}")
    if case.in_order:
        return found
    return found._replace(episodes={k: v[:, order] for k, v in found.episodes.items()})


def rows_of(states: np.ndarray, every: np.ndarray) -> bool:
    """Whether `states` [m, d] are rows of `every` [n, d], in their order."""
    rows = iter(every)
    if states.shape[1:] != every.shape[1:]:
        return False
    return all(any(np.array_equal(own, row, equal_nan=True) for row in rows) for own in states)
