"""Diagnostic features as the C++ engine is to give them, from the graph that it is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from infoatlas_train import diagnose
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas

RUN = {"step": 1, "datasets": 8, "seed": 0, "git_revision": "none"}


def test_the_exported_critic_has_the_diagnostics_of_torch():
    """tests/native has the engine beside a graph; here is the graph that a build gives it."""
    torch.manual_seed(0)
    model = InfoAtlas(dataclasses.replace(PRESETS["tiny"], metrics=1, widths=2, shared=True)).eval()
    state = torch.random.get_rng_state()
    proto = onnx.load_from_string(diagnose.exported(model, RUN, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    (asinh,) = (node for node in proto.graph.node if node.op_type == "Asinh")
    of_correction = {i.name for i in proto.graph.initializer if i.name.startswith("gap.")}
    assert {"gap.mean", "gap.scale", "gap.missing.constant"} <= of_correction  # nothing was folded
    x = torch.randn(3, 60, model.config.dim)
    given = x, 0.8 * x + 0.6 * torch.randn_like(x), 1 + torch.randperm(59)[:8], torch.randperm(60)
    output = onnx.helper.make_tensor_value_info(asinh.input[0], onnx.TensorProto.FLOAT, None)
    proto.graph.output.append(output)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    feed = {i.name: v.numpy() for i, v in zip(proto.graph.input, given, strict=True)}
    (found,) = session.run([asinh.input[0]], feed)
    wanted = diagnose.with_torch(model, 2)(*given).numpy()
    np.testing.assert_allclose(np.arcsinh(found), np.arcsinh(wanted), atol=3e-3)


def test_torch_reads_what_the_engine_does_not_take(monkeypatch):
    def refuse(*_):
        raise RuntimeError("the engine has no generated readout")

    monkeypatch.setattr(diagnose, "find_spec", lambda _: True)
    monkeypatch.setattr(diagnose, "with_native", refuse)
    model = InfoAtlas(PRESETS["tiny"]).eval()
    with pytest.warns(UserWarning, match="torch reads the examples: .* generated readout"):
        read = diagnose.fastest(model, RUN, 1)
    x = torch.randn(2, 40, model.config.dim)
    assert read(x, x, torch.arange(1, 9), torch.arange(40)).isfinite().all()
