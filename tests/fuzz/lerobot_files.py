"""Random LeRobot data sets, intact or with faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from values import Rng, pick
from written import ANY, EITHER, JUNK, READ, REFUSED, Written, damage


class LeRobot:
    """A data set in memory: `info`, the rows of each file, and the lengths in `meta/`."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.version = pick(rng, ("v2.0", "v2.1", "v3.0"))
        count = int(rng.integers(1, 5))
        self.shape = pick(rng, ((), (1,), (2,), (3,), (4,), (2, 2), (2, 3)))
        self.width = int(np.prod(self.shape))
        kind = pick(rng, ("f2", "f4", "f4", "f8", "i4", "i8", "u1"))
        self.fps = pick(rng, (20, 30, 7.5))
        self.feature = pick(rng, ("observation.state",) * 3 + ("state", "observation.qpos", "a"))
        self.states = {
            e: rng.integers(100, size=(int(rng.integers(2, 12)), self.width)).astype(kind)
            for e in sorted(rng.choice(12, count, replace=False).tolist())
        }
        self.names, self.expected = names_of(rng, self.feature, self.shape, self.width)
        one = {"shape": [1], "names": None}
        self.features: dict[str, Any] = {
            self.feature: {
                "dtype": np.dtype(kind).name,
                "shape": list(self.shape),
                "names": self.names,
            },
            "action": {"dtype": "float32", "shape": [2], "names": ["a", "b"]},
            "next.done": {"dtype": "bool", **one},
            "timestamp": {"dtype": "float32", **one},
            "observation.images.top": {"dtype": "video", "shape": [4, 4, 3], "names": None},
            **{n: {"dtype": "int64", **one} for n in ("frame_index", "episode_index", "index")},
        }
        self.info: dict[str, Any] = {
            "codebase_version": self.version,
            "fps": self.fps,
            "total_frames": sum(map(len, self.states.values())),
            "features": self.features,
        }
        self.lengths = [(e, len(s)) for e, s in self.states.items()]
        # Rows as [episode, frame, values or None], in one file per episode or in any file.
        self.files = [
            [[e, t, row.tolist()] for t, row in enumerate(s)] for e, s in self.states.items()
        ]
        if self.version == "v3.0" and rng.integers(2):
            rows = [row for file in self.files for row in file]
            if rng.integers(2):
                rng.shuffle(rows)
            cuts = np.sort(rng.integers(len(rows) + 1, size=rng.integers(3)))
            self.files = [
                rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True) if b > a
            ]
        self.values = self._column()
        self.counter = pick(rng, (pa.int64(), pa.int64(), pa.int32(), pa.list_(pa.int64(), 1)))
        self.case = Written(
            Path(), {str(e): s.copy() for e, s in self.states.items()}, rate=self.fps
        )
        if self.feature == "a" or rng.integers(4) == 0:
            self.case.options["features"] = [self.feature]
        self.case.names = self.expected

    def _column(self) -> Callable[[list[Any]], pa.Array]:
        kind = pa.from_numpy_dtype(next(iter(self.states.values())).dtype)
        fixed, large = self.rng.integers(2, size=2)
        for size in reversed(self.shape):
            kind = pa.list_(kind, size) if fixed else (pa.large_list if large else pa.list_)(kind)
        if self.shape == (1,) and self.rng.integers(2):
            self.shape = ()
            kind = pa.from_numpy_dtype(next(iter(self.states.values())).dtype)

        def nested(row: Any) -> Any:
            if row is None or not isinstance(row, list) or len(row) != self.width:
                return row
            array = np.array(row, object).reshape(self.shape)
            return array.item() if self.shape == () else array.tolist()

        return lambda rows: pa.array([nested(row) for row in rows], kind)

    def table(self, rows: list[Any]) -> pa.Table:
        listed = not pa.types.is_integer(self.counter)
        episodes, frames = ([[r[i]] if listed else r[i] for r in rows] for i in (0, 1))
        columns = {
            self.feature: self.values([r[2] for r in rows]),
            "action": pa.array([[0.0, 1.0]] * len(rows), pa.list_(pa.float32())),
            "next.done": pa.array([False] * len(rows)),
            "timestamp": pa.array([r[1] / self.fps for r in rows], pa.float32()),
            "frame_index": pa.array(frames, self.counter),
            "episode_index": pa.array(episodes, self.counter),
            "index": pa.array(range(len(rows)), pa.int64()),
        }
        return pa.table(columns)

    def write(self, folder: Path) -> None:
        (folder / "meta").mkdir()
        text = json.dumps(self.info)
        encoding = pick(self.rng, ("utf-8", "utf-8", "utf-8-sig"))
        (folder / "meta" / "info.json").write_text(text, encoding=encoding)
        chunk = folder / "data" / "chunk-000"
        chunk.mkdir(parents=True)
        for number, rows in enumerate(self.files):
            name = "file-{:03d}" if self.version == "v3.0" else "episode_{:06d}"
            size = int(self.rng.integers(1, 20))
            pq.write_table(self.table(rows), chunk / f"{name.format(number)}.parquet", size)
        rows = [{"episode_index": e, "tasks": ["x"], "length": n} for e, n in self.lengths]
        if self.version == "v3.0":
            path = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
            path.parent.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            lines = "\n".join(map(json.dumps, rows))
            (folder / "meta" / "episodes.jsonl").write_text(lines)


