"""Random HDF5 files of demonstrations, in the layouts of known data sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from values import Rng, pick

KEYS = ("pos", "robot0_eef_pos", "policy/q", "policy/deep/er/v", "a b", "\u00fc", "x.1", "object")


@dataclass
class Case:
    """Files on disk, and their content.

    Attributes
    ----------
    path : path
    options : dict
        Options of `load_trajectories`.
    episodes : list of dict of array [T, ...]
        Arrays by the names of `features`.
    names : list of str
        Names of the episodes.
    places : list of (path, str)
        File and group of each episode.
    """

    path: Path
    options: dict[str, Any]
    episodes: list[dict[str, np.ndarray]]
    names: list[str]
    places: list[tuple[Path, str]] = field(default_factory=list)
    outcome: str = "read"
    key: str = ""  # name of the array with the fault
    fault: str = ""


def _values(rng: Rng, length: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.standard_normal((length, *shape)).astype(dtype)


def _episodes(rng: Rng, keys: list[str]) -> list[dict[str, np.ndarray]]:
    """Arrays of one to five demonstrations, with the same shapes."""
    shapes = [pick(rng, ((), (1,), (3,), (7,))) for _ in keys]
    dtypes = [pick(rng, ("f4", "f8", "f2", ">f4", ">f8")) for _ in keys]
    return [
        {key: _values(rng, length, s, t) for key, s, t in zip(keys, shapes, dtypes, strict=True)}
        for length in rng.integers(1, 30, rng.integers(1, 6)).tolist()
    ]


def _store(rng: Rng, group: Any, name: str, values: np.ndarray) -> None:
    options: dict[str, Any] = {}
    if len(values) and rng.random() < 0.3:
        options = {"chunks": True, "compression": "gzip", "shuffle": True}
    group.create_dataset(name, data=values, **options)


def _keys(rng: Rng) -> list[str]:
    return [str(key) for key in rng.permutation(KEYS)[: rng.integers(1, 5)]]


def _choose(rng: Rng, case: Case) -> Case:
    """Choose some of the keys by name, in half of the cases."""
    names = list(case.episodes[0])
    if rng.random() < 0.5:
        chosen = [str(n) for n in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
        case.options["features"] = chosen
        case.episodes = [{name: own[name] for name in chosen} for own in case.episodes]
    return case


def _numbers(rng: Rng, count: int) -> list[int]:
    return sorted(rng.choice(40, count, replace=False).tolist())


def _dotted(own: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key.replace("/", "."): values for key, values in own.items()}


def robomimic(rng: Rng, folder: Path) -> Case:
    """Files of robomimic, MimicGen or Isaac Lab."""
    own = _episodes(rng, _keys(rng))
    stem = pick(rng, ("demo_{}", "demo{}", "episode_{}"))
    names = [stem.format(number) for number in _numbers(rng, len(own))]
    path = folder / pick(rng, ("demo.hdf5", "demo.h5"))
    case = Case(path, {}, [_dotted(arrays) for arrays in own], names)
    with h5py.File(path, "w") as file:
        for i in rng.permutation(len(own)).tolist():
            demo = file.create_group(f"data/{names[i]}", track_order=bool(rng.integers(2)))
            length = len(next(iter(own[i].values())))
            demo.attrs["num_samples"] = length
            demo["actions"] = np.zeros((length, 2))
            for key, values in own[i].items():
                _store(rng, demo, f"obs/{key}", values)
            demo["obs/image"] = np.zeros((length, 2, 2, 3), np.uint8)
        if len(own) > 1 and rng.random() < 0.3:
            inside = rng.random(len(own)) < 0.6
            inside[0] = True
            kept = [name for name, flag in zip(names, inside, strict=True) if flag]
            form = pick(rng, ("S", "str", "bool"))
            values = inside if form == "bool" else np.array(kept, "S")
            text = h5py.string_dtype() if form == "str" else None
            file.create_dataset("mask/train", data=values.tolist() if text else values, dtype=text)
            case.options["split"] = "train"
            case.episodes = [case.episodes[i] for i in np.flatnonzero(inside)]
            case.names = kept
    case.places = [(path, f"data/{name}/obs") for name in case.names]
    return _choose(rng, case)


def robosuite(rng: Rng, folder: Path) -> Case:
    """A file of robosuite's collector."""
    own = _episodes(rng, ["states"])
    names = [f"demo_{number}" for number in _numbers(rng, len(own))]
    path = folder / "demo.hdf5"
    with h5py.File(path, "w") as file:
        for name, arrays in zip(names, own, strict=True):
            demo = file.create_group(f"data/{name}")
            _store(rng, demo, "states", arrays["states"])
            demo["actions"] = np.zeros((len(arrays["states"]), 2))
    places = [(path, f"data/{name}") for name in names]
    return Case(path, {"features": ["states"]}, own, names, places=places)


