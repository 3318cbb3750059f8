"""Every shipped graph is within TensorRT's limits, and a graph that is not is found out."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from infoatlas_export import limits
from infoatlas_export.limits import largest_tensor, problems, refuse
from infoatlas_export.tensorrt import NAMED, make_profiles
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models import model_file

SHIPPED = sorted(model_file.MODELS.rglob("*.onnx"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(model_file.MODELS)))
def test_shipped_graphs_are_valid_and_within_the_limits(path):
    proto = onnx.load(path)
    onnx.checker.check_model(proto, full_check=True)
    onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    assert problems(proto) == []


@pytest.mark.parametrize("model", model_file.available())
def test_no_tensor_of_a_named_profile_is_too_large(model):
    source = model_file.load(model)
    for profile in make_profiles(list(NAMED), source):
        s, n, m = (axis[2] for axis in (profile.slices, profile.samples, profile.shifts))
        elements, tensor = largest_tensor(source.bytes, s, n, m)
        assert elements <= limits.ELEMENTS, (profile, tensor)


def test_the_size_of_the_largest_tensor():
    """Of x [S, n, 2], all pairs of samples: [S, n, n]; and M enters alone."""
    proto = graph(
        [("Transpose", ["x"], ["t"], {"perm": [0, 2, 1]}), ("MatMul", ["x", "t"], ["y"], {})],
        y=(TensorProto.FLOAT, ["slices", "samples", "samples"]),
    )
    assert largest_tensor(proto.SerializeToString(), 7, 1000, 4) == (7_000_000, "y")


def graph(nodes, *, y=(TensorProto.FLOAT, None), constants=(), opset=20, x=TensorProto.FLOAT):
    made = [
        helper.make_node(kind, inputs, outputs, name=f"n{i}", **attributes)
        for i, (kind, inputs, outputs, attributes) in enumerate(nodes)
    ]
    inputs = [helper.make_tensor_value_info("x", x, ["slices", "samples", 2])]
    outputs = [helper.make_tensor_value_info("y", *y)]
    values = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants]
    content = helper.make_graph(made, "test", inputs, outputs, values)
    return helper.make_model(content, opset_imports=[helper.make_opsetid("", opset)])


def test_a_plain_graph_has_no_problems():
    assert problems(graph([("Exp", ["x"], ["y"], {})])) == []


FAULTS = {
    "an operator that TensorRT lacks": (
        dict(nodes=[("Det", ["x"], ["y"], {})]), "Det 'n0'.*not in the table"),
    "an operator of another domain": (
        dict(nodes=[("Exp", ["x"], ["y"], {"domain": "own"})]), "not in the table"),
    "a type": (
        dict(nodes=[("Cast", ["x"], ["i"], {"to": TensorProto.INT64}),
                    ("Cast", ["i"], ["j"], {"to": TensorProto.DOUBLE}),
                    ("Cast", ["j"], ["y"], {"to": TensorProto.FLOAT})]),
        "Cast 'n1': to is 11.*input 0 is DOUBLE"),
    "integers where numbers are wanted": (
        dict(nodes=[("Cast", ["x"], ["i"], {"to": TensorProto.INT64}),
                    ("Pow", ["x", "i"], ["y"], {})]), "Pow 'n1': input 1 is INT64"),
    "axes that are computed": (
        dict(nodes=[("Shape", ["x"], ["axes"], {}), ("ReduceSum", ["x", "axes"], ["y"], {})]),
        "ReduceSum 'n1': input 1 has to be a constant"),
    "a sort of too many": (
        dict(nodes=[("TopK", ["x", "k"], ["y", "i"], {"axis": 1})],
             constants=[("k", np.array([3841]))]),
        "TopK 'n0': K is above 3840"),
    "a matrix of unknown size": (
        dict(nodes=[("ReduceSum", ["x", "zero"], ["m"], {"keepdims": 0}),
                    ("EyeLike", ["m"], ["y"], {})], constants=[("zero", np.array([0]))]),
        "EyeLike 'n1': the input has to have static dimensions"),
    "an ellipsis": (
        dict(nodes=[("Einsum", ["x"], ["y"], {"equation": "...i->..."})]), "ellipsis or a diag"),
    "a diagonal": (
        dict(nodes=[("Einsum", ["x"], ["y"], {"equation": "abb->a"})]), "ellipsis or a diagonal"),
    "an attribute": (
        dict(nodes=[("LayerNormalization", ["x", "w"], ["y"], {"stash_type": 10})],
             constants=[("w", np.ones(2, np.float32))]), "stash_type is 10"),
    "outputs of a normalisation": (
        dict(nodes=[("LayerNormalization", ["x", "w"], ["y", "mean"], {})],
             constants=[("w", np.ones(2, np.float32))]), "outputs after the first"),
    "a newer opset": (dict(nodes=[("Exp", ["x"], ["y"], {})], opset=23), "opset 23 of ONNX"),
    "FP16 input": (
        dict(nodes=[("Cast", ["x"], ["y"], {"to": TensorProto.FLOAT})], x=TensorProto.FLOAT16),
        "'x' goes in or out as FLOAT16"),
    "too many dimensions": (
        dict(nodes=[("Unsqueeze", ["x", "axes"], ["z"], {}), ("ReduceSum", ["z"], ["y"], {})],
             constants=[("axes", np.arange(6))]), "'z' has 9 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_tensorrt_refuses_is_found(fault):
    arguments, message = FAULTS[fault]
    with pytest.raises(ModelError, match=message):
        refuse(graph(**arguments))


def test_an_unsupported_operator_in_a_shipped_graph_is_found():
    proto = onnx.load_from_string(model_file.load("edge").bytes)
    node = next(node for node in proto.graph.node if node.op_type == "Erf")
    node.op_type = "Celu"  # same types, valid ONNX, and not in the table
    onnx.checker.check_model(proto, full_check=True)
    (problem,) = problems(proto)
    assert problem.startswith(f"Celu {node.name!r}: the operator is not in the table")
