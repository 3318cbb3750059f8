"""Random HDF5 files of demonstrations, whole or broken, and what must come out of them.

    python tests/fuzz/hdf5_files.py --files 2000

`write` writes a file (or a folder of them) and says what must come out; `read` reads it and judges.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from calls import check
from values import Rng, pick

from infoatlas_rt import InputError, load_trajectories

KEYS = ("pos", "robot0_eef_pos", "policy/q", "policy/deep/er/v", "a b", "\u00fc", "x.1", "object")
EXACT, REFUSED, EITHER, ABSENT, ANY = "exact", "refused", "either", "absent", "any"


@dataclass
class Case:
    """A data set on disk.

    Attributes
    ----------
    path : Path
    options : dict
        Of `load_trajectories`.
    episodes : list of dict of array [T, d]
        What is in it, by the names of `features`; names of episodes are in `names`.
    outcome : str
        exact: it must be read as it is. refused: it must be refused. either: one of the two.
        absent: refused, or read without the columns of `key`. any: anything but another exception.
    key : str
        Name of the array with the fault.
    fault : str
    """

    path: Path
    options: dict[str, Any]
    episodes: list[dict[str, np.ndarray]]
    names: list[str]
    outcome: str = EXACT
    key: str = ""
    fault: str = "none"
    places: list[tuple[Path, str]] = field(default_factory=list)  # file and group of each episode


def write(rng: Rng, folder: Path) -> Case:
    """A random data set of one of the layouts, in half of the cases with a fault."""
    case = LAYOUTS[rng.integers(len(LAYOUTS))](rng, folder)
    if rng.random() < 0.5:
        FAULTS[rng.integers(len(FAULTS))](rng, case)
    return case


def read(rng: Rng, folder: Path) -> str:
    """Write a data set, read it and judge: "ok" or "refused"; raises Wrong."""
    case = write(rng, folder)
    what = f"{case.path.name} {case.options} {case.fault} {case.key}"
    try:
        found = load_trajectories(case.path, **case.options)
    except InputError as error:
        check(case.outcome != EXACT, f"{what}: {error}")
        check(str(case.path.parent) in str(error) or "features" in str(error), f"{what}: {error}")
        check(len(str(error)) < 3000 and "\n" not in str(error), f"{what}: {error}")
        str(error).encode()
        return "refused"
    check(case.outcome != REFUSED, f"{what}: read as {found.names}, {found.lengths}")
    if case.outcome != ANY:
        _compare(case, found, what)
    return "ok"


def _compare(case: Case, found: Any, what: str) -> None:
    """Columns by name, episode by episode."""
    check(found.episodes == tuple(case.names), f"{what}: {found.episodes} for {case.names}")
    parts = np.split(found.states, np.cumsum(found.lengths)[:-1])
    for name, part, own in zip(case.names, parts, case.episodes, strict=True):
        expected: dict[str, np.ndarray] = {}
        for key, values in own.items():
            if case.outcome == ABSENT and key == case.key:
                continue
            flat = values.reshape(len(values), -1)
            for i in range(flat.shape[1]):
                expected[key if flat.shape[1] == 1 else f"{key}.{i}"] = flat[:, i]
        check(set(found.names) == set(expected), f"{what}: {found.names} for {list(expected)}")
        for column, label in enumerate(found.names):
            same = np.array_equal(part[:, column], expected[label])
            check(same, f"{what}: {label} of {name} differs")


def _values(rng: Rng, length: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.standard_normal((length, *shape)).astype(dtype)


def _episodes(rng: Rng, keys: list[str]) -> list[dict[str, np.ndarray]]:
    """Arrays of one to five demonstrations, of the same shapes."""
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
    """Some of the keys by name, in half of the cases."""
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
    """robomimic, MimicGen, Isaac Lab."""
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
    """What robosuite's collector writes."""
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
    """A folder of ALOHA, or one file."""
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
    """A data set of Minari, its folder or its file."""
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
    """What ManiSkill's RecordEpisode writes."""
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


def _target(rng: Rng, case: Case) -> tuple[int, str, Path, str]:
    """An array that is read: number of its demonstration, name, file and path in it."""
    number = int(rng.integers(len(case.places)))
    key = pick(rng, case.episodes[0])
    path, group = case.places[number]
    with h5py.File(path, "r") as file:
        inside: list[str] = []
        (file[group] if group else file).visititems(
            lambda name, node: inside.append(name) if isinstance(node, h5py.Dataset) else None
        )
    name = next(n for n in inside if n.replace("/", ".") == key)
    return number, key, path, f"{group}/{name}"


def _replace(path: Path, name: str, put: Callable[[Any, str], None]) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]
        put(file, name)


