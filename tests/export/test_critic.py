"""The graph that writes a critic."""

from pathlib import Path

import onnx
import pytest
import torch

from exporting import export
from infoatlas_export.critic import TOLERANCE, difference, export_critic
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation.critic import FOLDER
from infoatlas_train.pretrain import checkpoint, load

CHECKPOINTS = Path(__file__).parents[2] / "train" / "checkpoints"


def test_the_shipped_graph_is_the_committed_checkpoint():
    """On new pairs: ONNX Runtime and NumPy compared with torch and the exact solve."""
    model, _ = load(CHECKPOINTS / "edge.pt")
    content = (FOLDER / "edge.onnx").read_bytes()
    assert difference(model, content) <= TOLERANCE
    # With other weights the comparison has to fail.
    for weights in model.hypernetwork.generation.write.parameters():
        weights.data *= 1.1
    assert not difference(model, content) <= TOLERANCE


@pytest.mark.parametrize("checkpoint", ["base.pt", "none.pt"])
def test_unsupported_critics_are_refused(checkpoint, tmp_path):
    with pytest.raises(ModelError, match=r"refines its critics|cannot read"):
        export_critic(CHECKPOINTS / checkpoint, tmp_path / "a.onnx", name="a", version="1")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_differs_is_refused(tmp_path, monkeypatch):
    """The shipped graph replaces a trace, which lasts a minute; the weights are different."""
    model, run = load(CHECKPOINTS / "edge.pt")
    for weights in model.hypernetwork.generation.write.parameters():
        weights.data *= 1.1
    torch.save(checkpoint(model, run), tmp_path / "other.pt")
    shipped = onnx.load(FOLDER / "edge.onnx")
    monkeypatch.setattr("infoatlas_export.critic.traced", lambda *_: shipped)
    with pytest.raises(ModelError, match="differ by"):
        export([str(tmp_path / "other.pt"), "--critic", "--out", str(tmp_path / "a.onnx")])
    assert [path.name for path in tmp_path.iterdir()] == ["other.pt"]
