"""Grippers among the coordinates of demonstrations, by names of columns or by their switches."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...array_types import Float
from ...columns import GRIPPER, short_name
from ...trajectories import end_to_end
from ..motion.durations import ONE_EVENT, tempo
from .gripper import CHANGES, JITTER, Gripper, find_switches, fit_gripper
from .keystate_steps import COMMON, MOST

NO_OPENING = re.compile(
    r"veloc|\bvel\b|accel|effort|force|torque|current|temperature|touch|tactile|contact|pressure"
)
HAND = re.compile(r"(.*hand)(?!.*wrist).*(joint|finger|thumb|index|middle|ring|little|pinky)")
QUANTITY = re.compile(r"([._/](position|positions|pos|qpos|state))+$")
TAILS = re.compile(r"(?<=finger)\d+|([._/]?\d+|[._/](position|positions|pos|qpos|state))+$")
ENTRY = re.compile(r".*\[(.+)\]$")  # of a message: "position[finger_joint1]"
# Correlation of the fingers of one gripper, and of its two sides, at least; names with "finger"
# need none.
ONE_GRIPPER = 0.5, 0.9
SIDES = re.compile(r"(left|right)_?(?=(inner_|outer_)?(finger|knuckle))")
FEW = 3  # values of a flicker, at most; adjacent columns of one hand, at least


def find_grippers(
    names: Sequence[str],
    states: Sequence[Float],
    frequency: float,
    given: Sequence[int | tuple[int, ...]],
    taken: Sequence[int],
) -> list[Gripper]:
    """Grippers, by their names, or else hands and columns that switch.

    `given` are the columns that the user named, and that move: a tuple for each gripper, or
    numbers. `taken` are columns that are ignored, or belong to bodies and orientations. The
    frequency (Hz) is of recorded steps.
    """
    pooled = end_to_end(states)
    lower = [name.lower() for name in names] or [""] * pooled.shape[1]
    able = [c for c in np.flatnonzero(np.ptp(pooled, axis=0)).tolist() if c not in taken]
    able = [c for c in able if not NO_OPENING.search(lower[c])]
    single = [c for c in given if isinstance(c, int)]
    groups = [list(own) for own in given if not isinstance(own, int)]
    named = [c for c in able if GRIPPER.search(lower[c])]
    columns = ([c for c in single if c in able] or single) if given else named
    groups += _group(columns, names, pooled, bool(given))
    if groups:
        grippers = [fit_gripper(own, pooled) for own in groups]
    else:
        hands = _group([c for c in able if HAND.match(lower[c])], names, pooled)
        found = [fit_gripper(own, pooled) for own in hands if len(own) >= FEW]
        grippers = [g for g in found if _switches(g, states, frequency, 0)]
    if not grippers:
        found = [fit_gripper([c], pooled) for c in able if not _flickers(states, pooled, c)]
        columns = [g.columns[0] for g in found if _switches(g, states, frequency, MOST)]
        grippers = [fit_gripper(own, pooled) for own in _group(columns, names, pooled)]
    alone = bool(given or named)
    grippers = [
        g if alone and len(g.columns) < FEW else _begins_open(g, states, frequency)
        for g in grippers
    ]
    return _named(grippers, names, alone)


def _group(
    columns: Sequence[int], names: Sequence[str], pooled: Float, given: bool = False
) -> list[list[int]]:
    """Columns of each gripper; `given` ones that are adjacent and have one label are a hand."""
    groups, left = [], list(columns)
    label = {c: _label(names[c]) if names else "" for c in columns}
    while left:
        first = left[0]
        run = [c for k, c in enumerate(left) if c == first + k and label[c] == label[first]]
        own = run if given and len(run) >= FEW else [first]
        for c in left[1:]:
            if c not in own and any(_one_gripper(label, pooled, o, c) for o in (first, own[-1])):
                own.append(c)
        groups.append(own)
        left = [c for c in left if c not in own]
    return groups


def _one_gripper(label: dict[int, str], pooled: Float, first: int, other: int) -> bool:
    """Whether two columns belong to one gripper, by their labels and their correlation."""
    one, two = label[first], label[other]
    correlation = abs(float(np.corrcoef(pooled[:, first], pooled[:, other])[0, 1]))
    if one == two and (one or other == first + 1):
        return "finger" in one or "hand" in one or correlation > ONE_GRIPPER[0]
    return SIDES.sub("", one) == SIDES.sub("", two) and correlation > ONE_GRIPPER[1]


def _begins_open(gripper: Gripper, states: Sequence[Float], frequency: float) -> Gripper:
    """A gripper whose columns move against each other: most demonstrations begin open.

    Simulators begin with another opening, and leave it within half a second.
    """
    step = round(ONE_EVENT * frequency)
    begins = np.median([gripper.opening(s[: step + 1])[-1] for s in states])
    if (gripper.weights > 0).all() or begins > 0.5:
        return gripper
    return replace(gripper, weights=-gripper.weights, closed=-1 - gripper.closed)


def _label(name: str) -> str:
    """What the columns of a gripper share: "right_hand" of "right_hand.joint_1.pos"."""
    bare = TAILS.sub("", ENTRY.sub(r"\1", short_name(name)))
    hand = HAND.match(bare.lower())
    return bare[: len(hand[1])] if hand else bare


def _named(grippers: Sequence[Gripper], names: Sequence[str], alone: bool) -> list[Gripper]:
    """The grippers with their names, which differ; `alone`: a single one is "gripper"."""
    if not names:
        return [replace(g, name=f"column {g.columns[0]}") for g in grippers]
    if len(grippers) == 1 and alone:
        return [replace(grippers[0], name="gripper")]
    own = [QUANTITY.sub("", short_name(names[g.columns[0]])) for g in grippers]
    called = [
        _label(names[g.columns[0]]) if len(g.columns) > 1 or GRIPPER.search(text) else text
        for g, text in zip(grippers, own, strict=True)
    ]
    every = Counter(called)
    called = [o if every[c] > 1 or not c else c for c, o in zip(called, own, strict=True)]
    return [replace(g, name=name) for g, name in zip(grippers, called, strict=True)]


def _switches(gripper: Gripper, states: Sequence[Float], frequency: float, quickly: float) -> bool:
    """Whether an opening rests half of the time, and stays as it is before its switches.

    These make at least the share `quickly` of all its changes, each within `ONE_EVENT`, which is
    shorter in hurried demonstrations.
    """
    openings = [gripper.smoothed(s, frequency) for s in states]
    stays = ONE_EVENT * tempo([len(s) for s in states], frequency) * frequency
    step = max(1, round(stays))
    moves = np.concatenate([np.abs(o[step:] - o[:-step]) for o in openings])
    if not len(moves) or (moves < JITTER).mean() < COMMON:
        return False
    rows = find_switches([gripper], states, frequency, CHANGES[:1])
    waits = [row[0].begin >= stays for row in rows if len(row) == 1]
    waits += [two.begin - one.end >= stays for row in rows for one, two in pairwise(row)]
    way = sum(np.abs(np.diff(o[::step])).sum() for o in openings)
    quick = sum(abs(s.change) for row in rows for s in row if s.end - s.begin <= step)
    number, times = Counter(map(len, rows)).most_common(1)[0]
    alike = number and times >= COMMON * len(rows)
    return bool(alike and np.mean(waits) >= MOST and quick >= quickly * way)


def _flickers(states: Sequence[Float], pooled: Float, column: int) -> bool:
    """Whether a column changes between adjacent counts of an encoder like that of others.

    Half of the demonstrations have the same number of changes only if it is a switch.
    """
    own = np.unique(pooled[:, column]).astype(np.float64)
    if len(own) > FEW:
        return False
    span = np.subtract(pooled.max(axis=0), pooled.min(axis=0), dtype=np.float64)
    step, wide = np.diff(own).min(), np.flatnonzero(span * JITTER > np.ptp(own)).tolist()
    steps = [np.diff(np.unique(pooled[:, c]).astype(np.float64)).min() for c in wide]
    times = Counter(int(np.count_nonzero(np.diff(s[:, column]))) for s in states)
    alike = max(times.values()) >= COMMON * len(states)
    return not alike and bool(np.isclose(steps, step, rtol=0.01).any())