def names_of(
    rng: Rng, feature: str, shape: tuple[int, ...], width: int
) -> tuple[Any, tuple[str, ...] | None]:
    """Names in one of the forms of data sets, and the names of the coordinates."""
    plain = [f"n{i}" for i in range(width)]
    expected = tuple(f"{feature}.{name}" for name in plain)
    half = width // 2
    forms: dict[str, tuple[Any, Any]] = {
        "list": (plain, expected),
        "in a list": ([plain], expected),
        "lists": ([plain[:half], plain[half:]], expected if len(shape) < 2 else None),
        "of lists": ({"motors": plain}, expected),
        "of two lists": ({"left": plain[:half], "right": plain[half:]}, expected),
        "of dicts": ({"arm": {"left": plain[:half], "right": {"x": plain[half:]}}}, expected),
        "places": ({n: i for i, n in reversed(list(enumerate(plain)))}, expected),
        "motors": ({n: [7 + i, "model"] for i, n in enumerate(plain)}, expected),
        "numbers": (list(range(width)), tuple(f"{feature}.{i}" for i in range(width))),
        "same": (["j"] * width, None),
        "wrong": ([f"n{i}" for i in range(width + 3)], None),
        "none": (None, None),
        "junk": (pick(rng, JUNK), None),
    }
    if width > 1 and len(shape) < 2:
        numbered = tuple(f"{feature}.{i}" for i in range(width))
        forms["none"] = (None, numbered)
        forms["wrong"] = (forms["wrong"][0], numbered)
        forms["same"] = (["j"] * width, tuple(f"{feature}.j.{i}" for i in range(width)))
        sides = [*(f"l.{i}" for i in range(half)), *(f"r.{i}" for i in range(width - half))]
        if half > 0 and width - half > 0:
            both = {"l": list(range(half)), "r": list(range(width - half))}
            given = {k: [f"j{i}" for i in v] for k, v in both.items()}
            forms["sides"] = (given, tuple(f"{feature}.{s.replace('.', '.j')}" for s in sides))
    return forms[pick(rng, list(forms))]


# Faults after which an episode is left out with a note, and faults that have to be refused.


def _rows(data: LeRobot, episode: int) -> list[list[Any]]:
    return [row for file in data.files for row in file if row[0] == episode]


def _lose(data: LeRobot, episode: int) -> None:
    data.case.left_out.add(str(episode))
    if len(data.case.left_out) == len(data.states):
        data.case.outcome = REFUSED


def absent(data: LeRobot, episode: int) -> None:
    data.files = [[row for row in file if row[0] != episode] for file in data.files]
    data.files = [file for file in data.files if file] or [[]]
    _lose(data, episode)


def cut(data: LeRobot, episode: int) -> None:
    last = max((row[1] for row in _rows(data, episode)), default=0)
    data.files = [[r for r in file if r[:2] != [episode, last]] for file in data.files]
    _lose(data, episode)


def gap(data: LeRobot, episode: int) -> None:
    rows = _rows(data, episode)
    if len(rows) > 2:
        max(rows, key=lambda row: row[1])[1] += int(data.rng.integers(1, 5))
        _lose(data, episode)


def null(data: LeRobot, episode: int) -> None:
    rows = _rows(data, episode)
    if rows:
        row = rows[int(data.rng.integers(len(rows)))]
        if row[2] is None:
            return
        row[2] = None if data.rng.integers(2) or not data.shape else [None, *row[2][1:]]
        _lose(data, episode)


def not_finite(data: LeRobot, episode: int) -> None:
    rows = _rows(data, episode)
    if rows and next(iter(data.states.values())).dtype.kind == "f" and rows[0][2]:
        rows[0][2] = [float(pick(data.rng, ("nan", "inf"))), *rows[0][2][1:]]
        _lose(data, episode)


