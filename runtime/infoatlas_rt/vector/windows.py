"""I(s_t; s_<t-Δt) over the last steps of each of several parallel environments.

Each environment has a window within its running episode, and the model evaluates all windows that
are due together. The estimate of a window is a time average (`streams/online.py`). With 32 to 50
steps it ranks moments of an episode, but is not accurate. `PooledPairs` (`pooled_pairs.py`) is for
estimates from all environments together, at one moment.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator, as_estimator
from ..estimation.forward import window_means
from ..estimation.prepare import Samples, check_window
from ..inputs.checks import as_count
from ..inputs.ring import Ring
from .episodes import VectorEpisodes

LARGEST_WINDOWS = 10**8  # numbers in all windows (0.8 GB)


class VectorWindows(VectorEpisodes):
    """A sliding window over the running episode of each of E environments.

    A refused state empties the window of its environment, so no pair spans it.

    Parameters
    ----------
    num_envs : int
        E, environments.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to load; the default model, with 8 slices and 8
        shifts, unless given.
    lag : int
        Δt in steps.
    window : int
        Number of pairs. An estimate needs a full window, so short episodes (at most window + lag
        steps) have none.
    every : int
        Steps of an environment from one estimate to the next; the first is made as soon as the
        window is full.

    Attributes
    ----------
    information : [E] float32
        Newest estimate of each running episode, nats; NaN before there is one.

    Raises
    ------
    InputError
        Arguments out of range, or a window smaller or larger than what the model was trained for.
        In every method: states that are not [E, d], or have another d than before.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import VectorWindows
    >>> windows = VectorWindows(2, window=32, lag=2)
    >>> for states in np.cumsum(np.random.default_rng(0).normal(size=(34, 2, 3)), axis=0):
    ...     windows.push(states)
    >>> windows.reset(np.array([False, True]))
    >>> np.isnan(windows.latest())
    array([False,  True])
    """

    key = "mutual_information"

    def __init__(
        self,
        num_envs: int,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        *,
        lag: int = 2,
        window: int = 32,
        every: int = 32,
    ) -> None:
        super().__init__(num_envs)
        self.lag, self.window = as_count(lag, "lag", 1), as_count(window, "window", 1)
        self.every = as_count(every, "every", 1)
        self.estimator = (
            Estimator(slices=8, shifts=8) if estimator is None else as_estimator(estimator)
        )
        check_window(self.window, self.estimator.model_file)
        most = self.estimator.model_file.n_max
        if self.window > most:
            raise InputError(
                f"window={self.window} is above the {most} samples that model "
                f"{self.estimator.model_file.name} was trained on: use a shorter window"
            )
        self.information = np.full(self.num_envs, np.nan, np.float32)
        self._states: Ring | None = None  # [window + lag, E, d], by states of the running episode
        self._count = np.zeros(self.num_envs, np.int64)  # states of the running episode
        self._since = np.zeros(self.num_envs, np.int64)  # steps since the last estimate
        self._evaluated = np.zeros(self.num_envs, bool)  # an estimate has the newest state
        self._restart(np.arange(self.num_envs))

    def latest(self) -> NDArray[Any]:
        """Newest estimate of each running episode [E] float32, nats; NaN before there is one."""
        return np.array(self.information)

    def gain(self) -> NDArray[np.float32]:
        """Estimates with the newest state of each environment [E]; 0 if there is none."""
        return np.where(self._evaluated, self.information, np.float32(0))

    def _restart(self, rows: NDArray[np.int64]) -> None:
        self._count[rows] = 0
        self._since[rows] = self.every  # the first full window is due
        self.information[rows], self._evaluated[rows] = np.nan, False

    def _skip(self, rows: NDArray[np.int64]) -> None:
        self._count[rows] = 0
        self._since[rows] += 1
        self._evaluated[rows] = False

    def _take(self, states: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        if self._states is None:
            self._states = self._allocate(states.shape[1])
        reach, d = len(self._states), self._states.values.shape[2]
        if states.shape[1] != d:
            raise InputError(
                f"states have {states.shape[1]} coordinates, before they had {d}: make new "
                "VectorWindows for another robot"
            )
        self._states[self._count[rows], rows] = states
        self._count[rows] += 1
        self._since[rows] += 1
        self._evaluated[rows] = False
        due = rows[(self._count[rows] >= reach) & (self._since[rows] >= self.every)]
        if len(due):
            steps = self._count[due, None] - reach + np.arange(reach)  # oldest first
            found = self._states[steps, due[:, None]]
            prepared = [
                self.estimator.prepare(Samples(own[self.lag :], own[: -self.lag], time_series=True))
                for own in found
            ]
            self.information[due] = window_means(prepared, self.estimator)
            self._evaluated[due], self._since[due] = True, 0

    def _allocate(self, d: int) -> Ring:
        shape = self.num_envs, self.window + self.lag, d
        if np.prod(shape, dtype=float) > LARGEST_WINDOWS:
            raise InputError(
                f"{shape[0]} windows of {shape[1]} states of {d} coordinates are more than "
                f"{LARGEST_WINDOWS} numbers: use a shorter window, or fewer environments or "
                "coordinates"
            )
        return Ring(self.window + self.lag, self.num_envs, d)
