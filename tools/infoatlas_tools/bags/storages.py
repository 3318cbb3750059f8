"""Files of ROS bags (.mcap, .db3, .bag): their channels, and messages as they were sent.

The package `mcap` reads the summary and the records of .mcap files. The messages in a chunk are
found here, because the package parses those of all channels, which needs twice the time.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from infoatlas_rt.errors import InputError

if TYPE_CHECKING:
    from mcap.records import Channel as Record, Chunk, ChunkIndex, Schema
    from mcap.summary import Summary

    # Messages of each channel, channels and schemas, by their numbers.
    _Found: TypeAlias = tuple[dict[int, int], dict[int, Record], dict[int, Schema]]

PACKED = (".zstd", ".zst")  # after the ending of a compressed file
MAGIC = b"\x89MCAP0\r\n"  # first and last bytes of a file
HEAD = struct.Struct("<BQ")  # of a record: opcode, length
OF_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, time of its arrival, time of its sending
MESSAGE = 0x05  # opcode
FOOTER = struct.Struct("<QQI8s")  # start of the summary, and of its groups; its checksum; MAGIC

Received: TypeAlias = tuple[int, int, bytes]  # time of arrival (ns), channel, the message


class Channel(NamedTuple):
    """Messages on one topic, of one type, in one file.

    `encoding` is that of the messages (cdr, ros1, json, ...). `definition` is the text that defines
    their type, and `syntax` its language (ros2msg, ros2idl, jsonschema, ...); both are empty if the
    file has none. `digest` is a hash of the definition, or empty.
    """

    topic: str
    type: str
    encoding: str
    syntax: str
    definition: str
    digest: str
    messages: int


class BagFile(Protocol):
    """An open file of a bag."""

    channels: dict[int, Channel]  # by their number in the file

    def messages(self, chosen: Collection[int]) -> Iterator[Received]:
        """Messages of channels with these numbers, in the order of their arrival."""

    def close(self) -> None:
        """Close the file."""


def open_file(path: Path) -> BagFile:
    """Open a file of a bag, by its ending; damaged ones raise errors of many kinds."""
    kinds: dict[str, Callable[[Path], BagFile]] = {
        ".mcap": McapFile,
        ".db3": Sqlite3File,
        ".bag": Ros1File,
    }
    if path.suffix not in kinds:
        raise InputError(f"{path} is no bag: bags are {', '.join(kinds)} files, or their folder")
    return kinds[path.suffix](path)


class McapFile:
    """An open .mcap file."""

    def __init__(self, path: Path) -> None:
        try:
            from mcap.reader import make_reader
        except ImportError as error:
            raise InputError(f"{path} needs mcap: pip install 'infoatlas-rt[bags]'") from error
        self._path = path
        self._file = path.open("rb")
        self._chunks: list[ChunkIndex] = []
        try:
            self._check_ends()
            summary = make_reader(self._file).get_summary()
            counts, channels, schemas = _read_channels(summary) or self._scan()
            if summary and summary.statistics:
                if summary.statistics.chunk_count == len(summary.chunk_indexes):
                    self._chunks = summary.chunk_indexes
        except BaseException:
            self.close()
            raise
        self.channels = {
            number: _channel(record, schemas.get(record.schema_id), counts.get(number, 0))
            for number, record in channels.items()
        }

    def close(self) -> None:
        self._file.close()

    def _check_ends(self) -> None:
        """Raise ValueError if an end of the file is missing, or its summary is damaged."""
        if self._file.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as an MCAP file")
        place = max(0, self._file.seek(0, os.SEEK_END) - FOOTER.size)
        self._file.seek(place)
        footer = self._file.read()
        if len(footer) < FOOTER.size or not footer.endswith(MAGIC):
            raise ValueError("its end is missing")
        start, _, checksum, _ = FOOTER.unpack(footer)
        self._file.seek(start)
        if start and checksum and zlib.crc32(self._file.read(place + 16 - start)) != checksum:
            raise ValueError("its summary has another checksum than its data")
        self._file.seek(0)

    def _scan(self) -> _Found:
        """Scan the file for its channels."""
        from mcap.records import Channel as Record, Message, Schema
        from mcap.stream_reader import StreamReader

        counts: Counter[int] = Counter()
        channels: dict[int, Record] = {}
        schemas: dict[int, Schema] = {}
        self._file.seek(0)
        for record in StreamReader(self._file, validate_crcs=True).records:
            if isinstance(record, Message):
                counts[record.channel_id] += 1
            elif isinstance(record, Record):
                channels[record.id] = record
            elif isinstance(record, Schema):
                schemas[record.id] = record
        return counts, channels, schemas

    def messages(self, chosen: Collection[int]) -> Iterator[Received]:
        """As in `BagFile`; without an index, in the order of the file."""
        if not self._chunks:
            yield from self._stream(chosen)
            return
        parts = [
            self._part(index, chosen)
            for index in self._chunks
            if not index.message_index_offsets or index.message_index_offsets.keys() & chosen
        ]
        for time, _, channel, data in heapq.merge(*parts, key=itemgetter(0)):
            if channel >= 0:
                yield time, channel, data

    def _part(
        self, index: ChunkIndex, chosen: Collection[int]
    ) -> Iterator[tuple[int, int, int, bytes]]:
        """The start of a chunk (channel -1), before the chunk is read; then its messages."""
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader

        yield index.message_start_time, 0, -1, b""
        self._file.seek(index.chunk_start_offset)
        record = next(iter(StreamReader(self._file, skip_magic=True, emit_chunks=True).records))
        if not isinstance(record, Chunk):
            raise ValueError("its index is not that of its chunks")
        yield from _messages(record, chosen)

    def _stream(self, chosen: Collection[int]) -> Iterator[Received]:
        from mcap.records import Chunk, Message
        from mcap.stream_reader import StreamReader

        with self._path.open("rb") as file:
            for record in StreamReader(file, emit_chunks=True, validate_crcs=True).records:
                if isinstance(record, Chunk):
                    for time, _, channel, data in _messages(record, chosen):
                        yield time, channel, data
                elif isinstance(record, Message) and record.channel_id in chosen:
                    yield record.log_time, record.channel_id, record.data


def _read_channels(summary: Summary | None) -> _Found | None:
    """The channels in a summary; None if it is incomplete."""
    if summary is None or summary.statistics is None:
        return None
    counts = summary.statistics.channel_message_counts
    channels, schemas = summary.channels, summary.schemas
    used = {each.schema_id for each in channels.values()} - {0}
    total = sum(counts.values()) == summary.statistics.message_count
    complete = channels and counts.keys() <= channels.keys() and used <= schemas.keys()
    return (counts, channels, schemas) if complete and total else None


def _channel(record: Record, schema: Schema | None, messages: int) -> Channel:
    return Channel(
        record.topic,
        schema.name if schema else "no schema",
        record.message_encoding,
        schema.encoding if schema else "",
        schema.data.decode(errors="replace") if schema else "",
        record.metadata.get("topic_type_hash", ""),
        messages,
    )


def _messages(chunk: Chunk, chosen: Collection[int]) -> list[tuple[int, int, int, bytes]]:
    """Time, place, channel and data of messages in a chunk, in order of time."""
    data = _unpack(chunk)
    found, place, size = [], 0, len(data)
    while place < size:
        opcode, length = HEAD.unpack_from(data, place)
        start = place + HEAD.size
        place = start + length
        if place > size:
            raise ValueError("a record is longer than its chunk")
        if opcode == MESSAGE:
            channel, _, time, _ = OF_MESSAGE.unpack_from(data, start)
            if channel in chosen:
                found.append((time, start, channel, data[start + OF_MESSAGE.size : place]))
    return sorted(found)


def _unpack(chunk: Chunk) -> bytes:
    """The records of a chunk; ValueError if their size or checksum differs."""
    data, size = chunk.data, chunk.uncompressed_size
    if chunk.compression == "zstd":
        import zstandard

        data = zstandard.decompress(data, size)
    elif chunk.compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        data = lz4.frame.decompress(data)
    elif chunk.compression:
        raise ValueError(f"compression {chunk.compression!r} is unknown")
    if len(data) != size:
        raise ValueError(f"a chunk has {len(data)} of {size} bytes")
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError("a chunk has another checksum than its data")
    return data


class Sqlite3File:
    """An open .db3 file."""

    def __init__(self, path: Path) -> None:
        # A recorder that was killed leaves its last messages in a write-ahead log.
        log = path.with_name(f"{path.name}-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        self._base = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)
        self._base.row_factory = sqlite3.Row
        self._base.text_factory = lambda text: text.decode(errors="replace")
        try:
            tables = {row["name"] for row in self._rows("SELECT name FROM sqlite_master")}
            definitions = {}
            if "message_definitions" in tables:  # since ROS 2 Iron
                for row in self._rows("SELECT * FROM message_definitions ORDER BY id DESC"):
                    text = row["encoded_message_definition"]
                    definitions[row["topic_type"]] = row["encoding"], text
            count = "SELECT topic_id, COUNT(*) AS n FROM messages GROUP BY topic_id"
            counts = {row["topic_id"]: row["n"] for row in self._rows(count)}
            self.channels = {
                row["id"]: Channel(
                    row["name"],
                    row["type"],
                    row["serialization_format"],
                    *definitions.get(row["type"], ("", "")),
                    row["type_description_hash"] if "type_description_hash" in row.keys() else "",
                    counts.get(row["id"], 0),
                )
                for row in self._rows("SELECT * FROM topics ORDER BY id")
            }
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._base.close()

    def _rows(self, query: str, *values: int) -> Iterator[Any]:
        return self._base.execute(query, values)

    def messages(self, chosen: Collection[int]) -> Iterator[Received]:
        marks = ", ".join("?" * len(chosen))
        query = f"SELECT timestamp, topic_id, data FROM messages WHERE topic_id IN ({marks})"
        rows = self._rows(f"{query} ORDER BY timestamp", *chosen)
        # `yield from` would close the cursor of a base that is closed already, which is an error.
        return ((time, number, data) for time, number, data in rows)


class Ros1File:
    """An open .bag file of ROS 1."""

    def __init__(self, path: Path) -> None:
        from rosbags.rosbag1 import Reader  # `BagReader` has found the package

        self._reader = Reader(path)
        self._reader.open()
        self._connections = {each.id: each for each in self._reader.connections}
        self.channels = {
            number: Channel(
                each.topic,
                each.msgtype,
                "ros1",
                "ros1msg",
                each.msgdef.data,
                each.digest,
                each.msgcount,
            )
            for number, each in self._connections.items()
        }

    def close(self) -> None:
        self._reader.close()

    def messages(self, chosen: Collection[int]) -> Iterator[Received]:
        wanted = [self._connections[number] for number in chosen]
        for connection, time, data in self._reader.messages(wanted):
            yield time, connection.id, data
