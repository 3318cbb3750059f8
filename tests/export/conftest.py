"""The model of the short build, exported once for all tests of this folder."""

import pytest
import torch

from exporting import built, export, tracing_once
from infoatlas_export.onnx import PARITY_SIZES


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A checkpoint with a record of its own, exported by the command once for all tests."""
    folder = tmp_path_factory.mktemp("export")
    saved = torch.load(built() / "corrected.pt", weights_only=True)
    saved["run"] = {"step": 3, "datasets": 24, "seed": 5, "git_revision": "abc"}
    saved["run"]["figures"] = {"held_out": 0.5}
    torch.save(saved, folder / "tiny.pt")
    written = ["--out", str(folder / "tiny.onnx"), "--json", str(folder / "parity.json")]
    with tracing_once(*(s for s in PARITY_SIZES if s[0] * s[1] <= 5000)):  # others need 30 s
        export([str(folder / "tiny.pt"), "--name", "tiny", *written])
    return folder
