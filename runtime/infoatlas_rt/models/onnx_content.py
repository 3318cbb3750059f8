"""Reads metadata, interface and checksum of an .onnx file, without an engine.

They are read from the file's protocol-buffer framing; four message types are needed. So a model can
be described, and a wrong file refused with a reason, before an inference session is made, or if no
engine is installed.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

CHECKSUM = "infoatlas.checksum"  # metadata key: SHA-256 of the file without this entry

# Field numbers of onnx.proto.
GRAPH, METADATA = 7, 14
_GRAPH_INPUT, _GRAPH_OUTPUT = 11, 12
_NAME, _VALUE = 1, 2  # of ValueInfoProto and StringStringEntryProto


class Description(NamedTuple):
    """Metadata, and the names of the graph's inputs and outputs."""

    metadata: dict[str, str]
    inputs: list[str]
    outputs: list[str]


def checksum(content: bytes) -> str:
    """SHA-256 (hexadecimal) of all fields of an .onnx file except the checksum in its metadata."""
    found = hashlib.sha256()
    for number, value in fields(memoryview(content)):
        if number == METADATA and dict(fields(value)).get(_NAME) == CHECKSUM.encode():
            continue
        size = value if isinstance(value, int) else len(value)
        found.update(f"{number}:{size}:".encode())
        if not isinstance(value, int):
            found.update(value)
    return found.hexdigest()


def describe(content: bytes) -> Description:
    """Read the metadata and the names of inputs and outputs of an .onnx file.

    ValueError if the content is truncated, or is not an ONNX model.
    """
    found = Description({}, [], [])
    graphs = 0
    try:
        for number, message in fields(memoryview(content)):
            if number == METADATA:
                item = dict(fields(message))
                found.metadata[str(item[_NAME], "utf-8")] = str(item[_VALUE], "utf-8")
            elif number == GRAPH:
                graphs += 1
                for part, value in fields(message):
                    if part in (_GRAPH_INPUT, _GRAPH_OUTPUT):
                        names = found.inputs if part == _GRAPH_INPUT else found.outputs
                        names.append(str(dict(fields(value))[_NAME], "utf-8"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"a field is missing or has another type: {error}") from error
    if graphs != 1:
        raise ValueError(f"{graphs} graphs instead of one")
    return found


def fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Number of each field of a protocol-buffer message (a memoryview), and its bytes or integer.

    ValueError if the framing is broken, as in a truncated file.
    """
    if not isinstance(message, memoryview):
        raise ValueError("a message was expected")
    at, end = 0, len(message)

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < end and shift < 64:
            byte = int(message[at])
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("broken integer")

    while at < end:
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        elif kind in (1, 2, 5):
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            if size > end - at:
                raise ValueError("a field reaches beyond the end")
            at += size
            yield number, message[at - size : at]
        else:
            raise ValueError(f"wire type {kind}")
