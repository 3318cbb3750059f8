"""ROS bags with several bodies, joints in any order and arrays of any length.

The numbers of a body occur in no other body, so a state that mixes two bodies is detected.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, outcome, seeds
from fuzz.reading import damage, episodes, read
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_tools.bags.demonstrations import load_demonstrations
from infoatlas_tools.bags.states import Bag

pytestmark = pytest.mark.filterwarnings("error")
STORE = get_typestore(Stores.ROS2_HUMBLE)
STEP, START, TOPIC = 50_000_000, 1_763_800_000_000_000_000, "/states"
STORAGES = (StoragePlugin.MCAP, StoragePlugin.SQLITE3)
PACKED = (None, None, CompressionMode.FILE, CompressionMode.MESSAGE)


def make(kind: str, *values: Any) -> Any:
    return STORE.types[kind](*values)


def header(time: int, frame: str) -> Any:
    stamp = make("builtin_interfaces/msg/Time", *divmod(time, 10**9))
    return make("std_msgs/msg/Header", stamp, frame)


def pose(kind: str, point: str, row: np.ndarray) -> Any:
    turn = make("geometry_msgs/msg/Quaternion", *row[3:])
    return make(f"geometry_msgs/msg/{kind}", make(f"geometry_msgs/msg/{point}", *row[:3]), turn)


class Topic(NamedTuple):
    """Messages of a topic, the states [T, d] of each body in them, and options of the reader."""

    kind: str
    messages: list[Any]
    bodies: list[np.ndarray]
    options: dict[str, Any]
    names: tuple[str, ...] | None = None


def states_of(rng: Any, body: int, width: int) -> np.ndarray:
    """Numbers of a body, which begin at 1000 times its number."""
    return 1000.0 * (1 + body) + rng.uniform(1, 999, width)


def by_body(whose: list[int], values: list[np.ndarray]) -> list[np.ndarray]:
    pairs = list(zip(whose, values, strict=True))
    return [np.array([v for who, v in pairs if who == body]) for body in sorted({*whose})]


def joints(draw: Any, rng: Any, whose: list[int], plan: dict[str, Any]) -> Topic:
    """JointState of an arm and a gripper, with names in any order."""
    kind, own = "sensor_msgs/msg/JointState", plan["joints"]
    options = {"joints": plan["asked"]} if plan["asked"] and not any(whose) else {}
    messages, values, order = [], [], own
    for i, who in enumerate(whose):
        names = own if who == 0 else [f"f{i}" for i in range(plan["others"])]
        row = states_of(rng, who, 2 * len(names)).reshape(2, -1)
        turn = rng.permutation(len(names)) if plan["permuted"] else np.arange(len(names))
        given = [names[i] for i in turn]
        order = given if i == 0 else order
        full = row if plan["velocities"] else row[:1]
        rest = full[1][turn] if plan["velocities"] else np.zeros(0)
        stamp = header(START + STEP * i, "frame")
        messages.append(make(kind, stamp, given, full[0][turn], rest, np.zeros(0)))
        values.append(full.ravel())
    if any(whose):
        return Topic(kind, messages, by_body(whose, values), options)
    order = options.get("joints", order)
    words = ("position", "velocity")[: 1 + plan["velocities"]]
    columns = [k * len(own) + own.index(name) for k in range(len(words)) for name in order]
    labels = tuple(f"{word}[{name}]" for word in words for name in order)
    return Topic(kind, messages, [np.array(values)[:, columns]], options, labels)


def poses(draw: Any, rng: Any, whose: list[int], plan: dict[str, Any]) -> Topic:
    """PoseStamped in several frames."""
    kind, values = "geometry_msgs/msg/PoseStamped", [states_of(rng, who, 7) for who in whose]
    messages = [
        make(kind, header(START + STEP * i, f"frame{who}"), pose("Pose", "Point", row))
        for i, (who, row) in enumerate(zip(whose, values, strict=True))
    ]
    return Topic(kind, messages, by_body(whose, values), {"fields": ["pose"]})


def frames(draw: Any, rng: Any, whose: list[int], plan: dict[str, Any]) -> Topic:
    """TFMessage: each transform in a message of its own, or those of all frames in each."""
    kind, bodies = "tf2_msgs/msg/TFMessage", 1 + max(whose)
    messages, seen, values = [], [], []
    for i, who in enumerate(whose):
        inside = [who] if plan["spread"] else rng.permutation(bodies).tolist()
        elements = []
        for own in inside:
            seen.append(own)
            values.append(states_of(rng, own, 7))
            moved = pose("Transform", "Vector3", values[-1])
            stamp = header(START + STEP * i, "base")
            stamped = "geometry_msgs/msg/TransformStamped"
            elements.append(make(stamped, stamp, f"frame{own}", moved))
        messages.append(make(kind, elements))
    options = {"fields": [f"transforms[{plan['place']}].transform"]}
    return Topic(kind, messages, by_body(seen, values), options)


def numbers(draw: Any, rng: Any, whose: list[int], plan: dict[str, Any]) -> Topic:
    """Float64MultiArray; each length is a body."""
    kind, layout = "std_msgs/msg/Float64MultiArray", make("std_msgs/msg/MultiArrayLayout", [], 0)
    values = [states_of(rng, who, (5, 2, 8)[who]) for who in whose]
    messages = [make(kind, layout, row) for row in values]
    return Topic(kind, messages, by_body(whose, values), {})


@st.composite
def topics(draw: Any, several: bool) -> Topic:
    """A topic of one body, or of several in turn, at random or one after the other."""
    kind = draw(chosen((joints, joints, poses, frames, numbers)))
    rng, count, bodies = draw(seeds), draw(st.integers(20, 60)), 2 + (kind is not joints)
    turn = {
        "in turn": np.arange(count) % bodies,
        "random": rng.integers(bodies, size=count),
        "few": rng.integers(bodies, size=count) * (rng.random(count) < 0.1),
        "blocks": np.sort(rng.integers(bodies, size=count)),
    }[draw(chosen(("in turn", "random", "few", "blocks")))]
    names = [f"j{i}" for i in range(draw(st.integers(1, 4)))]
    plan = {
        "joints": names,
        "asked": draw(st.permutations(names)) if draw(st.booleans()) else [],
        "others": draw(st.integers(1, 4)),
        "permuted": draw(st.booleans()),
        "velocities": draw(st.booleans()),
        "spread": draw(st.booleans()),
        "place": draw(chosen(("0", "child_frame_id=frame0"))),
    }
    return kind(draw, rng, (turn if several else 0 * turn).tolist(), plan)


def write(draw: Any, path: Path, topic: Topic) -> Path:
    """A bag in a folder, or its only file, with another topic between."""
    storage, packed, single = draw(chosen(STORAGES)), draw(chosen(PACKED)), draw(st.booleans())
    writer = Writer(path, version=draw(chosen((8, 9))), storage_plugin=storage)
    if packed and not single:
        writer.set_compression(packed, CompressionFormat.ZSTD)
    with writer as bag:
        other = bag.add_connection("/other", "std_msgs/msg/String", typestore=STORE)
        own = bag.add_connection(TOPIC, topic.kind, typestore=STORE)
        text = STORE.serialize_cdr(make("std_msgs/msg/String", "x"), "std_msgs/msg/String")
        for i, message in enumerate(topic.messages):
            bag.write(own, START + STEP * i, STORE.serialize_cdr(message, topic.kind))
            if i % 5 == 0:
                bag.write(other, START + STEP * i, text)
    if not single:
        return path
    [file] = [file for file in path.iterdir() if file.suffix in (".mcap", ".db3")]
    moved = shutil.move(file, path.parent / f"{path.name}.bag{file.suffix}")
    shutil.rmtree(path)
    return Path(moved)


def streamed(path: Path, options: dict[str, Any]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Names, and the states of a stream in parts; a notice of other coordinates begins a part."""
    parts: list[list[np.ndarray]] = [[]]
    with Bag(path) as bag:
        extractor = bag.extractor(TOPIC, **options)
        receiver = Receiver(extractor, reset_after=np.inf)
        for _, received, message in bag.messages(TOPIC):
            sample = receiver.receive(message, received)
            if sample.notice:
                parts.append([])
            if not sample.fault:
                parts[-1].append(sample.state)
    return extractor.names, [np.array(part) for part in parts if part]


