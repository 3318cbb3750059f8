"""A model file: one .onnx that describes itself in its metadata, checked before it is used.

The metadata is read from the file's protocol-buffer framing, of which four message types are
needed. So a model can be described, and a wrong file refused with a reason, without an inference
session (which is made once, by the backend) and without any engine installed.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import ModelError
from .uncertainty import check_constants

MODELS = Path(__file__).parent / "models"
FORMAT = "2"  # interface of the graph: names, shapes and meaning of inputs and outputs
PREPROCESS = "1"  # version of preprocess.py that a model was trained with
INPUTS = ("x", "y", "shifts", "sequence")
OUTPUTS = ("mi", "pointwise", "influence", "spread")

# Field numbers of onnx.proto.
_MODEL_GRAPH, _MODEL_METADATA = 7, 14
_GRAPH_INPUT, _GRAPH_OUTPUT = 11, 12
_NAME, _VALUE = 1, 2  # of ValueInfoProto and StringStringEntryProto


@dataclass(frozen=True)
class Bundle:
    """A checked model file.

    Attributes
    ----------
    path : Path
    name, version : str
    dim : int
        D, the widest side that enters without slicing.
    n_min, n_max : int
        Sample sizes of pretraining. Below `n_min` the estimator refuses, above `n_max` it flags.
    shifts, pairs : int
        Fewest cyclic shifts in the readout, and product pairs over all slices up to which more of
        them pay: many where slices and samples are few, for that is where they narrow the spread.
    readout, padding, preprocess : str
    steps, datasets, seed : int
        Optimiser steps, data sets seen and data seed of pretraining.
    git_revision, licence : str
    accuracy : dict
        What the model scored on the benchmark.
    calibration : dict
        Constants of the standard error (see `uncertainty.py`); empty if the file has none.
    sha256 : str
        Checksum of the file.
    bytes : bytes
        The file's content, from which engines are made: what was checked is what runs.
    """

    path: Path
    name: str
    version: str
    dim: int
    n_min: int
    n_max: int
    shifts: int
    pairs: int
    readout: str
    padding: str
    preprocess: str
    steps: int
    datasets: int
    seed: int
    git_revision: str
    licence: str
    accuracy: dict[str, Any] = field(hash=False)
    calibration: dict[str, dict[str, float]] = field(hash=False)
    sha256: str
    bytes: builtins.bytes = field(repr=False)

    def shift_count(self, n: int, slices: int = 1) -> int:
        """Return the default number M of cyclic shifts for n samples, at most n-1."""
        return min(n - 1, max(self.shifts, self.pairs // (n * slices)))


def available() -> list[str]:
    """Names of the shipped models."""
    return sorted(path.stem for path in MODELS.glob("*.onnx"))


def load(model: str | os.PathLike[str] = "edge") -> Bundle:
    """Read and check a model file.

    Parameters
    ----------
    model : str or path
        The name of a shipped model, or the path of an .onnx file.

    Returns
    -------
    Bundle

    Raises
    ------
    ModelError
        Missing, truncated, not ONNX, not a model of this project, or made for another version.
    """
    path = MODELS / f"{model}.onnx"
    if str(model) not in available():
        path = Path(model).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"no model {str(model)!r} ({error.strerror}): pass the path of an .onnx file, "
            f"or the name of a shipped model: {', '.join(available()) or 'none found'}"
        ) from error
    metadata, inputs, outputs = _read(path, content)
    keys = {
        key.removeprefix("infoatlas."): value
        for key, value in metadata.items()
        if key.startswith("infoatlas.")
    }
    if not keys:
        raise ModelError(
            f"{path} is an ONNX file without infoatlas metadata, so nothing says how to feed it: "
            "export a checkpoint with 'infoatlas-rt export', or use a shipped model"
        )
    for key, known in (("format", FORMAT), ("preprocess", PREPROCESS), ("padding", "zeros")):
        if keys.get(key) != known:
            raise ModelError(
                f"{path} has infoatlas.{key} {keys.get(key)!r}, and this version of infoatlas-rt "
                f"reads {known!r}: export the model again, or install the version it was made for"
            )
    if set(inputs) != set(INPUTS) or set(outputs) != set(OUTPUTS):
        raise ModelError(
            f"{path} has inputs {inputs} and outputs {outputs} instead of {list(INPUTS)} and "
            f"{list(OUTPUTS)}: export the checkpoint again with 'infoatlas-rt export'"
        )
    return _describe(path, content, keys)


def _describe(path: Path, content: bytes, keys: dict[str, str]) -> Bundle:
    """Convert the metadata's strings."""
    key = ""

    def text(name: str) -> str:
        nonlocal key
        key = name
        return keys[name]

    try:
        bundle = Bundle(
            path=path,
            name=text("name"),
            version=text("version"),
            dim=int(text("dim")),
            n_min=int(text("n_min")),
            n_max=int(text("n_max")),
            shifts=int(text("shifts")),
            pairs=int(text("pairs")),
            readout=text("readout"),
            padding=text("padding"),
            preprocess=text("preprocess"),
            steps=int(text("steps")),
            datasets=int(text("datasets")),
            seed=int(text("seed")),
            git_revision=text("git_revision"),
            licence=text("licence"),
            accuracy=dict(json.loads(text("accuracy"))),
            calibration=_calibration(text("calibration")) if "calibration" in keys else {},
            sha256=hashlib.sha256(content).hexdigest(),
            bytes=content,
        )
    except KeyError as error:
        raise ModelError(
            f"{path} lacks infoatlas.{key} in its metadata: "
            "export the checkpoint again with 'infoatlas-rt export'"
        ) from error
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"{path} has infoatlas.{key} {keys[key]!r} in its metadata, which cannot be read "
            f"({error}): export the checkpoint again with 'infoatlas-rt export'"
        ) from error
    if not (bundle.shifts >= 4 and bundle.dim >= 1 and 2 <= bundle.n_min <= bundle.n_max):
        raise ModelError(
            f"{path} has limits that cannot be: dim={bundle.dim}, n_min={bundle.n_min}, "
            f"n_max={bundle.n_max}, shifts={bundle.shifts}: export the checkpoint again"
        )
    return bundle


