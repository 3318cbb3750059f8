"""Pairs (s_t, s_<t-Δt) from recorded trajectories and from parallel environments.

Both are ensembles: samples of the same moment, which is what the paper's I(s_t; s_<t-Δt) at t is
about (Section 4.4, robotic manipulation concept discovery). For a single robot see
`sliding_window.py`.

Pairs are formed `lag` steps apart on the original steps, before any resampling of time, and never
across the end of an episode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..inputs.arrays import Reals, as_reals, merge
from ..inputs.checks import as_count, as_flag, as_lengths, as_number

LARGEST = 10**7  # states of a pool


class Pairs(NamedTuple):
    """Samples of (s_t, s_<t-Δt).

    Attributes
    ----------
    x : [n, d]
        States s_t.
    y : [n, history * d]
        s_(t-lag), s_(t-lag-1), ... side by side.
    samples : [n] int64
        Identity of each sample: the same number in two sets of pairs is the same trajectory
        (`ensemble_pairs`) or the same environment and step (`PooledPairs`). The key-state
        detector matches the samples of two estimates by it.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    samples: NDArray[np.int64]


def ensemble_pairs(
    states: NDArray[Any],
    lengths: ArrayLike,
    at: float,
    *,
    lag: int = 2,
    history: int = 1,
    normalised: bool = False,
) -> Pairs:
    """Pairs over trajectories at one moment.

    Parameters
    ----------
    states : [sum(lengths), d]
        Trajectories end to end.
    lengths : [N] int
    at : int or float
        Step t (raw), or, with `normalised`, the fraction of the way from the first step that has
        a past (0) to the last step (1) of each trajectory; the nearest original step is taken,
        and its partner `lag` original steps before it. Normalised time looks ahead to the
        length of a trajectory, so it is for recorded data.
    lag, history : int
        Steps between a state and its past, and how many past states are stacked.
    normalised : bool

    Returns
    -------
    Pairs
        Of the trajectories that reach step t; with `normalised`, of all that are longer than
        lag + history - 1 steps.

    Raises
    ------
    InputError
        lag or history below 1, states that are not [n, d], lengths that are not those of
        trajectories, a fraction outside 0 to 1, or a step that is no integer.
    """
    reach = as_count(lag, "lag", 1) + as_count(history, "history", 1) - 1
    if getattr(states, "ndim", None) != 2:
        raise InputError(
            f"states ({type(states).__name__}) have shape {np.shape(states)}: pass an array "
            "[sum(lengths), d], trajectories end to end"
        )
    lengths = as_lengths(lengths, len(states))
    moment = as_number(at, "at")
    if as_flag(normalised, "normalised") and not 0 <= moment <= 1:
        raise InputError(f"at={at} with normalised time: pass a fraction from 0 to 1")
    if not normalised and not moment.is_integer():
        raise InputError(f"at={at} is no step: pass an integer, or normalised=True")
    starts = np.cumsum(lengths) - lengths
    if normalised:
        step = reach + np.rint(moment * (lengths - 1 - reach)).astype(np.int64)
        present = np.flatnonzero(lengths > reach)
    else:
        step = np.full(len(lengths), int(np.clip(moment, -1, len(states))))
        present = np.flatnonzero((lengths > step) & (step >= reach))
    rows = (starts + step)[present]
    past = rows[:, None] - (lag + np.arange(history))
    return Pairs(states[rows], states[past].reshape(len(rows), history * states.shape[1]), present)


class PooledPairs:
    """Pairs from the last steps of parallel environments, never across a reset.

    Parameters
    ----------
    envs : int
        E, environments.
    window : int
        Newest steps that enter the pool, so it holds up to E * window pairs.
    lag, history : int
        Steps between a state and its past, and how many past states are stacked.

    Raises
    ------
    InputError
        An argument below 1; in `push` no real numbers, a shape that is not [E, d] or [E], or
        another d.
    """

    def __init__(self, envs: int, window: int, *, lag: int = 2, history: int = 1):
        self.envs = as_count(envs, "envs", 1)
        self.window = as_count(window, "window", 1)
        self.lag, self.history = as_count(lag, "lag", 1), as_count(history, "history", 1)
        self._offsets = np.r_[0, self.lag + np.arange(self.history)]
        reach = self.window + self.lag + self.history - 1
        if self.envs * reach > LARGEST:
            raise InputError(
                f"{self.envs} environments of {reach} steps are more than the {LARGEST} states "
                "that fit: use a shorter window"
            )
        # [2, reach, E, d], high and low as in `Reals`; a ring over steps.
        self._states: NDArray[np.float64] | None = None
        self._usable = np.zeros((reach, self.envs), bool)
        self._episode = np.zeros((reach, self.envs), np.int64)
        self._step = 0

    def push(self, states: ArrayLike, done: ArrayLike | None = None) -> Pairs:
        """Take one step of every environment.

        Parameters
        ----------
        states : [E, d]
            A state with NaN, infinities or masked entries leaves a hole in its environment.
        done : [E] bool, optional
            Where an episode ended. Some simulators return the final state then, others already
            the first state of the next episode; as a step with `done` is paired neither with
            what came before nor with what comes after, both are right.

        Returns
        -------
        Pairs
            Of the last `window` steps, oldest first; empty before lag + history steps.
        """
        now, low = as_reals(states, "states")
        if now.ndim != 2 or len(now) != self.envs or not now.size:
            raise InputError(f"states have shape {now.shape}: pass numbers [{self.envs}, d]")
        flags = np.zeros(self.envs) if done is None else as_reals(done, "done").high
        if flags.shape != (self.envs,) or not np.isin(flags, (0, 1)).all():
            raise InputError(f"done has shape {flags.shape}: pass booleans [{self.envs}]")
        ended = flags == 1
        if self._states is None:
            self._states = np.zeros((2, len(self._usable), *now.shape))
        if now.shape != self._states.shape[2:]:
            raise InputError(
                f"states have shape {now.shape}, before they had {self._states.shape[2:]}: "
                "make new PooledPairs for another robot"
            )
        reach = len(self._usable)
        slot, before = self._step % reach, (self._step - 1) % reach
        self._states[0, slot], self._states[1, slot] = now, 0.0 if low is None else low
        self._usable[slot] = np.isfinite(now).all(1) & ~ended
        self._episode[slot] = self._episode[before] + ended
        self._step += 1

        steps = np.arange(max(0, self._step - self.window), self._step)
        steps = steps[steps >= self._offsets[-1]]
        slots = (steps[:, None] - self._offsets) % reach  # [w, 1 + history]
        usable = self._usable[slots].all(1)
        usable &= (self._episode[slots] == self._episode[slots[:, :1]]).all(1)
        which, env = np.nonzero(usable)
        rows = self._states[:, slots[which], env[:, None]]  # [2, n, 1 + history, d]
        # Both sides are merged together, so that both have the same origin.
        merged = merge(Reals(*rows.reshape(2, -1, now.shape[1]))).reshape(rows.shape[1:])
        samples = steps[which] * self.envs + env
        width = self.history * now.shape[1]
        return Pairs(merged[:, 0], merged[:, 1:].reshape(len(merged), width), samples)
