"""Random ROS bags: several bodies on a topic, joints in any order, arrays of any length.

The numbers of a body are those of no other one, so a state that mixes two is seen.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from values import Rng, pick
from written import ANY, EITHER, READ, REFUSED, Found, Written, damage, found

from infoatlas_rt.messages.bags import Bag
from infoatlas_rt.messages.demonstrations import load_demonstrations
from infoatlas_rt.messages.receiver import Receiver

STORE = get_typestore(Stores.ROS2_HUMBLE)
STEP = 50_000_000  # nanoseconds
START = 1_763_800_000_000_000_000
TOPIC = "/states"


class Topic(NamedTuple):
    """Messages of one topic in one bag, and what has to come of them.

    Attributes
    ----------
    kind : str
    messages : list
    bodies : list of [T, d]
        The states of each body that may come out.
    outcome : str
        Of `load_demonstrations`.
    names : tuple of str, or None
    plain : bool
        All messages are of one body and of one form.
    """

    kind: str
    messages: list[Any]
    bodies: list[np.ndarray]
    outcome: str
    names: tuple[str, ...] | None
    plain: bool


def make(kind: str, *values: Any) -> Any:
    return STORE.types[kind](*values)


def header(time: int, frame: str) -> Any:
    stamp = make("builtin_interfaces/msg/Time", *divmod(time, 10**9))
    return make("std_msgs/msg/Header", stamp, frame)


def numbers(rng: Rng, body: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of one body: from 1000 times its number on."""
    return 1000.0 * body + rng.uniform(1, 999, shape)


def turns(rng: Rng, count: int, bodies: int) -> list[int]:
    """Which body each message is of: in turn, at random, or one after the other."""
    form = pick(rng, ("in turn", "random", "blocks", "few"))
    if form == "in turn":
        return [i % bodies for i in range(count)]
    if form == "random":
        return rng.integers(bodies, size=count).tolist()
    if form == "few":
        return (rng.integers(bodies, size=count) * (rng.random(count) < 0.1)).tolist()
    return np.sort(rng.integers(bodies, size=count))[:: pick(rng, (1, -1))].tolist()


