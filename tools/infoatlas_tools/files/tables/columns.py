"""Classifies the columns of a table: coordinates, labels of demonstrations, counters and times.

A label names the demonstration of a row. Counters and times are no coordinates. All of them are
recognised by their names and values, left out of the states, and named in notes. If values indicate
several demonstrations but no column names them, the table is refused, and the message asks for a
choice.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError

from ...array_types import Float, Int
from ...presentation import shift_notes
from ...trajectories import Stated, Trajectories
from .. import rates
from .table import Table

NONE = "none"  # instead of a column's name: all rows are of one demonstration
SHORTEST = 4  # rows between two restarts on average, for a counter or a clock to be recognised
INDEX, COUNTER, TIME = "index", "counter", "time"
_NUMBERED = "(index|indices|id|idx|no|nr|num|number|name)?"
_LABEL = re.compile(f"(episode|ep|traj|trajectory|demo|demonstration|run|rollout|trial){_NUMBERED}")
_TASK = re.compile(r"task(index|id|name|description|instruction)?|(language)?instruction")
_SUCCESS = re.compile(r"(is|next)?success")
_COUNTER = re.compile(
    "(.*header)?(frame|step|timestep|envstep|sample|row|tick|iteration|iter|seq|sequence)"
    f"{_NUMBERED}(counter)?|index|idx|counter"
)
_ACTION = re.compile(r"actions?\b.*")  # beside observations they are no states
_INDEX = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")  # of pandas, without a name


def is_label(name: str) -> bool:
    """Whether a column of this name labels demonstrations, as "Episode-Index"."""
    return bool(_LABEL.fullmatch(_plain(name)))


def is_task(name: str) -> bool:
    """Whether a column of this name has the task of each row, as "task_index"."""
    return bool(_TASK.fullmatch(_plain(name)))


def label_columns(chosen: str | None) -> Callable[[str], bool]:
    """Whether a column is read as text, for an `episode_column` as in `as_demonstrations`."""
    if chosen == NONE:
        return lambda name: name == NONE or is_task(name)
    return lambda name: name == chosen or is_label(name) or is_task(name)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


class _Running(NamedTuple):
    """A column of a counter or a clock: `restarts` are rows [m] at which it restarts."""

    column: int
    what: str  # counter, time, or index
    restarts: Int


class _Clock(NamedTuple):
    """Times [n] of rows: the name of their column for a note, and their unit in seconds."""

    name: str
    times: Float
    unit: float | None


def as_demonstrations(table: Table, chosen: str | None) -> Trajectories:
    """Demonstrations in the rows of a table that was read with `label_columns(chosen)`.

    `chosen` is the column that separates demonstrations: labels, or a counter or time that restarts
    with each. "none" if all rows are of one demonstration. Recognised by its name unless given.
    """
    tasks = {name: own for name, own in table.labels.items() if is_task(name) and name != chosen}
    others = {name: own for name, own in table.labels.items() if name not in tasks}
    table = table._replace(labels=others)
    column, named, starts = _starts(table, chosen)
    lengths = np.diff(np.r_[starts, len(table.values)])
    running = [*_running(table, starts)]
    if chosen is None:
        _ask(table, running, column is not None)
    clocks = _clocks(table, running, None if named else column)
    rate, about = _rate(clocks, lengths)
    labels = [table.labels[column][row] if column and named else str(row) for row in starts]
    times = None if rate is not None else _uneven_times(clocks, lengths)
    if times is not None and (far := rates.other_rates(rates.rates_of(times, lengths, labels))[1]):
        about.append(f"Demonstrations {far}.")
    notes = [*table.notes, *about]
    if column is not None:
        notes.append(f"Demonstrations by column {column!r}: {len(starts)}.")
    stated, flag = _stated(table, tasks, starts, column is not None or chosen == NONE)
    left = {c: what for c, what, *_ in running} | dict.fromkeys((*table.flags, *flag), "flag")
    if any(name.startswith("observation") for name in table.names):
        actions = [c for c, name in enumerate(table.names) if _ACTION.fullmatch(name)]
        left |= dict.fromkeys(actions, "action")
    gone = [f"{label!r} (demonstration)" for label in table.labels]
    gone += [f"{name!r} (task)" for name in tasks]
    gone += [f"{_name_column(table, c)} ({what})" for c, what in sorted(left.items())]
    if gone:
        notes.append(f"Left out of the states: {', '.join(gone)}.")
    keep = [c for c in range(table.values.shape[1]) if c not in left]
    if not keep:
        raise InputError(f"no coordinates ({notes[-1][:-1]}): add some, or rename those columns")
    notes += _shifts(table, keep)
    states = table.values[:, keep] if left else table.values
    return Trajectories(
        states,
        lengths,
        tuple(table.names[c] for c in keep) if table.names else (),
        rate,
        tuple(labels) if column and named else (),
        tuple(notes),
        times=times,
        stated=stated,
    )


def _stated(
    table: Table, tasks: dict[str, list[str]], starts: Int, separated: bool
) -> tuple[tuple[Stated, ...], list[int]]:
    """Task and success of each demonstration, and the columns of numbers that are its flag.

    InputError if tasks change and nothing separates demonstrations.
    """
    ends = np.r_[starts[1:], len(table.values)]
    words = sorted(tasks.values(), key=lambda values: values[0].isdecimal())
    own = next(iter(words), [""] * len(table.values))
    for name, values in tasks.items():
        if not separated and len({*values}) > 1:
            raise InputError(
                f"{name!r} has {len({*values})} tasks, and no column separates demonstrations: "
                "pass one as episode_column (--episode-column), or 'none' if all rows are of one"
            )
    flags = [
        c
        for c, name in enumerate(table.names)
        if _SUCCESS.fullmatch(_plain(name)) and np.isin(table.values[:, c], (0, 1)).all()
    ]
    last = [bool(table.values[end - 1, flags[0]]) if flags else None for end in ends.tolist()]
    each = [own[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    texts = ["; ".join(dict.fromkeys(values)) for values in each]
    return tuple(map(Stated, texts, last)), flags


def as_sample(table: Table) -> tuple[Float, tuple[str, ...]]:
    """Columns of a table as a sample [n, d] of one variable, and notes.

    Only the index that pandas writes without a name is left out. Columns that look like labels,
    counters or times are kept, because they may be intended. The notes name them if there are other
    columns, too.
    """
    running = [*_running(table, np.zeros(1, np.int64))]
    left = {c for c, what, *_ in running if what == INDEX}
    keep = [c for c in range(table.values.shape[1]) if c not in left]
    if not keep:
        raise InputError("no column but an index without a name: give it a name")
    notes = list(table.notes)
    notes += [f"Left out: {_name_column(table, c)} (index)." for c in sorted(left)]
    doubtful = [_name_column(table, c) for c, *_ in running if c not in left]
    doubtful += [_name_column(table, c) for c in keep if is_label(_name(table, c))]
    if doubtful and len(keep) > 1:
        notes.append(
            f"Used as coordinates like the others: {', '.join(doubtful)}. Remove what only counts "
            "rows, demonstrations or time."
        )
    notes += _shifts(table, keep)
    return (table.values[:, keep] if left else table.values), tuple(notes)


def _shifts(table: Table, keep: list[int]) -> list[str]:
    return shift_notes({c: o for c, o in table.origins.items() if c in keep}, table.names)


def _starts(table: Table, chosen: str | None) -> tuple[str | None, bool, Int]:
    """The column that separates demonstrations, if any; whether it has names; first rows [N]."""
    whole = np.zeros(1, np.int64)
    if chosen is not None and chosen not in table.labels:
        if chosen == NONE:
            return None, False, whole
        every = ", ".join(map(repr, (*table.labels, *table.names)))
        has = f"there are {every}" if every else "there is no header: add a line of names"
        raise InputError(f"episode_column: there is no column {chosen!r}, and {has}")
    if not table.labels:
        return None, False, whole
    names = [name for name in table.labels if len(_changes(table.labels[name])) > 1]
    names = [chosen] if chosen else names or list(table.labels)[:1]
    column, labels = names[0], table.labels[names[0]]
    rows = _changes(labels)
    many = 2 * len(rows) > len(labels)
    if chosen is not None and many and (values := _numbers(labels)) is not None and _runs(values):
        return column, False, np.r_[whole, _restarts(values, whole)]
    others = (
        "pass another column as episode_column (--episode-column), or 'none' if all rows are of one"
    )
    for other in names[1:]:
        if not np.array_equal(_changes(table.labels[other]), rows):
            raise InputError(
                f"{column!r} and {other!r} may both say which demonstration a row is of, and they "
                "change at different rows: pass one as episode_column (--episode-column), or make "
                "one column of both"
            )
    seen: set[str] = set()
    for row in rows.tolist():
        if labels[row] in seen:
            raise InputError(
                f"{column!r}: rows of an episode are not together, {labels[row]!r} comes again "
                f"after {row} rows: sort the table, or {others}"
            )
        seen.add(labels[row])
    if many:
        raise InputError(
            f"{column!r} has {len(rows)} values in {len(labels)} rows, too many for names of "
            f"demonstrations: {others}"
        )
    return column, True, rows


def _changes(labels: list[str]) -> Int:
    """Rows at which a label begins."""
    return np.array([i for i in range(len(labels)) if not i or labels[i] != labels[i - 1]])


def _numbers(labels: list[str]) -> Float | None:
    try:
        return np.array(labels, np.float64)
    except ValueError:
        return None


def _runs(values: Float) -> bool:
    """Whether numbers run like a counter or a time, unlike labels of rows in any order."""
    steps = np.diff(values)
    up = steps[steps > 0]
    if SHORTEST * np.count_nonzero(steps < 0) <= len(up):
        return True
    anew = bool((values[1:][steps < 0] == values[0]).all())
    return len(up) > 0 and np.ptp(up) == 0 and anew and bool(steps.all())


def _running(table: Table, starts: Int) -> Iterator[_Running]:
    """Columns that are counters, clocks, or an index without a name, by their names and values."""
    n = len(table.values)
    for c in range(table.values.shape[1]):
        name = table.names[c] if table.names else "-"
        time = c in table.clocks or rates.is_time(name)
        index = not time and bool(_INDEX.fullmatch(name))
        values = table.values[:, c]
        if not (time or index or _COUNTER.fullmatch(_plain(name))) or n < 2:
            continue
        if not np.isfinite(values).all():
            continue
        steps = np.delete(np.diff(values), starts[1:] - 1)
        down = np.setdiff1d(np.flatnonzero(np.diff(values) < 0) + 1, starts)
        whole = bool((values == np.rint(values)).all())
        if index and whole and len(np.unique(values)) == n:
            yield _Running(c, INDEX, np.empty(0, np.int64))  # in any order, as of sorted tables
            continue
        if time and rates.is_rest(name, table.names):
            yield _Running(c, TIME, np.empty(0, np.int64))
            continue
        up = steps[steps > 0]
        # Times may repeat: messages can have one stamp, and clocks can count seconds. Counters do
        # not.
        runs = len(up) > 0 if time else len(up) + len(down) == len(steps) and (whole or index)
        regular = len(up) > 0 and np.ptp(up) == 0 and bool((values[down] == values[0]).all())
        if runs and (SHORTEST * len(down) <= len(up) or regular):
            what = TIME if time else INDEX if index else COUNTER
            yield _Running(c, what, _restarts(values, starts))


def _restarts(values: Float, starts: Int) -> Int:
    """Rows at which running values go back by at least half of their rise since their start."""
    down = np.setdiff1d(np.flatnonzero(np.diff(values) < 0) + 1, starts)
    begins = np.sort(np.r_[starts, down])
    before = values[begins[np.searchsorted(begins, down) - 1]]
    return np.asarray(down[values[down] - before <= 0.5 * (values[down - 1] - before)])


def _ask(table: Table, running: list[_Running], labelled: bool) -> None:
    """Raise InputError if there are several demonstrations that no column names."""
    n = len(table.values)
    for c, _, restarts in running:
        if len(restarts):
            _refuse(table, c, "begins anew", restarts)
    if labelled:
        return
    for c in np.flatnonzero(np.isfinite(table.values).all(axis=0)).tolist():
        values = table.values[:, c]
        steps = np.diff(values)
        if any(c == other and what == TIME for other, what, *_ in running):
            middle = np.median(steps)
            rows = np.flatnonzero(steps > rates.GAP * middle if middle > 0 else steps < 0) + 1
            how = "has pauses"
        else:  # a counter or a clock without such a name: it rises except where it restarts
            rows = np.flatnonzero(steps <= 0) + 1
            how = "begins anew"
        if not len(rows) or SHORTEST * len(rows) > n:
            continue
        if how == "begins anew" and len(rows) != len(_restarts(values, np.zeros(1, np.int64))):
            continue
        if _labels_at(table, rows):
            _refuse(table, c, how, rows)


def _labels_at(table: Table, rows: Int) -> list[int]:
    """Columns of whole numbers that change at these rows alone, to a new number each time."""
    found = []
    for c in np.flatnonzero(np.isfinite(table.values).all(axis=0)).tolist():
        values = table.values[:, c]
        flag = _SUCCESS.fullmatch(_plain(_name(table, c)))
        if not flag and np.array_equal(np.flatnonzero(np.diff(values)) + 1, rows):
            own = values[np.r_[0, rows]]
            if (own == np.rint(own)).all() and len(np.unique(own)) == len(own):
                found.append(c)
    return found


def _refuse(table: Table, column: int, how: str, rows: Int) -> None:
    others = _labels_at(table, rows)
    name = _name_column(table, others[0] if others else column)
    also = f", where {name} changes" if others else ""
    ways = f"pass episode_column={name} (--episode-column)"
    if not table.names:
        ways = "add a line of names, and pass that of the column as --episode-column"
    elif not _name(table, others[0] if others else column):
        ways = "give that column a name, and pass it as --episode-column"
    raise InputError(
        f"{_name_column(table, column)} {how} at {len(rows)} rows, first after {rows[0]} "
        f"rows{also}: if these are {len(rows) + 1} demonstrations, {ways}; if they are one, pass "
        "'none'"
    )


def _clocks(table: Table, running: list[_Running], column: str | None) -> list[_Clock]:
    """Times in the table, including the column that separates demonstrations if it is a time."""
    found = []
    values = None if column is None or not rates.is_time(column) else _numbers(table.labels[column])
    if column is not None and values is not None:
        unit = rates.unit_by_digits(float(values[0]), rates.time_unit(column))
        found.append(_Clock(repr(column), values, unit))
    for c, what, _ in running:
        if what == TIME and not rates.is_rest(name := _name(table, c), table.names):
            values = table.values[:, c]
            digits = rates.unit_by_digits(
                values[0] + table.origins.get(c, 0), rates.time_unit(name)
            )
            found.append(_Clock(_name_column(table, c), values, table.clocks.get(c) or digits))
    return found


def _rate(clocks: list[_Clock], lengths: Int) -> tuple[float | None, list[str]]:
    """Rate in Hz by the first clock with even steps, and notes."""
    notes, faulty, found = [], list[str](), list[tuple[str, float]]()
    for name, times, unit in clocks:
        rate, faults = rates.even_rate(times, lengths, unit), rates.time_faults(times, lengths)
        faults = f"Times in column {name}: {faults}." if faults else ""
        if rate is not None:
            found.append((name, rate))
            faulty += [faults] if faults else []
            continue
        steps = np.delete(np.diff(times), np.cumsum(lengths)[:-1] - 1)
        steps = steps[steps >= 0]
        if not len(steps):
            continue
        if unit is None and (times == np.rint(times)).all():
            likely = [f"time_{each}" for each in rates.likely_units(times, lengths)]
            call = f"call it {' or '.join(likely)}, or " if likely else ""
            why = f"it has integers without a unit: {call}pass the rate"
        else:
            mean = 1 / rates.rate_by(steps, len(lengths))
            why = f"its steps are from {steps.min():.3g} to {steps.max():.3g}, mean {mean:.3g}"
            if mean > 0:
                rate = 1 / (mean * (unit or 1))
                why += f" without pauses: pass the rate {rate:.3g} if that is meant"
        notes += [f"No rate by column {name}: {why}.", *([faults] if faults else [])]
    if not found:
        return None, notes
    name, rate = found[0]
    others = [f"{each} {own:.6g} Hz" for each, own in found[1:] if abs(own / rate - 1) > rates.EVEN]
    conflict = f", but {', '.join(others)}: pass the rate if that is right" if others else ""
    return rate, [f"Rate by column {name}: {rate:.6g} Hz{conflict}.", *faulty]


def _uneven_times(clocks: list[_Clock], lengths: Int) -> Float | None:
    """Seconds [n] since the start of each demonstration by the first clock whose unit is clear."""
    for _, times, unit in clocks:
        if unit is not None or (times != np.rint(times)).any():
            return rates.real_seconds(times, lengths, None, unit or 1.0)
    return None


def _name(table: Table, column: int) -> str:
    return table.names[column] if table.names else ""


def _name_column(table: Table, column: int) -> str:
    """A column for a message: its name, or its number in the file's columns of numbers."""
    name = _name(table, column)
    what = "a column without a name" if table.names else f"column {column}"
    return repr(name) if name else what
