"""ROS bags (folders, .mcap and .db3 files), read message by message without ROS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..errors import InputError
from ..files.numbers import check_regular
from .schema import Schema
from .truncated import copy_intact

SUFFIXES = (".mcap", ".db3", ".bag")


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
