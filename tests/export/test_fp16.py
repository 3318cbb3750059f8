"""Mixed precision: which nodes are FP16, what the emulation rounds, and what is refused."""

import json
from functools import partial

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from command_line import complaint
from exporting import export
from infoatlas_export import fp16, fp16_emulation
from infoatlas_rt import Estimator
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models import model_file
from refusals import fails, refuses


@pytest.fixture(scope="module")
def half(exported, tmp_path_factory):
    """The small model, converted by the command."""
    folder = tmp_path_factory.mktemp("fp16")
    written = ["--out", str(folder / "half.onnx"), "--json", str(folder / "parity.json")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fp16, "SIZES", ((4, 32, 0), (10, 100, 0), (1, 600, 1)))
        export([str(exported / "tiny.onnx"), "--precision", "fp16", *written])
    return folder


def test_the_command_writes_a_model_that_the_runtime_reads(exported, half):
    rows = json.loads((half / "parity.json").read_text())["parity"]
    assert 0 < max(row["mi"] for row in rows) <= fp16.TOLERANCE  # something was rounded
    assert {row["samples"] for row in rows} >= {32, 100, 600}
    loaded = model_file.load(half / "half.onnx")
    proto = onnx.load_from_string(loaded.bytes)
    assert {p.key: p.value for p in proto.metadata_props}["infoatlas.precision"] == "fp16"
    ends = (*proto.graph.input, *proto.graph.output)
    assert {v.type.tensor_type.elem_type for v in ends} == {TensorProto.FLOAT, TensorProto.INT64}
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    y = x + rng.normal(size=(100, 2))
    found = [Estimator(exported / "tiny.onnx"), Estimator(half / "half.onnx")]
    single, rounded = (estimator.estimate(x, y) for estimator in found)
    assert rounded.mi == pytest.approx(single.mi, abs=fp16.TOLERANCE)


def test_layers_are_fp16_and_sums_over_samples_are_not(half):
    graph = onnx.load(half / "half.onnx").graph
    types = fp16_emulation.element_types(graph)
    names = {node.name: types[node.output[0]] for node in graph.node if node.op_type != "Cast"}
    for name in ("hypernetwork/f_x/0/MatMul", "hypernetwork/joint_reading/mlp/1/MatMul"):
        assert names[name] == TensorProto.FLOAT16
    kept = ("critic/", "bias_correction/", "hypernetwork/critic/fisher_z")
    assert not [n for n, t in names.items() if n.startswith(kept) and t == TensorProto.FLOAT16]
    single = {"Softmax", "LayerNormalization", "Exp", "Log", "ReduceSum", "ReduceMean", "Div",
              "ReduceLogSumExp", "Pow", "Sqrt", "Reciprocal", "Clip"}  # fmt: skip
    written = {n.op_type for n in graph.node if types.get(n.output[0]) == TensorProto.FLOAT16}
    assert not written & single
    crossings = [node.input[0] for node in graph.node if node.name.count("/Cast:")]
    assert len(crossings) == len(set(crossings))  # each tensor is cast once


