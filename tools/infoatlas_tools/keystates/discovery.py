"""Find the key states of demonstrations of one task.

- **"auto"** (default): "events"; and boundaries of phases between them, if fits to halves of the
  demonstrations find those boundaries again.
- **"events"**: changes of the motion that recur in other demonstrations, in any order
  (`changes.py`, `recurring_changes.py`).
- **"phase"**: boundaries of a segmentation that all demonstrations share (`segmentation.py`).
- **"pointwise"**: minima of the local mutual information of a state with its past, by the shipped
  model (`pointwise.py`).

With labels of a few demonstrations, key states of the labelled kinds are found in the others
(`labels.py`).

The paper maximises I(s_t; s_<t-lag) over t (Section 4.4). On demonstrations of different length the
maxima of that curve are no nearer to the true events than evenly spaced steps. So that curve is
available for plots only (`mi_curve`, command `curve`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.inputs.checks import as_count
from infoatlas_rt.live.timing import Timing
from infoatlas_rt.models import model_file

from ..trajectories import Trajectories, as_trajectories
from . import pointwise
from .changes import fit_changes
from .coordinates import ReadCoordinates, read_coordinates
from .fit_detectors import COORDINATES
from .fit_timing import choose_timing
from .key_states import METHODS, KeyStates
from .labels import as_labels, spread_labels
from .quality import assess
from .recordings import LAG, Recordings
from .recurring_changes import (
    BOUNDARY,
    Candidates,
    find_candidates,
    group,
    interleave,
    repeated_kinds,
)
from .reproduction import has_bursts, phases_reproduced, steps_reproduced
from .segmentation import SHORTEST, SPANS, motion_scores, ranked_cuts
from .steps import Steps, empty_steps

REPEATED = 0.65  # boundaries of phases are used if fits to halves find this share of them again
CHOOSABLE = 8  # key states of a demonstration from which count="auto" chooses
DOMINANT = 0.4  # count="auto" keeps kinds of at least this share of the largest strength
NEXT = 3  # number of strengths that are reported after that of the last key state

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def discover_keystates(
    trajectories: Sequence[Any] | Trajectories,
    count: int | str = 5,
    method: str = "auto",
    *,
    labels: Mapping[int, Any] | None = None,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> KeyStates:
    """Find key states of demonstrations of one task.

    Parameters
    ----------
    trajectories : Trajectories, or sequence of [T_i, d] array-like
        States of each demonstration; lengths may differ. `Trajectories` also have their rate, the
        coordinates to leave out (flags that contain the answer, such as "is grasped"), and more.
    count : int or "auto"
        Largest number of key states of each demonstration, the end not counted. "auto": kinds
        whose strength is at least 0.4 of the largest one; none if the motion has no bursts.
    method : {"auto", "events", "phase", "pointwise"}
        "events": changes of the motion that recur in other demonstrations, in any order. "phase":
        boundaries of phases that all demonstrations share. "auto": events, and boundaries of phases
        if fits to halves of the demonstrations find them again. "pointwise": minima of the model's
        local information of a state with its past.
    labels : dict of int to sequence of int, or to dict of str to int, optional
        Known steps of one to three demonstrations, as {0: [75, 150]} or {0: {"grasp": 75,
        "release": 150}}. Key states of the same kinds are found in the others; `count` and `method`
        are ignored.
    estimator : Estimator, or name or path of a model, optional
        For the local information of "pointwise"; the shipped model unless given. A model has 10
        slices of 5 dimensions.
    executor : concurrent.futures.Executor, optional
        Any executor, such as a pool of processes: its workers share the demonstrations. The result
        has the same bits as without it.

    Returns
    -------
    KeyStates

    Raises
    ------
    InputError
        There are no trajectories, they have different numbers of coordinates or values that are not
        finite, no coordinate moves unevenly, or a trajectory is shorter than a working step. Labels
        refer to steps that do not exist, or a setting is out of range.
    ModelError
        The model file cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import Trajectories
    >>> moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0) for i in range(6)]
    >>> demos = Trajectories([v.cumsum(axis=0) for v in moves], rate=20)
    >>> discover_keystates(demos, count=1).steps[:, 0].tolist()
    [21, 22, 23, 24, 25, 26]
    """
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method is {method!r}: use one of {', '.join(METHODS)}")
    if isinstance(count, str) and count != "auto":
        raise InputError(f"count is {count!r}: pass a number of key states, or 'auto'")
    if count == "auto" and method == "pointwise":
        raise InputError("count='auto' is not for method='pointwise': pass a number of key states")
    if isinstance(estimator, str | os.PathLike):
        model_file.load(estimator)  # checks the file alone: most methods need no engine
    elif estimator is not None:
        as_estimator(estimator)
    most = CHOOSABLE if isinstance(count, str) else as_count(count, "count", 1)
    given = as_trajectories(trajectories)
    coordinates, repaired, states, outliers = read_coordinates(given)
    if not coordinates.names:
        raise InputError(_nothing_left(coordinates, given.ignore))
    timing = choose_timing(states, given.rate, given.stride)
    lengths, notes = given.lengths, coordinates.notes
    shortest = int(lengths.argmin())
    if lengths[shortest] < timing.stride:
        ways = [f", or check the rate ({given.rate})"] if given.rate else []
        ways = [", or pass a smaller stride"] if given.stride else ways
        raise InputError(
            f"trajectory {shortest} has {lengths[shortest]} steps, and a working step is "
            f"{timing.stride} of them: leave it out{''.join(ways)}"
        )
    working = [timing.average(s) for s in states]
    changes = fit_changes(working, timing, coordinates.scale, coordinates.rest)
    recordings = Recordings(coordinates, changes, working)
    evident = has_bursts(working, coordinates.rest)
    known, labelled = as_labels(labels, lengths)
    local = None
    if len(known):
        method = "labels"
        found = _labelled(recordings, labelled, known)
    elif method == "pointwise":
        raw = np.split(repaired, np.cumsum(lengths)[:-1])
        found, local = _pointwise(raw, most, timing, estimator, executor)
    elif method == "phase":
        boundaries, strength = _phases(recordings, most)
        none = np.zeros(boundaries.shape, bool)
        found = Steps(np.ma.masked_array(timing.recorded(boundaries), none), strength)
    else:
        found, more = _events(recordings, most, method == "auto", given.gripper, executor)
        notes += more
    if count == "auto" and method in ("auto", "events", "phase"):
        found = found.strongest(DOMINANT if evident else np.inf)
    if found.steps.shape[1] < most and count != "auto" and method == "phase":
        notes += (_no_more_phases(recordings, found.steps.shape[1], most),)
    found = found.in_time(lengths)
    reached = _working(found, timing, recordings.lengths)
    return KeyStates(
        found,
        method=method,
        trajectories=replace(given, states=repaired),
        labels=labelled,
        reproduced=steps_reproduced(changes, working, np.where(found.shared, reached, np.nan)),
        evident=evident,
        quality=assess(changes, working, reached, found, outliers),
        local=local,
        recordings=recordings,
        notes=notes,
    )


def _pointwise(
    raw: Sequence[Float],
    count: int,
    timing: Timing,
    estimator: Estimator | str | os.PathLike[str] | None,
    executor: Executor | None,
) -> tuple[Steps, tuple[Float, ...]]:
    """Key states of method "pointwise", and the local information of each recorded step."""
    apart = LAG * timing.stride
    for i, s in enumerate(raw):
        needed = 3 * apart + (count + 1) * SHORTEST
        if len(s) < needed:
            fewer = count > 1 and len(s) >= 3 * apart + 2 * SHORTEST
            raise InputError(
                f"trajectory {i} has {len(s)} steps, and count={count} (working steps of "
                f"{timing.stride}) needs {needed}: leave it out"
                f"{', or ask for fewer key states' if fewer else ''}"
            )
    steps, local, depth = pointwise.discover(
        raw, count=count, lag=apart, estimator=estimator, executor=executor
    )
    none = np.zeros(steps.shape, bool)
    return Steps(np.ma.masked_array(steps, none), depth), tuple(local)


def _nothing_left(coordinates: ReadCoordinates, ignored: Sequence[int]) -> str:
    """Why no coordinate of the demonstrations is left, and what to do."""
    if len(coordinates.constant) == coordinates.width:
        return f"all {coordinates.width} coordinates are constant: record states that move"
    even = len(set(coordinates.left_out) - set(ignored))
    counts = (
        (len(coordinates.constant), "constant"),
        (even, "rising evenly, as clocks do"),
        (len(ignored), "ignored"),
    )
    why = ", ".join(f"{count} {what}" for count, what in counts if count)
    ways = ["record states that move"]
    if even:
        ways.insert(0, "record motion that changes its speed")
    if ignored:
        ways.insert(0, "ignore fewer columns")
    return f"no coordinate is left of {coordinates.width} ({why}): {', or '.join(ways)}"


def _no_more_phases(recordings: Recordings, made: int, count: int) -> str:
    """Why there are fewer boundaries of phases than requested, and what to do."""
    some = f"{made} of {count} boundaries of phases were found"
    if not motion_scores(*_bursting(recordings)).shape[1]:
        return f"{some}: every increment is below the resolution. Pass a smaller one, or none."
    rows = recordings.lengths - max(SPANS) * LAG
    short = int(rows.argmin())
    if rows[short] < 4 * SHORTEST * (made + 1):  # twice the need of phases of equal length
        return (
            f"{some}: demonstration {short} has {recordings.lengths[short]} working steps of "
            f"{recordings.timing.stride}, which leave no room for more. Leave short demonstrations "
            "out, or use method='events'."
        )
    # Each demonstration has a phase that is long enough, but not the same one in all of them.
    return (
        f"{some}: no phase is long enough in every demonstration to be divided, for the boundaries "
        "lie early in some demonstrations and late in others. They separate demonstrations "
        "(operators, ways of doing the task), not moments. Use method='events', or pass the "
        "demonstrations of one operator at a time."
    )


def _phases(recordings: Recordings, count: int) -> tuple[Int, Float]:
    """Boundaries of phases [N, J] in working steps, strongest first, and their strengths [J]."""
    lengths = recordings.lengths
    least = max(SPANS) * LAG + 2 * SHORTEST
    if lengths.min() < least:
        short = int(lengths.argmin())
        raise InputError(
            f"trajectory {short} has {lengths[short]} working steps of {recordings.timing.stride}, "
            f"and two phases need {least}: leave it out, or use method='events'"
        )
    boundaries, strength = ranked_cuts(*_bursting(recordings), count)
    return boundaries, np.asarray(strength, np.float64)


def _bursting(recordings: Recordings) -> tuple[list[Float], int, Float]:
    """Working steps of the coordinates with the largest bursts, the lag, and their rest limits."""
    burst = recordings.changes.burst
    columns = np.sort(np.argsort(-burst, kind="stable")[:COORDINATES])
    states = [s[:, columns] for s in recordings.states]
    return states, LAG, recordings.coordinates.rest[columns]


def _events(
    recordings: Recordings,
    count: int,
    with_phases: bool,
    gripper: Sequence[int],
    executor: Executor | None,
) -> tuple[Steps, tuple[str, ...]]:
    """Key states of methods "auto" and "events", and notes."""
    changes, states, notes = recordings.changes, recordings.states, []
    if gripper:
        kept = [bool(set(source) & set(gripper)) for source in recordings.coordinates.sources]
        if not changes.burst[kept].any():
            raise InputError(
                f"gripper is {list(gripper)}, and these columns are ignored, constant or of one "
                "speed: name columns whose motion begins or ends"
            )
        changes = replace(changes, burst=np.where(kept, changes.burst, 0.0))
        with_phases = False
    candidates = find_candidates(changes, states, executor)
    boundaries = np.zeros((len(states), 0), np.int64)
    if with_phases and len(states) >= 4:
        try:
            boundaries, _ = _phases(recordings, count)
        except InputError as error:
            notes.append(f"No phases: {str(error).partition(':')[0]}.")
        short, lag, rest = _bursting(recordings)
        share = phases_reproduced(changes, short, boundaries, lag, rest)
        if share < REPEATED:
            boundaries = boundaries[:, :0]
    chosen = interleave(changes, states, candidates, boundaries, count)
    near = recordings.timing.steps(BOUNDARY)
    kinds = group(chosen, recordings.lengths, near, boundaries)
    steps = empty_steps(len(states), len(kinds))
    for j, kind in enumerate(kinds):
        for i, row in kind.members.items():
            steps[i, j] = recordings.timing.recorded(int(chosen[i].steps[row]))
    found = Steps(
        steps,
        np.array([kind.strength for kind in kinds]),
        repeated_kinds(kinds, chosen),
        np.array([kind.shared for kind in kinds], bool),
        tuple(kind.origin for kind in kinds),
        _next(candidates, count),
    )
    return found, tuple(notes)


def _next(candidates: Sequence[Candidates], count: int) -> tuple[float, ...]:
    """Mean scores of the candidates that follow the `count` best ones."""
    following = [c.score[count : count + NEXT] for c in candidates]
    most = min((len(scores) for scores in following), default=0)
    return tuple(float(np.mean([scores[i] for scores in following])) for i in range(most))


def _labelled(recordings: Recordings, names: tuple[str, ...], labels: Float) -> Steps:
    """Key states of the labelled kinds."""
    timing = recordings.timing
    spread = spread_labels(recordings.changes, recordings.states, labels // timing.stride)
    steps = np.ma.masked_invalid(spread)
    recorded = timing.recorded(np.where(np.isnan(spread), 0, spread).astype(np.int64))
    given = ~np.isnan(labels)
    recorded[given] = labels[given].astype(np.int64)  # labels are kept exactly
    found = np.ma.masked_array(recorded, np.ma.getmaskarray(steps))
    strength = (~np.ma.getmaskarray(steps)).mean(axis=0)
    return Steps(found, strength, np.arange(len(names)), np.ones(len(names), bool), names)


def _working(found: Steps, timing: Timing, lengths: Int) -> Float:
    """Working steps of key states [N, K]; NaN where a demonstration lacks one."""
    steps = np.minimum(found.steps.filled(0) // timing.stride, lengths[:, None] - 1)
    return np.where(np.ma.getmaskarray(found.steps), np.nan, steps)
