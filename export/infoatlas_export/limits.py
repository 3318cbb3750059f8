"""Check at export that TensorRT accepts a graph, so that a later build on a robot does not fail.

If the ONNX parser of TensorRT-RTX is installed, it is asked (`parser_check`). The table in this
module has limits that the parser does not check, with sources:

- limits of TensorRT 10.3, the oldest supported version, that the parser of TensorRT-RTX 1.7.1 does
  not have: the support matrix of the parser of 10.0 and 10.1, github.com/onnx/onnx-tensorrt,
  docs/operators.md;
- what the parser of 1.7.1 accepts and the builder refuses: K of TopK (tested for compute capability
  8.9);
- what the parser of 1.7.1 accepts and changes: FP64, which becomes FP32; operators of other
  domains, whose domain it ignores; a vector times matrices. (The cause of the last one is in the
  source of 10.1, too: MatMul in onnxOpImporters.cpp.)
- the types of inputs and outputs for which the runtime has buffers;
- TensorRT's messages: fewer than 2^31 elements in a tensor (the builder of TensorRT-RTX 1.7.1
  accepted 12.5 * 10^9; whether such an engine runs was not tested).
"""

import math
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import onnx
import onnxruntime
from onnx import TensorProto

from infoatlas_export import parser_check
from infoatlas_rt.errors import ModelError

OPSETS = range(9, 21)  # of TensorRT 10.3; TensorRT-RTX 1.7.1 reads 7 to 26
ELEMENTS = 2**31 - 1
LARGEST_K = 3840  # largest K of TopK

FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
INTEGERS = {TensorProto.INT32, TensorProto.INT64}
TYPES = FLOATS | INTEGERS | {TensorProto.BOOL}
INPUTS, OUTPUTS = INTEGERS | {TensorProto.FLOAT}, {TensorProto.FLOAT}

# Operators of the support matrix that a model may use.
OPERATORS = frozenset(
    """
    Abs Add And ArgMax Asinh Cast Ceil Clip Concat Constant ConstantOfShape Cos CumSum Div Einsum
    Equal Erf Exp Expand EyeLike Flatten Floor Gather GatherElements GatherND Gelu Gemm Greater
    GreaterOrEqual Identity LayerNormalization Less LessOrEqual Log LogSoftmax MatMul Max Min Mul
    Neg Not Or Pow Range Reciprocal ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin
    ReduceSum ReduceSumSquare Relu Reshape Shape Sigmoid Sign Sin Slice Softmax Softplus Split Sqrt
    Squeeze Sub Sum Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor
    """.split()
)

# Accepted types of an input, by operator and position, if ONNX and TensorRT-RTX accept more.
NARROWER = {
    ("CumSum", 0): FLOATS,
    ("Equal", 0): FLOATS | INTEGERS,
    ("Pow", 0): FLOATS,
    ("Pow", 1): FLOATS,
}

# Input that has to be stored in the graph; TensorRT-RTX also evaluates constant expressions.
STORED = {"CumSum": 1, "Slice": 3, "Squeeze": 1, "TopK": 1, "Unsqueeze": 1} | {
    operator: 1 for operator in OPERATORS if operator.startswith("Reduce")
}


