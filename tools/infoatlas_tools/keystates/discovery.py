"""Find the key states of demonstrations of one task.

They are changes of the motion that recur in other demonstrations, in any order (`changes.py`,
`recurring_changes.py`). Between them are boundaries of a segmentation that all demonstrations share
(`segmentation.py`), if fits to halves of the demonstrations find those boundaries again.

With labels of a few demonstrations, key states of the labelled kinds are found in the others
(`labels.py`).

The paper maximises I(s_t; s_<t-lag) over t (Section 4.4). On demonstrations of different length the
maxima of that curve are no nearer to the true events than evenly spaced steps. So that curve is
available for plots only (`mi_curve`, command `curve`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count
from infoatlas_rt.live.timing import Timing

from ..trajectories import Trajectories, as_trajectories
from .changes import fit_changes
from .coordinates import ReadCoordinates, read_coordinates
from .fit_detectors import COORDINATES
from .fit_timing import choose_timing
from .key_states import KeyStates
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
from .segmentation import SHORTEST, SPANS, ranked_cuts
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
    *,
    labels: Mapping[int, Any] | None = None,
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
    labels : dict of int to sequence of int, or to dict of str to int, optional
        Known steps of one to three demonstrations, as {0: [75, 150]} or {0: {"grasp": 75,
        "release": 150}}. Key states of the same kinds are found in the others; `count` is ignored.

    Returns
    -------
    KeyStates

    Raises
    ------
    InputError
        There are no trajectories, they have different numbers of coordinates or values that are not
        finite, no coordinate moves unevenly, or a trajectory is shorter than a working step. Labels
        refer to steps that do not exist, or a setting is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import Trajectories
    >>> moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0) for i in range(6)]
    >>> demos = Trajectories([v.cumsum(axis=0) for v in moves], rate=20)
    >>> discover_keystates(demos, count=1).steps[:, 0].tolist()
    [21, 22, 23, 24, 25, 26]
    """
    if isinstance(count, str) and count != "auto":
        raise InputError(f"count is {count!r}: pass a number of key states, or 'auto'")
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
    if len(known):
        found = _labelled(recordings, labelled, known)
    else:
        found, more = _events(recordings, most, given.gripper)
        notes += more
        if count == "auto":
            found = found.strongest(DOMINANT if evident else np.inf)
    found = found.in_time(lengths)
    reached = _working(found, timing, recordings.lengths)
    return KeyStates(
        found,
        trajectories=replace(given, states=repaired),
        labels=labelled,
        reproduced=steps_reproduced(changes, working, np.where(found.shared, reached, np.nan)),
        evident=evident,
        quality=assess(changes, working, reached, found, outliers),
        recordings=recordings,
        notes=notes,
    )


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


def _phases(recordings: Recordings, count: int) -> tuple[Int, Float]:
    """Boundaries of phases [N, J] in working steps, strongest first, and their strengths [J]."""
    lengths = recordings.lengths
    least = max(SPANS) * LAG + 2 * SHORTEST
    if lengths.min() < least:
        short = int(lengths.argmin())
        raise InputError(
            f"trajectory {short} has {lengths[short]} working steps of {recordings.timing.stride}, "
            f"and two phases need {least}"
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
    gripper: Sequence[int],
) -> tuple[Steps, tuple[str, ...]]:
    """Recurring changes and boundaries of phases, and notes."""
    changes, states, notes = recordings.changes, recordings.states, []
    if gripper:
        kept = [bool(set(source) & set(gripper)) for source in recordings.coordinates.sources]
        if not changes.burst[kept].any():
            raise InputError(
                f"gripper is {list(gripper)}, and these columns are ignored, constant or of one "
                "speed: name columns whose motion begins or ends"
            )
        changes = replace(changes, burst=np.where(kept, changes.burst, 0.0))
    candidates = find_candidates(changes, states)
    boundaries = np.zeros((len(states), 0), np.int64)
    if not gripper and len(states) >= 4:
        try:
            boundaries, _ = _phases(recordings, count)
        except InputError as error:
            notes.append(f"No phases: {error}.")
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
