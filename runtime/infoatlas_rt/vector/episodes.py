"""The states of parallel environments, row by row, without mixing episodes.

A vector environment that resets in the same step (ManiSkill's, and Gymnasium's in its mode
SAME_STEP) returns the first observation of the next episode where one has ended, and the true last
one beside it. `VectorEpisodes` takes both, in this order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import LARGEST_STATE, as_count
from ..inputs.copies import Stateful


class VectorEpisodes(Stateful, ABC):
    """One running episode for each of E environments.

    Parameters
    ----------
    envs : int
        E.

    Attributes
    ----------
    envs : int
    refused : [E] int64
        States so far with NaN, infinite or absurdly large numbers.

    Raises
    ------
    InputError
        Less than one environment; in every method, states that are not [E, d], or another d than
        before.
    """

    key: str  # of `latest`, in the infos of an environment

    def __init__(self, envs: int) -> None:
        self.envs = as_count(envs, "envs", 1)
        self.refused = np.zeros(self.envs, np.int64)

    @abstractmethod
    def latest(self) -> NDArray[Any]:
        """What `key` stands for, of every environment [E]."""

    def infos(self) -> dict[str, NDArray[Any]]:
        """What an environment's info gets, of every environment [E]: `latest`, by its key."""
        return {self.key: self.latest()}

    @abstractmethod
    def gain(self) -> NDArray[np.float32]:
        """What the newest states have added, of every environment [E]: what `bonus` returns."""

    @abstractmethod
    def _restart(self, rows: NDArray[np.int64]) -> None:
        """Forget the episodes of some environments [m]."""

    @abstractmethod
    def _take(self, rows: NDArray[np.int64], states: NDArray[np.float64]) -> None:
        """Take finite states [m, d] of some environments [m]."""

    @abstractmethod
    def _skip(self, rows: NDArray[np.int64]) -> None:
        """Count a step of some environments [m] whose states cannot be used."""

    def reset(self, envs: Any = None) -> None:
        """Forget the running episodes.

        Parameters
        ----------
        envs : [E] bool or [m] int, optional
            Environments; all unless given.
        """
        self._restart(np.arange(self.envs)[slice(None) if envs is None else to_numpy(envs)])

    def push(self, states: Any, envs: Any = None) -> None:
        """Take the next state of every environment, or of a mask [E] or indices of them.

        Parameters
        ----------
        states : [E, d] or [m, d]
            Of the environments that are named. NumPy, or torch on any device. A state with NaN or
            infinite numbers is refused.
        envs : [E] bool or [m] int, optional
            Environments that the states are of; all unless given.

        Raises
        ------
        InputError
            States are not [E, d] or [m, d], or have another d than before.
        """
        rows = np.arange(self.envs)[slice(None) if envs is None else to_numpy(envs)]
        given = to_numpy(states)
        if given.ndim != 2 or len(given) != len(rows) or given.dtype.kind not in "buif":
            raise InputError(
                f"states have shape {given.shape}, dtype {given.dtype}: pass numbers "
                f"[{len(rows)}, d], one state for each environment"
            )
        given = given.astype(np.float64)
        usable = (np.abs(given) <= LARGEST_STATE).all(axis=1)  # False of NaN
        if not usable.all():
            self.refused[rows[~usable]] += 1
            self._skip(rows[~usable])
        self._take(rows[usable], given[usable])

    def bonus(self, obs: Any, done: Any, final_observation: Any = None) -> Any:
        """Take one step of a loop with resets in the same step, and return what it is worth.

        Parameters
        ----------
        obs : [E, d]
            What `step` returned: where an episode has ended, the first state of the next one.
        done : [E] bool
            Where an episode has ended with this step (terminated or truncated).
        final_observation : [E, d], optional
            The true last states; rows where `done` is false do not matter. Without them, the last
            step of an episode adds nothing.

        Returns
        -------
        [E] float32
            Of the step that has been taken, like `obs` (torch on its device): how many key states
            were reached (`VectorTracker`), or the mutual information, nats, of the windows that
            were evaluated, 0 of the others (`VectorWindows`). Add it to the rewards, scaled.

        Raises
        ------
        InputError
            `done` is not [E] of truth values.
        """
        ended = to_numpy(done)
        if ended.shape != (self.envs,) or not np.isin(ended, (0, 1)).all():
            raise InputError(
                f"done has shape {ended.shape}, dtype {ended.dtype}: pass booleans [{self.envs}]"
            )
        ended = ended.astype(bool)
        now, last = to_numpy(obs), None
        if final_observation is None:
            self.push(now[~ended], ~ended)
        else:
            last = to_numpy(final_observation)
            self.push(np.where(ended[:, None], last, now))
        gained = self.gain()
        if last is None:
            gained = np.where(ended, np.float32(0), gained)
        if ended.any():
            self.reset(ended)
            self.push(now[ended], ended)
        return like(gained, obs)


def to_numpy(values: Any) -> NDArray[Any]:
    """A NumPy array of an array, or of a torch tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def like(values: NDArray[Any], other: Any) -> Any:
    """An array as it is, or as a tensor on the device of `other`, if that is one."""
    if not hasattr(other, "detach"):
        return values
    import torch  # it is there, for `other` is one of its tensors

    return torch.as_tensor(values, device=other.device)