def unknown(data: LeRobot, episode: int) -> None:
    data.lengths = [pair for pair in data.lengths if pair[0] != episode]
    _lose(data, episode)


LEAVING_OUT = (absent, cut, gap, null, not_finite, unknown)


def no_total(data: LeRobot, episode: int) -> None:
    data.info["total_frames"] = pick(data.rng, JUNK)


def other_keys(data: LeRobot, episode: int) -> None:
    data.features["x"] = pick(data.rng, JUNK)
    data.info["y"] = pick(data.rng, JUNK)


def no_fps(data: LeRobot, episode: int) -> None:
    data.info["fps"] = pick(data.rng, (None, 0, -3, "20", [], float("nan"), 1000, 1))
    data.case.rate = None


def steps_of_two(data: LeRobot, episode: int) -> None:
    for row in _rows(data, episode):
        row[1] = 2 * row[1] + 5
    data.case.rate = ...


def twice_in_meta(data: LeRobot, episode: int) -> None:
    data.lengths += data.lengths[:1]


HARMLESS = (no_total, other_keys, no_fps, steps_of_two, twice_in_meta)


def twice(data: LeRobot, episode: int) -> None:
    data.files.append([list(row) for row in _rows(data, episode)])


def longer(data: LeRobot, episode: int) -> None:
    data.lengths = [(e, n - (e == episode)) for e, n in data.lengths]


def two_lengths(data: LeRobot, episode: int) -> None:
    data.lengths.append((episode, 99))


def other_shape(data: LeRobot, episode: int) -> None:
    data.features[data.feature]["shape"] = [data.width + 1]


def picture(data: LeRobot, episode: int) -> None:
    data.case.options["features"] = ["observation.images.top"]


def no_feature(data: LeRobot, episode: int) -> None:
    data.case.options["features"] = pick(data.rng, ([], ["b"], "state", [1], [[]], [None]))


def other_version(data: LeRobot, episode: int) -> None:
    data.info["codebase_version"] = pick(
        data.rng, ("v1.6", "v2" if data.version == "v3.0" else "v3.0", "", None, 3, [])
    )


def no_features(data: LeRobot, episode: int) -> None:
    data.info["features"] = pick(data.rng, (None, [], "x", 1, {}))


REFUSING = (
    twice,
    longer,
    two_lengths,
    other_shape,
    picture,
    no_feature,
    other_version,
    no_features,
)


def lerobot(rng: Rng, folder: Path) -> Written:
    """A LeRobot data set, intact or with one or two faults."""
    data = LeRobot(rng)
    case = data.case
    case.path = folder
    kind = pick(rng, ("sound", "leaving out", "leaving out", "harmless", "refusing", "junk"))
    faults = {"leaving out": LEAVING_OUT, "harmless": HARMLESS, "refusing": REFUSING}.get(kind)
    if faults:
        for _ in range(1 if kind == "refusing" else int(rng.integers(1, 3))):
            fault = pick(rng, faults)
            before = case.outcome
            fault(data, int(pick(rng, list(data.states))))
            case.what.append(fault.__name__)
            if kind == "refusing":
                case.outcome = REFUSED
            elif before == REFUSED:
                case.outcome = REFUSED
        if {"unknown", "absent"} <= set(case.what):  # no value remains that could be missed
            known = {str(e) for e, _ in data.lengths} | {str(r[0]) for f in data.files for r in f}
            case.recorded = {e: s for e, s in case.recorded.items() if e in known}
        if len(case.what) > 1 and case.outcome == READ:
            # Two faults may be in one episode; either may be the reason for leaving it out.
            case.outcome = EITHER if kind == "leaving out" else READ
    elif kind == "junk":
        case.outcome = pick(rng, (EITHER, EITHER, ANY))
        case.names, case.rate = None, ...
        case.options["features"] = [data.feature]
        case.what.append(junk_in_info(data))
    if case.outcome == EITHER:
        case.left_out = None  # any of them
    data.write(folder)
    if case.outcome == ANY:
        case.what.append(damage(rng, folder))
    return case


def junk_in_info(data: LeRobot) -> str:
    """Replace some value of `info.json` by junk, or remove it."""
    places: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(pairs):
            places.append((value, key))
            if isinstance(inner, dict | list):
                collect(inner)

    collect(data.info)
    where, key = places[int(data.rng.integers(len(places)))]
    if isinstance(where, dict) and data.rng.integers(4) == 0:
        del where[key]
        return f"without {key}"
    where[key] = pick(data.rng, JUNK)
    return f"{key} is {where[key]!r}"