def _mark(case: Case, number: int, key: str, fault: str) -> None:
    """An array that cannot be read: it may be left out where nothing else speaks of it."""
    first = number == 0 and "features" not in case.options
    case.outcome, case.key, case.fault = ABSENT if first else REFUSED, key, fault


def other_type(rng: Rng, case: Case) -> None:
    """Strings, compounds, references, objects, or another number of dimensions."""
    number, key, path, name = _target(rng, case)
    n = len(case.episodes[number][key]) if len(case.places) > 1 else 5
    kind = pick(rng, ("S", "str", "compound", "reference", "vlen", "complex", "void", "3d", "0d",
                      "empty", "group", "type", "wide", "huge"))  # fmt: skip

    def put(file: Any, name: str) -> None:
        if kind in ("S", "complex", "void"):
            file[name] = np.zeros(n, {"S": "S4", "complex": "c16", "void": "V5"}[kind])
        elif kind == "str":
            file.create_dataset(name, data=["a"] * n, dtype=h5py.string_dtype())
        elif kind == "compound":
            file[name] = np.zeros(n, [("x", "f8"), ("y", "i4")])
        elif kind == "reference":
            file.create_dataset(name, data=[file.ref] * n, dtype=h5py.ref_dtype)
        elif kind == "vlen":
            file.create_dataset(name, (n,), h5py.vlen_dtype(np.float32))
        elif kind == "empty":
            file[name] = h5py.Empty("f4")
        elif kind == "group":
            file.create_group(name)
        elif kind == "type":
            file[name] = np.dtype("f8")
        elif kind == "huge":
            file.create_dataset(name, (10**12, 100), "f4", chunks=(1, 100))
        else:
            shape = {"3d": (n, 2, 2), "0d": (), "wide": (n, 0)}[kind]
            file[name] = np.ones(shape)

    _replace(path, name, put)
    _mark(case, number, key, f"other type {kind}")
    if kind == "huge":  # it is refused, not left out
        case.outcome = ANY if case.outcome == ABSENT else REFUSED


def other_length(rng: Rng, case: Case) -> None:
    """Rows that are missing or too many."""
    number, key, path, name = _target(rng, case)
    values = case.episodes[number][key]
    rows = len(values) + pick(rng, (-1, 1, 7))
    _replace(path, name, lambda file, n: file.__setitem__(n, np.ones((rows, *values.shape[1:]))))
    _mark(case, number, key, "other length")
    if rows == 0 or len(case.episodes[0]) == 1:  # nothing else says how many there are
        case.outcome = ANY


def other_width(rng: Rng, case: Case) -> None:
    """Another number of columns in one demonstration."""
    number, key, path, name = _target(rng, case)
    values = case.episodes[number][key]
    if len(case.places) == 1:
        return
    width = values.reshape(len(values), -1).shape[1] + 1
    _replace(path, name, lambda file, n: file.__setitem__(n, np.ones((len(values), width))))
    case.outcome, case.key, case.fault = REFUSED, key, "other width"


def not_finite(rng: Rng, case: Case) -> None:
    """NaN or infinite values in a row."""
    _, key, path, name = _target(rng, case)
    with h5py.File(path, "r+") as file:
        rows = len(file[name])
        file[name][int(rng.integers(rows))] = pick(rng, (np.nan, np.inf, -np.inf))
    case.outcome, case.key, case.fault = REFUSED, key, "not finite"


def missing(rng: Rng, case: Case) -> None:
    """An array that is gone from one demonstration, or a link to nothing, or never written."""
    number, key, path, name = _target(rng, case)
    kind = pick(rng, ("gone", "soft", "external", "circle", "unwritten", "virtual"))
    shape = (len(case.episodes[number][key]), *case.episodes[number][key].shape[1:])

    def put(file: Any, name: str) -> None:
        if kind == "soft":
            file[name] = h5py.SoftLink("/nowhere")
        elif kind == "external":
            file[name] = h5py.ExternalLink("gone.h5", "/x")
        elif kind == "circle":
            file[name] = file
        elif kind == "unwritten":
            file.create_dataset(name, shape, "f4")
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, "f4")
            layout[:] = h5py.VirtualSource("gone.h5", "x", shape)
            file.create_virtual_dataset(name, layout)

    _replace(path, name, put)
    _mark(case, number, key, f"missing {kind}")
    if kind == "gone" and len(case.places) > 1 and "features" not in case.options:
        case.outcome = REFUSED
    elif kind != "gone":
        case.outcome = REFUSED


