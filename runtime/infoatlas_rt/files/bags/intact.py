"""The intact parts of a damaged MCAP file, and what is missing between them.

A file is a sequence of records, most of them chunks of messages. A record is damaged if its
lengths, checksum or content do not agree. The search continues at the next intact chunk, or, in a
file without chunks, at the next message. Messages outside chunks have no checksum of their own.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import InputError
from .damage import Damage, Hole
from .storages import HEAD, MAGIC, MESSAGE, OF_MESSAGE, unpack

_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _CHUNK, _DATA_END = 0x01, 0x02, 0x03, 0x04, 0x06, 0x0F
_PRIVATE = 0x80  # first opcode of applications; readers skip their records
# Fields of records: bytes of a number, or "s" and "q" for content after a length of 4 or 8 bytes.
_LAYOUTS = {
    _HEADER: "ss",
    _SCHEMA: "2sss",
    _CHANNEL: "22sss",
    _CHUNK: "8884sq",
    0x07: "2s",  # index of the messages of a channel in a chunk
    0x09: "88ssq4",  # attachment
    0x0C: "ss",  # metadata
    _DATA_END: "4",
}
_HEAD_OF_CHUNK = struct.Struct("<QQQI")  # first and last time, size and checksum of its content
_NEXT_CHUNK = re.compile(rb"(?=\x06.{36}(?:\x04\0\0\0zstd|\x03\0\0\0lz4|\0\0\0\0))", re.DOTALL)
_NEXT_MESSAGE = re.compile(rb"(?=\x05.{3}\0{5})", re.DOTALL)
_BLOCK = 1 << 20
_NO_HEADER = HEAD.pack(_HEADER, 8) + bytes(8)
_DATA_ENDS = HEAD.pack(_DATA_END, 4) + bytes(4)
# A footer without a summary, so that readers scan the file.
_END = HEAD.pack(_FOOTER, 20) + bytes(20) + MAGIC


def copy_intact(path: Path, target: Path) -> Damage:
    """Copy the intact records of an MCAP file, without its index, which readers do not need.

    A chunk is a record; messages within a damaged chunk are left out.

    Parameters
    ----------
    path : Path
    target : Path
        An MCAP file, at most a few bytes larger than the damaged one.

    Raises
    ------
    InputError
        The file is no MCAP file, or none of its records is intact.
    """
    with path.open("rb") as file:
        if path.stat().st_size <= len(MAGIC):  # an empty file cannot be mapped
            raise InputError(f"{path} has no intact part: it has no records")
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            scan = _Scan(data)
            if not (scan.header or scan.parts):
                raise InputError(
                    f"{path} has no intact part: it is no MCAP file, or none of its records can be "
                    "read"
                )
            with target.open("wb") as copy:
                copy.write(MAGIC)
                copy.write(scan.header or _NO_HEADER)
                for start, stop in scan.definitions + scan.parts:
                    for place in range(start, stop, _BLOCK):
                        copy.write(data[place : min(place + _BLOCK, stop)])
                copy.write(_DATA_ENDS + _END)
            return scan.damage()


@dataclass
class _Content:
    """Messages by channel, their first and last times, and the channels that are defined.

    `unchecked` is the number of messages without a checksum.
    """

    counts: Counter[int] = field(default_factory=Counter)
    unchecked: int = 0
    channels: set[int] = field(default_factory=set)
    first: int | None = None
    last: int | None = None

    def add(self, opcode: int, data: Any, start: int) -> None:
        """Take a record, whose content begins at `start`."""
        if opcode == MESSAGE:
            channel, _, time, _ = OF_MESSAGE.unpack_from(data, start)
            self.counts[channel] += 1
            self.first = time if self.first is None else min(self.first, time)
            self.last = time if self.last is None else max(self.last, time)
        elif opcode == _CHANNEL:
            self.channels.add(int.from_bytes(data[start : start + 2], "little"))

    def join(self, other: _Content) -> None:
        """Add the content of another part."""
        self.counts.update(other.counts)
        self.unchecked += other.unchecked
        self.channels |= other.channels
        times = [t for t in (self.first, self.last, other.first, other.last) if t is not None]
        self.first, self.last = (min(times), max(times)) if times else (None, None)


_Record: TypeAlias = tuple[int, int, _Content]  # opcode, end, messages


@dataclass
class _Found:
    """A hole: its bounds in the file, and the times of the messages around it."""

    place: int
    stop: int
    start: int | None
    end: int | None = None


class _Scan:
    """Goes through a file once.

    Attributes
    ----------
    header : bytes
        The first record; empty if it is damaged.
    parts : list of (int, int)
        Start and end of the intact parts after the header.
    definitions : list of (int, int)
        Channels and schemas that are repeated after the data: the first ones may be damaged.
    """

    def __init__(self, data: mmap) -> None:
        self._data, self._size = data, len(data)
        self.header = b""
        self.parts: list[tuple[int, int]] = []
        self.definitions: list[tuple[int, int]] = []
        self._content = _Content()
        self._holes: list[_Found] = []
        self._chunked = False
        self._altered = False  # the checksum of the data is wrong
        self._summary, end = self._summarise()
        place, ended, record = len(MAGIC), False, None
        if data[:place] != MAGIC:
            self._holes.append(_Found(0, place, None))
        while place < end and not ended:
            record = record or self._record(place)
            if record is None:
                after, record = self._intact_after(place, end)
                self._holes.append(_Found(place, after, self._content.last))
                place = after
                continue
            (opcode, stop, content), record = record, None
            ended = opcode in (_DATA_END, _FOOTER)
            if ended:
                self._altered = not self._holes and self._checksum_differs(opcode, place)
                self._end(stop, end)
                continue
            if opcode == _HEADER and place == len(MAGIC):
                self.header = data[place:stop]
                place = stop
                continue
            if content.first is not None:
                for hole in self._holes:
                    hole.end = content.first if hole.end is None else hole.end
            self._content.join(content)
            self._chunked |= opcode == _CHUNK
            if self.parts and self.parts[-1][1] == place:
                place, _ = self.parts.pop()
            self.parts.append((place, stop))
            place = stop
        if not (ended or self._summary or (self._holes and self._holes[-1].stop == end)):
            self._holes.append(_Found(end, end, self._content.last))  # cut between two records

    def _end(self, place: int, end: int) -> None:
        """Process what follows the data, at `place`: anything except the summary is a hole."""
        if self._summary is None:  # damaged or absent; the next magic comes after it
            found = self._data.find(MAGIC, place)
            place = end if found < 0 else found + len(MAGIC)
        if place < end:
            self._holes.append(_Found(place, end, self._content.last))

    def _summarise(self) -> tuple[Any, int]:
        """The summary of the file, None if it is damaged or absent; and where the data ends."""
        from mcap.records import Channel, ChunkIndex, Statistics
        from mcap.stream_reader import StreamReader
        from mcap.summary import Summary

        data, size = self._data, self._size
        foot = size - len(_END)
        if foot < len(MAGIC) or data[foot : foot + HEAD.size] != HEAD.pack(_FOOTER, 20):
            return None, size
        start, _, checksum = struct.unpack_from("<QQI", data, foot + HEAD.size)
        if not len(MAGIC) < start <= foot:
            return None, size
        if checksum and zlib.crc32(data[start : size - len(MAGIC) - 4]) != checksum:
            return None, size
        summary = Summary()
        try:
            for record in StreamReader(BytesIO(data[start:]), skip_magic=True).records:
                if isinstance(record, Statistics):
                    summary.statistics = record
                elif isinstance(record, Channel):
                    summary.channels[record.id] = record
                elif isinstance(record, ChunkIndex):
                    summary.chunk_indexes.append(record)
        except Exception:  # the package raises many kinds
            return None, size
        if summary.statistics is None:
            return None, size
        place, definitions = start, []
        while place < foot:
            opcode, length = HEAD.unpack_from(data, place)
            stop = place + HEAD.size + length
            if opcode in (_SCHEMA, _CHANNEL):
                definitions.append((place, stop))
            place = stop
        if place != foot:  # two files, one after the other
            return None, size
        self.definitions = definitions
        self._content.channels |= summary.channels.keys()
        return summary, start

    def _record(self, place: int) -> _Record | None:
        """Opcode, end and messages of the record at a place; None if it is damaged."""
        data = self._data
        if place + HEAD.size > self._size:
            return None
        opcode, length = HEAD.unpack_from(data, place)
        start = place + HEAD.size
        stop, content = start + length, _Content()
        if opcode == _FOOTER and length == 20:
            return opcode, stop, content
        if stop > self._size or not (opcode in _LAYOUTS or opcode == MESSAGE or opcode >= _PRIVATE):
            return None
        if opcode >= _PRIVATE:
            # With the fields of a chunk, it is a chunk whose opcode is damaged.
            chunk = _end_of_fields(data, start, stop, _LAYOUTS[_CHUNK]) == stop
            return (opcode, stop, content) if self._may_begin(stop) and not chunk else None
        if opcode == MESSAGE:
            if length < OF_MESSAGE.size or not self._may_begin(stop):
                return None
        elif _end_of_fields(data, start, stop, _LAYOUTS[opcode]) != stop:
            return None
        try:
            for inner, records, at in self._inside(opcode, start, stop):
                content.add(inner, records, at)
            if opcode == MESSAGE or (opcode == _CHUNK and not _checksum(data, start)):
                content.unchecked = content.counts.total()
        except ImportError:  # a decompressor is not installed
            raise
        except Exception:  # from decompressors, and from bytes that are no record
            return None
        return opcode, stop, content

    def _checksum_differs(self, opcode: int, place: int) -> bool:
        """Whether the checksum in a record differs from that of the data before the record."""
        expected = int.from_bytes(self._data[place + HEAD.size : place + HEAD.size + 4], "little")
        if opcode != _DATA_END or not expected:
            return False
        found = 0
        for start in range(0, place, _BLOCK):
            found = zlib.crc32(self._data[start : min(start + _BLOCK, place)], found)
        return found != expected

    def _may_begin(self, place: int) -> bool:
        """Whether a record can begin at a place, or the file ends there."""
        if place + HEAD.size > self._size:
            return True
        opcode, length = HEAD.unpack_from(self._data, place)
        if opcode >= _PRIVATE:  # half of all bytes are such an opcode
            return bool(place + HEAD.size + length <= self._size)
        return (opcode in _LAYOUTS or opcode in (MESSAGE, _FOOTER)) and length < 1 << 40

    def _inside(self, opcode: int, start: int, stop: int) -> Iterator[tuple[int, Any, int]]:
        """Opcode, bytes and start of the records of a chunk, or of the record itself."""
        data = self._data
        if opcode != _CHUNK:
            yield opcode, data, start
            return
        _, _, size, checksum = _HEAD_OF_CHUNK.unpack_from(data, start)
        place = start + _HEAD_OF_CHUNK.size
        name = data[place + 4 : place + 4 + int.from_bytes(data[place : place + 4], "little")]
        place += 4 + len(name) + 8
        records, at = unpack(data[place:stop], name.decode(), size, checksum), 0
        while at < size:
            inner, length = HEAD.unpack_from(records, at)
            at += HEAD.size
            if at + length > size:
                raise ValueError("a record is longer than its chunk")
            yield inner, records, at
            at += length

    def _intact_after(self, place: int, end: int) -> tuple[int, _Record | None]:
        """The next intact chunk (message, in a file without chunks) with its place, or the end."""
        kinds = [_NEXT_CHUNK] if self._chunked else [_NEXT_CHUNK, _NEXT_MESSAGE]
        for kind in kinds:
            for found in kind.finditer(self._data, place + 1, end):
                record = self._record(found.start())
                if record is not None:
                    return found.start(), record
        return end, None

    def damage(self) -> Damage:
        """The missing parts."""
        summary, content = self._summary, self._content
        missing: Counter[str] | None = None
        if summary is not None:
            missing = Counter()
            for channel, count in summary.statistics.channel_message_counts.items():
                missing[summary.channels[channel].topic] += count - content.counts[channel]
        # A recorder that was killed leaves one hole, at the end; the data before it are sound.
        cut = summary is None and [hole.stop for hole in self._holes] == [self._size]
        unchecked = content.unchecked if self._altered or (self._holes and not cut) else 0
        undefined = sum(
            n for channel, n in content.counts.items() if channel not in content.channels
        )
        return Damage(
            tuple(map(self._hole, self._holes)),
            content.first,
            None if missing is None else {topic: n for topic, n in missing.items() if n > 0},
            undefined,
            unchecked,
        )

    def _hole(self, found: _Found) -> Hole:
        """A hole, with its chunks and times from the index of the file."""
        size = found.stop - found.place
        indexes = [] if self._summary is None else self._summary.chunk_indexes
        own = [each for each in indexes if found.place <= each.chunk_start_offset < found.stop]
        if not own:
            return Hole(size, 0 if indexes else None, found.start, found.end)
        start = min(each.message_start_time for each in own)
        return Hole(size, len(own), start, max(each.message_end_time for each in own))


def _checksum(data: Any, start: int) -> int:
    """Checksum of the content of a chunk; 0 if it has none."""
    return int(_HEAD_OF_CHUNK.unpack_from(data, start)[3])


def _end_of_fields(data: Any, place: int, stop: int, layout: str) -> int:
    """End of the fields of a record, from their lengths; beyond `stop` if one is longer."""
    for kind in layout:
        if not kind.isdigit():
            width = 4 if kind == "s" else 8
            place += width + int.from_bytes(data[place : place + width], "little")
        else:
            place += int(kind)
        if place > stop:
            break
    return place