def check_of_one_body(states: np.ndarray, bodies: list[np.ndarray]) -> None:
    """Check that rows are of one body, complete and in order; columns may be in another order."""
    rows = [{*row.tolist()} for row in states]
    for body in bodies:
        own = iter([{*row.tolist()} for row in body])
        if all(any(row <= other for other in own) for row in rows):
            return
    raise AssertionError(f"no part of one body: {states}")


@fuzzed(30)
@given(st.data(), topics(several=False))
def test_one_body_is_read_as_recorded(data, topic):
    with folder() as path:
        names, parts = streamed(write(data.draw, path / "bag", topic), topic.options)
        np.testing.assert_array_equal(np.concatenate(parts), topic.bodies[0])
        assert topic.names is None or names == topic.names
        (path / "all").mkdir()
        for i in range(2):
            write(data.draw, path / "all" / f"demo_{i}", topic)
        found = read(path / "all", load_demonstrations, topic=TOPIC, **topic.options)
    for states in episodes(found).values():
        np.testing.assert_array_equal(states, topic.bodies[0])
    assert found.rate == pytest.approx(20.0)


@fuzzed(40)
@given(st.data(), topics(several=True), topics(several=True))
def test_bodies_are_never_mixed(data, topic, other):
    with folder() as path:
        bag = write(data.draw, path / "bag", topic)
        stream = outcome(lambda: streamed(bag, topic.options))
        if stream is not REFUSED:
            for states in stream[1]:
                check_of_one_body(states, topic.bodies)
        (path / "all").mkdir()
        for i, own in enumerate((topic, other)):
            write(data.draw, path / "all" / f"demo_{i}", own)
        found = read(path / "all", load_demonstrations, topic=TOPIC, **topic.options)
        if found is not REFUSED:
            for states in episodes(found).values():
                check_of_one_body(states, [*topic.bodies, *other.bodies])


@fuzzed(40)
@given(st.data(), topics(several=False))
def test_damaged_bags_end_with_one_error(data, topic):
    with folder() as path:
        bag = write(data.draw, path / "bag", topic)
        kind = data.draw(damage(bag))
        found = outcome(lambda: streamed(bag, topic.options), path)
        if found is not REFUSED and kind == "cut":
            for states in found[1]:
                check_of_one_body(states, topic.bodies)
