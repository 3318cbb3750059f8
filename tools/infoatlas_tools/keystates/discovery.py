"""Find the key states of demonstrations of one task.

- **"auto"** (default): "events"; and boundaries of phases between them, if fits to halves of the
  demonstrations find those boundaries again.
- **"events"**: changes of the motion that recur in other demonstrations, in any order
  (`changes.py`, `events.py`).
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

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.inputs.checks import as_count, as_rate, as_resolution
from infoatlas_rt.live.timing import Timing

from ..trajectories import Trajectories, as_trajectories
from . import pointwise
from .changes import fit_changes
from .coordinates import ReadCoordinates, as_ignored, columns_of, read_coordinates
from .fit_detectors import COORDINATES
from .fit_timing import choose_timing
from .key_states import METHODS, KeyStates
from .labels import as_labels, spread_labels
from .quality import assess
from .recordings import Recordings
from .recurring_changes import NEAR, Candidates, find_candidates, group, interleave, repeated_kinds
from .reproduction import has_bursts, phases_reproduced, steps_reproduced
from .segmentation import SHORTEST, SPANS, motion_scores, ranked_cuts
from .steps import Steps, empty_steps

REPEATED = 0.65  # boundaries of phases are used if fits to halves find this share of them again
MOST = 8  # key states of a demonstration from which k="auto" chooses
DOMINANT = 0.4  # k="auto" keeps kinds of at least this share of the largest strength
NEXT = 3  # number of strengths that are reported after that of the last key state

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def discover_keystates(
    trajectories: Sequence[Any] | Trajectories,
    k: int | str = 5,
    lag: int = 2,
    method: str = "auto",
    *,
    rate: float | None = None,
    stride: int | None = None,
    labels: Mapping[int, Any] | None = None,
    gripper: Any = (),
    ignore: Any = (),
    orientation: Any = None,
    resolution: Any = None,
    estimator: Estimator | None = None,
    executor: Executor | None = None,
) -> KeyStates:
    """Find key states of demonstrations of one task.

    Parameters
    ----------
    trajectories : sequence of [T_i, d] array-like, or Trajectories
        States of each demonstration; lengths may differ. Columns of pandas DataFrames give the
        coordinates their names. Leave out columns that contain the answer (flags such as "is
        grasped").
    k : int or "auto"
        K: largest number of key states of each demonstration, the end not counted. "auto": kinds
        whose strength is at least 0.4 of the largest one; none if the motion has no bursts.
    lag : int
        Working steps between a state and its past.
    method : {"auto", "events", "phase", "pointwise"}
        "events": changes of the motion that recur in other demonstrations, in any order. "phase":
        boundaries of phases that all demonstrations share. "auto": events, and boundaries of phases
        if fits to halves of the demonstrations find them again. "pointwise": minima of the model's
        local information of a state with its past.
    rate : float, optional
        Recorded steps a second (Hz); that of `Trajectories` unless given. It converts windows and
        tolerances from seconds to steps; without a rate, a working step counts as 0.05 s.
    stride : int, optional
        Recorded steps of a working step. Derived from the rate, or from the motion, unless given.
    labels : dict of int to sequence of int, or to dict of str to int, optional
        Known steps of one to three demonstrations, as {0: [75, 150]} or {0: {"grasp": 75,
        "release": 150}}. Key states of the same kinds are found in the others; `k` and `method` are
        ignored.
    gripper : name, column or sequence of them, optional
        Coordinates of the gripper: candidates are changes of these alone.
    ignore : name, column or sequence of them, optional
        Coordinates that are left out. A name stands for all names that begin with it.
    orientation : dict or "none", optional
        Kinds of orientations by their columns, as {"tool.r": "rotation_vector"} or {4:
        "angle_degrees"}: "quaternion_wxyz", "quaternion_xyzw", "rotation_vector", "euler",
        "matrix", "rotation_6d", "angle"; kinds of angles also with "_degrees". "none": there are no
        orientations. Unless given, they are recognised by names and values.
    resolution : float or [d], optional
        Smallest difference that the sensors resolve, in the units of the states: smaller increments
        are rest.
    estimator : Estimator, optional
        For the local information of "pointwise"; the shipped model with 5-dimensional slices unless
        given.
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
    """
    lag = as_count(lag, "lag", 1)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method is {method!r}: use one of {', '.join(METHODS)}")
    if isinstance(k, str) and k != "auto":
        raise InputError(f"k is {k!r}: pass a number of key states, or 'auto'")
    if k == "auto" and method == "pointwise":
        raise InputError("k='auto' is not for method='pointwise': pass a number of key states")
    count = MOST if isinstance(k, str) else as_count(k, "k", 1)
    trajectories = as_trajectories(trajectories)
    stride = None if stride is None else as_count(stride, "stride", 1)
    rate = trajectories.rate if rate is None else as_rate(rate, "rate")
    width = trajectories.states.shape[1]
    resolution = as_resolution(resolution, width, "resolution")
    coordinates, raw, states, outliers = read_coordinates(
        trajectories, orientation=orientation, ignore=ignore, resolution=resolution
    )
    notes = (*trajectories.notes, *coordinates.notes)
    if not coordinates.names:
        raise InputError(_nothing_left(coordinates, as_ignored(ignore, trajectories.names, width)))
    timing = choose_timing(states, rate, stride)
    shortest = int(trajectories.lengths.argmin())
    if trajectories.lengths[shortest] < timing.stride:
        way_out = ", or pass a smaller stride" if stride else f", or check the rate ({rate})"
        raise InputError(
            f"trajectory {shortest} has {trajectories.lengths[shortest]} steps, and a working step "
            f"is {timing.stride} of them: leave it out{way_out if stride or rate else ''}"
        )
    working = [timing.average(s) for s in states]
    changes = fit_changes(working, timing, coordinates.scale, coordinates.rest)
    recordings = Recordings(coordinates, changes, working, lag)
    evident = has_bursts(working, coordinates.rest)
    known, given = as_labels(labels, trajectories.lengths)
    local = None
    if len(known):
        method = "labels"
        found = _labelled(recordings, given, known)
    elif method == "pointwise":
        apart = lag * timing.stride
        for i, s in enumerate(raw):
            needed = 3 * apart + (count + 1) * SHORTEST
            if len(s) < needed:
                ways = ["leave it out"]
                if count > 1 and len(s) >= 3 * apart + 2 * SHORTEST:
                    ways.append("ask for fewer key states")
                if lag > 1 and len(s) >= 3 * timing.stride + (count + 1) * SHORTEST:
                    ways.append("pass a smaller lag")
                raise InputError(
                    f"trajectory {i} has {len(s)} steps, and k={count} at lag {lag} (working steps "
                    f"of {timing.stride}) needs {needed}: {', or '.join(ways)}"
                )
        steps, local, depth = pointwise.discover(
            raw, k=count, lag=apart, estimator=estimator, executor=executor
        )
        found = Steps(np.ma.masked_array(steps, np.zeros(steps.shape, bool)), depth)
    elif method == "phase":
        boundaries, strength = _phases(recordings, count)
        none = np.zeros(boundaries.shape, bool)
        found = Steps(np.ma.masked_array(timing.recorded(boundaries), none), strength)
    else:
        listed = [gripper] if isinstance(gripper, str | int) else list(gripper)
        chosen = [c for g in listed for c in columns_of(g, trajectories.names, width, "gripper")]
        found, more = _events(recordings, count, method == "auto", chosen, executor)
        notes += more
    if k == "auto" and method in ("auto", "events", "phase"):
        found = found.strongest(DOMINANT if evident else np.inf)
    if found.steps.shape[1] < count and k != "auto" and method == "phase":
        notes += (_no_more_phases(recordings, found.steps.shape[1], count),)
    found = found.in_time(trajectories.lengths)
    reached = _working(found, timing, recordings.lengths)
    return KeyStates(
        found,
        method=method,
        lag=lag,
        stride=timing.stride,
        rate=rate,
        names=trajectories.names,
        labels=given,
        reproduced=steps_reproduced(changes, working, np.where(found.shared, reached, np.nan)),
        evident=evident,
        notes=notes,
        quality=assess(changes, working, reached, found, outliers),
        local=None if local is None else tuple(local),
        states=tuple(raw),
        resolution=resolution,
        recordings=recordings,
    )


def _nothing_left(coordinates: ReadCoordinates, ignored: NDArray[np.bool_]) -> str:
    """Why no coordinate of the demonstrations is left, and what to do."""
    if len(coordinates.constant) == coordinates.width:
        return f"all {coordinates.width} coordinates are constant: record states that move"
    even = len(set(coordinates.left_out) - set(np.flatnonzero(ignored).tolist()))
    counts = (
        (len(coordinates.constant), "constant"),
        (even, "rising evenly, as clocks do"),
        (int(ignored.sum()), "ignored"),
    )
    why = ", ".join(f"{count} {what}" for count, what in counts if count)
    ways = ["record states that move"]
    if even:
        ways.insert(0, "record motion that changes its speed")
    if ignored.any():
        ways.insert(0, "ignore fewer columns")
    return f"no coordinate is left of {coordinates.width} ({why}): {', or '.join(ways)}"


def _no_more_phases(recordings: Recordings, made: int, count: int) -> str:
    """Why there are fewer boundaries of phases than requested, and what to do."""
    some = f"{made} of {count} boundaries of phases were found"
    states, lag, rest = _bursting(recordings)
    if not motion_scores(states, lag, rest).shape[1]:
        return f"{some}: every increment is below the resolution. Pass a smaller one, or none."
    rows = recordings.lengths - max(SPANS) * recordings.lag
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
    lag, lengths = recordings.lag, recordings.lengths
    least = max(SPANS) * lag + 2 * SHORTEST
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
    return states, recordings.lag, recordings.coordinates.rest[columns]


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
                f"gripper is {gripper!r}, and these columns are ignored, constant or of one speed: "
                "name columns whose motion begins or ends"
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
    near = recordings.timing.steps(NEAR)
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
