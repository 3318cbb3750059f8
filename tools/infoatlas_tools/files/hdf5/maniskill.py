"""Reads trajectories from the .h5 files that ManiSkill's `RecordEpisode` writes.

Such a file has a group `traj_0`, `traj_1`, ... for each episode. `obs` has T + 1 observations (an
array, or groups of arrays), `env_states` the states of all actors and articulations of the
simulation, and `success` [T] is a flag. The .json file beside it has the rate. (ManiSkill 3.0)
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from ..choice import choose_episodes
from ..numbers import read_json
from ..rates import stated_rate
from .arrays import Source, find_arrays, find_stated, names_under, open_node
from .demonstrations import NUMBERS, Demo, DemoReader, make_trajectories
from .opening import first_names, open_hdf5, sort_by_number

SENSORS = ("sensor_data", "sensor_param")  # images and cameras, in observations
_EPISODE = re.compile(r"traj_[0-9]{1,18}")


def read_maniskill(
    path: Path,
    only_successful: bool | None = None,
    env_states: bool = False,
    features: Sequence[str] | None = None,
    task: str | int | None = None,
) -> Trajectories:
    """Read the trajectories of a ManiSkill file.

    Options are those of `load_trajectories`. `features` of `obs` (of `env_states`, if that is set)
    are given by name, as "agent.qpos", others by path, as "actions" and "env_states.actors.cube".
    Flags among them are kept.

    Unless given, they are the observations, or `env_states` if observations have no numbers
    (`obs_mode="none"`). Images and flags are left out. Flags are truth values, and columns with
    both 0 and 1 and no other values: in a flat observation, one such as `is_grasped` would be the
    answer. Names give the source of each column: "agent.qpos.0", "actors.cube.2", or "obs.18" of a
    flat observation. The rate is the control frequency (Hz) if the environment was made with
    `sim_config=dict(control_freq=...)`. Otherwise it is None, because the .json file does not
    contain defaults of tasks.
    """
    with open_hdf5(path) as (file, _):
        names = maniskill_episodes(file)
        if not names:
            raise InputError(
                f"{path} has {first_names(file)} and no traj_0: pass a file of RecordEpisode"
            )
        episodes = {name: open_node(path, file, name) for name in names}
        for name, episode in episodes.items():
            if not hasattr(episode, "keys"):
                raise InputError(f"{path}: {name} is no group: remove it")
        stated = {name: find_stated(episode) for name, episode in episodes.items()}
        if only_successful is not False:
            for name, own in stated.items():
                stated[name] = own._replace(success=_succeeds(path, episodes[name]))
        kept, notes = choose_episodes([*stated.values()], path, task, only_successful)
        episodes = {n: e for (n, e), one in zip(episodes.items(), kept, strict=True) if one}
        reader = DemoReader(path, features, hint="record observations or env_states")
        source = "env_states" if env_states else "obs"
        for name, episode in episodes.items():
            arrays, default = _arrays(path, episode, source)
            numbers = any(arrays[key].node.dtype.kind in NUMBERS for key in default)
            if not reader.episodes and features is None and source == "obs" and not numbers:
                source = "env_states"
                arrays, default = _arrays(path, episode, source)
            reader.add(Demo(name, arrays, default, stated=stated[name]))
        states, columns = reader.columns()
    if features is None:
        flags = np.isin(states, (0, 1)).all(axis=0) & (states != states[0]).any(axis=0)
        left = [name for name, flag in zip(columns, flags, strict=True) if flag]
        if left:
            notes.append(f"Left out: {', '.join(left)} (flags: 0 and 1 alone).")
        columns = [name for name in columns if name not in left]
        states = states[:, ~flags]
    return make_trajectories(reader, states, columns, _rate(path.with_suffix(".json")), notes)


def maniskill_episodes(file: Any) -> list[str]:
    """Names of the episodes of an open file, in the order of their numbers."""
    return sort_by_number(file, _EPISODE)


def _arrays(path: Path, episode: Any, source: str) -> tuple[dict[str, Source], tuple[str, ...]]:
    """Arrays of an episode, and names of those that are read by default."""
    arrays = find_arrays(path, episode, source)
    own = names_under(arrays, source)
    own = [key for key in own if not {*arrays[key].path.split("/")} & {*SENSORS}]
    return arrays, tuple(own)


def _succeeds(path: Path, episode: Any) -> bool | None:
    """Whether the last step of an episode is a success; None without a flag."""
    if "success" not in episode:
        return None
    node = open_node(path, episode, "success")
    shape: tuple[int, ...] = getattr(node, "shape", None) or ()
    if len(shape) != 1 or not shape[0] or node.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: {episode.name}/success is no array [T] of truth values: repair or remove it"
        )
    return bool(node[-1])


def _rate(path: Path) -> float | None:
    """Control frequency in Hz in the file beside the trajectories; None if it has none."""
    node = read_json(path)
    for key in ("env_info", "env_kwargs", "sim_config", "control_freq"):
        node = node.get(key) if isinstance(node, dict) else None
    return stated_rate(node)
