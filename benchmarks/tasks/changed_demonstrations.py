"""Changed copies of demonstrations: fewer, noisier, time-warped, with missing columns.

Events are shifted with the change if it moves them in time.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from .demonstrations import Array, Demonstrations


def sample(demos: Demonstrations, number: int, seed: int) -> Demonstrations:
    """`number` trajectories at random, without replacement."""
    order = np.random.default_rng(seed).permutation(len(demos.trajectories))
    return demos.subset(np.sort(order[:number]))


def noisy(demos: Demonstrations, share: float, seed: int = 0) -> Demonstrations:
    """White noise of `share` of each column's range over all trajectories.

    Columns that are constant in every trajectory (goals, sizes) are parameters of the task and not
    changed.
    """
    rng = np.random.default_rng(seed)
    scale = share * np.ptp(np.concatenate(demos.trajectories), axis=0)
    moving = np.any([np.ptp(states, axis=0) > 0 for states in demos.trajectories], axis=0)
    noise = scale * moving
    return replace(
        demos, trajectories=[s + noise * rng.standard_normal(s.shape) for s in demos.trajectories]
    )


def warped(demos: Demonstrations, seed: int = 0) -> Demonstrations:
    """The same motions at a rate that varies smoothly between 1/2 and 2 within each trajectory."""
    rng = np.random.default_rng(seed)
    trajectories = []
    for states in demos.trajectories:
        at = np.linspace(0, 1, len(states))
        knots = rng.uniform(-1, 1, 6)  # of the rate's logarithm to base 2
        trajectories.append(2.0 ** np.interp(at, np.linspace(0, 1, 6), knots))
    return _played(demos, trajectories)


def unequal(demos: Demonstrations, seed: int = 0) -> Demonstrations:
    """Each trajectory at its own constant rate from 1/2 to 2; lengths differ by up to 4 times."""
    rates = 2.0 ** np.random.default_rng(seed).uniform(-1, 1, len(demos.trajectories))
    return _played(
        demos, [np.full(len(s), rate) for s, rate in zip(demos.trajectories, rates, strict=True)]
    )


def _played(demos: Demonstrations, rates: list[Array]) -> Demonstrations:
    """Each trajectory resampled at `rates` [T] (recorded steps per new step), with its events."""
    velocity = _velocities(demos)
    trajectories, times = [], []
    for states, rate, truth in zip(demos.trajectories, rates, demos.times, strict=True):
        old = np.arange(len(states))
        # Time of each recorded step, in new steps.
        new = np.concatenate([[0], np.cumsum(2 / (rate[1:] + rate[:-1]))])
        at = np.interp(np.arange(int(new[-1]) + 1), new, old)
        played = np.stack([np.interp(at, old, column) for column in states.T], axis=1)
        played[:, velocity] *= np.interp(at, old, rate)[:, None]
        trajectories.append(played)
        times.append(np.minimum(np.interp(truth, old, new), len(played) - 1))
    return replace(demos, trajectories=trajectories, times=np.array(times))


def _velocities(demos: Demonstrations) -> NDArray[np.bool_]:
    return np.array([name.endswith(".velocity") for name in demos.names])


def at_rate(
    demos: Demonstrations, rate: float, share: float = 0.001, seed: int = 0
) -> Demonstrations:
    """The same motions sampled at `rate` (Hz), with independent noise of each sample.

    The states are interpolated by monotone cubics. The noise is that of `noisy`. ValueError if the
    demonstrations have no rate.
    """
    if demos.rate is None:
        raise ValueError("demonstrations without a rate cannot be sampled at another")
    ratio = rate / demos.rate
    trajectories = []
    for states in demos.trajectories:
        old = np.arange(len(states))
        new = np.arange(int((len(states) - 1) * ratio + 1e-9) + 1) / ratio
        trajectories.append(PchipInterpolator(old, states, axis=0)(np.minimum(new, old[-1])))
    last = np.array([[len(states) - 1] for states in trajectories])
    times = np.minimum(demos.times * ratio, last)
    return noisy(replace(demos, trajectories=trajectories, times=times, rate=rate), share, seed)


def with_idle_times(demos: Demonstrations, seed: int = 0) -> Demonstrations:
    """Two pauses of all columns, each up to a tenth of the demonstration."""
    rng = np.random.default_rng(seed)
    velocity = _velocities(demos)
    trajectories, times = [], []
    for states, truth in zip(demos.trajectories, demos.times, strict=True):
        for _ in range(2):
            at = int(rng.integers(len(states)))
            idle = np.repeat(
                states[at : at + 1], rng.integers(1, 1 + len(states) // 10 + 1), axis=0
            )
            idle[:, velocity] = 0
            states = np.concatenate([states[: at + 1], idle, states[at + 1 :]])
            truth = np.where(truth > at, truth + len(idle), truth)
        trajectories.append(states)
        times.append(truth)
    return replace(demos, trajectories=trajectories, times=np.array(times))


def with_retries(demos: Demonstrations, share: float = 1 / 3, seed: int = 0) -> Demonstrations:
    """In `share` of the demonstrations one event needs two attempts.

    Two steps after the event the motion runs back by up to an eighth of the demonstration, and is
    then repeated. The true event is that of the second attempt.
    """
    rng = np.random.default_rng(seed)
    velocity = _velocities(demos)
    retried = rng.permutation(len(demos.trajectories))[: round(share * len(demos.trajectories))]
    trajectories, times = list(demos.trajectories), demos.times.copy()
    for i in np.sort(retried):
        states, last = trajectories[i], len(trajectories[i]) - 1
        event = times[i, rng.choice(np.flatnonzero(~np.isnan(times[i])))]
        high = min(int(event) + 2, last)
        low = max(high - int(rng.integers(4, max(5, last // 8) + 1)), 0)
        back = states[high - 1 : low : -1].copy()
        back[:, velocity] *= -1
        trajectories[i] = np.concatenate([states[: high + 1], back, states[low:]])
        times[i] = np.where(times[i] >= low, times[i] + 2 * (high - low), times[i])
    return replace(demos, trajectories=trajectories, times=times)


def without_fingers(demos: Demonstrations) -> Demonstrations:
    """Without the gripper's encoder."""
    return demos.columns(
        np.array([i for i, name in enumerate(demos.names) if not name.startswith("finger")])
    )


