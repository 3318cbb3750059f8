"""Key states and sub-tasks as events for Foxglove: an .mcap file beside each bag.

Messages are `foxglove_msgs/msg/Event` on the topic /infoatlas/events, from the start to the end of
a sub-task, or at a key state. If a file is opened together with its bag, both are on the same
timeline: the times are those at which the bag received its messages.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError, OutputError

from ..array_types import Int
from ..bags.bag_files import BagFiles, reading
from ..bags.states import SUFFIXES
from ..presentation import require
from .content import Annotations

TOPIC = "/infoatlas/events"
EVENT, PAIR = "foxglove_msgs/msg/Event", "foxglove_msgs/msg/KeyValuePair"
# As published by Foxglove (schemas/ros2); files contain these definitions, so readers need no
# others.
DEFINITIONS = {
    PAIR: "string key\nstring value\n",
    EVENT: (
        "builtin_interfaces/Time start_time\n"
        "builtin_interfaces/Time end_time\n"
        "foxglove_msgs/KeyValuePair[] metadata\n"
    ),
}
SECOND = 10**9  # ns


def write_foxglove(
    annotations: Annotations, path: Path, out: Path, *, topic: str | None = None
) -> tuple[str, ...]:
    """Write an .mcap file of events for each demonstration.

    The episodes of a folder of bags are the names of the bags, and `topic` is the one whose
    messages are the steps. Times of other data sets begin at 0 in each demonstration.
    """
    typesys = require("rosbags.typesys", f"{path}: rosbags writes MCAP and", "bags")
    times = _times(annotations, Path(path), topic)
    store = typesys.get_typestore(typesys.Stores.LATEST)
    for name, text in DEFINITIONS.items():
        store.register(typesys.get_types_from_msg(text, name))
    names = [f"{_stem(name)}.events.mcap" for name in annotations.episodes]
    if len(set(names)) < len(names):
        raise InputError(f"episodes are {annotations.episodes[:5]}: give them different names")
    try:
        out.mkdir()
        for i, name in enumerate(names):
            _write(out / name, store, _events(annotations, i, times[i]))
    except OSError as error:
        raise OutputError(f"{out} cannot be written ({error}): choose another folder") from error
    return ()


def _stem(name: str) -> str:
    plain = re.sub(r"[^\w.-]+", "_", name)
    return next((plain.removesuffix(end) for end in SUFFIXES if plain.endswith(end)), plain)


def _events(annotations: Annotations, i: int, times: Int) -> list[tuple[int, int, dict[str, str]]]:
    """Start, end (ns) and metadata of the events of a demonstration, in order of time."""
    found = []
    last = len(times) - 1
    for part, name in zip(annotations.subtasks.parts, annotations.subtasks.names, strict=True):
        start, end = int(part.start[i]), int(part.end[i])
        if end > start:
            metadata = {"kind": "subtask", "name": name, "tool": part.tool}
            metadata |= {"reference": part.reference, "held": part.held, "until": part.until}
            metadata |= {"start_step": str(start), "end_step": str(end)}
            span = int(times[start]), int(times[min(end, last)])  # until the next one starts
            found.append((*span, {key: value for key, value in metadata.items() if value}))
    for event in annotations.events(i):
        metadata = {"kind": "key_state", "name": event.name, "step": str(event.step)}
        found.append((int(times[event.step]), int(times[event.step]), metadata))
    return sorted(found, key=lambda event: event[:2])


def _write(file: Path, store: Any, events: Sequence[tuple[int, int, dict[str, str]]]) -> None:
    """Write an .mcap file of events."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    types = store.types
    moment = types["builtin_interfaces/msg/Time"]
    # rosbags writes a folder with metadata; the file in it is complete without them.
    with TemporaryDirectory(prefix=".events-", dir=file.parent) as room:
        folder = Path(room, "bag")
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connection = writer.add_connection(TOPIC, EVENT, typestore=store)
            for start, end, metadata in events:
                message = types[EVENT](
                    start_time=moment(*divmod(start, SECOND)),
                    end_time=moment(*divmod(end, SECOND)),
                    metadata=[types[PAIR](key=key, value=value) for key, value in metadata.items()],
                )
                writer.write(connection, start, store.serialize_cdr(message, EVENT))
        next(folder.glob("*.mcap")).rename(file)


def _times(annotations: Annotations, path: Path, topic: str | None) -> list[Int]:
    """Times of the steps of each demonstration, ns."""
    bags = [_bag(path, name) for name in annotations.episodes]
    if not all(bags):
        if any(bags) or topic is not None:
            missing = annotations.episodes[bags.index(None)]
            raise InputError(f"{path} has no bag {missing}: pass the folder of the bags")
        if annotations.rate is None:
            raise InputError(
                f"{path} has no times and no rate: pass a rate, so that events have times"
            )
        seconds = [annotations.seconds(i)[:-1] for i in range(len(annotations.lengths))]
        return [np.rint(own * SECOND).astype(np.int64) for own in seconds]
    pairs = zip(bags, annotations.lengths.tolist(), strict=True)
    return [_read_arrivals(bag, length, topic) for bag, length in pairs if bag is not None]


def _bag(path: Path, name: str) -> Path | None:
    """A bag in a folder, by its name with or without its ending; None if there is none."""
    for file in (path / name, *(path / f"{name}{end}" for end in SUFFIXES)):
        if (file / "metadata.yaml").is_file() or (file.is_file() and file.name.endswith(SUFFIXES)):
            return file
    return None


def _read_arrivals(bag: Path, length: int, topic: str | None) -> Int:
    """Times at which a bag received the messages of a topic, ns; their number is checked."""
    with reading(bag), closing(BagFiles(bag)) as files:
        chosen = [i for i, each in enumerate(files.channels) if each.topic == topic]
        times = [time for time, _, _ in files.messages(chosen)]
    if len(times) != length:
        raise InputError(
            f"{bag} has {len(times)} messages on {topic}, and its demonstration {length} steps: "
            "name the topic that the demonstrations were read from"
        )
    return np.array(times, np.int64)
