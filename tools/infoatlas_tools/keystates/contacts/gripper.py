"""Openings of grippers, and their switches: when they close and open."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ...array_types import Float
from ...each_episode import each
from ..motion.durations import MOMENT, ONE_EVENT, gaussian_smooth
from .keystate_steps import ENOUGH, MOST

# Of the usual opening, by which a switch changes it, at least. The first one applies unless most
# demonstrations share more switches with another: a thick object needs a small opening.
CHANGES = 1 / 4, 1 / 2, 1 / 8, 1 / 16
JITTER = 0.1  # of the usual opening, or of the change of a switch: smaller differences are jitter
QUICK = 0.2  # of the largest speed of a switch: slower steps belong to what precedes or follows it


@dataclass(frozen=True, eq=False)
class Gripper:
    """Columns whose weighted sum is the opening of a gripper, 0 to 1 between its usual limits."""

    columns: tuple[int, ...]
    weights: Float  # [m]
    closed: float  # weighted sum at 0
    name: str = ""

    def opening(self, states: Float) -> Float:
        """Opening [T] in states [T, d]."""
        return np.asarray(states[:, list(self.columns)] @ self.weights - self.closed)

    def smoothed(self, states: Float, frequency: float) -> Float:
        """Opening [T] without sensor noise: smoothed over 0.04 s."""
        opening = self.opening(states)[:, None]
        return gaussian_smooth(opening, max(0.5, 0.04 * frequency))[:, 0]


def fit_gripper(columns: Sequence[int], pooled: Float) -> Gripper:
    """The opening by columns that move in states [n, d]; larger values of the first one are open.

    Two fingers count the same, with their signs; the joints of a hand by their first principal
    component.
    """
    values = pooled[:, columns].astype(np.float64)
    low, high = _limits(values)
    covariance = np.atleast_2d(np.cov(values / (high - low), rowvar=False))
    weights = np.linalg.eigh(covariance)[1][:, -1]
    weights = weights if len(columns) > 2 else np.sign(weights)
    weights = weights / (high - low) * (np.sign(weights[0]) or 1.0)
    low, high = _limits(values @ weights[:, None])
    return Gripper(tuple(columns), weights / (high - low), float(low[0] / (high - low)[0]))


def _limits(values: Float) -> tuple[Float, Float]:
    """Usual limits of columns [n, m]: the ends of 96%, or of all if those are equal."""
    low, high = np.quantile(values, (0.02, 0.98), axis=0)
    rare = high <= low
    return np.where(rare, values.min(axis=0), low), np.where(rare, values.max(axis=0), high)


@dataclass(frozen=True)
class Switch:
    """One change of the opening of a gripper, in recorded steps."""

    gripper: str
    begin: int
    fastest: int
    end: int
    change: float  # of the opening; negative if it becomes smaller
    level: float  # opening after it


def find_switches(
    grippers: Sequence[Gripper],
    states: Sequence[Float],
    frequency: float,
    changes: Sequence[float] = CHANGES,
    executor: Executor | None = None,
) -> list[list[Switch]]:
    """Switches of all grippers in order of time, by demonstration.

    As many as most demonstrations share with one of the `changes`; the first one needs no others.
    """
    found: list[list[Switch]] = [[] for _ in states]
    for gripper in grippers:
        smoothed = [gripper.smoothed(s, frequency) for s in states]
        choices = [
            each(partial(_switches, gripper.name, least, frequency), smoothed, executor=executor)
            for least in (changes if len(states) >= ENOUGH else changes[:1])
        ]
        for row, own in zip(found, max(choices, key=_shared), strict=True):
            row += own
    return [sorted(row, key=lambda one: one.begin) for row in found]


def _shared(rows: Iterable[Sequence[Switch]]) -> int:
    """Number of switches that most demonstrations have; 0 if there is none."""
    numbers = Counter(map(len, rows))
    number, times = numbers.most_common(1)[0]
    return number if times >= MOST * numbers.total() else 0


def _switches(name: str, least: float, frequency: float, smooth: Float) -> list[Switch]:
    """Switches in a smoothed opening [T] that change it by more than `least`.

    The opening rests before and after those of unusual size: fingers bounce after a switch.
    """
    found = []
    for first, last in pairwise(turning_points(smooth, least)):
        whole = smooth[last] - smooth[first]
        if abs(whole) <= least:
            continue
        speed = np.maximum(np.diff(smooth[first : last + 1]) * np.sign(whole), 0)
        quick = np.flatnonzero(speed > QUICK * speed.max())
        # After a pause it is another switch, as if an object slips out of a closed gripper.
        parts: list[Switch] = []
        for part in np.split(quick, np.flatnonzero(np.diff(quick) > ONE_EVENT * frequency) + 1):
            fastest = int(part[speed[part].argmax()])
            runs = np.split(part, np.flatnonzero(np.diff(part) > 1) + 1)
            own = next(run for run in runs if fastest in run)
            begin, end = first + int(own[0]), first + int(own[-1]) + 1
            change = float(smooth[end] - smooth[begin])
            share = (smooth[begin : end + 1] - smooth[begin]) / change
            begun = begin + int(np.flatnonzero(share <= JITTER)[-1])
            ended = begin + int(np.flatnonzero(share >= 1 - JITTER)[0])
            parts.append(Switch(name, begun, first + fastest, ended, change, float(smooth[end])))
        large = [part for part in parts if abs(part.change) > least]
        found += large or [part for part in parts if part.fastest == first + speed.argmax()]
    rest, last = MOMENT * frequency, len(smooth)
    ends, begins = [0, *(s.end for s in found)], [*(s.begin for s in found[1:]), last]
    return [
        s
        for s, end, begin in zip(found, ends, begins, strict=False)
        if abs(s.change) > CHANGES[0] or min(s.begin - end, begin - s.end) >= rest
    ]


def turning_points(values: Float, least: float) -> list[int]:
    """Steps between which values [T] rise or fall, apart from changes up to `least`, with
    both ends."""
    turns, extreme, direction = [0], 0, 0.0
    for t, value in enumerate(values.tolist()):
        if direction == 0:
            if abs(value - values[0]) > least:
                direction, extreme = float(np.sign(value - values[0])), t
        elif (value - values[extreme]) * direction >= 0:
            extreme = t
        elif (values[extreme] - value) * direction > least:
            turns.append(extreme)
            direction, extreme = -direction, t
    return [*turns, extreme, len(values) - 1]