def problems(proto: onnx.ModelProto) -> list[str]:
    """Faults of a complete model by the table, one line for each; types are inferred strictly."""
    found = [
        f"opset {opset.version} of {opset.domain or 'ONNX'}: {OPSETS[0]} to {OPSETS[-1]} are read"
        for opset in proto.opset_import
        if opset.domain or opset.version not in OPSETS
    ]
    found += [
        f"{node.op_type} {node.name!r}: the operator is not in the table of TensorRT's operators"
        for node in proto.graph.node
        if node.domain or node.op_type not in OPERATORS
    ]
    if found:  # types cannot be inferred with these operators
        return found
    try:
        graph = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True).graph
    except onnx.shape_inference.InferenceError as error:
        return [f"it is no valid ONNX ({str(error).strip()})"]
    values = (*graph.input, *graph.output, *graph.value_info)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in values}
    stored = {weight.name: weight for weight in graph.initializer}
    stored |= {
        node.output[0]: attribute.t
        for node in graph.node
        for attribute in node.attribute
        if node.op_type == "Constant" and attribute.name == "value"
    }
    types |= {name: weight.data_type for name, weight in stored.items()}
    ranks |= {name: len(weight.dims) for name, weight in stored.items()}
    found += [
        f"tensor {name!r} is {_word(kind)}" for name, kind in types.items() if kind not in TYPES
    ]
    for values, wanted in ((graph.input, INPUTS), (graph.output, OUTPUTS)):
        found += [
            f"{value.name!r} goes in or out as {_word(types[value.name])}"
            for value in values
            if types[value.name] not in wanted
        ]
    for node in graph.node:
        found += [
            f"{node.op_type} {node.name!r}: {fault}"
            for fault in _node_problems(node, types, ranks, stored)
        ]
    return found


def refuse(proto: onnx.ModelProto) -> None:
    """Check a graph against the table, and with the parser of TensorRT-RTX if it is installed.

    ModelError if TensorRT would refuse the graph, or read it as another one.
    """
    found = problems(proto)
    if found:
        raise ModelError(
            f"TensorRT does not accept this graph ({len(found)} faults): {'; '.join(found[:5])}; "
            "change the model, or the table in infoatlas_export/limits.py if it is wrong"
        )
    parser_check.check(proto)


def _node_problems(
    node: onnx.NodeProto,
    types: Mapping[str, int],
    ranks: Mapping[str, int],
    stored: Mapping[str, TensorProto],
) -> list[str]:
    """Faults of one node."""
    operator, inputs = node.op_type, list(node.input)
    found = [
        f"input {i} is {_word(types[name])}"
        for i, name in enumerate(inputs)
        if (operator, i) in NARROWER and types[name] not in NARROWER[operator, i]
    ]
    if any(name not in stored for name in inputs[STORED.get(operator, len(inputs)) :][:1] if name):
        found.append(f"input {STORED[operator]} has to be a constant")
    elif (
        operator == "TopK"
        and inputs[1:]
        and onnx.numpy_helper.to_array(stored[inputs[1]]).max() > LARGEST_K
    ):
        found.append(f"K is above {LARGEST_K}")
    if operator == "MatMul" and ranks[inputs[0]] == 1 and ranks[inputs[1]] > 2:
        found.append("a vector times matrices: write it as a matrix of one row")
    if operator == "Einsum":
        equation = node.attribute[0].s.decode()
        if any(len(set(term)) < len(term) for term in re.findall(r"\w+", equation)):
            found.append(f"equation {equation!r} has a diagonal")
    return found


def largest_tensor(model: bytes, slices: int, samples: int, shifts: int) -> tuple[int, str]:
    """Elements and name of the largest tensor of a graph at these sizes, without evaluating it.

    TensorRT refuses a profile if a tensor has more than `ELEMENTS` elements at its largest sizes.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for axis, size in {"slices": slices, "samples": samples, "shifts": shifts}.items():
        options.add_free_dimension_override_by_name(axis, size)
    # ONNX Runtime folds nodes that depend only on sizes, so that shapes are numbers.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "folded.onnx"
        options.optimized_model_filepath = str(file)
        onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        folded = onnx.load(file)
    inferred = onnx.shape_inference.infer_shapes(folded, strict_mode=True).graph
    values = (*inferred.value_info, *inferred.output, *inferred.input)
    known = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in values
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    }
    unknown = [name for node in folded.graph.node for name in node.output if name not in known]
    if any(unknown):
        raise ModelError(f"the sizes of {unknown[:3]} are not known before the graph runs")
    return max((math.prod(dims), name) for name, dims in known.items())


def _word(kind: int) -> str:
    return TensorProto.DataType.Name(kind) if kind else "of unknown type"
