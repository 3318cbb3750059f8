"""Diagnostic features from the exported graph, as the C++ engine returns them."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import onnxruntime
import torch

from infoatlas_export.onnx import metadata, to_onnx
from infoatlas_train import diagnose
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas

RUN = {"step": 1, "datasets": 8, "seed": 0, "git_revision": "none"}


def test_the_exported_critic_has_the_diagnostics_of_torch():
    """tests/native compares the engine with a graph; this test uses the graph of a build."""
    torch.manual_seed(0)
    config = dataclasses.replace(
        PRESETS["tiny"], metrics=1, widths=2, shared=True, newton_steps=1, rounds=0
    )
    model = InfoAtlas(config).eval()
    state = torch.random.get_rng_state()
    whole = diagnose.with_any_correction(model, 2)
    assert torch.equal(torch.random.get_rng_state(), state)
    proto = to_onnx(whole, metadata(whole, RUN, "critic", "0"))
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
