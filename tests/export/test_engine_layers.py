"""Layers of an engine: rules of their types, formats of TensorRT, and engines that are built."""

import json
import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from infoatlas_export.engine_layers import (
    EngineLayer,
    changed_types,
    counts,
    dimensions,
    network_types,
    parse,
    scratch,
)
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load, messages

NODES = {"f_x/0/MatMul": {"fp16"}, "f_x/0/Gemm": {"fp16"}, "f_x/1/Gelu": {"fp16"},
         "f_x/Cast:logits_fp32": {"fp16", "fp32"}, "f_x/Softmax": {"fp32"}}  # fmt: skip


def test_the_inspectors_json():
    """In the formats of TensorRT 10 and 11; in one of them type and format are one text."""
    layers = [
        {"Name": "a_myl0_1", "LayerType": "gemm", "Inputs": [{"Name": "x", "Datatype": "Half"}],
         "Outputs": [{"Name": "y", "Datatype": "Half"}], "Metadata": "[ONNX Layer: f_x/0/MatMul]"},
        {"Name": "b [profile 1]", "LayerType": "MatrixMultiply", "Constants": [],
         "Inputs": [{"Format/Datatype": "Row major linear FP16 format"}], "Outputs": [{}],
         "Metadata": "[ONNX Layer: f_x/0/Gemm]\x1f[ONNX Layer: f_x/1/Gelu]"},
    ]  # fmt: skip
    found = parse(json.dumps({"Layers": layers, "Bindings": ["x"]}))
    assert [(layer.name, layer.profile) for layer in found] == [("a_myl0_1", 0), ("b", 1)]
    assert found[1].nodes == ("f_x/0/Gemm", "f_x/1/Gelu") and found[1].is_product
    assert counts(found) == {"fp16": 3} and changed_types(NODES, found) == []
    assert parse('{"Layers": ["conv1"]}') == parse("no JSON") == parse("{") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Half", "fp16"), ("Row major linear FP16 format", "fp16"), ("Float16", "fp16"),
     ("BFloat16", "bf16"), ("Float", "fp32"), ("Int64", "int64"), ("FP8", ""), ("", "")],
)  # fmt: skip
def test_words_for_types(text, expected):
    layer = {"Name": "a", "Outputs": [{"Format/Datatype": text}]}
    assert counts(parse(json.dumps({"Layers": [layer]}))) == ({expected: 1} if expected else {})


@pytest.mark.parametrize(
    ("name", "taken", "made", "nodes", "fault"),
    [
        ("gemm", "fp16", "fp16", ["f_x/0/MatMul"], None),
        ("gemm", "fp32", "fp32", ["f_x/0/MatMul"], "has no FP16 tensor, and its nodes .f_x/0/MatM"),
        ("__myl_FcAdd_myl0_13", "fp32", "fp32", ["f_x/0/Gemm"], "has no FP16 tensor"),
        ("kgen", "fp32", "fp32", ["f_x/1/Gelu"], None),
        ("kgen", "fp16", "fp32", ["f_x/Cast:logits_fp32", "f_x/Softmax"], None),  # with a cast
        ("kgen", "fp16", "fp32", ["f_x/Softmax"], "of profile 3 has FP16 tensors, and .*have none"),
        ("kgen", "fp16", "fp16", [], None),
        ("kgen", "fp32", "fp16", [], "no node of the network is named"),
    ],
)
def test_types_that_differ_from_the_network(name, taken, made, nodes, fault):
    found = changed_types(NODES, [EngineLayer(name, 3, "", (taken,), (), (made,), tuple(nodes))])
    assert len(found) == (fault is not None)
    assert not fault or re.search(fault, found[0])


def built(content: bytes, profiles: list[dict]):
    """An engine for compute capability 8.9: messages of the builder, and types of the network."""
    pytest.importorskip("tensorrt_rtx_bindings", reason="there is no TensorRT-RTX")
    trt = load(LIBRARIES["tensorrt-rtx"])
    reported = messages(trt)
    reported.reports.clear()
    builder = trt.Builder(reported.logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, reported.logger)
    assert parser.parse(content), reported.take()
    config = builder.create_builder_config()
    config.clear_flag(trt.BuilderFlag.TF32)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    for shapes in profiles:
        optimization = builder.create_optimization_profile()
        for name, sizes in shapes.items():
            optimization.set_shape(name, *sizes)
        config.add_optimization_profile(optimization)
    assert builder.build_serialized_network(network, config) is not None, reported.take()
    return list(reported.reports), network_types(network)


def mlp(half: bool) -> bytes:
    """Two products with a GELU between them and a softmax; FP32, or FP16 between casts."""
    rng = np.random.default_rng(0)
    number = np.float16 if half else np.float32
    weights = [
        numpy_helper.from_array(rng.normal(size=(32, 32)).astype(number), name) for name in "vw"
    ]
    make = helper.make_node
    nodes = [
        make("Cast", ["x"], ["a"], "f_x/Cast", to=weights[0].data_type),
        make("MatMul", ["a", "v"], ["b"], "f_x/0/MatMul"),
        make("Gelu", ["b"], ["c"], "f_x/1/Gelu"),
        make("MatMul", ["c", "w"], ["d"], "f_x/2/MatMul"),
        make("Cast", ["d"], ["e"], "f_x/Cast_1", to=TensorProto.FLOAT),
        make("Softmax", ["e"], ["pointwise"], "f_x/Softmax"),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["slices", 32])
        for name in ("x", "pointwise")
    ]
    graph = helper.make_graph(nodes, "mlp", ends[:1], ends[1:], weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return proto.SerializeToString()


@pytest.fixture(scope="module")
def engines():
    """The small graph in FP32, and in FP16 with two profiles."""
    one, several = ({"x": [(a, 32), (b, 32), (c, 32)]} for a, b, c in ((3, 3, 3), (1, 4, 8)))
    return {"fp32": built(mlp(False), [several]), "fp16": built(mlp(True), [one, several])}


def test_engines_have_the_types_of_their_networks(engines):
    for precision, (reports, types) in engines.items():
        layers = parse("\n".join(reports))
        assert types["f_x/0/MatMul"] == {precision} and types["f_x/Softmax"] == {"fp32"}
        assert changed_types(types, layers) == []
        assert ("fp16" in counts(layers)) == (precision == "fp16")
        for profile in range(len(scratch(reports))):
            named = {node for layer in layers if layer.profile == profile for node in layer.nodes}
            assert {"f_x/0/MatMul", "f_x/2/MatMul", "f_x/Softmax"} <= named
    (half, _), (single, _) = engines["fp16"], engines["fp32"]
    assert len(scratch(half)) == 2 and len(scratch(single)) == 1
    assert dimensions("\n".join(single)) == {"x": (-1, 32), "pointwise": (-1, 32)}


def test_an_engine_with_the_types_of_another_network_is_found(engines):
    (half, half_types), (single, single_types) = engines["fp16"], engines["fp32"]
    faults = changed_types(single_types, parse("\n".join(half)))
    assert any("f_x/0/MatMul" in fault and "has FP16 tensors" in fault for fault in faults)
    faults = changed_types(half_types, parse("\n".join(single)))
    assert len(faults) == 2 and all("has no FP16 tensor" in fault for fault in faults)
    for name in ("f_x/0/MatMul", "f_x/2/MatMul"):
        assert any(name in fault for fault in faults)
