"""LeRobot data sets of versions 2.0 to 3.0: sound, with faults, or damaged."""

import copy
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, seeds
from fuzz.reading import JUNK, check_part, check_same, damage, read

pytestmark = pytest.mark.filterwarnings("error")
SHAPES = ((), (1,), (2,), (3,), (4,), (2, 2), (2, 3))
FEATURE = "observation.state"
PLACES = (
    "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
)


class DataSet:
    """A data set in memory.

    Attributes
    ----------
    info : dict
        Content of info.json.
    states : dict of int to [T, d]
    files : list of list
        Rows as [episode, frame, values or None] of each file.
    lengths : list of (int, int)
        Episodes and their lengths in `meta/`.
    expected : tuple of str, or None
        Names of the coordinates, if they are known.
    """

    def __init__(self, draw: Any) -> None:
        self.mixed = False
        self.later = (-1, 0, 0.0)  # episode, frame, s
        self.stated: dict[int, tuple[Any, ...]] = {}  # states, task, success and rate of episodes
        self.version = draw(chosen(("v2.0", "v2.1", "v3.0")))
        self.shape, kind = draw(chosen(SHAPES)), draw(chosen(("f2", "f4", "f8", "i4", "i8", "u1")))
        self.fps, width, rng = draw(chosen((20, 30, 7.5))), int(np.prod(self.shape)), draw(seeds)
        sizes = draw(
            st.dictionaries(st.integers(0, 12), st.integers(2, 11), min_size=1, max_size=4)
        )
        self.states = {
            e: rng.integers(100, size=(sizes[e], width)).astype(kind) for e in sorted(sizes)
        }
        names, self.expected = draw(names_of(self.shape, width))
        one = {"shape": [1], "names": None}
        self.features: dict[str, Any] = {
            FEATURE: {"dtype": np.dtype(kind).name, "shape": [*self.shape], "names": names},
            "action": {"dtype": "float32", "shape": [2], "names": ["a", "b"]},
            "timestamp": {"dtype": "float32", **one},
            "observation.images.top": {"dtype": "video", "shape": [4, 4, 3], "names": None},
            **{n: {"dtype": "int64", **one} for n in ("frame_index", "episode_index", "index")},
        }
        self.info: dict[str, Any] = {
            "codebase_version": self.version, "fps": self.fps, "total_frames": sum(sizes.values()),
            "features": self.features,
        }  # fmt: skip
        if draw(st.booleans()):
            self.info["data_path"] = PLACES[self.version == "v3.0"]
        self.lengths = [(e, len(own)) for e, own in self.states.items()]
        self.files = [
            [[e, t, row.tolist()] for t, row in enumerate(own)] for e, own in self.states.items()
        ]
        if self.version == "v3.0" and draw(st.booleans()):  # rows of any episode in any file
            rows = draw(st.permutations([row for file in self.files for row in file]))
            cut = draw(st.integers(1, len(rows)))
            self.files = [part for part in (rows[:cut], rows[cut:]) if part]
            self.info.pop("data_path", None)  # it is for episodes in one file each
            self.mixed = True
        self.kind = pa.from_numpy_dtype(np.dtype(kind))
        make = draw(chosen((pa.list_, pa.large_list, None)))
        for size in reversed(self.shape):
            self.kind = make(self.kind) if make else pa.list_(self.kind, size)
        self.counter = draw(chosen((pa.int64(), pa.int32(), pa.list_(pa.int64(), 1))))

    def restate(self, stated: dict[int, tuple[Any, ...]]) -> None:
        """Replace the episodes by others, of which tasks, success and rates are stated."""
        self.stated, self.info["fps"] = stated, next(iter(stated.values()))[3]
        self.features[FEATURE] |= {"shape": [2], "dtype": "float32", "names": None}
        self.shape, self.kind = (2,), pa.list_(pa.float32())
        self.info.pop("data_path", None)
        self.lengths = [(e, len(own[0])) for e, own in stated.items()]
        self.files = [
            [[e, t, row.tolist()] for t, row in enumerate(own[0])] for e, own in stated.items()
        ]

    def rows(self, episode: int) -> list[list[Any]]:
        return [row for file in self.files for row in file if row[0] == episode]

    def time(self, episode: int, frame: int) -> float:
        """Time of a frame, s; from `later` on, by so much more or less."""
        which, first, more = self.later
        fps = self.stated[episode][3] if episode in self.stated else self.fps
        return frame / fps + more * (episode == which and frame >= first)

    def table(self, rows: list[Any]) -> pa.Table:
        def nested(row: Any) -> Any:
            if row is None or None in row:
                return row
            array = np.array(row, object).reshape(self.shape)
            return array.item() if self.shape == () else array.tolist()

        listed = not pa.types.is_integer(self.counter)
        episodes, frames = ([[r[i]] if listed else r[i] for r in rows] for i in (0, 1))
        about = [self.stated[r[0]] for r in rows if r[0] in self.stated]
        flags = [own[2] for own in about]
        tasks = [own[1] for own in self.stated.values()]
        return pa.table(
            {
                **({"task_index": [tasks.index(own[1]) for own in about]} if about else {}),
                **({} if None in flags or not flags else {"next.success": flags}),
                FEATURE: pa.array([nested(r[2]) for r in rows], self.kind),
                "action": pa.array([[0.0, 1.0]] * len(rows), pa.list_(pa.float32())),
                "timestamp": pa.array([self.time(*r[:2]) for r in rows], pa.float32()),
                "frame_index": pa.array(frames, self.counter),
                "episode_index": pa.array(episodes, self.counter),
                "index": pa.array(range(len(rows)), pa.int64()),
            }
        )

    def write(self, path: Any) -> Any:
        chunk, new = path / "data" / "chunk-000", self.version == "v3.0"
        chunk.mkdir(parents=True)
        (path / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
        (path / "meta" / "info.json").write_text(json.dumps(self.info), encoding="utf-8")
        for number, rows in enumerate(self.files):
            first = [*self.states][number] if "data_path" in self.info else number
            name = f"file-{number:03d}" if new else f"episode_{first:06d}"
            pq.write_table(self.table(rows), chunk / f"{name}.parquet", 7)
        rows = [{"episode_index": e, "tasks": ["x"], "length": n} for e, n in self.lengths]
        names = [own[1] for own in self.stated.values()]
        tasks = [json.dumps({"task_index": i, "task": name}) for i, name in enumerate(names)]
        (path / "meta" / "tasks.jsonl").write_text("\n".join(tasks))
        if new:
            for row in rows if "data_path" in self.info else ():
                at = [*self.states].index(row["episode_index"])
                row |= {"data/chunk_index": 0, "data/file_index": at}
            file = path / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
            pq.write_table(pa.Table.from_pylist(rows), file)
        else:
            (path / "meta" / "episodes.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return path


@st.composite
def names_of(draw: Any, shape: tuple[int, ...], width: int) -> tuple[Any, tuple[str, ...] | None]:
    """Names in one of the forms of data sets, and the names of the coordinates."""
    plain, half = [f"n{i}" for i in range(width)], width // 2
    flat = tuple(f"{FEATURE}.{name}" for name in plain)
    counted = tuple(f"{FEATURE}.{i}" for i in range(width))
    numbered = None if width == 1 or len(shape) > 1 else counted
    nested = {"arm": {"left": plain[:half], "right": {"x": plain[half:]}}}
    numbers = {n: i for i, n in reversed(list(enumerate(plain)))}
    motors = {n: [7 + i, "model"] for i, n in enumerate(plain)}
    both = {"left": plain[:half], "right": plain[half:]}
    known = (plain, [plain], {"motors": plain}, both, nested, numbers, motors)
    more = ([f"n{i}" for i in range(width + 3)], numbered), (None, numbered)
    junk = draw(chosen(JUNK)), None
    forms = *((names, flat) for names in known), ([*range(width)], counted), *more, junk
    return draw(chosen(forms))


def cut(data: DataSet, episode: int) -> None:
    last = max(row[1] for row in data.rows(episode))
    data.files = [[r for r in file if r[:2] != [episode, last]] for file in data.files]


def absent(data: DataSet, episode: int) -> None:
    data.files = [[r for r in file if r[0] != episode] for file in data.files]


def gap(data: DataSet, episode: int) -> None:
    max(data.rows(episode), key=lambda row: row[1])[1] += 3 * (len(data.states[episode]) > 2)


def null(data: DataSet, episode: int) -> None:
    data.rows(episode)[0][2] = None


def null_inside(data: DataSet, episode: int) -> None:
    row = data.rows(episode)[0]
    row[2] = [None, *row[2][1:]] if len(data.shape) == 1 else None


def unknown(data: DataSet, episode: int) -> None:
    data.lengths = [pair for pair in data.lengths if pair[0] != episode]


def twice(data: DataSet, episode: int) -> None:
    data.info.pop("data_path", None)
    data.files.append(copy.deepcopy(data.rows(episode)))


def longer(data: DataSet, episode: int) -> None:
    data.lengths = [(e, n - (e == episode)) for e, n in data.lengths]


def two_lengths(data: DataSet, episode: int) -> None:
    data.lengths.append((episode, 99))


def other_shape(data: DataSet, episode: int) -> None:
    data.features[FEATURE]["shape"] = [int(np.prod(data.shape)) + 1]


def other_version(data: DataSet, episode: int) -> None:
    data.info["codebase_version"] = "v1.6"


def no_features(data: DataSet, episode: int) -> None:
    data.info["features"] = {}


@fuzzed(60)
@given(st.data(), chosen(("total_frames", "x", "fps", "steps", "twice", "")), chosen(JUNK))
def test_sound_data_sets_are_read_as_recorded(data, harmless, junk):
    own = DataSet(data.draw)
    if harmless == "steps":
        for row in (row for file in own.files for row in file):
            row[1] = 2 * row[1] + 5
    elif harmless == "twice":
        own.lengths += own.lengths[:1]
    elif harmless == "fps":
        own.info["fps"] = data.draw(chosen((None, 0, -3, "20", [], float("nan"))))
    elif harmless:
        own.info[harmless] = junk
    with folder() as path:
        found = read(own.write(path / "set"))
    check_same(found, {str(e): states for e, states in own.states.items()})
    assert own.expected is None or found.names == own.expected
    if harmless != "steps":
        assert found.rate == (None if harmless == "fps" else own.fps)


STRAYS = {
    "other columns": {"episode": [65, 65], "t": [0.0, 0.05]}, "no columns": {},
    "text": {"episode_index": ["a"], "frame_index": ["b"]}, "same numbers": None,
}  # fmt: skip


@fuzzed(40)
@given(st.data(), chosen((*STRAYS, "no table", "pointer")))
def test_stray_files_are_set_aside(data, kind):
    own = DataSet(data.draw)
    if own.mixed:
        return
    own.info["data_path"] = PLACES[own.version == "v3.0"]
    with folder() as path:
        given = own.write(path / "set")
        stray = given / "data" / data.draw(chosen(("chunk-000", "chunk-007"))) / "extra_99.parquet"
        stray.parent.mkdir(exist_ok=True)
        if kind == "no table":
            stray.write_bytes(b"PAR1")
        elif kind == "pointer":
            stray.write_text("version https://git-lfs.github.com/spec/v1\n")
        else:
            content = STRAYS[kind]
            table = own.table(own.files[0]) if content is None else pa.table(content)
            pq.write_table(table, stray)
        found = read(given)
    check_same(found, {str(e): states for e, states in own.states.items()})
    assert (kind == "pointer") == (not any("extra_99" in note for note in found.notes))


@fuzzed(40)
@given(st.data(), st.floats(0.03, 5.0), st.booleans())
def test_times_with_holes_are_noted_and_those_that_go_back_left_out(data, more, back):
    own = DataSet(data.draw)
    longest = {e: len(states) for e, states in own.states.items() if len(states) > 2}
    if not longest:
        return
    episode = data.draw(chosen(longest))
    step = data.draw(st.integers(1, longest[episode] - 1))
    own.later = (episode, step, -(1.1 + more) / own.fps if back else (0.6 + more) / own.fps)
    with folder() as path:
        found = read(own.write(path / "set"))
    if back and len(own.states) == 1:
        assert found is REFUSED
        return
    left_out = {str(episode)} if back else set()
    check_same(found, {str(e): states for e, states in own.states.items()}, left_out)
    said = f"before step {step} of demonstration {episode}"
    said = f"back after frame {step - 1}" if back else said
    usual = sum(len(states) - 1 for states in own.states.values()) > 4  # else it may be the rate
    assert not usual or any(said in note for note in found.notes)


@fuzzed(60)
@given(st.data(), chosen((absent, cut, gap, null, null_inside, unknown)))
def test_incomplete_episodes_are_left_out(data, fault):
    own = DataSet(data.draw)
    episode = data.draw(chosen(own.states))
    fault(own, episode)
    with folder() as path:
        found = read(own.write(path / "set"))
    if fault is gap and len(own.states[episode]) == 2:
        return
    if len(own.states) == 1:
        assert found is REFUSED
    else:
        check_same(found, {str(e): states for e, states in own.states.items()}, {str(episode)})


@fuzzed(40)
@given(st.data(), chosen((twice, longer, two_lengths, other_shape, other_version, no_features)))
def test_contradictions_are_refused(data, fault):
    own = DataSet(data.draw)
    fault(own, data.draw(chosen(own.states)))
    with folder() as path:
        assert read(own.write(path / "set")) is REFUSED


@fuzzed(20)
@given(st.data(), chosen((["observation.images.top"], [], ["b"], "state", [1], [[]], [None])))
def test_wrong_features_are_refused(data, features):
    with folder() as path:
        own = DataSet(data.draw).write(path / "set")
        assert read(own, features=features) is REFUSED


@fuzzed(80)
@given(st.data(), st.booleans())
def test_damaged_data_sets_are_read_in_part_or_refused(data, in_info):
    own = DataSet(data.draw)
    with folder() as path:
        sound = read(own.write(path / "set"))
        if in_info:
            where, key = data.draw(chosen(places(own.info)))
            where[key] = data.draw(chosen(JUNK))
            (path / "set" / "meta" / "info.json").write_text(json.dumps(own.info))
            found = read(path / "set", features=[FEATURE])
            check_part(found, sound, by_name=False)
        else:
            kind = data.draw(damage(path / "set"))
            found = read(path / "set")
            if kind in ("cut", "gone", "empty", "pointer", "folder"):
                check_part(found, sound)


def places(value: Any) -> list[tuple[Any, Any]]:
    """All values within dicts and lists, by container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [v for _, v in pairs if isinstance(v, dict | list)]
    keys = [*value] if isinstance(value, dict) else range(len(value))
    return [(value, key) for key in keys] + [p for v in inner for p in places(v)]
