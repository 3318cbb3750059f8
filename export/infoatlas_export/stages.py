"""The stage `export` of a build of a model (`infoatlas_train.stages.Export`).

pyproject.toml registers this module as an entry point, by which infoatlas_train.build finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infoatlas_export import onnx
from infoatlas_train.model.infoatlas import InfoAtlas


def graph(model: InfoAtlas, run: dict[str, Any], name: str, version: str) -> bytes:
    """The ONNX file of a model in memory; not compared with torch."""
    return onnx.sealed(onnx.to_onnx(model, onnx.metadata(model, run, name, version)))


def content(checkpoint: Path, name: str, version: str) -> bytes:
    """The ONNX file of a checkpoint, after a comparison with torch.

    Raises
    ------
    ModelError
        The checkpoint cannot be read, or the graph and torch differ by more than the tolerance.
    """
    return onnx.content(checkpoint, name=name, version=version)[0]


def calibrated(model: bytes, calibration: Path) -> bytes:
    """An ONNX file with the constants of the standard error from a file of the calibration.

    Raises
    ------
    InputError
        The file of the calibration cannot be read.
    """
    return onnx.recalibrated(model, onnx.read_calibration(calibration))
