"""Description of the missing parts of a damaged file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

LISTED = 5  # holes, or topics, that a text lists at most


@dataclass(frozen=True)
class Hole:
    """A part of a file that cannot be read.

    Attributes
    ----------
    bytes : int
    chunks : int or None
        Number of chunks by the index of the file; None without one.
    start, end : int or None
        Times of arrival (ns) between which messages are missing: from the index of the file,
        otherwise those of the messages around the hole. None if there is no such message.
    """

    bytes: int
    chunks: int | None
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Damage:
    """Missing parts of a file.

    Attributes
    ----------
    holes : tuple of Hole
        In the order of the file.
    first : int or None
        Arrival of the first message that exists, ns; None if there is none.
    missing : dict of int, or None
        Number of missing messages by topic, from the statistics of the file; None without them.
    undefined : int
        Messages whose channel is not defined.
    unchecked : int
        Messages without a checksum in a damaged file: they may be damaged.
    """

    holes: tuple[Hole, ...]
    first: int | None
    missing: dict[str, int] | None
    undefined: int
    unchecked: int

    @property
    def bytes(self) -> int:
        """Bytes in all holes."""
        return sum(hole.bytes for hole in self.holes)

    def gaps(self) -> list[tuple[float, float]]:
        """Times of arrival between which messages are missing, seconds, by their start.

        Infinite if there is no bound. Holes without chunks, as in an index, are not included.
        """
        return sorted(
            (
                -math.inf if hole.start is None else hole.start / 1e9,
                math.inf if hole.end is None else hole.end / 1e9,
            )
            for hole in self.holes
            if hole.chunks != 0
        )

    def notices(self) -> list[str]:
        """Lines about holes and missing messages."""
        if not (self.holes or self.missing or self.undefined or self.unchecked):
            return ["the data of the file is intact: nothing is left out"]
        more = len(self.holes) - LISTED
        lines = [f"damaged and left out: {self._text(hole)}" for hole in self.holes[:LISTED]]
        if more > 0:
            parts = f"{more} more part{'s' * (more > 1)}"
            lines.append(f"damaged and left out: {parts}, {self.bytes} bytes in all")
        if self.holes and self.missing is None:
            lines.append(
                "how many messages are missing is not known: the file has no intact statistics"
            )
        elif self.missing:
            some = [f"{n} on {topic}" for topic, n in [*self.missing.items()][:LISTED]]
            other = len(self.missing) - LISTED
            some += [f"those of {other} more topics"] if other > 0 else []
            lines.append(f"missing messages, by the statistics of the file: {', '.join(some)}")
        if self.undefined:
            lines.append(f"left out: {self.undefined} messages whose definition is damaged")
        if self.unchecked:
            lines.append(
                f"{self.unchecked} messages that are read have no checksum: some may be wrong"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times of arrival in seconds."""
        holes = [
            {
                "bytes": hole.bytes,
                "chunks": hole.chunks,
                "start": None if hole.start is None else hole.start / 1e9,
                "end": None if hole.end is None else hole.end / 1e9,
            }
            for hole in self.holes
        ]
        return {
            "bytes": self.bytes,
            "holes": holes,
            "missing": self.missing,
            "undefined": self.undefined,
            "unchecked": self.unchecked,
        }

    def _text(self, hole: Hole) -> str:
        chunks = "" if hole.chunks is None else f" ({hole.chunks} chunk{'s' * (hole.chunks != 1)})"
        start, end = (
            None if time is None or self.first is None else f"{(time - self.first) / 1e9:.2f} s"
            for time in (hole.start, hole.end)
        )
        if hole.chunks == 0:
            where = "no messages"
        elif start and end:
            where = f"messages between {start} and {end}"
        elif start:
            where = f"the end of the file, messages from {start} on"
        elif end:
            where = f"messages before {end}"
        else:
            where = "all messages"
        return f"{hole.bytes} bytes{chunks}: {where}"