class Plan:
    """What the bags of a data set have in common: type, bodies, fields."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.options: dict[str, Any] = {"topic": TOPIC}
        self.write = pick(rng, (self._joints, self._joints, self._poses, self._frames, self._array))
        self.count = int(rng.integers(20, 70))
        self.several = rng.integers(3) == 0  # bodies
        self.joints = [f"j{i}" for i in range(int(rng.integers(1, 5)))]
        same = rng.integers(3) == 0
        self.others = [f"f{i}" for i in range(len(self.joints) if same else rng.integers(1, 4))]
        self.velocities = pick(rng, ("all", "all", "none", "some"))
        self.chosen = int(rng.integers(3)) if rng.integers(2) else None
        self.asked = [str(n) for n in rng.permutation(self.joints)] * int(rng.integers(3) == 0)
        self.permuted = bool(rng.integers(2))
        self.spread = bool(rng.integers(2))
        self.lengths = [int(n) for n in rng.choice(np.arange(1, 9), 3, replace=False)]
        self.time = START

    def _times(self) -> list[int]:
        steps = STEP + self.rng.integers(-STEP // 20, STEP // 20 + 1, self.count)
        self.time += 10**10
        return (self.time + np.cumsum(steps)).tolist()

    def _joints(self) -> Topic:
        """JointState: arm (body 1) and gripper (body 2), names in any order."""
        rng, kind = self.rng, "sensor_msgs/msg/JointState"
        if self.asked:
            self.options["joints"] = self.asked
        messages, arm, gripper, orders = [], [], [], []
        whose = turns(rng, self.count, 2) if self.several else [0] * self.count
        for time, who in zip(self._times(), whose, strict=True):
            names = (self.joints, self.others)[who]
            values = numbers(rng, 1 + who, (2, len(names)))
            order = rng.permutation(len(names)) if self.permuted else np.arange(len(names))
            full = self.velocities == "all" or (self.velocities == "some" and rng.integers(2))
            velocities = values[1][order] if full else np.zeros(0)
            positions, effort = values[0][order], np.zeros(0)
            given = [names[i] for i in order]
            messages.append(make(kind, header(time, ""), given, positions, velocities, effort))
            orders.append(given)
            (arm, gripper)[who].append(values.ravel() if full else values[0])
        if self.several or self.velocities == "some":
            # Which layout is read is up to the reader; some have no velocities.
            self.options["by_name"] = True
            states = [*arm, *gripper]
            alike = [[row for row in states if len(row) == n] for n in sorted({*map(len, states)})]
            if self.several and len(self.joints) == len(self.others):
                alike = [[r for r in rows if r[0] // 1000 == b] for rows in alike for b in (1, 2)]
            return Topic(kind, messages, [np.array(a) for a in alike if a], EITHER, None, False)
        width = 1 + (self.velocities == "all")
        names = self.options.get("joints", orders[0])
        labels = [f"{word}[{n}]" for word in ("position", "velocity")[:width] for n in names]
        columns = [k * len(names) + self.joints.index(n) for k in range(width) for n in names]
        return Topic(kind, messages, [np.array(arm)[:, columns]], READ, tuple(labels), True)

    def _poses(self) -> Topic:
        """PoseStamped of one frame or several."""
        rng, kind = self.rng, "geometry_msgs/msg/PoseStamped"
        bodies = 1 + 2 * int(self.several)
        whose = turns(rng, self.count, bodies)
        values = [numbers(rng, 1 + who, (7,)) for who in whose]
        messages = []
        for time, who, row in zip(self._times(), whose, values, strict=True):
            point = make("geometry_msgs/msg/Point", *row[:3])
            turn = make("geometry_msgs/msg/Quaternion", *row[3:])
            pose = make("geometry_msgs/msg/Pose", point, turn)
            messages.append(make(kind, header(time, f"frame{who}"), pose))
        seen = {*whose}
        if self.chosen is not None:
            self.options["fields"] = [f"[header.frame_id=frame{self.chosen}].pose"]
        return self._one_of(kind, messages, values, whose, seen)

    def _frames(self) -> Topic:
        """TFMessage of several child frames, together or spread."""
        rng, kind = self.rng, "tf2_msgs/msg/TFMessage"
        bodies = 1 + 2 * int(self.several)
        whose, values, messages = [], [], []
        for time, who in zip(self._times(), turns(rng, self.count, bodies), strict=True):
            inside = [who] if self.spread else rng.permutation(bodies).tolist()
            if not self.permuted:
                inside.sort()
            elements = []
            for own in inside:
                row = numbers(rng, 1 + own, (7,))
                move = make("geometry_msgs/msg/Vector3", *row[:3])
                turn = make("geometry_msgs/msg/Quaternion", *row[3:])
                transform = make("geometry_msgs/msg/Transform", move, turn)
                stamped = "geometry_msgs/msg/TransformStamped"
                elements.append(make(stamped, header(time, "base"), f"frame{own}", transform))
                whose.append(own)
                values.append(row)
            messages.append(make(kind, elements))
        seen = {*whose}
        place = "0" if self.chosen is None else f"child_frame_id=frame{self.chosen}"
        self.options["fields"] = [f"transforms[{place}].transform"]
        if self.chosen is None and not self.spread and not self.permuted:
            seen = {whose[0]}  # always the first one
            values, whose = values[::bodies], whose[::bodies]
        return self._one_of(kind, messages, values, whose, seen)

    def _one_of(
        self, kind: str, messages: list[Any], values: Any, whose: list[int], seen: set[int]
    ) -> Topic:
        """One body is read: the chosen one, or the only one."""
        if self.chosen is None:
            outcome = REFUSED if len(seen) > 1 else READ
            own = whose[0]
        else:
            outcome = READ if self.chosen in seen else REFUSED
            own = self.chosen
        states = [row for row, who in zip(values, whose, strict=True) if who == own]
        if outcome == READ and len(states) < len(messages):
            outcome = EITHER  # rates of demonstrations may differ then
        return Topic(kind, messages, [np.array(states)], outcome, None, len(seen) == 1)

    def _array(self) -> Topic:
        """Float64MultiArray; each length is a body."""
        rng, kind = self.rng, "std_msgs/msg/Float64MultiArray"
        whose = turns(rng, self.count, 1 + 2 * int(self.several))
        values = [numbers(rng, 1 + who, (self.lengths[who],)) for who in whose]
        self._times()
        layout = make("std_msgs/msg/MultiArrayLayout", [], 0)
        messages = [make(kind, layout, row) for row in values]
        bodies = [
            np.array([row for row, w in zip(values, whose, strict=True) if w == who])
            for who in sorted({*whose})
        ]
        seen = len({*whose})
        return Topic(kind, messages, bodies, REFUSED if seen > 1 else READ, None, seen == 1)


def bags(rng: Rng, folder: Path) -> Written:
    """A bag that is played as a stream, or a folder of bags of one demonstration each."""
    plan = Plan(rng)
    if rng.integers(2):
        case = stream_case(plan, folder)
    else:
        case = folder_case(plan, folder)
    case.what.append(f"{plan.write.__name__} {case.options}")
    if rng.integers(4) == 0:
        case.what.append(damage(rng, folder))
        kind, _, file = case.what[-1].partition(": ")
        case.outcome = EITHER if kind == "cut" and case.outcome != REFUSED else ANY
        case.names, case.holes = None, True
        if file == "metadata.yaml" and kind in ("gone", "folder", "empty", "text", "pointer"):
            case.outcome = REFUSED
    return case


def stream_case(plan: Plan, folder: Path) -> Written:
    topic = plan.write()
    path = write(plan.rng, folder, "bag", topic)
    recorded = {str(i): states for i, states in enumerate(topic.bodies)}
    holes = not topic.plain
    outcome = EITHER if holes and topic.outcome != REFUSED else topic.outcome
    if topic.kind == "std_msgs/msg/Float64MultiArray" and holes:
        outcome = EITHER  # a stream goes on with the length that most messages have
    return Written(
        path,
        recorded,
        outcome,
        options=plan.options,
        load=stream,
        names=topic.names,
        holes=holes,
    )


def folder_case(plan: Plan, folder: Path) -> Written:
    rng = plan.rng
    inside = folder / "all"
    inside.mkdir()
    recorded, outcomes, names, first = {}, [], None, None
    for i in range(int(rng.integers(2, 4))):
        topic = plan.write()
        plan.count = int(rng.integers(20, 70))
        path = write(rng, inside, f"demo_{i}", topic)
        recorded[path.name] = topic.bodies
        outcomes.append(topic.outcome)
        if first is None:
            first, names = topic, topic.names
        elif names is not None and topic.names is not None:  # columns in the order of the first
            order = [topic.names.index(name) for name in names]
            recorded[path.name] = [states[:, order] for states in topic.bodies]
    outcome = next((o for o in (REFUSED, EITHER) if o in outcomes), READ)
    case = Written(inside, {}, outcome, options=plan.options, load=demonstrations, names=names)
    several = max(map(len, recorded.values())) > 1
    case.holes = several
    for name, bodies in recorded.items():
        for j, states in enumerate(bodies):
            case.recorded[f"{name} {j}" if several else name] = states
    return case


def demonstrations(path: Path, by_name: bool = False, **options: Any) -> Found:
    """Demonstrations of a folder; `by_name`: with coordinates in the order of their names."""
    own = found(load_demonstrations(path, **options))
    if not by_name:
        return own
    order = np.argsort(own.names)
    return own._replace(episodes={name: part[:, order] for name, part in own.episodes.items()})


def stream(path: Path, topic: str, by_name: bool = False, **options: Any) -> Found:
    """States of a stream in parts: where other coordinates take over, the next part begins."""
    parts: list[list[np.ndarray]] = [[]]
    with Bag(path) as bag:
        extractor = bag.extractor(topic, **options)
        receiver = Receiver(extractor, reset_after=np.inf)
        for _, received, message in bag.messages(topic):
            sample = receiver.receive(message, received)
            if sample.notice:
                parts.append([])
            if not sample.fault:
                order = np.argsort(extractor.names) if by_name else slice(None)
                parts[-1].append(sample.state[order])
    episodes = {str(i): np.array(part) for i, part in enumerate(parts) if part}
    return Found(episodes, extractor.names, None, tuple(bag.notices))


def write(rng: Rng, folder: Path, name: str, topic: Topic) -> Path:
    """A bag in one of the forms: a folder, a file of one, or an MCAP file with other channels."""
    raws = [bytes(STORE.serialize_cdr(message, topic.kind)) for message in topic.messages]
    times = [START + STEP * i for i in range(len(raws))]
    if find_spec("mcap") and rng.integers(3) == 0:
        return write_mcap(rng, folder / f"{name}.mcap", topic.kind, times, raws)
    storage = pick(rng, (StoragePlugin.MCAP, StoragePlugin.SQLITE3))
    single = rng.integers(2) == 0
    writer = Writer(folder / name, version=pick(rng, (8, 9)), storage_plugin=storage)
    if not single and rng.integers(3) == 0:
        mode = pick(rng, (CompressionMode.FILE, CompressionMode.MESSAGE))
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer as bag:
        other = bag.add_connection("/other", "std_msgs/msg/String", typestore=STORE)
        own = bag.add_connection(TOPIC, topic.kind, typestore=STORE)
        text = STORE.serialize_cdr(make("std_msgs/msg/String", "x"), "std_msgs/msg/String")
        for time, raw in zip(times, raws, strict=True):
            bag.write(own, time, raw)
            if rng.integers(5) == 0:
                bag.write(other, time, text)
    if not single:
        return folder / name
    [file] = [p for p in (folder / name).iterdir() if p.suffix in (".mcap", ".db3")]
    target = folder / f"{name}{file.suffix}"
    shutil.move(file, target)
    shutil.rmtree(folder / name)
    return target


def write_mcap(
    rng: Rng, path: Path, kind: str, times: Sequence[int], raws: Sequence[bytes]
) -> Path:
    """A file of the format's own writer, with channels of JSON and Protobuf beside."""
    from mcap.writer import CompressionType, Writer as McapWriter

    compression = pick(rng, (CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4))
    text, _ = STORE.generate_msgdef(kind, ros_version=2)
    options = {"use_chunking": bool(rng.integers(3)), "use_statistics": bool(rng.integers(3))}
    with path.open("wb") as file:
        writer = McapWriter(file, int(rng.integers(200, 10**5)), compression, **options)
        writer.start(profile="ros2")
        channels = []
        for topic, encoding, name, form, definition in (
            ("/json", "json", "lab.Thing", "jsonschema", b'{"type": "object"}'),
            ("/proto", "protobuf", "foxglove.Log", "protobuf", b"\n\xff\xfe\x80binary"),
            (TOPIC, "cdr", kind, "ros2msg", text.encode()),
        ):
            schema = writer.register_schema(name, form, definition)
            channels.append(writer.register_channel(topic, encoding, schema))
        for time, raw in zip(times, raws, strict=True):
            for channel in channels[:-1] if rng.integers(3) == 0 else ():
                writer.add_message(channel, time, b"{}", time)
            writer.add_message(channels[-1], time, raw, time)
        writer.finish()
    return path
