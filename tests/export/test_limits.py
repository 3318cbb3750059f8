"""All shipped graphs are within TensorRT's limits, and graphs beyond them are detected.

The tests of the parser ask the real one of TensorRT-RTX, which needs no GPU.
"""

import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from infoatlas_export import limits, parser_check
from infoatlas_export.limits import largest_tensor, problems, refuse
from infoatlas_export.targets import NAMED_PROFILES, make_profiles
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load, messages
from infoatlas_rt.errors import ModelError, ProviderError
from infoatlas_rt.models import model_file
from refusals import fails

SHIPPED = sorted(model_file.MODELS.rglob("*.onnx"))
RTX = LIBRARIES["tensorrt-rtx"]
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Y = FLOAT, None


@pytest.fixture(scope="session")
def rtx():
    pytest.importorskip(
        RTX.modules[-1], reason=f"no TensorRT-RTX, whose parser is asked: {RTX.install}"
    )
    return load(RTX)


@pytest.fixture
def parsed(rtx):
    """A function that parses a graph as a build does; it returns the builder and the network."""

    def parse(content, name="a.onnx"):
        builder = rtx.Builder(messages(rtx).logger)
        typed = 1 << int(rtx.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
        network = builder.create_network(typed)
        parser_check.parse(RTX, rtx, network, content, name)
        return builder, network

    return parse


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(model_file.MODELS)))
def test_shipped_graphs_are_valid_and_within_the_limits(path):
    proto = onnx.load(path)
    onnx.checker.check_model(proto, full_check=True)
    assert problems(proto) == []


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(model_file.MODELS)))
def test_the_parser_reads_shipped_graphs_as_they_are(rtx, path):
    proto = onnx.load(path)
    parser_check.check(proto)
    names = [node.name for node in proto.graph.node]
    assert len(set(names)) == len(names)  # so that all shapes are compared
    sizes = [size for shape in parser_check.inferred_shapes(proto).values() for size in shape]
    assert sizes.count(None) < 0.1 * len(sizes)


@pytest.mark.parametrize("model", model_file.available())
def test_no_tensor_of_a_named_profile_is_too_large(model):
    source = model_file.load(model)
    for profile in make_profiles(list(NAMED_PROFILES), source):
        s, n, m = (axis[2] for axis in (profile.slices, profile.samples, profile.shifts))
        elements, tensor = largest_tensor(source.bytes, s, n, m)
        assert elements <= limits.ELEMENTS, (profile, tensor)


def test_the_size_of_the_largest_tensor():
    """For all pairs of samples of x [S, n, 2]: a tensor [S, n, n]."""
    proto = graph(
        [("Transpose", ["x"], ["t"], {"perm": [0, 2, 1]}), ("MatMul", ["x", "t"], ["y"], {})],
        y=(FLOAT, ["slices", "samples", "samples"]),
    )
    assert largest_tensor(proto.SerializeToString(), 7, 1000, 4) == (7_000_000, "y")


def graph(nodes, *, y=Y, constants=(), opset=20, x=FLOAT, shape=("slices", "samples", 2)):
    made = [
        helper.make_node(kind, inputs, outputs, name=f"n{i}", **attributes)
        for i, (kind, inputs, outputs, attributes) in enumerate(nodes)
    ]
    inputs = [helper.make_tensor_value_info("x", x, shape)]
    outputs = [helper.make_tensor_value_info("y", *y)]
    values = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants]
    content = helper.make_graph(made, "test", inputs, outputs, values)
    return helper.make_model(content, opset_imports=[helper.make_opsetid("", opset)])


def cast(source, target, kind):
    return "Cast", [source], [target], {"to": kind}


