"""ROS bags (folders, .mcap and .db3 files), read message by message without ROS.

A folder of bags, one for each demonstration, is read as trajectories.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files.numbers import check_regular
from ..inputs.trajectories import Trajectories
from .fields import Extractor
from .schema import Schema

MAGIC = b"\x89MCAP0\r\n"
_DATA = range(0x03, 0x0E)  # opcodes: schemas, channels, messages, chunks and what goes with them
_BLOCK = 1 << 20
# A footer without a summary: readers then go through the file.
_END = b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0) + MAGIC

SUFFIXES = (".mcap", ".db3", ".bag")
RATES_APART = 0.2  # rates of demonstrations differ by this part of their median at most


def is_bag(path: str | os.PathLike[str]) -> bool:
    """Whether a path is read as a bag: a folder, or a file with a bag's ending."""
    return Path(path).is_dir() or Path(path).suffix in SUFFIXES


class Topic(NamedTuple):
    """A topic of a bag: the type of its messages, and how many of them."""

    type: str
    messages: int


class Bag:
    """A bag, open for reading; closed at the end of `with`.

    Parameters
    ----------
    path : path
    partial : bool
        Read the intact part of an .mcap file that was cut off; takes a copy of it in the folder
        for temporary files.

    Attributes
    ----------
    path : Path
    topics : dict of Topic
    notices : list of str
        What was left out.

    Raises
    ------
    InputError
        rosbags is not installed; or the bag is missing, damaged, empty or of another kind.
    """

    def __init__(self, path: str | os.PathLike[str], *, partial: bool = False) -> None:
        try:
            import rosbags.highlevel  # noqa: F401
        except ImportError as error:
            raise InputError(
                "reading a bag needs rosbags: pip install 'infoatlas-rt[bags]'"
            ) from error
        self.path = Path(path)
        check_regular(self.path)
        files = [file for end in SUFFIXES for file in sorted(self.path.glob(f"*{end}"))]
        if self.path.is_dir() and not (self.path / "metadata.yaml").exists():
            hint = f"pass {files[0]}, or" if files else "pass a bag, or"
            raise InputError(f"{path} has no metadata.yaml: {hint} run `ros2 bag reindex` on it")
        for file in files:
            check_regular(file)
        self.notices: list[str] = []
        self._folder = TemporaryDirectory(prefix="infoatlas-") if partial else None
        try:
            self._open()
        except BaseException:
            self._clean_up()
            raise
        self.topics = {
            name: Topic(info.msgtype or "several types", info.msgcount)
            for name, info in self._reader.topics.items()
        }

    def _open(self) -> None:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore

        source = self.path
        if self._folder is not None:
            if self.path.suffix != ".mcap" or self.path.is_dir():
                raise InputError(f"{self.path}: the intact part can be read of an .mcap file only")
            source = Path(self._folder.name, "intact.mcap")
            with _reading(self.path):
                lost = copy_intact(self.path, source)
            self.notices.append(f"the intact part is read; {lost} bytes at the end are left out")
        with _reading(self.path):
            # Recordings of older distributions hold no definitions of their types.
            self._reader = AnyReader([source], default_typestore=get_typestore(Stores.LATEST))
            self._reader.open()

    def _clean_up(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._clean_up()

    def schema(self, topic: str) -> Schema:
        """The definition of a topic's messages.

        Raises
        ------
        InputError
            There is no such topic, it is empty, or its type is unknown.
        """
        if topic not in self.topics:
            raise InputError(f"{self.path} has no topic {topic!r}. {self.listing()}")
        kind, messages = self.topics[topic]
        if messages == 0:
            raise InputError(f"{self.path} has no messages on {topic}. {self.listing()}")
        if kind not in self._reader.typestore.fielddefs:
            way = "convert the bag to mcap where that type is installed"
            if self.path.suffix == ".mcap" or [*self.path.glob("*.mcap")]:
                way = "record it again where that type is installed"  # its schema is missing
            raise InputError(
                f"{self.path} holds no definition of the messages of {topic} ({kind}): {way}, "
                "or ask for another topic"
            )
        return Schema.of_typestore(self._reader.typestore, kind)

    def listing(self) -> str:
        """Its topics, in one line."""
        topics = [f"{name} ({kind}, {n})" for name, (kind, n) in self.topics.items()]
        return f"It has {', '.join(topics)}" if topics else "It is empty"

    def messages(self, *topics: str) -> Iterator[tuple[int, float, Any]]:
        """Messages in the order of their arrival, one by one.

        Yields
        ------
        side : int
            Which of `topics` a message is from.
        received : float
            When it arrived, seconds.
        message

        Raises
        ------
        InputError
            The bag is damaged.
        """
        sides = {topic: side for side, topic in enumerate(topics)}
        chosen = [c for c in self._reader.connections if c.topic in sides]
        found = 0
        with _reading(self.path):
            for connection, nanoseconds, raw in self._reader.messages(chosen):
                message = self._deserialize(raw, connection.msgtype)
                yield sides[connection.topic], nanoseconds / 1e9, message
                found += 1
        expected = sum(self.topics[topic].messages for topic in topics)
        if found != expected:  # readers pass over a damaged part
            raise InputError(
                f"{self.path} is damaged: it holds {found} of {expected} messages on "
                f"{' and '.join(topics)}: try `mcap recover` or `ros2 bag reindex`"
            )

    def _deserialize(self, raw: bytes, kind: str) -> Any:
        """A message; rclpy's `serialize_message` leaves up to 8 bytes after an empty last array."""
        for surplus in (0, 4, 8):
            try:
                return self._reader.deserialize(raw[: len(raw) - surplus], kind)
            except Exception:
                if surplus == 8:
                    raise


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    # rosbags, SQLite, YAML and three decompressors each have errors of their own for bad bytes.
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a bag ({type(error).__name__}: {error}): if its recorder "
            "was killed, try `ros2 bag reindex`, `mcap recover`, or --partial for an .mcap file"
        ) from error


