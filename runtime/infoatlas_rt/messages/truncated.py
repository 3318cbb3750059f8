"""The intact part of an MCAP file that was cut off, as when its recorder was killed."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from ..errors import InputError

MAGIC = b"\x89MCAP0\r\n"
_DATA = range(0x03, 0x0E)  # opcodes: schemas, channels, messages, chunks and what goes with them
_BLOCK = 1 << 20
# A footer without a summary: readers then go through the file.
_END = b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0) + MAGIC


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
