"""Pairs (s_t, s_<t-Δt) from the last steps of parallel environments, at one moment.

Pairs are formed `lag` steps apart, and never across the end of an episode.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..estimation.pairs import Pairs
from ..inputs.arrays import as_reals
from ..inputs.checks import as_count
from ..inputs.copies import Stateful
from ..inputs.ring import Ring

MOST_STATES = 10**7  # states of a pool


class PooledPairs(Stateful):
    """Pairs from the last steps of parallel environments, never across a reset.

    Parameters
    ----------
    num_envs : int
        E, environments.
    window : int
        Number of newest steps in the pool, which has at most E * window pairs.
    lag, history : int
        Steps between a state and its past, and how many past states are stacked.

    Raises
    ------
    InputError
        An argument is below 1. In `push`: values are not real numbers, or are integers beyond 2^53,
        a shape is not [E, d] or
        [E], or d has changed.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import PooledPairs
    >>> pool = PooledPairs(64, window=4)  # 64 environments
    >>> for states in np.cumsum(np.random.default_rng(0).normal(size=(10, 64, 3)), axis=0):
    ...     pairs = pool.push(states)
    >>> pairs.x.shape, pairs.y.shape  # for `Estimator.estimate`
    ((256, 3), (256, 3))
    """

    def __init__(self, num_envs: int, window: int, *, lag: int = 2, history: int = 1):
        self.num_envs = as_count(num_envs, "num_envs", 1)
        self.window = as_count(window, "window", 1)
        self.lag, self.history = as_count(lag, "lag", 1), as_count(history, "history", 1)
        self._offsets = np.r_[0, self.lag + np.arange(self.history)]
        reach = self.window + self.lag + self.history - 1
        if self.num_envs * reach > MOST_STATES:
            raise InputError(
                f"{self.num_envs} environments of {reach} steps are more than the {MOST_STATES} "
                "states that fit: use a shorter window"
            )
        self._reach = reach
        self._states: Ring | None = None  # [reach, E, d]
        self._usable = Ring(reach, self.num_envs, fill=False, dtype=bool)
        self._episode = Ring(reach, self.num_envs, fill=0, dtype=np.int64)
        self._step = 0

    def push(self, states: ArrayLike, done: ArrayLike | None = None) -> Pairs:
        """Take one step of every environment.

        Parameters
        ----------
        states : [E, d]
            A state with NaN, infinities or masked entries leaves a hole in its environment.
        done : [E] bool, optional
            Whether an episode ended. Some simulators then return the final state, others the first
            state of the next episode. Both are right, because a step with `done` is paired neither
            with earlier nor with later steps.

        Returns
        -------
        Pairs
            Pairs of the last `window` steps, oldest first; empty before lag + history steps.
        """
        now = as_reals(states, "states")
        if now.ndim != 2 or len(now) != self.num_envs or not now.size:
            raise InputError(f"states have shape {now.shape}: pass numbers [{self.num_envs}, d]")
        flags = np.zeros(self.num_envs) if done is None else as_reals(done, "done")
        if flags.shape != (self.num_envs,) or not np.isin(flags, (0, 1)).all():
            raise InputError(
                f"done has shape {flags.shape}, from {flags.min(initial=np.inf):g} to "
                f"{flags.max(initial=-np.inf):g}: pass booleans [{self.num_envs}]"
            )
        ended = flags == 1
        if self._states is None:
            self._states = Ring(self._reach, *now.shape)
        before = self._states.values.shape[1:]
        if now.shape != before:
            raise InputError(
                f"states have shape {now.shape}, before they had {before}: "
                "make new PooledPairs for another robot"
            )
        step = self._step
        self._states[step] = now
        self._usable[step] = np.isfinite(now).all(1) & ~ended
        self._episode[step] = self._episode[step - 1] + ended
        self._step += 1

        steps = np.arange(max(0, self._step - self.window), self._step)
        steps = steps[steps >= self._offsets[-1]]
        both = steps[:, None] - self._offsets  # steps of both sides [w, 1 + history]
        usable = self._usable[both].all(1)
        usable &= (self._episode[both] == self._episode[both[:, :1]]).all(1)
        which, env = np.nonzero(usable)
        rows = self._states[both[which], env[:, None]]  # [n, 1 + history, d]
        samples = steps[which] * self.num_envs + env
        width = self.history * now.shape[1]
        return Pairs(rows[:, 0], rows[:, 1:].reshape(len(rows), width), samples)