VECTOR = dict(  # [n] @ [S, n, 2]
    nodes=[("ReduceSum", ["x", "axes"], ["v"], {"keepdims": 0}), ("MatMul", ["v", "x"], ["y"], {})],
    constants=[("axes", np.array([0, 2]))],
    y=(FLOAT, ["slices", 2]),
)
# Faults by the table, with or without the parser.
FAULTS = {
    "an operator that TensorRT lacks": (
        dict(nodes=[("Det", ["x"], ["y"], {})]), "Det 'n0'.*not in the table"),
    "an operator of another domain": (
        dict(nodes=[("Exp", ["x"], ["y"], {"domain": "own"})]), "not in the table"),
    "a type": (
        dict(nodes=[cast("x", "i", INT64), cast("i", "j", TensorProto.DOUBLE),
                    cast("j", "y", FLOAT)]), "tensor 'j' is DOUBLE"),
    "integers where numbers are wanted": (
        dict(nodes=[cast("x", "i", INT64), ("Pow", ["x", "i"], ["y"], {})]),
        "Pow 'n1': input 1 is INT64"),
    "axes that are computed": (
        dict(nodes=[("Shape", ["x"], ["axes"], {}), ("ReduceSum", ["x", "axes"], ["y"], {})]),
        "ReduceSum 'n1': input 1 has to be a constant"),
    "a sort of too many": (
        dict(nodes=[("TopK", ["x", "k"], ["y", "i"], {"axis": 1})],
             constants=[("k", np.array([3841]))]),
        "TopK 'n0': K is above 3840"),
    "a sort of as many as there are": (
        dict(nodes=[("Shape", ["x"], ["k"], {"start": 1, "end": 2}),
                    ("TopK", ["x", "k"], ["y", "i"], {"axis": 1})]),
        "TopK 'n1': input 1 has to be a constant"),
    "a diagonal": (
        dict(nodes=[("Einsum", ["x"], ["y"], {"equation": "abb->a"})]), "'abb->a' has a diagonal"),
    "a vector times matrices": (VECTOR, "MatMul 'n1': a vector times matrices"),
    "a newer opset": (dict(nodes=[("Exp", ["x"], ["y"], {})], opset=23), "opset 23 of ONNX"),
    "FP16 input": (
        dict(nodes=[cast("x", "y", FLOAT)], x=TensorProto.FLOAT16),
        "'x' goes in or out as FLOAT16"),
    "shapes that do not fit": (
        dict(nodes=[("Concat", ["x", "w"], ["y"], {"axis": 0})],
             constants=[("w", np.ones((2, 3), np.float32))]), "no valid ONNX.*Concat"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_by_the_table(fault, monkeypatch):
    arguments, message = FAULTS[fault]
    monkeypatch.setattr(parser_check, "check", lambda proto: None)
    fails(ModelError, message, refuse, graph(**arguments))


def test_constants_may_be_nodes(rtx):
    k = onnx.numpy_helper.from_array(np.array([2]))
    refuse(graph([("Constant", [], ["k"], {"value": k}),
                  ("TopK", ["x", "k"], ["y", "i"], {"axis": 1})]))  # fmt: skip


def test_without_the_parser_the_table_decides_and_that_is_logged(monkeypatch, caplog):
    def missing(library):
        raise ProviderError("TensorRT-RTX cannot be imported")

    monkeypatch.setattr(parser_check, "load", missing)
    caplog.set_level(logging.INFO)
    with pytest.raises(ModelError, match="'x' goes in or out"):
        refuse(graph([cast("x", "y", FLOAT)], x=TensorProto.FLOAT16))
    assert caplog.messages == []
    refuse(graph([("Exp", ["x"], ["y"], {})]))
    (message,) = caplog.messages
    assert "the table of limits alone: TensorRT-RTX cannot be imported" in message


# Faults by the parser.
REFUSED = {
    "an operator that it lacks": (
        dict(nodes=[("Exp", ["x"], ["e"], {}), ("Det", ["e"], ["y"], {})],
             shape=("slices", 2, 2)), r"\(Det 'n1': "),
    "two of them": (
        dict(nodes=[("Det", ["x"], ["a"], {}), ("Det", ["x"], ["b"], {}),
                    ("Add", ["a", "b"], ["y"], {})], shape=("slices", 2, 2)),
        r"\(Det 'n0': .*; Det 'n1': "),
    "a type": (
        dict(nodes=[cast("x", "i", INT64), ("Einsum", ["i"], ["j"], {"equation": "abc->ab"}),
                    cast("j", "y", FLOAT)]), "Einsum 'n1': .*INT64"),
    "a matrix of unknown size": (
        dict(nodes=[("EyeLike", ["x"], ["y"], {})], shape=("slices", "samples")),
        "EyeLike 'n0': .*dynamic"),
    "outputs of a normalisation": (
        dict(nodes=[("LayerNormalization", ["x", "w"], ["z", "mean"], {}),
                    ("Add", ["z", "mean"], ["y"], {})],
             constants=[("w", np.ones(2, np.float32))]), "LayerNormalization 'n0'"),
    "an attribute": (dict(nodes=[("Gelu", ["x"], ["y"], {"approximate": "sine"})]), "Gelu 'n0'"),
    "too many dimensions": (
        dict(nodes=[("Unsqueeze", ["x", "axes"], ["z"], {}),
                    ("ReduceSum", ["z"], ["y"], {"keepdims": 0})],
             constants=[("axes", np.arange(6))]), "Unsqueeze 'n0': .*rank greater"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_faults_by_the_parser(rtx, fault):
    arguments, message = REFUSED[fault]
    with pytest.raises(ModelError, match=rf"(?s)cannot read the graph.*{message}") as raised:
        parser_check.check(graph(**arguments))
    assert "checkMacros" not in str(raised.value)
    assert messages(rtx).errors == []  # a later failure would report them


def corrupted(change):
    proto = onnx.load_from_string(model_file.load("edge").bytes)
    change(next(node for node in proto.graph.node if node.op_type == "Softmax"))
    return proto.SerializeToString()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: model_file.load("edge").bytes[:-1000], "Assertion failed.*Failed to parse"),
        (lambda: b"", "no reason was given"),  # a network without layers
        (lambda: corrupted(lambda node: node.input.__setitem__(0, "?")), "Softmax '.*registered"),
        (lambda: corrupted(lambda node: setattr(node.attribute[0], "i", 7)), "Softmax '.*range"),
        (lambda: corrupted(lambda node: setattr(node, "op_type", "Unique")), "Unique '.*/Softmax'"),
    ],
    ids=["cut", "empty", "input", "attribute", "operator"],
)
def test_a_corrupted_file_fails_with_one_error(parsed, content, message):
    fails(ModelError, rf"TensorRT-RTX .* cannot read a.onnx \(.*{message}", parsed, content())


def test_a_vector_times_matrices_loses_its_batch_in_the_parser(rtx):
    """The comparison of shapes detects it without the rule of the table."""
    with pytest.raises(ModelError, match=r"MatMul 'n1' has \[1, 2\] instead of \[1009, 2\]"):
        parser_check.check(graph(**VECTOR))
    row = [VECTOR["nodes"][0], ("Unsqueeze", ["v", "zero"], ["r"], {}),
           ("MatMul", ["r", "x"], ["m"], {}), ("Squeeze", ["m", "one"], ["y"], {})]  # fmt: skip
    ends = [("zero", np.array([0])), ("one", np.array([1]))]
    refuse(graph(row, constants=[*VECTOR["constants"], *ends], y=VECTOR["y"]))


def test_nodes_of_one_name_are_not_compared(rtx):
    """The parser would return the tensor of the first one for both."""
    proto = graph([("Transpose", ["x"], ["t"], {"perm": [2, 1, 0]}), ("Exp", ["x"], ["y"], {})])
    proto.graph.node[1].name = proto.graph.node[0].name
    parser_check.check(proto)


# Inputs and attributes of operators that need other inputs than x. Arrays of integers are stored
# unchanged, others with the tested type.
ZERO, ONES = np.array(0), np.array([1])
FORMS = {
    "Concat": (["t", "t"], {"axis": 0}), "ConstantOfShape": (["shape"], {}),
    "CumSum": (["t", ZERO], {}), "Einsum": (["t", "t"], {"equation": "abc,abd->acd"}),
    "Expand": (["t", ONES], {}), "Gather": (["t", ZERO], {}),
    "GatherElements": (["t", np.array([[[0]]])], {}), "GatherND": (["t", np.array([[0, 0]])], {}),
    "Gemm": (["t", "t"], {"transB": 1}), "LayerNormalization": (["t", np.ones(2)], {}),
    "MatMul": (["t", np.ones((2, 2))], {}),
    "Range": ([np.zeros(()), np.full((), 4.0), np.ones(())], {}),
    "Reshape": (["t", np.array([0, -1])], {}), "Slice": (["t", np.array([0]), ONES, ONES], {}),
    "Split": (["t"], {"axis": 2, "num_outputs": 1}), "Squeeze": (["t", np.array([2])], {}),
    "Tile": (["t", np.array([1, 2, 1])], {}), "TopK": (["t", ONES], {}), "Trilu": (["t", ZERO], {}),
    "Unsqueeze": (["t", ONES], {}), "Where": (["mask", "t", "t"], {}),
} | {name: (["t", ONES], {}) for name in limits.OPERATORS if name.startswith("Reduce")}  # fmt: skip
SHAPES = {"EyeLike": (3, 3), "Gemm": ("samples", 2), "Squeeze": ("slices", "samples", 1)}
# What the parser of 1.7.1 refuses, although ONNX and the table accept it.
PARSER_REFUSES = {
    **dict.fromkeys(("Einsum", "Gemm", "MatMul", "ReduceL2", "ReduceLogSumExp"), limits.INTEGERS),
    "Relu": {TensorProto.INT32},
    "ReduceMax": {BOOL},
    "ReduceMin": {BOOL},
}


def single(operator, kind):
    """A graph of one operator between casts; None if ONNX does not define it for that type."""
    fewest = onnx.defs.get_schema(operator, 20).min_input
    inputs, attributes = FORMS.get(operator, (["t"] * fewest, {}))
    attributes = {"to": FLOAT} if operator == "Cast" else attributes
    typed = helper.tensor_dtype_to_np_dtype(kind)
    if operator == "Constant":
        inputs, attributes = [], {"value": onnx.numpy_helper.from_array(np.ones(2).astype(typed))}
    names, constants = [], []
    for value in inputs:
        name = value
        if not isinstance(value, str):
            name = f"c{len(constants)}"
            constants.append((name, value if value.dtype == np.int64 else value.astype(typed)))
        names.append(name)
    before = {"t": cast("x", "t", kind), "mask": cast("x", "mask", BOOL),
              "shape": ("Shape", ["x"], ["shape"], {})}  # fmt: skip
    made = graph(
        [*(before[name] for name in before if name in names),
         (operator, names, ["o", "indices"] if operator == "TopK" else ["o"], attributes),
         cast("o", "y", FLOAT)],
        constants=constants,
        shape=SHAPES.get(operator, ("slices", "samples", 2)),
    )  # fmt: skip
    try:
        onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        return None
    return made


def reads(proto):
    try:
        parser_check.check(proto)
    except ModelError:
        return False
    return True


@pytest.mark.parametrize("operator", sorted(limits.OPERATORS))
def test_operators_and_types_agree_with_the_parser(rtx, operator):
    graphs = {kind: single(operator, kind) for kind in limits.TYPES}
    valid = {kind for kind, proto in graphs.items() if proto is not None}
    by_table = {kind for kind in valid if problems(graphs[kind]) == []}
    by_parser = {kind for kind in valid if reads(graphs[kind])}
    assert by_table & by_parser
    assert valid - by_parser <= PARSER_REFUSES.get(operator, set())
    narrower = limits.NARROWER.get((operator, 0), limits.TYPES)
    assert by_table == valid & narrower
    if (operator, 0) in limits.NARROWER:  # otherwise the parser would suffice
        assert by_table < by_parser


def test_the_parser_accepts_faults_of_the_table(parsed):
    """The parser accepts these graphs; otherwise the table would not need the rules."""
    for name in ("an operator of another domain", "a type", "integers where numbers are wanted",
                 "a sort of too many", "a sort of as many as there are", "a diagonal",
                 "a newer opset", "FP16 input"):  # fmt: skip
        parsed(graph(**FAULTS[name][0]).SerializeToString(), name)


@pytest.mark.parametrize(("k", "builds"), [(limits.LARGEST_K, True), (limits.LARGEST_K + 1, False)])
def test_the_largest_sort_that_the_builder_takes(rtx, parsed, k, builds):
    proto = graph(
        [("TopK", ["x", "k"], ["y", "i"], {"axis": 1})], constants=[("k", np.array([k]))],
        shape=("slices", 5000), y=(FLOAT, ["slices", k]),
    )  # fmt: skip
    builder, network = parsed(proto.SerializeToString())
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(rtx.ComputeCapability.SM89, 0)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 5000), (2, 5000), (3, 5000))
    config.add_optimization_profile(profile)
    engine = builder.build_serialized_network(network, config)
    assert (engine is not None) == builds
    assert builds or "maximum value allowed (3840)" in messages(rtx).take()
