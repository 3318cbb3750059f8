"""What is missing of a damaged file: how much, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

LISTED = 5  # holes, or topics, in a text


@dataclass(frozen=True)
class Hole:
    """A part of a file that cannot be read.

    Attributes
    ----------
    bytes : int
    chunks : int or None
        By the index of the file; None without one.
    start, end : int or None
        Times of arrival (ns) between which messages are missing: by the index of the file if it
        has one, else those of the messages around the hole. None where there is no such message.
    """

    bytes: int
    chunks: int | None
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Damage:
    """What is missing of a file.

    Attributes
    ----------
    holes : tuple of Hole
        In the order of the file.
    first : int or None
        Arrival of the first message that is there, ns; None if none is.
    missing : dict of int, or None
        By topic: how many messages are missing, by the statistics of the file; None without them.
    undefined : int
        Messages that are there, but not the definition of their channel.
    unchecked : int
        Messages that are there, but have no checksum, in a file with damage: they may be damaged.
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

        Infinite where there is no bound; a hole without chunks (in an index) is none.
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
        """Holes and missing messages, in a line each."""
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
        """For JSON; times of arrival in seconds."""
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
