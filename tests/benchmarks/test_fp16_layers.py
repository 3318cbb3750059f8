"""Comparison of an engine with the emulation of FP16: agreement, and detection of differences."""

import json

import pytest

from benchmarks import fp16_layers
from infoatlas_export import engine_layers, fp16_emulation


@pytest.fixture(scope="module")
def engine():
    """The layers of the FP16 engine of edge as built, and its graph."""
    pytest.importorskip("tensorrt_rtx_bindings", reason="there is no TensorRT-RTX")
    half = fp16_layers.fp16_graph("edge")
    content = half.SerializeToString()
    return half, fp16_layers.built(content, 5, "8.9", fp16_layers.FIXED)


def test_they_agree(engine, monkeypatch, tmp_path):
    monkeypatch.setattr(fp16_layers, "fp16_graph", lambda name: engine[0])
    monkeypatch.setattr(fp16_layers, "built", lambda *arguments: engine[1])
    fp16_layers.main(["--quick", "--out", str(tmp_path)])
    (row,) = json.loads((tmp_path / "fp16_layers.json").read_text())["rows"]
    assert row["faults"] == [] and row["kernels_of_attention"] == 4
    for operator in ("MatMul", "Add", "Gelu", "Cast"):
        there, here = row["roundings"][operator]
        assert there == here > 0
    page = (tmp_path / "fp16_layers.md").read_text()
    assert f"| {row['layers_with_fp16']} of {row['layers']} |" in page and "| none |" in page


def test_differences_are_detected(engine, monkeypatch):
    half, made = engine
    plain = fp16_emulation._Emulation.plain
    monkeypatch.setattr(fp16_emulation._Emulation, "gelu", plain)
    faults = fp16_layers.compared(half, made)["faults"]
    assert len(faults) == 9
    assert all("is rounded 5 times by the engine, and 1 times by the emu" in f for f in faults)
    monkeypatch.undo()
    monkeypatch.setattr(fp16_emulation, "attention_layers", lambda *graph: {})
    (fault,) = fp16_layers.compared(half, made)["faults"]
    assert fault.startswith("attention layers in one kernel")


def test_an_engine_that_computes_otherwise_is_found(engine, monkeypatch):
    half, made = engine
    source = next(iter(made.kernels))
    changes = {
        "kernels": {source: "__myln_exp___myln_half(__v1)"},
        "fused": [row for row in made.fused if row[0] != "erf" and row[2] != "half"],
        "attention": [("Ampere_hmma_fp16_traits",) * 2],
        "tf32": {"1"},
        "layers": engine_layers.parse(""),
    }
    messages = {
        "kernels": "compute in FP16: ['exp']",
        "fused": "times by the engine",
        "attention": "sum up by",
        "tf32": "TF32 is on",
        "layers": "attention layers in one kernel: []",
    }
    for name, change in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(made, name, change)
            faults = fp16_layers.compared(half, made)["faults"]
        assert any(messages[name] in fault for fault in faults), name
