"""Random ROS bags of all forms: a stream from one bag, or demonstrations from a folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from bag_messages import START, STEP, STORE, TOPIC, Plan, Topic, make
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from values import Rng, pick
from written import ANY, EITHER, READ, REFUSED, Found, Written, damage, found

from infoatlas_rt.messages.receiver import Receiver
from infoatlas_tools.bags.demonstrations import load_demonstrations
from infoatlas_tools.bags.states import Bag


def bags(rng: Rng, folder: Path) -> Written:
    """A bag to be read as a stream, or a folder with a bag for each demonstration."""
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
    outcome = topic.streamed if holes else topic.outcome
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
        elif names is not None and topic.names is not None:  # columns in the order of the first bag
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
    """Demonstrations of a folder; with `by_name` coordinates are in the order of their names."""
    own = found(load_demonstrations(path, **options))
    if not by_name:
        return own
    order = np.argsort(own.names)
    return own._replace(episodes={name: part[:, order] for name, part in own.episodes.items()})


def stream(path: Path, topic: str, by_name: bool = False, **options: Any) -> Found:
    """States of a stream in parts; a new part begins where other coordinates replace them."""
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
    """A bag in a random form: a folder, its only file, or an MCAP file with other channels."""
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
    """An MCAP file by the writer of the format, with additional channels of JSON and Protobuf."""
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