def _calibration(text: str) -> dict[str, dict[str, float]]:
    try:
        return check_constants(json.loads(text))
    except (KeyError, IndexError) as error:  # one within the value, not of the metadata
        raise ValueError(f"{error} is missing") from error


def _read(path: Path, content: bytes) -> tuple[dict[str, str], list[str], list[str]]:
    """Metadata, input names and output names of an ONNX file."""
    metadata: dict[str, str] = {}
    inputs: list[str] = []
    outputs: list[str] = []
    graphs = 0
    try:
        for number, message in _fields(memoryview(content)):
            if number == _MODEL_METADATA:
                entry = dict(_fields(message))
                metadata[str(entry[_NAME], "utf-8")] = str(entry[_VALUE], "utf-8")
            elif number == _MODEL_GRAPH:
                graphs += 1
                for part, value in _fields(message):
                    if part in (_GRAPH_INPUT, _GRAPH_OUTPUT):
                        names = inputs if part == _GRAPH_INPUT else outputs
                        names.append(str(dict(_fields(value))[_NAME], "utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(_not_onnx(path, content)) from error
    if graphs != 1:
        raise ModelError(_not_onnx(path, content))
    return metadata, inputs, outputs


def _not_onnx(path: Path, content: bytes) -> str:
    if content.startswith(b"version https://git-lfs"):
        return f"{path} is a Git LFS pointer, not the model itself: run 'git lfs pull'"
    return (
        f"{path} ({len(content)} bytes) is truncated or not an ONNX file: "
        f"copy it again, or use a shipped model: {', '.join(available()) or 'none found'}"
    )


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Fields of a protocol-buffer message: (number, bytes), or (number, None) for numbers.

    Raises ValueError where the framing is broken, as in a truncated file.
    """
    if not isinstance(message, memoryview):
        raise ValueError("a message was expected")
    at, end = 0, len(message)

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < end and shift < 64:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("broken integer")

    while at < end:
        number, kind = divmod(varint(), 8)
        if kind == 0:
            varint()
            yield number, None
        elif kind in (1, 2, 5):
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            if size > end - at:
                raise ValueError("a field reaches beyond the end")
            at += size
            yield number, message[at - size : at] if kind == 2 else None
        else:
            raise ValueError(f"wire type {kind}")