def joint_positions(demos: Demonstrations) -> Demonstrations:
    """Joint encoders only: no velocities, tool pose or objects."""
    kept = ("joint", "finger")
    return demos.columns(
        np.array(
            [
                i
                for i, name in enumerate(demos.names)
                if name.startswith(kept) and name.endswith(".position")
            ]
        )
    )


def with_outlier(demos: Demonstrations, seed: int = 0) -> Demonstrations:
    """One frame of one demonstration is -9999 in all columns, a driver's value for failed reads."""
    rng = np.random.default_rng(seed)
    trajectories = [states.copy() for states in demos.trajectories]
    states = trajectories[rng.integers(len(trajectories))]
    states[rng.integers(1, len(states) - 1)] = -9999
    return replace(demos, trajectories=trajectories)


def with_sign_flips(demos: Demonstrations, share: float = 0.05, seed: int = 0) -> Demonstrations:
    """Quaternions with a changed sign, the same rotation, at a random `share` of the steps."""
    rng = np.random.default_rng(seed)
    bodies = [name.removesuffix(".qw") for name in demos.names if name.endswith(".qw")]
    trajectories = [states.copy() for states in demos.trajectories]
    for states in trajectories:
        for body in bodies:
            columns = [demos.names.index(f"{body}.{axis}") for axis in ("qw", "qx", "qy", "qz")]
            sign = np.cumprod(np.where(rng.random(len(states)) < share, -1, 1))
            states[:, columns] *= sign[:, None]
    return replace(demos, trajectories=trajectories)


VARIANTS = {
    "noise 0.1%": lambda demos: noisy(demos, 0.001),
    "noise 0.3%": lambda demos: noisy(demos, 0.003),
    "noise 1%": lambda demos: noisy(demos, 0.01),
    "time-warped": warped,
    "unequal lengths": unequal,
    "10 steps a second": lambda demos: at_rate(demos, 10.0),
    "60 steps a second": lambda demos: at_rate(demos, 60.0),
    "idle times": with_idle_times,
    "retries": with_retries,
    "an outlier frame": with_outlier,
    "sign flips": with_sign_flips,
    "no fingers": without_fingers,
    "joint positions only": joint_positions,
}
SUBSETS, OF = 5, 10  # subsets of 10 demonstrations, seeds 0 to 4
