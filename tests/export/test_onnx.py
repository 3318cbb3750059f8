"""Export to ONNX: variable axes, parity, and equality of shipped files with their checkpoints."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from exporting import export
from infoatlas_export import model_code, onnx as export_module
from infoatlas_export.onnx import PARITY_SIZES, TOLERANCE, parity
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models import model_file
from infoatlas_train import diagnose
from infoatlas_train.pretrain import load

CHECKPOINTS = Path(__file__).parents[2] / "train" / "checkpoints"


def test_parity_table_covers_the_axes_and_holds(exported):
    rows = json.loads((exported / "parity.json").read_text())["parity"]
    assert {row["slices"] for row in rows} == {1, 2, 3, 40}
    assert {row["samples"] for row in rows} == {17, 100, 1000, 5000}
    assert max(row["mi"] for row in rows) <= TOLERANCE


def test_metadata_survives_the_round_trip(exported):
    b = model_file.load(exported / "tiny.onnx")
    assert (b.name, b.dim, b.seed, b.git_revision) == ("tiny", 5, 5, "abc")
    assert (b.steps, b.datasets) == (3, 24)
    assert b.accuracy == {"held_out": 0.5} and b.licence == "Apache-2.0"
    assert b.metadata["code"] == model_code.code()


def test_graph_is_one_that_tensorrt_can_take(exported):
    """Opset 20, without operators that TensorRT 10.3 lacks or restricts (Unique, Det, Einsum)."""
    model = onnx.load(exported / "tiny.onnx")
    assert [o.version for o in model.opset_import if o.domain == ""] == [20]
    assert {o.domain for o in model.opset_import} == {""}
    kinds = {node.op_type for node in model.graph.node}
    refused = "Unique Det Einsum NonZero Attention If Loop Scan EyeLike"
    assert not kinds & set(refused.split())
    types = {v.name: v.type.tensor_type.elem_type for v in model.graph.value_info}
    clipped = {types[node.output[0]] for node in model.graph.node if node.op_type == "Clip"}
    assert clipped == {onnx.TensorProto.FLOAT}
    names = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim]
             for i in (*model.graph.input, *model.graph.output)}  # fmt: skip
    assert names == {
        "x": ["slices", "samples", 5], "y": ["slices", "samples", 5], "shifts": ["shifts"],
        "sequence": ["samples"], "spread": ["slices"],
        "mi": ["slices"], "pointwise": ["slices", "samples"], "influence": ["slices", "samples"],
    }  # fmt: skip


def test_no_word_of_the_machine_in_the_file(exported):
    content = (exported / "tiny.onnx").read_bytes()
    here = str(Path(__file__).parents[2]).encode()
    assert not [word for word in (here, b"site-packages", b".py") if word in content]


def test_a_graph_that_differs_is_refused(exported, monkeypatch, tmp_path):
    wrong = [{"slices": s, "samples": n, "mi": 0.1} for s, n, _ in PARITY_SIZES]
    traced = onnx.load(exported / "tiny.onnx")
    monkeypatch.setattr(export_module, "to_onnx", lambda *a: traced)
    monkeypatch.setattr(export_module, "parity", lambda *a: wrong)
    with pytest.raises(ModelError, match=r"differ by 0\.1 nats"):
        export([str(exported / "tiny.pt"), "--out", str(tmp_path / "x.onnx")])
    assert not (tmp_path / "x.onnx").exists()


def test_the_exported_critic_has_the_diagnostics_of_torch(exported):
    """tests/native compares the engine with a graph; this test uses the graph of a build."""
    import onnxruntime

    model, _ = load(exported / "tiny.pt")
    proto = onnx.load(exported / "tiny.onnx")
    (asinh,) = (node for node in proto.graph.node if node.name.endswith("/standardised/Asinh"))
    of_correction = {i.name for i in proto.graph.initializer if i.name.startswith("gap.")}
    assert {"gap.mean", "gap.scale", "gap.missing.constant"} <= of_correction  # nothing was folded
    torch.manual_seed(0)
    x = torch.randn(3, 60, model.config.dim)
    given = x, 0.8 * x + 0.6 * torch.randn_like(x), 1 + torch.randperm(59)[:8], torch.randperm(60)
    output = onnx.helper.make_tensor_value_info(asinh.input[0], onnx.TensorProto.FLOAT, None)
    proto.graph.output.append(output)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    feed = {i.name: v.numpy() for i, v in zip(proto.graph.input, given, strict=True)}
    (found,) = session.run([asinh.input[0]], feed)
    wanted = diagnose.with_torch(model, 2, model.config.gap_share)(*given).numpy()
    np.testing.assert_allclose(np.arcsinh(found), np.arcsinh(wanted), atol=3e-3)


def test_unreadable_checkpoint(tmp_path):
    (tmp_path / "bad.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ModelError, match="cannot read the checkpoint"):
        export([str(tmp_path / "bad.pt"), "--out", str(tmp_path / "x.onnx")])


def test_the_solve_of_refined_critics_is_exact_on_warped_pairs():
    """With one coordinate, refinement makes features similar, and two blocks are too inaccurate."""
    model, _ = load(CHECKPOINTS / "base.pt")
    inputs = export_module.example(3, 1000, 5, seed=1000, coordinates=1)
    tensors = [torch.from_numpy(values) for values in inputs.values()]
    with torch.no_grad():
        exact, found = (m(*tensors)[0] for m in (model, export_module.Graph(model).eval()))
    torch.testing.assert_close(found, exact, atol=2e-3, rtol=0)


@pytest.mark.parametrize("name", ["edge", "base", "wide"])
def test_a_shipped_file_is_its_committed_checkpoint(name, monkeypatch):
    """On samples that are not in the golden outputs: ONNX Runtime compared with torch."""
    monkeypatch.setattr(export_module, "PARITY_SIZES", ((3, 100, 0), (1, 1000, 0)))

    def worst(key):
        return max(row[key] for row in parity(model, shipped.bytes))

    model, run = load(CHECKPOINTS / f"{name}.pt")
    shipped = model_file.load(name)
    assert (shipped.steps, shipped.datasets) == (run["step"], run["datasets"]) and run["step"] > 0
    assert worst("mi") <= TOLERANCE and worst("spread") <= TOLERANCE
    # With other weights the comparison has to fail.
    for weights in model.hypernetwork.generation.write.parameters():
        weights.data *= 1.1
    assert worst("mi") > TOLERANCE


def test_the_graph_is_compared_with_float64(monkeypatch):
    """On nearly deterministic pairs of one coordinate, float32 torch has an error of 0.1 nats."""
    monkeypatch.setattr(export_module, "PARITY_SIZES", ((1, 5000, 1),))
    model, _ = load(CHECKPOINTS / "base.pt")
    (row,) = parity(model, model_file.load("base").bytes)
    assert row["mi"] <= TOLERANCE


def test_more_shifts_than_traced_with(exported):
    """The axis of shifts is variable, too: all n-1 of them."""
    import onnxruntime

    model, _ = load(exported / "tiny.pt")
    session = onnxruntime.InferenceSession((exported / "tiny.onnx").read_bytes())
    inputs = export_module.example(2, 50, 5)
    for m in (4, 49):
        inputs["shifts"] = np.arange(1, m + 1)
        got = session.run(["mi"], inputs)[0]
        with torch.no_grad():
            expected = model(**{k: torch.from_numpy(a) for k, a in inputs.items()})[0].numpy()
        np.testing.assert_allclose(got, expected, atol=TOLERANCE)
