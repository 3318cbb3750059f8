"""Changes of the motion of a demonstration: their scores, candidates and signatures.

Coordinates are evaluated one by one. Take the increments within a window around a step t, and the
side of t on which each lies. For zero-mean Gaussian increments, the *local information* between the
two is

    I = 1/2 log cosh(e) nats,   e = 1/2 log((E_after + r) / (E_before + r)),

where E is the mean squared increment on either side and r the energy of rest and of noise. Two more
curves are the second difference and its ratio to the speed. Coordinates that move in short bursts
(fingers, latches, objects) mark the boundaries of sub-tasks; coordinates that move all the time do
not. So a coordinate has the weight b^3, where b is log(T - 1) minus the entropy of its motion over
time. The fourth curve is the mean second difference of all coordinates, without weights.

The sensor noise of each coordinate is estimated from third differences, which are small in smooth
motion. It is subtracted from energies and second differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.live.timing import Timing

Float = NDArray[np.float64]
Int = NDArray[np.int64]

WINDOWS = (0.15, 0.2, 0.3, 0.4, 0.6)  # seconds on either side of a step
CANDIDATES_APART = 0.5  # seconds between two candidates, at least
DATING = 0.2  # seconds by which a candidate is moved to the sharpest change near it
EDGE = 0.5  # seconds at the start (or START of a demonstration): the first motion is no boundary
START = 0.05
SPEED = 0.35  # seconds over which a second difference is compared with the speed
SIDE = 0.3  # seconds on either side that a signature describes
CANDIDATES = 20  # of a demonstration, at most
CAP = 2.0  # largest value of a curve, relative to its HIGH quantile
HIGH = 0.98
STRONGEST = 2  # coordinates whose values are summed at each step
AT_REST = 0.1  # of the rms increment: rest
SMOOTHING = 0.7  # steps


@dataclass(frozen=True, eq=False)
class Changes:
    """Scales of the motion of demonstrations, in working steps.

    Attributes
    ----------
    timing : Timing
    spread : [p] float64
        Range of each coordinate.
    rms : [p] float64
        Root mean square of its increments over one step.
    noise : [p] float64
        Standard deviation of its sensor noise.
    burst : [p] float64
        b, nats; 0 for a constant coordinate.
    """

    timing: Timing
    spread: Float
    rms: Float
    noise: Float
    burst: Float

    @property
    def rest(self) -> Float:
        """Energy of increments at rest [p]."""
        return (AT_REST * self.rms) ** 2 + (1e-5 * self.spread) ** 2 + 2 * self.noise**2 + 1e-300

    @property
    def weight(self) -> Float:
        """Weight of each coordinate [p]."""
        return self.burst**3

    def switches(self, states: Float, window: int) -> Float:
        """e of every step and coordinate [T, p], nats, over `window` steps on either side."""
        energy = np.diff(states, axis=0) ** 2
        count, total = len(energy), np.zeros((len(energy) + 1, states.shape[1]))
        np.cumsum(energy, axis=0, out=total[1:])
        t = np.arange(count + 1)
        first, last = np.maximum(t - window, 0), np.minimum(t + window, count)
        before = (total - total[first]) / np.maximum(t - first, 1)[:, None]
        after = (total[last] - total) / np.maximum(last - t, 1)[:, None]
        e = 0.5 * np.log((after + self.rest) / (before + self.rest))
        e[:2] = e[-2:] = 0.0  # too few increments on one side
        return np.asarray(e.clip(-3.0, 3.0))

    def curves(self, states: Float) -> Float:
        """Four curves of change [4, T] of a demonstration [T, p]; the second one dates changes."""
        if len(states) < 5 or not states.shape[1]:
            return np.zeros((4, len(states)))
        windows = sorted({self.timing.steps(seconds, 2) for seconds in WINDOWS})
        local = np.mean([np.log(np.cosh(self.switches(states, w))) for w in windows], axis=0) / 2
        smooth = _smoothed(states)
        second, speed = np.zeros_like(states), np.zeros_like(states)
        second[1:-1] = np.abs(smooth[2:] - 2 * smooth[1:-1] + smooth[:-2])
        second = np.maximum(second - np.sqrt(6) * self.noise, 0.0)
        speed[1:-1] = np.abs(smooth[2:] - smooth[:-2]) / 2
        speed = _running_mean(speed, self.timing.steps(SPEED, 3))
        scale = np.maximum(self.rms, 1e-300)
        slow = np.maximum(speed + AT_REST * self.rms + self.noise, 1e-300)
        second_scaled = second / scale
        return np.stack(
            [
                _strongest(local * self.weight),
                _strongest(second_scaled * self.weight),
                _strongest(np.log1p(second / slow) * self.weight),
                second_scaled.mean(axis=1),
            ]
        )

    def candidates(self, states: Float) -> tuple[Int, Float]:
        """Steps at which the motion changes [m], largest change first, and scores of change [m]."""
        curves = self.curves(states)
        reach, apart = self.timing.steps(DATING), self.timing.steps(CANDIDATES_APART)
        near = max(1, round(apart * 0.3))
        edge = min(self.timing.steps(EDGE), max(2, int(START * len(states))))
        total = np.zeros(curves.shape[1])
        for curve in curves:
            height = relative(curve)
            height[:edge] = -np.inf
            total += running_max(height, near) + 0.01 * height
        total[:edge] = total[-2:] = -np.inf
        found: list[int] = []
        scores: list[float] = []
        while len(found) < CANDIDATES and len(total):
            t = int(total.argmax())
            value = float(total[t])
            if not value > 0:
                break
            first = max(edge, t - reach)
            date = first + int(curves[1, first : t + reach + 1].argmax())
            total[max(0, t - apart) : t + apart + 1] = -np.inf
            if all(abs(date - other) > near for other in found):
                found.append(date)
                scores.append(value)
        return np.array(found, np.int64), np.array(scores)

    def signatures(self, states: Float, steps: Int) -> Float:
        """Unit vectors [m, 3 p] that describe the changes at steps [m] of a demonstration [T, p].

        They contain the switch of the energy, the change of direction and the change of the value
        of each coordinate, weighted as in the curves.
        """
        found = np.zeros((len(steps), 3 * states.shape[1]))
        motion, side = np.diff(states, axis=0), self.timing.steps(SIDE, 2)
        root = np.sqrt(self.weight)
        for row, t in zip(found, steps.tolist(), strict=True):
            first, last = max(0, t - side), min(len(states) - 1, t + side)
            before = motion[first:t] if t > first else motion[:1]
            after = motion[t:last] if last > t else motion[-1:]
            energy = (before**2).mean(axis=0), (after**2).mean(axis=0)
            e = 0.5 * np.log((energy[1] + self.rest) / (energy[0] + self.rest))
            e = e.clip(-3.0, 3.0)
            turn = after.mean(axis=0) - before.mean(axis=0)
            turn /= np.sqrt(sum(energy) / 2 + np.maximum(self.rest, 1e-300))
            moved = (states[last] - states[first]) / np.maximum(self.spread, 1e-300)
            row[:] = np.concatenate(
                [e * root, turn * np.sqrt(np.log(np.cosh(e))) * root, 3 * moved * root]
            )
        norm = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(norm, 1e-12))


def fit_changes(states: Sequence[Float], timing: Timing, spread: Float, rest: Float) -> Changes:
    """Scales of the motion of demonstrations.

    Parameters
    ----------
    states : sequence of [T_i, p] float64
        Working steps of each demonstration.
    timing : Timing
    spread : [p] float64
        Range of each coordinate.
    rest : [p] float64
        Increments below it are rest.

    Returns
    -------
    Changes
    """
    width = len(spread)
    motion = [np.diff(s, axis=0) for s in states if len(s) > 1] or [np.zeros((1, width))]
    third = [np.diff(s, 3, axis=0) for s in states if len(s) > 3] or [np.zeros((1, width))]
    noise = np.median(np.abs(np.concatenate(third)), axis=0) / 0.6745 / np.sqrt(20)
    rms = np.sqrt(np.mean(np.concatenate(motion) ** 2, axis=0))
    return Changes(timing, spread, rms, noise, bursts(motion, 4 * noise**2 + rest**2))


def bursts(motion: Sequence[Float], quiet: Float) -> Float:
    """b of each coordinate, nats [p]: mean over demonstrations in which it moves.

    Parameters
    ----------
    motion : sequence of [T_i, p]
        Increments.
    quiet : [p]
        Energy of increments at rest, which is subtracted.
    """
    total, count = np.zeros(len(quiet)), np.zeros(len(quiet))
    for d in motion:
        moved = np.maximum(d**2 - quiet, 0.0)
        energy = moved.sum(axis=0)
        share = moved / np.maximum(energy, 1e-300)
        entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=0)
        burst = np.maximum(np.log(len(d)) - entropy, 0.0)  # rounding can make it negative
        total += np.where(energy > 0, burst, 0.0)
        count += energy > 0
    return np.asarray(total / np.maximum(count, 1))


def _strongest(weighted: Float) -> Float:
    """Sum over the STRONGEST coordinates of every step [T]."""
    count = min(STRONGEST, weighted.shape[1])
    return np.asarray(np.partition(weighted, -count, axis=1)[:, -count:].sum(axis=1))


def relative(curve: Float) -> Float:
    """A curve on a log scale: 0 at its median, 1 at its HIGH quantile, CAP at most."""
    top = curve.max(initial=0.0)
    if top <= 0:
        return np.full(len(curve), -np.inf)
    log = np.log(curve + 1e-3 * top)
    low, high = np.median(log), np.quantile(log, HIGH)
    return np.asarray(np.minimum((log - low) / max(high - low, 1e-9), CAP))


def _smoothed(states: Float) -> Float:
    """States smoothed over SMOOTHING steps (Gaussian)."""
    offset = np.arange(-3, 4)
    kernel = np.exp(-0.5 * (offset / SMOOTHING) ** 2)
    padded = np.pad(states, ((3, 3), (0, 0)), "symmetric")
    kernel /= kernel.sum()
    return np.asarray(sum(k * padded[i : i + len(states)] for i, k in enumerate(kernel.tolist())))


def _running_mean(values: Float, window: int) -> Float:
    """Mean over an odd window around every row."""
    half = window // 2
    total = np.cumsum(np.pad(values, ((half + 1, half), (0, 0)), "symmetric"), axis=0)
    return np.asarray((total[2 * half + 1 :] - total[: len(values)]) / (2 * half + 1))


def running_max(values: Float, half: int) -> Float:
    """Maximum within `half` steps of every step."""
    padded = np.pad(values, half, constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).max(axis=1))
