"""The stage `export` of the build of a model (`infoatlas_train.stages.Export`).

infoatlas_train.build finds this module by its entry point in pyproject.toml.
"""

from pathlib import Path
from typing import Any

from infoatlas_export import onnx
from infoatlas_train.model.infoatlas import InfoAtlas


def graph(model: InfoAtlas, run: dict[str, Any], name: str, version: str) -> bytes:
    """The ONNX file of a model in memory, without a comparison with torch."""
    return onnx.sealed(onnx.to_onnx(model, onnx.metadata(model, run, name, version)))


def content(checkpoint: Path, name: str, version: str) -> bytes:
    """The ONNX file of a checkpoint, after a comparison with torch.

    ModelError if the checkpoint cannot be read, or graph and torch differ by more than the
    tolerance.
    """
    return onnx.content(checkpoint, name=name, version=version)[0]


def calibrated(model: bytes, calibration: Path) -> bytes:
    """The ONNX file of a model with the constants of a calibration file."""
    return onnx.recalibrated(model, onnx.read_calibration(calibration))