def product(k: int, n: int = 3, scale: float = 1.0) -> tuple[onnx.ModelProto, np.ndarray]:
    """A graph of y = x w, and w."""
    w = (scale * np.random.default_rng(k).normal(size=(k, n))).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"], name="critic/side/MatMul"),
         helper.make_node("Add", ["p", "p"], ["y"], name="critic/anchor/Add")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", k])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", n])],
        [numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnx.shape_inference.infer_shapes(proto), w


@pytest.mark.parametrize("sums", [False, True])
def test_emulation_rounds_as_numpy_does(sums):
    proto, w = product(40)
    mixed = fp16.mixed(proto, {"critic/side/MatMul"})
    session = onnxruntime.InferenceSession(
        fp16_emulation.emulated(mixed, sums=sums).SerializeToString()
    )
    x = np.random.default_rng(1).normal(size=(50, 40)).astype(np.float32)
    x[0], x[1] = 1e-7, 5e3  # tiny values stay subnormal; the last values are near the limit
    a, b = (v.astype(np.float16).astype(np.float32) for v in (x, w))
    total = np.zeros((50, 3), np.float32)
    for i in range(0, 40, 16 if sums else 40):
        part = slice(i, i + (16 if sums else 40))
        with np.errstate(over="ignore"):
            total = (total + a[:, part] @ b[part]).astype(np.float16).astype(np.float32)
    found = session.run(None, {"x": x})[0] / 2
    np.testing.assert_allclose(found, total, rtol=1e-3, atol=1e-6)  # either rounding is valid
    assert np.mean(found == total) > 0.95
    assert not np.allclose(found[2:], (x @ w)[2:], rtol=1e-5)
    # ... beyond the limit, 65504, values are infinite.
    assert np.isinf(session.run(None, {"x": 1e4 * x})[0]).any()


def run_emulated(nodes, x, weights, shape, sums=True):
    """Outputs of an emulated graph of FP16 nodes from "x" to "y"."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["x16"], "Cast", to=TensorProto.FLOAT16), *nodes,
         helper.make_node("Cast", ["y16"], ["y"], "Cast_1", to=TensorProto.FLOAT)],
        "g",
        [value("x", TensorProto.FLOAT, x.shape)],
        [value("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    emulation = fp16_emulation.emulated(proto, sums=sums)
    session = onnxruntime.InferenceSession(emulation.SerializeToString())
    return session.run(None, {"x": x})[0]


def to_half(values):
    """Values rounded to FP16, as FP32."""
    return np.asarray(values).astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("bias", [False, True])
def test_a_gemm_is_rounded_before_its_bias_is_added(bias):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 40)).astype(np.float32)
    w, b = (rng.normal(size=size).astype(np.float16) for size in ((3, 40), 3))
    inputs = ["x16", "w", "b"] if bias else ["x16", "w"]
    node = helper.make_node("Gemm", inputs, ["y16"], "Gemm", transB=1)
    weights = {"w": w, "b": b} if bias else {"w": w}
    found = run_emulated([node], x, weights, (50, 3), sums=False)
    expected = to_half(to_half(x) @ w.T.astype(np.float32))
    expected = to_half(expected + b.astype(np.float32)) if bias else expected
    assert np.mean(found == expected) > 0.97  # a sum may be rounded either way
    node = helper.make_node("Gemm", inputs, ["y16"], "Gemm", transB=1, alpha=2.0)
    fails(ModelError, "scaled or transposed", run_emulated, [node], x, weights, (50, 3))


def test_an_attention_layer_is_one_kernel():
    """Logits stay FP32, and weights are rounded before the division by their sum."""
    rng = np.random.default_rng(0)
    x = (3 * rng.normal(size=(20, 8))).astype(np.float32)
    keys, values = (rng.normal(size=size).astype(np.float16) for size in ((8, 12), (12, 8)))
    make = helper.make_node
    nodes = [
        make("MatMul", ["x16", "k"], ["l16"], "MatMul"),
        make("Cast", ["l16"], ["l"], "Cast:l", to=TensorProto.FLOAT),
        make("Softmax", ["l"], ["p"], "Softmax", axis=-1),
        make("Cast", ["p"], ["p16"], "Cast:p_fp16", to=TensorProto.FLOAT16),
        make("MatMul", ["p16", "v"], ["y16"], "MatMul_1"),
    ]
    found = run_emulated(nodes, x, {"k": keys, "v": values}, (20, 8))
    logits = to_half(x) @ keys.astype(np.float32)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    sums = to_half(to_half(weights) @ values.astype(np.float32))
    np.testing.assert_allclose(found, to_half(sums / weights.sum(1, keepdims=True)), rtol=1e-3)
    # If another node uses the weights, they are computed, and each tensor is rounded.
    apart = [*nodes, make("Identity", ["p16"], ["other"], "Identity")]
    separate = run_emulated(apart, x, {"k": keys, "v": values}, (20, 8))
    logits = to_half(logits)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    weights = to_half(weights / weights.sum(1, keepdims=True))
    np.testing.assert_allclose(separate, to_half(weights @ values.astype(np.float32)), rtol=1e-3)
    assert np.mean(found == separate) < 0.9


def test_weights_beyond_fp16_and_outputs_are_refused():
    proto, _ = product(4, scale=1e5)
    fails(ModelError, "beyond FP16", fp16.mixed, proto, {"critic/side/MatMul"})
    proto, _ = product(4)
    with pytest.raises(ModelError, match="outputs stay in FP32"):
        fp16.mixed(proto, {"critic/side/MatMul", "critic/anchor/Add"})


def test_a_worse_graph_is_refused(exported, monkeypatch, tmp_path):
    """With sums over samples, logarithms and the solve in FP16 nothing is written."""
    monkeypatch.setattr(fp16, "SIZES", ((4, 1000, 0),))
    content = (exported / "tiny.onnx").read_bytes()
    more = "Sub Div Exp Log Pow Sqrt Reciprocal ReduceSum ReduceMean ReduceLogSumExp Softmax"
    monkeypatch.setattr(fp16, "COMPUTING", fp16.COMPUTING | set(more.split()))
    wide = partial(fp16.converted, scopes=("(hypernetwork|critic)(/.*)?",))
    monkeypatch.setattr(fp16, "converted", wide)
    fails(ModelError, r"FP16 and FP32 differ by", fp16.halved, content)
    monkeypatch.undo()
    monkeypatch.setattr(fp16, "SIZES", ((4, 100, 0),))
    monkeypatch.setattr(fp16, "TOLERANCE", 1e-9)
    command = [str(exported / "tiny.onnx"), "--precision", "fp16"]
    fails(ModelError, "more than 1e-09", export, [*command, "--out", str(tmp_path / "x.onnx")])
    assert not (tmp_path / "x.onnx").exists()


def test_a_graph_without_scopes_is_refused(exported):
    proto = onnx.load(exported / "tiny.onnx")
    for i, node in enumerate(proto.graph.node):
        node.name = f"node_{i}"
    fails(ModelError, "export its checkpoint again", fp16.halved, proto.SerializeToString())


@pytest.mark.parametrize("name", model_file.available())
def test_shipped_models_can_be_converted(name):
    """The names of their nodes contain the layers that may be FP16."""
    graph = onnx.load_from_string(model_file.load(name).bytes).graph
    chosen = fp16.chosen(graph)
    layers = {node.op_type for node in graph.node if node.name in chosen}
    assert layers >= {"MatMul", "Add", "Gelu"}
    shapes = fp16_emulation.fixed_shapes(graph)
    sizes = [
        fp16.terms(node, shapes) if node.op_type == "MatMul" else shapes[node.input[1]][-1]
        for node in graph.node
        if node.name in chosen and node.op_type in ("MatMul", "Gemm")
    ]
    assert 0 < min(sizes) <= max(sizes) <= 256  # longer sums lose precision in FP16


def test_contradicting_options_are_refused(exported, tmp_path):
    out = ["--out", str(tmp_path / "x.onnx")]
    refuses("--calibration or --precision", export, [str(exported / "tiny.onnx"), *out])
    assert not list(tmp_path.iterdir())


def test_an_unwritable_place_is_reported_in_advance(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fp16, "halved", lambda *a: pytest.fail("it has computed"))
    command = ["export", "edge", "--precision", "fp16", "--out"]
    for target, why in ((tmp_path, "it is a folder"), (tmp_path / "no/a.onnx", "is missing")):
        assert why in complaint(capsys, *command, target)
