"""Find the key states of demonstrations of one task.

A key state is an event: a body is grasped or released, begins to move or comes to rest
(`contact.py`), or a gripper closes or opens (`gripper.py`). If demonstrations share none, objects
that leave their places before a fixed camera are the events. Other changes of the motion fill the
places that are left: pauses of the tool between long ways, then the sharpest changes
(`changes.py`).

With labels of a few demonstrations, key states of the labelled kinds are found in the others
(`labels.py`).

The paper maximises I(s_t; s_<t-lag) over t (Section 4.4). On demonstrations of different length the
maxima of that curve are no nearer to the true events than evenly spaced steps. So that curve is
available for plots only (`mi_curve`, command `curve`).
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count
from infoatlas_rt.live.timing import Timing

from ..array_types import Float, Int
from ..each_episode import each
from ..presentation import with_count
from ..trajectories import Doubles, Trajectories, as_trajectories, episode_names
from .contacts.bodies import unnamed_positions
from .contacts.contact_events import Event, Evidence, add_changes, chosen_events, find_evidence
from .contacts.event_names import MOTION, EventKind, What, label_kind
from .contacts.keystate_steps import SHARED, Steps, as_columns, order_in_time
from .coordinates import Dropout, ReadCoordinates, read_coordinates
from .key_states import KeyStates
from .kinds import Others, group, number_kinds
from .labels import Labels, as_labels, lie_on_changes, spread_labels
from .motion.durations import APART, NOMINAL, ONE_EVENT, choose_timing, tempo
from .motion.motion_scales import Recordings, change_curves, find_pauses, fit_scales, peaks
from .trust.quality import assess
from .trust.recording_faults import equal_frames, recording_faults
from .trust.trust import has_bursts, measure_met, measure_reproduced

DATES = "contact", "command"  # of a switch
CHOOSABLE = 8  # key states of a demonstration that count="auto" keeps, at most


def discover_keystates(
    trajectories: Sequence[Any] | Trajectories,
    count: int | str = "auto",
    *,
    labels: Labels | None = None,
    date: str = "contact",
    executor: Executor | None = None,
) -> KeyStates:
    """Find key states of demonstrations of one task.

    Bodies are recognised by names of columns such as "cube.x", and grippers by names such as
    "gripper.pos". States without names have key states where columns switch between two levels, and
    where the motion changes.

    Parameters
    ----------
    trajectories : Trajectories, or sequence of [T_i, d] array-like
        States of each demonstration; lengths may differ. `Trajectories` also have names, their
        rate, the coordinates to leave out (flags that contain the answer, such as "is grasped"),
        a camera, and more. All images of a camera are read: what leaves its place or arrives far
        from any contact or switch is a key state, too. With labels, they are read only where
        demonstrations share no contact or switch, and where those of a few show that labels lie
        on changes.
    count : int or "auto"
        Largest number of key states of each demonstration, the end not counted. "auto": contacts
        and switches of grippers that half of the demonstrations have, up to 8 of each
        demonstration. Without any, changes of the motion that half of them have, or none if the
        motion has no bursts. `notes` name what was left out.
    labels : dict of int or str to sequence of int or to dict of str to int, or path, optional
        Known steps of one or more demonstrations, as {0: [75, 150]} or {0: {"grasp": 75,
        "release": 150}}, or a file of them, such as `infoatlas-rt label` writes. Labels are kept
        exactly. A demonstration is given by its place, or as text by its name or number, as
        "demo_4" or "4". Other key states of the same kinds are found; `count` is ignored. None in
        place of a step: the demonstration lacks this kind. One demonstration has all names. Steps
        without names are matched in order of time.
    date : "contact" or "command"
        Date of a switch of a gripper. "contact": the end of a closing, the begin of an opening.
        "command": the begin of either, which follows the command at once. Labels keep their own
        distance from the switches.
    executor : concurrent.futures.Executor, optional
        Runs what is done for each demonstration: a process pool, dask's `client.get_executor()`,
        an MPI pool. The result has the same bits. In this process unless given.

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
    [19, 20, 21, 22, 23, 24]
    """
    if isinstance(count, str) and count != "auto":
        raise InputError(f"count is {count!r}: pass a number of key states, or 'auto'")
    if date not in DATES:
        raise InputError(f"date is {date!r}: pass {' or '.join(map(repr, DATES))}")
    most = CHOOSABLE if isinstance(count, str) else as_count(count, "count", 1)
    given = as_trajectories(trajectories)
    coordinates, repaired, paths, outliers = read_coordinates(given)
    if not coordinates.names:
        raise InputError(_nothing_left(coordinates, given.ignore))
    timing, lengths = _timing(given, paths), given.lengths
    frequency = given.rate or NOMINAL * timing.stride
    working = [timing.average(s) for s in paths]
    scales = fit_scales(working, timing, coordinates.scale, coordinates.least)
    recordings = Recordings(coordinates, scales, working)
    states = Doubles(repaired, lengths)
    rotations = [column for turned in coordinates.groups for column in turned.columns]
    evidence = find_evidence(
        given.names, states, frequency, _gripper(given), given.ignore, rotations, executor
    )
    if date == "command":
        evidence = evidence.by_command()
    dropouts = coordinates.dropouts
    if dropouts:
        evidence = replace(evidence, events=_seen_events(evidence.events, dropouts))
    seen: list[str] = []
    known, labelled = as_labels(labels, given)
    # Labels need no dates from all images where the states have events, or images show none there.
    if given.camera is not None:
        watched = (given.camera, states, given.names, frequency)
        if not len(known) or (not evidence.common and lie_on_changes(known, *watched)):
            evidence, seen = add_changes(evidence, *watched)
    if len(known):
        found = _make_labelled(labelled, *spread_labels(recordings, evidence.events, known))
    else:
        others = [
            np.array([t for t in own.tolist() if not _is_hidden(dropouts, i, t, t)], np.int64)
            for i, own in enumerate(_others(recordings, evidence, paths, states, frequency))
        ]
        found = _columns(recordings, evidence, others, lengths, most, frequency, executor)
        if count == "auto":
            found, rest = _automatic(found, recordings)
            seen += [*rest, *_beyond(evidence.events)]
    if not given.rate:
        seen.insert(0, "No rate: a working step counts as 0.05 s. Pass the rate (--rate HZ).")
    notes = (*coordinates.notes, *_gripper_notes(given.names, coordinates, evidence), *seen)
    found = found.take(order_in_time(found.steps, lengths))
    reached = recordings.reached(found.steps, found.shared)
    kept = np.delete(np.arange(repaired.shape[1]), coordinates.left_out)
    faults = (
        recording_faults(coordinates, paths),
        equal_frames(repaired, kept, lengths, episode_names(given)),
    )
    return KeyStates(
        found,
        trajectories=given if repaired is given.states else replace(given, states=repaired),
        recordings=recordings,
        evidence=evidence,
        quality=assess(scales, working, evidence, found, outliers, *faults, executor),
        labels=labelled,
        reproduced=measure_reproduced(scales, working, reached),
        met=measure_met(evidence.events, found.steps, lengths, frequency, bool(labelled)),
        notes=(*notes, *(() if evidence.bodies else unnamed_positions(given.names))),
    )


def _is_hidden(dropouts: Sequence[Dropout], which: int, first: int, last: int) -> bool:
    """Whether something from a step to another one of a demonstration may be in a dropout."""
    return any(one.demonstration == which and one.hides(first, last) for one in dropouts)


def _seen_events(
    events: Sequence[Sequence[Event]], dropouts: Sequence[Dropout]
) -> list[list[Event]]:
    """Events of each demonstration that are not in a dropout, where their steps are unknown."""
    return [
        [e for e in row if not _is_hidden(dropouts, i, e.begins, e.ends)]
        for i, row in enumerate(events)
    ]


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


def _timing(given: Trajectories, paths: Sequence[Float]) -> Timing:
    """Working steps of the demonstrations; InputError if one is shorter than a working step."""
    timing = choose_timing(paths, given.rate, given.stride)
    shortest = int(given.lengths.argmin())
    if given.lengths[shortest] < timing.stride:
        way = f", or check the rate ({given.rate})" if given.rate else ""
        way = ", or pass a smaller stride" if given.stride else way
        raise InputError(
            f"trajectory {episode_names(given)[shortest]} has {given.lengths[shortest]} steps, and "
            f"a working step is {timing.stride} of them: leave it out{way}"
        )
    return timing


def _gripper(given: Trajectories) -> list[int | tuple[int, ...]]:
    """Columns that the user named as grippers, and that move."""
    usable = given.moving_gripper
    if given.gripper and not usable:
        raise InputError(
            f"gripper is {list(given.gripper)}, and these columns are ignored or constant: name "
            "columns that move"
        )
    return usable


def _gripper_notes(
    names: Sequence[str], coordinates: ReadCoordinates, evidence: Evidence
) -> list[str]:
    """Sentences about columns that were taken for grippers, and others that jump as these do."""
    found = []
    for own in evidence.grippers.values():
        columns = [names[c] if names else f"column {c}" for c in own]
        found.append(f"taken for a gripper: {', '.join(columns)}")
    taken = {c for own in evidence.grippers.values() for c in own}
    found += [
        f"{name} jumps from end to end of its range: is it an encoder that wraps? Then name it "
        f"(orientation, --orientation {column}=angle); else check the sensor"
        for column, name in coordinates.wrapping.items()
        if column not in taken
    ]
    return found


def _others(
    recordings: Recordings,
    evidence: Evidence,
    paths: Sequence[Float],
    states: Sequence[Float],
    frequency: float,
) -> list[Int]:
    """Steps of other changes of the motion, best first, by demonstration.

    Pauses need contacts or switches beside them, or else they take their places.
    """
    unit = tempo([len(s) for s in states], frequency) * frequency
    curves = change_curves(recordings.scales, paths, frequency)
    pauses: list[list[int]] = [[] for _ in paths]
    if any(evidence.events) and evidence.columns:
        pauses = find_pauses(states, evidence.columns, unit, APART * unit)
    return [
        np.array([*own, *peaks(curve, ONE_EVENT * unit)], np.int64)
        for own, curve in zip(pauses, curves, strict=True)
    ]


def _columns(
    recordings: Recordings,
    evidence: Evidence,
    others: Sequence[Int],
    lengths: Int,
    count: int,
    frequency: float,
    executor: Executor | None = None,
) -> Steps:
    """Up to `count` key states of each demonstration: events first, then other changes."""
    total, timing = len(lengths), recordings.timing
    apart = APART * tempo(lengths, frequency) * frequency
    entries: dict[EventKind, dict[int, int]] = {}
    strength: dict[EventKind, list[float]] = {}
    filled, at = list[tuple[Int, Float]](), list[Int]()
    for i, row in enumerate(chosen_events(evidence.events, count)):
        for event, column in row:
            entries.setdefault(column, {})[i] = event.step
            strength.setdefault(column, []).append(event.strength)
        taken = [event.step for event in evidence.events[i]]
        free: list[int] = []
        for step in others[i].tolist():
            if len(row) + len(free) < count and all(abs(step - t) >= apart for t in taken):
                taken.append(step)
                free.append(step)
        steps = np.array(free, np.int64)
        at.append(np.minimum(steps // timing.stride, len(recordings.states[i]) - 1))
        filled.append((steps, 1 / np.arange(1.0, len(steps) + 1)))
    signatures = each(recordings.scales.signatures, recordings.states, at, executor=executor)
    kinds = group([Others(*o, s) for o, s in zip(filled, signatures, strict=True)], lengths)
    columns = list(entries)
    firsts = [column.first for column in columns]
    changes, seen = list[EventKind](), Counter[int]()
    for number in number_kinds(kinds):
        seen[number % 26] += 1  # letters
        changes.append(EventKind(What.CHANGE, occurrence=seen[number % 26], number=number))
    numbers = [*map(firsts.index, firsts), *(len(firsts) + change.number for change in changes)]
    # Events rank above other changes.
    values = [1 + sum(strength[column]) / total for column in columns]
    enough = [len(entries[column]) >= max(1, SHARED * total) for column in columns]
    return Steps(
        as_columns([*entries.values(), *(kind.members for kind in kinds)], total),
        np.array([*values, *(kind.strength for kind in kinds)], np.float64),
        (*columns, *changes),
        np.array(numbers, np.int64),
        np.array([*enough, *(kind.shared for kind in kinds)], bool),
    )


def _automatic(found: Steps, recordings: Recordings) -> tuple[Steps, list[str]]:
    """Common events, or else common changes of the motion; and a note on what is left out."""
    seen = np.array([source != MOTION for source in found.source], bool)
    kept = seen & found.common
    if not kept.any() and has_bursts(recordings.states, recordings.coordinates.least):
        kept = found.common
    rest, total = found.shared & ~kept, len(found.steps)
    texts = [
        f"{found.names[j]} (in {found.steps[:, j].count()} of {total})"
        for j in np.flatnonzero(rest & seen).tolist()
    ]
    if changes := int((rest & ~seen).sum()):
        texts.append(with_count(changes, "change") + " of the motion")
    most = max(5, int((kept | rest).sum())) if kept.sum() >= 5 else 5
    note = f"auto left out {', '.join(texts)}: pass count={most} (--count {most}) for up to {most} "
    note += "key states."
    return found.take(np.flatnonzero(kept)), [note] if texts else []


def _beyond(events: Sequence[Sequence[Event]]) -> list[str]:
    """A note on demonstrations with more events than `count="auto"` keeps, or none."""
    most = max(map(len, events))
    if most <= CHOOSABLE:
        return []
    return [
        f"Demonstrations have up to {most} contacts and switches, and auto keeps {CHOOSABLE}: pass "
        "a larger count for all of them."
    ]


def _make_labelled(names: tuple[str, ...], steps: Float, certainty: Float) -> Steps:
    """Key states of the labelled kinds, from their recorded steps and certainties [N, K]."""
    found = np.ma.masked_array(np.nan_to_num(steps).astype(np.int64), np.isnan(steps))
    strength, count = (~np.isnan(steps)).mean(axis=0), len(names)
    kinds, shared = np.arange(count), np.ones(count, bool)
    return Steps(found, strength, tuple(map(label_kind, names)), kinds, shared, certainty)
