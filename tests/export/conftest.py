"""A small untrained model, exported once for all tests of this folder."""

import dataclasses

import pytest
import torch

from exporting import export, traced_once
from infoatlas_export import onnx
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.pretrain import checkpoint


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A small untrained model, exported by the command once for all tests.

    With a round of refinement and a bias correction, so that every operator is there; a second
    step of the solve would have no other ones.
    """
    folder = tmp_path_factory.mktemp("export")
    torch.manual_seed(0)
    correction = {"gap": 2, "gap_share": 0.5}
    config = dataclasses.replace(PRESETS["tiny"], refinements=1, newton_steps=1, **correction)
    model = InfoAtlas(config)
    for heads in (model.gap.missing, model.gap.doubt):
        torch.nn.init.normal_(heads.last, std=0.1)
    # Equal weights, as in new norms, would be merged into one constant of the graph.
    with torch.no_grad():
        for values in model.parameters():
            values.add_(0.01 * torch.randn_like(values))
    run = {"step": 3, "datasets": 24, "seed": 5, "git_revision": "abc"}
    run["figures"] = {"held_out": 0.5}
    torch.save(checkpoint(model, run), folder / "tiny.pt")
    written = ["--out", str(folder / "tiny.onnx"), "--json", str(folder / "parity.json")]
    with pytest.MonkeyPatch.context() as patch:  # the largest sizes need half a minute
        patch.setattr(onnx, "traced", traced_once)
        patch.setattr(onnx, "PARITY_SIZES", [s for s in onnx.PARITY_SIZES if s[0] * s[1] <= 5000])
        export([str(folder / "tiny.pt"), "--name", "tiny", *written])
    return folder
