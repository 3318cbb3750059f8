"""Pairs (s_t, s_<t-Δt) from recorded trajectories and from parallel environments.

Both are ensembles: samples of the same moment, which is what the paper's I(s_t; s_<t-Δt) at t is
about (Section 4.4, robotic manipulation concept discovery). For a single robot see `online.py`.

Pairs are formed `lag` steps apart on the original steps, before any resampling of time, and never
across the end of an episode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError
from .inputs import as_count


class Pairs(NamedTuple):
    """Samples of (s_t, s_<t-Δt).

    Attributes
    ----------
    x : [n, d]
        States s_t.
    y : [n, history * d]
        s_(t-lag), s_(t-lag-1), ... side by side.
    samples : [n] int64
        Who each sample is: the same number in two sets of pairs is the same trajectory
        (`ensemble_pairs`) or the same environment and step (`PooledPairs`). The key-state
        detector takes differences between readings sample by sample with it.
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
        lag or history below 1, lengths that do not sum to the number of states, a fraction
        outside 0 to 1.
    """
    reach = as_count(lag, "lag", 1) + as_count(history, "history", 1) - 1
    lengths = np.asarray(lengths)
    if states.ndim != 2 or lengths.sum() != len(states):
        raise InputError(
            f"lengths sum to {lengths.sum()}, but states have shape {states.shape}: pass states "
            "[sum(lengths), d], trajectories end to end"
        )
    if normalised and not 0 <= at <= 1:
        raise InputError(f"at={at} with normalised time: pass a fraction from 0 to 1")
    starts = np.cumsum(lengths) - lengths
    if normalised:
        step = reach + np.rint(at * (lengths - 1 - reach)).astype(np.int64)
        present = np.flatnonzero(lengths > reach)
    else:
        step = np.full(len(lengths), int(at))
        present = np.flatnonzero(lengths > at) if at >= reach else np.zeros(0, np.int64)
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
        An argument below 1; in `push` a shape that is not [E, d] or [E], or another d.
    """

    def __init__(self, envs: int, window: int, *, lag: int = 2, history: int = 1):
        self.envs = as_count(envs, "envs", 1)
        self.window = as_count(window, "window", 1)
        self.lag, self.history = as_count(lag, "lag", 1), as_count(history, "history", 1)
        self._offsets = np.r_[0, self.lag + np.arange(self.history)]
        reach = self.window + self.lag + self.history - 1
        self._states: NDArray[np.float64] | None = None  # [reach, E, d], a ring over steps
        self._usable = np.zeros((reach, self.envs), bool)
        self._episode = np.zeros((reach, self.envs), np.int64)
        self._step = 0

    def push(self, states: ArrayLike, done: ArrayLike | None = None) -> Pairs:
        """Take one step of every environment.

        Parameters
        ----------
        states : [E, d]
            A state with NaN or infinities leaves a hole in its environment.
        done : [E] bool, optional
            Where an episode ended. Some simulators return the final state then, others already
            the first state of the next episode; as a step with `done` is paired neither with
            what came before nor with what comes after, both are right.

        Returns
        -------
        Pairs
            Of the last `window` steps, oldest first; empty before lag + history steps.
        """
        now = np.asarray(states)
        if now.ndim != 2 or len(now) != self.envs or now.dtype.kind not in "buif":
            raise InputError(
                f"states have shape {now.shape}, dtype {now.dtype}: pass numbers [{self.envs}, d]"
            )
        if self._states is None:
            self._states = np.zeros((len(self._usable), *now.shape))
        if now.shape != self._states.shape[1:]:
            raise InputError(
                f"states have shape {now.shape}, before they had {self._states.shape[1:]}: "
                "make new PooledPairs for another robot"
            )
        ended = np.zeros(self.envs, bool) if done is None else np.asarray(done, bool)
        if ended.shape != (self.envs,):
            raise InputError(f"done has shape {ended.shape}: pass [{self.envs}]")
        reach = len(self._states)
        slot, before = self._step % reach, (self._step - 1) % reach
        self._states[slot] = now
        self._usable[slot] = np.isfinite(now).all(1) & ~ended
        self._episode[slot] = self._episode[before] + ended
        self._step += 1

        steps = np.arange(max(0, self._step - self.window), self._step)
        steps = steps[steps >= self._offsets[-1]]
        slots = (steps[:, None] - self._offsets) % reach  # [w, 1 + history]
        whole = self._usable[slots].all(1)
        whole &= (self._episode[slots] == self._episode[slots[:, :1]]).all(1)
        which, env = np.nonzero(whole)
        rows = self._states[slots[which], env[:, None]]  # [n, 1 + history, d]
        samples = steps[which] * self.envs + env
        width = self.history * now.shape[1]
        return Pairs(rows[:, 0], rows[:, 1:].reshape(len(rows), width), samples)