def bags_in(path: str | os.PathLike[str]) -> list[Path]:
    """Two or more bags of a folder that is none itself, by name; empty for anything else."""
    folder = Path(path)
    if not folder.is_dir() or (folder / "metadata.yaml").exists():
        return []
    found = sorted(
        entry
        for entry in folder.iterdir()
        if entry.suffix in SUFFIXES or (entry / "metadata.yaml").is_file()
    )
    return found if len(found) > 1 else []


def load_demonstrations(
    path: str | os.PathLike[str],
    topic: str | None,
    fields: Sequence[str] | None = None,
    joints: Sequence[str] = (),
) -> Trajectories:
    """Read one topic of every bag of a folder; each bag is a trajectory.

    Parameters
    ----------
    path : path
        A folder of bags (folders, .mcap, .db3 or .bag files).
    topic : str
    fields, joints : sequence of str
        As in `Extractor`.

    Returns
    -------
    Trajectories
        States in the order of arrival; a step is a message. Their rate (Hz) is 1 / median interval
        between arrivals, of all bags together; None if that interval is 0, or no bag has two
        messages.

    Raises
    ------
    InputError
        No topic, a bag without it, states that are not finite or change their size, or a bag whose
        own median rate differs from that of all by more than 20%.
    """
    names: tuple[str, ...] = ()
    states = []
    intervals: dict[str, NDArray[np.float64]] = {}  # seconds between messages, by bag
    for bag_path in bags_in(path):
        with Bag(bag_path) as bag:
            if topic is None:
                raise InputError(f"name the topic to read, with --topic. {bag.listing()}")
            extractor = Extractor(fields, bag.schema(topic), joints)
            rows, times = [], []
            for _, received, message in bag.messages(topic):
                rows.append(extractor(message).copy())  # it returns the same array each time
                times.append(received)
        if names and extractor.names != names:
            raise InputError(
                f"{bag_path} has the coordinates {', '.join(extractor.names)} on {topic}, but the "
                f"first bag has {', '.join(names)}: choose them with --field or --joints"
            )
        names = extractor.names
        states.append(np.stack(rows))
        intervals[bag_path.name] = np.diff(times)
    lengths = np.array([len(rows) for rows in states], np.int64)
    try:
        rate = _common_rate(intervals)
    except InputError as error:
        raise InputError(f"{path}, {topic}: {error}") from error
    return Trajectories(np.concatenate(states), lengths, names, rate, tuple(intervals))


def _common_rate(intervals: dict[str, NDArray[np.float64]]) -> float | None:
    """Rate in Hz of demonstrations, by the seconds between their messages; None if unknown.

    Raises
    ------
    InputError
        The rate of one of them is another.
    """
    medians = {name: float(np.median(own)) for name, own in intervals.items() if len(own)}
    if not medians:
        return None
    median = float(np.median(np.concatenate(list(intervals.values()))))
    if min(median, *medians.values()) <= 0:  # of a clock that is coarser than the messages
        return None
    others = [
        f"{name} has {1 / own:.4g} Hz"
        for name, own in medians.items()
        if abs(median / own - 1) > RATES_APART
    ]
    if others:
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        raise InputError(
            f"demonstrations have different rates, {1 / median:.4g} Hz is their median, but "
            f"{', '.join(others[:5])}{more}: a step is a message, so record all at one rate, or "
            "move those bags to a folder of their own"
        )
    return 1 / median


def copy_intact(path: Path, target: Path) -> int:
    """Copy the complete records at the start of an MCAP file, and end the copy with a footer.

    A chunk is a record; messages within the chunk that was cut are left out.

    Parameters
    ----------
    path : Path
    target : Path
        As large as the file at most.

    Returns
    -------
    int
        Bytes of the file that were left out; those of an index, which is not needed, too.

    Raises
    ------
    InputError
        No MCAP file, or no record in it is complete.
    """
    size = os.path.getsize(path)
    with path.open("rb") as file:
        intact = 0
        if file.read(len(MAGIC)) == MAGIC:
            while len(head := file.read(9)) == 9:
                opcode, length = struct.unpack("<BQ", head)
                if opcode not in _DATA and (intact or opcode != 0x01):
                    break  # the end of the data, or no record
                if file.tell() + length > size:
                    break
                intact = file.seek(length, os.SEEK_CUR)
        if not intact:
            raise InputError(f"{path} has no intact part: it is no MCAP file, or cut at its start")
        file.seek(0)
        with target.open("wb") as copy:
            left = intact
            while left:
                left -= copy.write(file.read(min(left, _BLOCK)))
            copy.write(_END)
    return size - intact
