"""Layers of an engine, from recorded messages of the builder and from engines that are built."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from infoatlas_export import fp16
from infoatlas_export.engine_layers import (
    changed_types,
    counts,
    dimensions,
    network_types,
    parse,
    scratch,
)
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load, messages
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import Profile


def tensor(name: str, kind: str, dims: str = "40,64") -> str:
    return (
        f"{{ Name: {name}, Dimensions: [{dims}], Strides: [64,1], StrideOrder: [1,0], "
        f"Datatype: {kind}, Format: (Linear) Row major linear format }}"
    )


def line(name: str, kind: str, inputs: str, constants: str, outputs: str, *nodes: str) -> str:
    """A layer in the format of TensorRT-RTX 1.7."""
    return (
        f"Name: {name}, LayerType: {kind}, Inputs: [{inputs}], Constants: [{constants}], "
        f"Outputs: [{outputs}], TacticName: __myelin_CASK_STUB, StreamId: 0, Metadata: "
        + "\x1f".join(f"[ONNX Layer: {node}]" for node in nodes)
    )


X = (
    " Name: x, IOMode: Input, DataType: Float, Dimensions: [{}], Location: Device, "
    "IsShapeInferenceIO: false, ProfileInfo: [ {}]\n"
)
MI = (
    " Name: mi, IOMode: Output, DataType: Float, Dimensions: [{}], Location: Device, "
    "IsShapeInferenceIO: false, ProfileInfo: [ {{ Format: Row major linear FP32 format }}]\n"
)


def shapes(smallest: str, largest: str) -> str:
    return (
        f"{{ MinShape: [{smallest}], OptShape: [{smallest}], MaxShape: [{largest}], "
        "Format: Row major linear FP32 format (kLINEAR) }"
    )


# Names and order as in the FP16 engine of `edge`.
HALF = [
    f" {tensor(name, 'Half')}{',' * (name == 'weight')}" for name in ("in", "weight", "bias", "out")
]
SCALES = f" {tensor('alpha', 'Float', '1')}, {tensor('beta', 'Float', '1')}"
LAYERS = [
    line("__mye149061_myl0_18", "wait", "", "", ""),
    line("f_x/0/MatMul_myl0_28", "gemm", f"{HALF[0]}", f"{HALF[1]}{SCALES}", HALF[3],
         "f_x/0/MatMul"),
    line("__myl_FcAddDivCastErfCastAddMulMul_myl0_13", "runtime_fusion", HALF[0],
         HALF[1] + HALF[2], HALF[3], "f_x/1/Gelu", "f_x/0/Gemm"),
    line("__myl_SubExpSum_myl0_23", "kgen", f" {tensor('logits', 'Float')}", "",
         f" {tensor('sum', 'Float', '40')}", "f_x/Cast:logits_fp32", "f_x/Softmax"),
    line("__myl_Resh_myl0_35", "kgen", HALF[0], "", HALF[3]),
    line("[ShapeHostToDeviceCopy 0]", "ShapeHostToDevice", "", "",
         f" {tensor('shape', 'Int64', '1')}"),
]  # fmt: skip
NODES = {
    "f_x/0/MatMul": {"fp16"}, "f_x/1/Gelu": {"fp16"}, "f_x/0/Gemm": {"fp16"},
    "f_x/Cast:logits_fp32": {"fp16", "fp32"}, "f_x/Softmax": {"fp32"},
}  # fmt: skip


def message(layers: list[str], ends: str = "") -> str:
    return "Layers:\n" + "\n".join(layers) + f"\n\nI/O Tensors:\n{ends}\nEngine Metadata:\n"


def test_the_builders_message():
    found = parse(message(LAYERS))
    assert [layer.kind for layer in found] == [
        "wait", "gemm", "runtime_fusion", "kgen", "kgen", "ShapeHostToDevice",
    ]  # fmt: skip
    product, fused = found[1:3]
    assert product.name == "f_x/0/MatMul_myl0_28" and product.nodes == ("f_x/0/MatMul",)
    assert (product.inputs, product.outputs) == (("fp16",), ("fp16",))
    assert product.constants == ("fp16", "fp32", "fp32")  # factors of a product stay FP32
    assert fused.nodes == ("f_x/1/Gelu", "f_x/0/Gemm") and fused.types == {"fp16"}
    assert [layer.is_product for layer in found] == [False, True, True, False, False, False]
    assert counts(found) == {"fp16": 9, "fp32": 4, "int64": 1}
    assert changed_types(NODES, found) == []


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


def test_layers_belong_to_the_profile_that_any_of_their_graph_names():
    text = message(
        [
            *LAYERS,
            line("c_myl2_0", "kgen", f" {tensor('x [profile 1]', 'Float')}", "", ""),
            line("d_myl2_1", "kgen", f" {tensor('t', 'Float')}", "", ""),
            line("[Copy] [profile 1]", "ShapeHostToDevice", "", "", ""),
        ]
    )
    found = parse(text)
    assert [layer.profile for layer in found] == [0] * 6 + [1] * 3
    assert found[-1].name == "[Copy]"


def test_fp32_that_became_fp16():
    changed = LAYERS.copy()
    changed[3] = changed[3].replace("Datatype: Float", "Datatype: Half")
    assert changed_types(NODES, parse(message(changed))) == []  # this kernel may contain a cast ...
    nodes = NODES | {"f_x/Cast:logits_fp32": {"fp32"}}
    (fault,) = changed_types(nodes, parse(message(changed)))  # ... or not
    assert "SubExpSum" in fault and "f_x/Softmax" in fault and "profile 0" in fault
    moved = LAYERS[4].replace("Datatype: Half", "Datatype: Float", 1)
    (fault,) = changed_types(NODES, parse(message([moved])))
    assert "no node of the network is named" in fault


@pytest.mark.parametrize("index", [1, 2])
def test_a_product_that_became_fp32(index):
    changed = LAYERS.copy()
    changed[index] = changed[index].replace("Datatype: Half", "Datatype: Float")
    (fault,) = changed_types(NODES, parse(message(changed)))
    assert "has no FP16 tensor" in fault and "f_x/0/" in fault


def test_workspace_of_each_profile():
    reports = ["Max Scratch Memory: 69041152 bytes", "Layers:\n", "Max Scratch Memory: 12 bytes"]
    assert scratch(reports) == (69041152, 12) and scratch([]) == ()


def test_dimensions_of_inputs_and_outputs():
    ends = X.format("-1,-1,5", shapes("1,64,5", "64,512,5")) + MI.format("-1")
    assert dimensions(message(LAYERS, ends)) == {"x": (-1, -1, 5), "mi": (-1,)}
    assert dimensions(MI.format("1")) == {"mi": (1,)} and dimensions("") == {}


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
        assert {layer.profile for layer in layers} == set(range(len(scratch(reports))))
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


def test_the_fp16_graph_of_a_model_is_built_as_it_is_written():
    source = model_file.load("edge")
    proto = onnx.load_from_string(source.bytes)
    half = fp16.mixed(proto, fp16.chosen(proto.graph))
    size = Profile("3 of 64", (3,) * 3, (64,) * 3, (5,) * 3)
    reports, types = built(half.SerializeToString(), [size.shapes(source.dim)])
    layers = parse("\n".join(reports))
    assert changed_types(types, layers) == []
    assert dimensions("\n".join(reports))["pointwise"] == (3, 64)
    named = {node for layer in layers for node in layer.nodes}
    assert named <= set(types)
    products = {node.name for node in half.graph.node if node.op_type in ("MatMul", "Gemm")}
    assert {node for node in products if types[node] == {"fp16"}} <= named