def aloha(rng: Rng, folder: Path) -> Case:
    """A folder of ALOHA, or one of its files."""
    own = _episodes(rng, ["qpos", "qvel"])
    inside = folder / "aloha"
    inside.mkdir()
    names = [f"episode_{number}" for number in _numbers(rng, len(own))]
    for name, arrays in zip(names, own, strict=True):
        with h5py.File(inside / f"{name}.hdf5", "w") as file:
            for key, values in arrays.items():
                _store(rng, file, f"observations/{key}", values)
            file["action"] = np.zeros((len(values), 2))
    places = [(inside / f"{name}.hdf5", "observations") for name in names]
    case = Case(inside, {}, own, names, places=places)
    if rng.random() < 0.2:
        case = Case(places[0][0], {}, own[:1], names[:1], places=places[:1])
    _choose(rng, case)
    if "features" not in case.options:
        case.episodes = [{"qpos": arrays["qpos"]} for arrays in case.episodes]
    return case


def minari(rng: Rng, folder: Path) -> Case:
    """A data set of Minari: its folder or its file."""
    nested = bool(rng.integers(2))
    own = _episodes(rng, _keys(rng) if nested else ["observations"])
    names = [f"episode_{number}" for number in _numbers(rng, len(own))]
    path = folder / "minari" / "data" / "main_data.hdf5"
    path.parent.mkdir(parents=True)
    with h5py.File(path, "w") as file:
        for name, arrays in zip(names, own, strict=True):
            episode = file.create_group(name)
            for key, values in arrays.items():
                _store(rng, episode, f"observations/{key}" if nested else key, values)
            episode["actions"] = np.zeros((len(values) - 1, 2))
    places = [(path, f"{name}/observations" if nested else name) for name in names]
    given = pick(rng, (path, path.parent, path.parent.parent))
    return _choose(rng, Case(given, {}, [_dotted(a) for a in own], names, places=places))


def maniskill(rng: Rng, folder: Path) -> Case:
    """A file of ManiSkill's RecordEpisode."""
    own = _episodes(rng, _keys(rng))
    names = [f"traj_{number}" for number in _numbers(rng, len(own))]
    path = folder / "trajectory.h5"
    with h5py.File(path, "w") as file:
        for name, arrays in zip(names, own, strict=True):
            for key, values in arrays.items():
                _store(rng, file, f"{name}/obs/{key}", values)
            file[f"{name}/actions"] = np.zeros((len(values) - 1, 2))
    places = [(path, f"{name}/obs") for name in names]
    return _choose(rng, Case(path, {}, [_dotted(a) for a in own], names, places=places))


def d4rl(rng: Rng, folder: Path) -> Case:
    """A file of D4RL."""
    own = _episodes(rng, ["observations"])
    path = folder / "d4rl.hdf5"
    ends = np.concatenate([np.arange(len(a["observations"])) == 0 for a in own])
    last = np.roll(ends, -1)
    last[-1] = bool(rng.integers(2))
    terminal = last & (rng.random(len(last)) < 0.5)
    with h5py.File(path, "w") as file:
        joined = np.concatenate([a["observations"] for a in own])
        _store(rng, file, "observations", joined)
        file["terminals"] = terminal if rng.integers(2) else terminal[:, None].astype(np.float32)
        file["timeouts"] = last & ~terminal
        file["infos/qpos"] = np.zeros((len(last), 2))
    names = [str(i) for i in range(len(own))]
    return Case(path, {}, own, names, places=[(path, "")])


LAYOUTS = (robomimic, robomimic, robosuite, aloha, minari, maniskill, d4rl)
