"""The stage of a build that another package provides, found by its entry point.

infoatlas_export imports this package, so this package cannot import it. The export registers its
stage in pyproject.toml in the group `infoatlas_train.stages`.
"""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from infoatlas_rt.errors import InputError
from infoatlas_train.model.infoatlas import InfoAtlas

GROUP, NAME = "infoatlas_train.stages", "export"
INSTALL = "pip install 'infoatlas-rt[export]', or pip install -e '.[export]' in a checkout"


class Export(Protocol):
    """The stage that writes ONNX files."""

    def graph(self, model: InfoAtlas, run: dict[str, Any], name: str, version: str) -> bytes:
        """The ONNX file of a model in memory, without a comparison with torch."""

    def content(self, checkpoint: Path, name: str, version: str) -> bytes:
        """The ONNX file of a checkpoint, after a comparison with torch."""

    def calibrated(self, model: bytes, calibration: Path) -> bytes:
        """The ONNX file of a model with the constants of a calibration file."""


def export_stage() -> Export:
    """The stage of the installed export package.

    InputError if the package, or one that it imports, is not installed.
    """
    found = tuple(entry_points(group=GROUP, name=NAME))
    if not found:
        raise InputError(f"a build needs the export, which is not installed: {INSTALL}")
    try:
        stage: Export = found[0].load()
    except ImportError as error:
        raise InputError(f"a build needs the export ({error}): {INSTALL}") from error
    return stage
