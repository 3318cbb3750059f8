"""The states of parallel environments, row by row, without mixing episodes.

Some vector environments reset in the step that ends an episode (ManiSkill's, and Gymnasium's in its
mode SAME_STEP). They return the first observation of the next episode, and separately the true last
one. `VectorEpisodes.bonus` accepts both.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import LARGEST_STATE, as_count
from ..inputs.copies import Stateful


class VectorEpisodes(Stateful, ABC):
    """One running episode for each of E environments.

    `refused` [E] counts states with NaN, infinite or impossibly large numbers. In every method,
    InputError if states are not [E, d], or have another d than before.
    """

    key: str  # name of `latest` in the infos of an environment

    def __init__(self, num_envs: int) -> None:
        self.num_envs = as_count(num_envs, "num_envs", 1)
        self.refused = np.zeros(self.num_envs, np.int64)

    @abstractmethod
    def latest(self) -> NDArray[Any]:
        """The value named `key`, for every environment [E]."""

    def infos(self) -> dict[str, NDArray[Any]]:
        """Values for the info of an environment [E] by name: `latest`."""
        return {self.key: self.latest()}

    @abstractmethod
    def gain(self) -> NDArray[np.float32]:
        """Contribution of the newest states, for every environment [E], as `bonus` returns it."""

    @abstractmethod
    def _restart(self, rows: NDArray[np.int64]) -> None:
        """Forget the episodes of some environments [m]."""

    @abstractmethod
    def _take(self, states: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
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
        self._restart(np.arange(self.num_envs)[slice(None) if envs is None else to_numpy(envs)])

    def push(self, states: Any, envs: Any = None) -> None:
        """Take the next state of every environment, or of some of them.

        Parameters
        ----------
        states : [E, d] or [m, d]
            States of the environments in `envs`, as NumPy arrays, or torch tensors on any device. A
            state with NaN or infinite numbers is refused.
        envs : [E] bool or [m] int, optional
            Environments that the states are of; all unless given.

        Raises
        ------
        InputError
            States are not [E, d] or [m, d], or have another d than before.
        """
        rows = np.arange(self.num_envs)[slice(None) if envs is None else to_numpy(envs)]
        given = to_numpy(states)
        if given.ndim != 2 or len(given) != len(rows) or given.dtype.kind not in "buif":
            raise InputError(
                f"states have shape {given.shape}, dtype {given.dtype}: pass numbers "
                f"[{len(rows)}, d], one state for each environment"
            )
        given = given.astype(np.float64)
        usable = (np.abs(given) <= LARGEST_STATE).all(axis=1)  # False for NaN
        if not usable.all():
            self.refused[rows[~usable]] += 1
            self._skip(rows[~usable])
        self._take(given[usable], rows[usable])

    def bonus(self, obs: Any, done: Any, final_observation: Any = None) -> Any:
        """Take one step of a loop with resets in the same step, and return its bonus.

        Parameters
        ----------
        obs : [E, d]
            Observations that `step` returned: after the end of an episode, the first state of the
            next one.
        done : [E] bool
            Whether an episode has ended with this step (terminated or truncated).
        final_observation : [E, d], optional
            The true last states; rows where `done` is false are ignored. Without them, the bonus of
            the last step of an episode is 0.

        Returns
        -------
        [E] float32
            Bonus of this step, like `obs` (torch on its device). It is the number of key states
            that were reached (`VectorTracker`), or the mutual information, nats, of the windows
            that were evaluated, 0 for others (`VectorWindows`). Scale it and add it to the rewards.

        Raises
        ------
        InputError
            `done` is not [E] of truth values.
        """
        ended = to_numpy(done)
        if ended.shape != (self.num_envs,) or not np.isin(ended, (0, 1)).all():
            raise InputError(
                f"done has shape {ended.shape}, dtype {ended.dtype}: "
                f"pass booleans [{self.num_envs}]"
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
    """An array unchanged, or as a tensor on the device of `other` if that is a tensor."""
    if not hasattr(other, "detach"):
        return values
    import torch  # installed, because `other` is a tensor

    return torch.as_tensor(values, device=other.device)
