"""Adds key states, sub-tasks and mutual information to the infos of a vector environment.

`KeyStateWrapper` wraps ManiSkill's `ManiSkillVectorEnv` (torch, on any device), or Gymnasium's
SyncVectorEnv and AsyncVectorEnv (NumPy), such as one that runs several ManiSkill environments on a
CPU. Neither package is imported; only the results of `step` are used.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .episodes import VectorEpisodes, like, to_numpy

FINAL = ("final_observation", "final_obs")  # ManiSkill's name, and that of Gymnasium from 1.0 on


class KeyStateWrapper:
    """Adds `info["key_state"]` and `info["mutual_information"]` to a vector environment.

    The values belong to the observation that is returned with them. If an environment is reset in
    the step that ends an episode, that is the first observation of the next episode. Then
    `info["final_info"]` has the values of the episode that has ended. (If environments are reset
    with the next step, or by hand, the values of the step with `done` are in `info` itself.) All
    other attributes, spaces and `close` are those of the environment.

    Parameters
    ----------
    envs : ManiSkillVectorEnv or gymnasium.vector.VectorEnv
        E environments.
    *streams : VectorTracker or VectorWindows
        At most one of each. `VectorTracker` adds `info["key_state"]` [E] int64, the column of the
        newest key state of the running episode, or -1, and `info["task_done"]` and
        "task_failed" [E] bool, its outcome. With sub-tasks, it also adds
        `info["subtask"]`, "subtask_progress", "task_progress" (for a reward), "subtask_stalled" and
        "subtask_waiting" (`VectorTracker.subtask`). `VectorWindows` adds
        `info["mutual_information"]` [E] float32, nats, NaN before the first estimate. All are torch
        tensors on the environment's device if observations are.
    state : callable, optional
        From a batch of observations to the states [E, d] that the streams follow, as in `lambda
        obs: obs[:, columns]`. Needed if observations are dictionaries, or if their columns are not
        those of the demonstrations.

    Raises
    ------
    InputError
        There are no streams or two of a kind, the number of environments differs, or observations
        are no states.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from infoatlas_rt import KeyStateWrapper, VectorWindows
    >>> envs = SimpleNamespace(num_envs=2, reset=lambda **_: (np.zeros((2, 3)), {}))
    >>> obs, info = KeyStateWrapper(envs, VectorWindows(2)).reset(seed=0)
    >>> info
    {'mutual_information': array([nan, nan], dtype=float32)}
    """

    def __init__(
        self, envs: Any, *streams: VectorEpisodes, state: Callable[[Any], Any] | None = None
    ) -> None:
        keys = [stream.key for stream in streams]
        if not keys or len(set(keys)) < len(keys):
            raise InputError(f"streams are {keys}: pass a VectorTracker, a VectorWindows, or both")
        for stream in streams:
            if stream.num_envs != envs.num_envs:
                raise InputError(
                    f"{type(stream).__name__} follows {stream.num_envs} environments, and there "
                    f"are {envs.num_envs}: make it for as many"
                )
        self.envs, self.streams, self._state = envs, streams, state
        self._ended = np.zeros(envs.num_envs, bool)  # ended, and not reset yet

    def __copy__(self) -> NoReturn:
        raise InputError(
            "a KeyStateWrapper cannot be copied, because both would step the same environments: "
            "copy its streams, or wrap other environments"
        )

    def __getattr__(self, name: str) -> Any:
        if name == "envs":  # not set yet, in a copy
            raise AttributeError(name)
        return getattr(self.envs, name)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Reset all environments, or some of them.

        Parameters
        ----------
        seed : int or sequence of int, optional
            Passed on to the environments.
        options : dict, optional
            Passed on to the environments. "env_idx" [m] int or "reset_mask" [E] bool in it chooses
            the environments to reset; all unless given.

        Returns
        -------
        obs, info
            Those of the environments, with the values of the streams in `info`.

        Raises
        ------
        InputError
            Observations are no states [E, d].
        """
        obs, info = self.envs.reset(seed=seed, options=options)
        chosen = [(options or {}).get(name) for name in ("env_idx", "reset_mask")]
        named = [to_numpy(which) for which in chosen if which is not None]
        rows = np.arange(self.envs.num_envs)[named[0] if named else slice(None)]
        states = self._states(obs)
        self._restart(rows, to_numpy(states))
        return obs, self._report(info, states)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all environments.

        Parameters
        ----------
        actions : array or tensor [E, ...]
            Passed on to the environments.

        Returns
        -------
        obs, reward, terminated, truncated, info
            Those of the environments, with the values of the streams in `info`.

        Raises
        ------
        InputError
            Observations are no states [E, d].
        """
        obs, reward, terminated, truncated, info = self.envs.step(actions)
        done = to_numpy(terminated).astype(bool) | to_numpy(truncated).astype(bool)
        states = self._states(obs)
        now = to_numpy(states)
        if self._ended.any():
            self._reset(np.flatnonzero(self._ended))
        replaced = np.zeros_like(done)
        true = now
        for name in FINAL:
            if name in info:
                replaced = to_numpy(info[f"_{name}"]).astype(bool)
                true = np.array(now)
                true[replaced] = to_numpy(self._states(_rows(info[name], replaced)))
        for stream in self.streams:
            stream.push(true)
        if replaced.any():
            self._report(info["final_info"], states)
            self._restart(np.flatnonzero(replaced), now)
        self._ended = done & ~replaced
        return obs, reward, terminated, truncated, self._report(info, states)

    def _restart(self, rows: NDArray[np.int64], states: NDArray[Any]) -> None:
        """Begin new episodes in some environments, with their rows of the states [E, d]."""
        self._reset(rows)
        for stream in self.streams:
            stream.push(states[rows], rows)

    def _reset(self, rows: NDArray[np.int64]) -> None:
        self._ended[rows] = False
        for stream in self.streams:
            stream.reset(rows)

    def _report(self, info: Any, states: Any) -> Any:
        """Write the latest values into an info, as arrays of the library of the states."""
        for stream in self.streams:
            for key, values in stream.infos().items():
                info[key] = like(values, states)
        return info

    def _states(self, obs: Any) -> Any:
        states = obs if self._state is None else self._state(obs)
        if len(getattr(states, "shape", ())) != 2:
            what = getattr(states, "shape", type(states).__name__)
            raise InputError(f"observations are {what}, and states are [E, d]: pass state=")
        return states


def _rows(final: Any, which: NDArray[np.bool_]) -> Any:
    """Rows of final observations: of a batch, of a dictionary of them, or of an array of objects.

    Gymnasium returns an array with an object for each environment, None if the episode continues.
    """
    if isinstance(final, dict):
        return {name: _rows(value, which) for name, value in final.items()}
    if getattr(getattr(final, "dtype", None), "kind", "") == "O":
        return _stack([final[row] for row in np.flatnonzero(which)])
    return final[which]


def _stack(values: list[Any]) -> Any:
    """Observations of single environments as a batch."""
    if isinstance(values[0], dict):
        return {name: _stack([value[name] for value in values]) for name in values[0]}
    return np.stack(values)