def additional(rng: Rng, case: Case) -> None:
    """An array that one demonstration has alone."""
    number, _, path, name = _target(rng, case)
    layout = name.rpartition("/")[0]
    if len(case.places) == 1 or "features" in case.options or layout.count("/") == 0:
        return
    if path.name.startswith("episode_"):  # ALOHA reads qpos alone
        return
    with h5py.File(path, "r+") as file:
        file[f"{layout}/one_more"] = np.ones(
            len(case.episodes[number][next(iter(case.episodes[0]))])
        )
    case.outcome, case.key, case.fault = REFUSED, "one_more", "additional"


def bad_count(rng: Rng, case: Case) -> None:
    """num_samples that is no count, or another one."""
    path, group = case.places[int(rng.integers(len(case.places)))]
    if not group.startswith("data/"):
        return
    with h5py.File(path, "r+") as file:
        demo = file["/".join(group.split("/")[:2])]
        demo.attrs["num_samples"] = pick(
            rng, ("forty", -3, np.nan, [1, 2], h5py.Empty("f4"), 2.0**70, 10**6)
        )
    case.outcome, case.fault = REFUSED, "bad count"


def bad_mask(rng: Rng, case: Case) -> None:
    """A list of demonstrations that is none."""
    if "split" not in case.options:
        return
    path = case.places[0][0]
    values = pick(rng, (0, np.zeros((2, 2), "S3"), np.zeros(3), np.array([b"demo_99"]),
                        np.zeros(70, bool), np.array([b"\xff\xfe"]), np.zeros(0, "S3"),
                        np.zeros(2, [("a", "f4")])))  # fmt: skip
    _replace(path, "mask/train", lambda file, name: file.__setitem__(name, values))
    case.outcome, case.fault = REFUSED, "bad mask"


def cut_short(rng: Rng, case: Case) -> None:
    """The end of a file is missing."""
    path = case.places[int(rng.integers(len(case.places)))][0]
    content = path.read_bytes()
    path.write_bytes(content[: int(rng.integers(len(content)))])
    case.outcome, case.fault = REFUSED, "cut short"


def damaged(rng: Rng, case: Case) -> None:
    """Some bytes are others: numbers may change, so anything may come out but a raw exception."""
    path = case.places[int(rng.integers(len(case.places)))][0]
    content = bytearray(path.read_bytes())
    for place in rng.integers(0, len(content), rng.integers(1, 30)):
        content[place] = int(rng.integers(256))
    path.write_bytes(content)
    case.outcome, case.fault = ANY, "damaged"


def strange_options(rng: Rng, case: Case) -> None:
    """Options for another kind of file, names that are not there."""
    case.options = pick(rng, (
        {"features": ["nope"]}, {"features": "qpos"}, {"features": []}, {"features": [3]},
        {"split": "nope"}, {"episode_column": "x"}, {"features": ["."]}, {"features": [""]},
    ))  # fmt: skip
    case.outcome, case.fault = REFUSED, "strange options"


def strange_content(rng: Rng, case: Case) -> None:
    """Other things beside the demonstrations, with names of all kinds."""
    path = case.places[0][0]
    with h5py.File(path, "r+") as file:
        name = pick(rng, ("notes", "\u00e9", "version", "data_1", "x" * 300))
        if name not in file:
            file[name] = pick(rng, (b"text", 3.0, np.zeros(3)))
        raw = pick(rng, (b"\xff\xfe", b"\xed\xa0\x80"))
        if rng.random() < 0.3:
            h5py.h5g.create(file.id, raw)
    case.fault = "strange content"


def mixed_folder(rng: Rng, case: Case) -> None:
    """A file of another layout among those of ALOHA."""
    if not case.path.is_dir() or case.path.name != "aloha":
        return
    with h5py.File(case.path / "episode_99.hdf5", "w") as file:
        file[pick(rng, ("traj_0/obs", "data/demo_0/obs/x", "observations", "x"))] = np.ones((4, 2))
    case.outcome, case.fault = REFUSED, "mixed folder"


FAULTS = (
    other_type, other_type, other_length, other_width, not_finite, missing, missing, additional,
    bad_count, bad_mask, cut_short, damaged, damaged, strange_options, strange_content,
    mixed_folder,
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one case alone")
    arguments = parser.parse_args()
    numbers = range(arguments.files) if arguments.only is None else [arguments.only]
    outcomes: Counter[str] = Counter()
    for number in numbers:
        rng = np.random.default_rng([arguments.seed, number])
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                outcomes[read(rng, Path(folder))] += 1
            except Exception as error:
                if arguments.only is not None:
                    raise
                outcomes[type(error).__name__] += 1
                print(f"{number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(dict(outcomes))
    return int(bool(set(outcomes) - {"ok", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
