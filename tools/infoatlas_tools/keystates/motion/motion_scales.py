"""Changes of the motion of a demonstration: where they are sharp, and what distinguishes them.

A change is a peak of the second difference of coordinates that move in short bursts (fingers,
latches, objects). These mark the boundaries of sub-tasks; coordinates that move all the time do
not. The burst b of a coordinate is log(T - 1) minus the entropy of its motion over time, in nats:
the information between its motion and time. Its weight is b^3.

The sensor noise of each coordinate is estimated from third differences, which are small in smooth
motion. It is subtracted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infoatlas_rt.live.timing import Timing

from ...array_types import Bool, Float, Int
from ..coordinates import ReadCoordinates
from .durations import APART, PAUSE, gaussian_smooth

STRONGEST = 2  # coordinates that a change is seen in: more would add those that move all the time
AT_REST = 0.1  # of the rms increment: smaller increments count as rest
LAG = 2  # working steps between a state and its past
SLOW = 0.15  # of the 90% quantile of the speed: a tool that is slower pauses


@dataclass(frozen=True, eq=False)
class MotionScales:
    """Scales of the motion of demonstrations, in working steps; of each coordinate [p]."""

    timing: Timing
    spread: Float  # range
    rms: Float  # root mean square of the increments over one step
    noise: Float  # standard deviation of the sensor noise
    burst: Float  # b, nats; 0 for a constant coordinate
    least: Float  # smaller increments are rest: rounding, and the resolution if given
    quantum: Float  # step of a quantised coordinate, in recorded values; else 0

    @property
    def rest_energy(self) -> Float:
        """Energy of increments at rest [p]."""
        return (AT_REST * self.rms) ** 2 + (1e-5 * self.spread) ** 2 + 2 * self.noise**2 + 1e-300

    @property
    def weight(self) -> Float:
        """Weight of each coordinate [p]."""
        return self.burst**3

    def signatures(self, states: Float, steps: Int) -> Float:
        """Unit vectors [m, 3 p] that describe the changes at steps [m] of a demonstration [T, p].

        They contain the change of the energy of increments, of their direction and of the value of
        each coordinate, weighted by its burst.
        """
        found = np.zeros((len(steps), 3 * states.shape[1]))
        motion, side = np.diff(states, axis=0), self.timing.steps(APART, 2)
        root, rest = np.sqrt(self.weight), self.rest_energy
        for row, t in zip(found, steps.tolist(), strict=True):
            first, last = max(0, t - side), min(len(states) - 1, t + side)
            before = motion[first:t] if t > first else motion[:1]
            after = motion[t:last] if last > t else motion[-1:]
            energy = (before**2).mean(axis=0), (after**2).mean(axis=0)
            e = 0.5 * np.log((energy[1] + rest) / (energy[0] + rest))
            e = e.clip(-3.0, 3.0)
            turn = after.mean(axis=0) - before.mean(axis=0)
            turn /= np.sqrt(sum(energy) / 2 + np.maximum(rest, 1e-300))
            moved = (states[last] - states[first]) / np.maximum(self.spread, 1e-300)
            row[:] = np.concatenate(
                [e * root, turn * np.sqrt(np.log(np.cosh(e))) * root, 3 * moved * root]
            )
        norm = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(norm, 1e-12))


@dataclass(frozen=True, eq=False)
class Recordings:
    """Demonstrations in the form that is searched for key states."""

    coordinates: ReadCoordinates
    scales: MotionScales
    states: list[Float]  # working steps [T, p] of each

    @property
    def timing(self) -> Timing:
        return self.scales.timing

    @property
    def lengths(self) -> Int:
        """Working steps of each demonstration [N]."""
        return np.array([len(s) for s in self.states])

    def reached(self, steps: Any, chosen: Bool) -> Float:
        """Working steps of recorded ones [N, K]; NaN where masked, and in columns not `chosen`."""
        at = np.minimum(steps.filled(0) // self.timing.stride, self.lengths[:, None] - 1)
        return np.where(np.ma.getmaskarray(steps) | ~chosen, np.nan, at)


def fit_scales(
    states: Sequence[Float], timing: Timing, spread: Float, least: Float
) -> MotionScales:
    """Scales of the motion of demonstrations, from their working steps [T, p].

    `spread` [p] is the range of each coordinate. Increments below `least` [p] are rest.
    """
    some = [s for s in states if len(s) > 1] or [np.zeros((2, len(spread)))]
    noise, rms = sensor_noise(states, len(spread)), root_mean_square(some)
    quiet = 4 * noise**2 + least**2
    moves = bursts((np.diff(s, axis=0) for s in some), quiet)
    burst = np.where(rms**2 > quiet, moves, 0.0)  # else it is noise alone
    return MotionScales(timing, spread, rms, noise, burst, least, timing.stride * quanta(some))


def increments(states: Sequence[Float], column: int, order: int = 1) -> Float:
    """Differences [n] of a column within arrays [T, p], end to end: a copy of all is large."""
    return np.concatenate([np.diff(s[:, column], order) for s in states])


def root_mean_square(states: Sequence[Float], order: int = 1) -> Float:
    """Root mean square [p] of the differences within arrays [T, p]; those themselves at order 0.

    Sums are float64: in float32, a sum of millions of squares hardly grows.
    """
    total = np.zeros((1, states[0].shape[1]))
    for s in states:
        own = np.diff(np.asarray(s, np.float64), order, axis=0) ** 2
        total = np.add.reduce(np.vstack([total, own]), axis=0, keepdims=True)
    return np.asarray(np.sqrt(total[0] / sum(max(len(s) - order, 0) for s in states)))


def sensor_noise(states: Sequence[Float], width: int) -> Float:
    """Standard deviation of the sensor noise of each coordinate [p]."""
    some = [s for s in states if len(s) > 3] or [np.zeros((4, width))]
    size = [np.median(np.abs(increments(some, column, 3))) for column in range(width)]
    return np.asarray(np.array(size, np.float64) / 0.6745 / np.sqrt(20))


def quanta(states: Sequence[Float]) -> Float:
    """Step of each quantised coordinate [p]: increments of [T, p] are multiples of it; else 0."""
    found = np.zeros(states[0].shape[1])
    for c in range(len(found)):
        column = np.abs(increments(states, c))
        moved = column[column > 0]
        if len(moved) >= 8:  # fewer may be multiples by chance
            step = np.sort(moved)[len(moved) // 20]
            ratio = moved[moved <= 10 * step] / step
            if np.mean(np.abs(ratio - np.rint(ratio)) < 0.05) >= 0.95:
                found[c] = step
    return found


def bursts(motion: Iterable[Float], quiet: Float) -> Float:
    """b of each coordinate, nats [p]: mean over demonstrations in which it moves.

    `motion` [T, p] are increments. The energy of those at rest, `quiet` [p], is subtracted.
    """
    total, count = np.zeros(len(quiet)), np.zeros(len(quiet))
    for d in motion:
        moved = np.maximum(d**2 - quiet, 0.0)
        energy = moved.sum(axis=0)
        share = moved / np.maximum(energy, 1e-300)
        entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=0)
        burst = np.maximum(np.log(len(d)) - entropy, 0.0)  # rounding can make it negative
        total += np.where(burst > 1e-6, burst, 0.0)  # less is the rounding of even motion
        count += energy > 0
    return np.asarray(total / np.maximum(count, 1))


def change_curves(scales: MotionScales, paths: Sequence[Float], frequency: float) -> list[Float]:
    """How sharply the motion changes at each recorded step [T] of each demonstration.

    The sum over the STRONGEST coordinates of the weighted second difference, as a multiple of the
    rms increment. Three standard deviations of the noise that smoothing leaves are subtracted.
    `paths` [T, p] are in recorded steps, `frequency` (Hz) of them a second.
    """
    deviation = max(0.7, 0.03 * frequency)  # 0.03 s
    impulse = np.eye(1, 4 * round(8 * deviation), 2 * round(8 * deviation)).T
    left = float(np.linalg.norm(np.diff(gaussian_smooth(impulse, deviation), 2, axis=0)))
    noise = 3 * left * sensor_noise(paths, len(scales.rms))
    scale = scales.weight / np.maximum(scales.rms, 1e-300)
    curves = []
    for path in paths:
        curve = np.zeros(len(path))
        if len(path) > 4 and path.shape[1]:
            smooth = gaussian_smooth(path, deviation)
            second = np.abs(np.diff(smooth, 2, axis=0))
            weighted = np.maximum(second - noise, 0.0) * scale
            count = min(STRONGEST, weighted.shape[1])
            curve[1:-1] = np.partition(weighted, -count, axis=1)[:, -count:].sum(axis=1)
            edge = round(4 * deviation)  # smoothing needs steps on either side
            curve[:edge] = curve[max(len(curve) - edge, 0) :] = 0
        curves.append(curve)
    return curves


def peaks(curve: Float, apart: float) -> list[int]:
    """Steps of the largest peaks of a curve [T], the largest one first."""
    curve, near = curve.copy(), max(2, round(apart))
    curve[: max(2, min(near, len(curve) // 20))] = 0.0  # the first motion is no boundary
    curve[-2:] = 0.0
    steps: list[int] = []
    while curve.max(initial=0.0) > 0:
        t = int(curve.argmax())
        steps.append(t)
        curve[max(0, t - near) : t + near + 1] = 0.0
    return steps


def find_pauses(
    states: Sequence[Float], columns: Sequence[int], unit: float, apart: float
) -> list[list[int]]:
    """Steps at which columns pause, by demonstration: between the longest ways first.

    The columns are those of the tool, or of the robot. `unit` is the number of recorded steps of a
    second; fewer in quick demonstrations (`tempo`). From `apart` steps on, the begin and
    the end of a pause are two events.
    """
    scale = np.maximum([increments(states, column).std() for column in columns], 1e-300)
    ways = (np.diff(s[:, list(columns)], axis=0) for s in states)
    speed = [np.linalg.norm(way / scale, axis=1) for way in ways]
    slow = SLOW * np.quantile(np.concatenate(speed), 0.9)
    found = []
    for own in speed:
        turns = np.diff(np.concatenate([[0], own < slow, [0]]))
        begins, ends = np.flatnonzero(turns > 0), np.flatnonzero(turns < 0)
        long = (ends - begins >= max(2, PAUSE * unit)) & (begins > 2) & (ends < len(own) - 2)
        begins, ends = begins[long], ends[long]
        path = np.concatenate([[0], np.cumsum(own)])
        before = path[begins] - path[np.concatenate([[0], ends[:-1]])] if len(ends) else begins
        after = path[np.concatenate([begins[1:], [len(own)]])] - path[ends] if len(ends) else ends
        row: list[int] = []
        for k in np.argsort(-(before + after), kind="stable").tolist():
            first, last = int(begins[k]), int(ends[k])
            row += [first, last] if last - first > apart else [(first + last) // 2]
        found.append(row)
    return found
