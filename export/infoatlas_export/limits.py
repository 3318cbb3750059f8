"""What TensorRT takes: operators, types, attributes and sizes, checked before it is asked.

TensorRT cannot be installed where models are made, and says at a robot, after minutes, what it does
not take. So its limits are a table here, and every graph that is exported is held against it.

Sources, for 10.3 (the oldest that is supported; later ones take more):

- the support matrix of its ONNX parser, github.com/onnx/onnx-tensorrt, docs/operators.md;
- the parser itself, onnxOpImporters.cpp of the same repository, where the two differ: Clip takes
  integers, and Range takes FP32 and integers alone;
- NvInferRuntimeBase.h: eight dimensions; TensorRT's messages: fewer than 2^31 elements a tensor.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import onnx
import onnxruntime
from onnx import TensorProto

from infoatlas_rt.errors import ModelError

OPSETS = range(9, 21)  # 10.3; 11 reads to 25
RANK = 8
ELEMENTS = 2**31 - 1
LARGEST_K = 3840  # of TopK

# f: FP32; h: FP16, BF16; i: INT32, INT64; b: BOOL.
LETTERS: dict[int, str] = {
    TensorProto.FLOAT: "f", TensorProto.FLOAT16: "h", TensorProto.BFLOAT16: "h",
    TensorProto.INT32: "i", TensorProto.INT64: "i", TensorProto.BOOL: "b",
}  # fmt: skip

# Types of the inputs of each operator; the last entry stands for all that follow.
TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("And", "Not", "Or", "Xor"), ("b",)),
    **dict.fromkeys(("Add", "Div", "Max", "Min", "Mul", "Sub", "Sum"), ("fhi",)),
    **dict.fromkeys(("Abs", "Neg", "Relu", "Sign"), ("fhi",)),
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), ("fhi",)),
    **dict.fromkeys(
        ("Asinh", "Ceil", "Cos", "Einsum", "Erf", "Exp", "Floor", "Gelu", "Gemm",
         "LayerNormalization", "Log", "LogSoftmax", "MatMul", "Pow", "Reciprocal", "Sigmoid",
         "Sin", "Softmax", "Softplus", "Sqrt", "Tanh"),
        ("fh",),
    ),
    **dict.fromkeys(
        ("ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum",
         "ReduceSumSquare"),
        ("fhi", "i"),
    ),
    **dict.fromkeys(("Concat", "EyeLike", "Flatten", "Identity", "Shape", "Transpose"), ("fhib",)),
    **dict.fromkeys(
        ("Expand", "Gather", "GatherElements", "GatherND", "Reshape", "Slice", "Split", "Squeeze",
         "Tile", "Trilu", "Unsqueeze"),
        ("fhib", "i"),
    ),
    "ArgMax": ("fhi",),
    "Cast": ("fhib",),
    "Clip": ("fhi",),
    "Constant": (),
    "ConstantOfShape": ("i",),
    "CumSum": ("fh", "i"),
    "Range": ("fi",),
    "TopK": ("fhi", "i"),
    "Where": ("b", "fhib"),
}  # fmt: skip

# Inputs that have to be constants, by position.
CONSTANTS = {"CumSum": (1,), "Slice": (3,), "Squeeze": (1,), "TopK": (1,), "Unsqueeze": (1,)} | {
    operator: (1,) for operator in TYPES if operator.startswith("Reduce")
}

# Attributes that take these values alone.
ATTRIBUTES: dict[tuple[str, str], tuple[object, ...]] = {
    ("ArgMax", "select_last_index"): (0,),
    ("Cast", "to"): tuple(LETTERS),
    ("EyeLike", "dtype"): tuple(LETTERS),
    ("Gelu", "approximate"): (b"none", b"tanh"),
    ("LayerNormalization", "stash_type"): (1,),
    ("TopK", "sorted"): (1,),
}


def problems(proto: onnx.ModelProto) -> list[str]:
    """What TensorRT would refuse in a graph, one line for each fault; empty if nothing.

    Parameters
    ----------
    proto : ModelProto
        A whole model; its types are inferred, strictly.
    """
    found = [
        f"opset {opset.version} of {opset.domain or 'ONNX'}: {OPSETS[0]} to {OPSETS[-1]} are read"
        for opset in proto.opset_import
        if opset.domain or opset.version not in OPSETS
    ]
    found += [
        f"{node.op_type} {node.name!r}: the operator is not in the table of what TensorRT takes"
        for node in proto.graph.node
        if node.domain or node.op_type not in TYPES
    ]
    if found:  # of which types cannot be inferred
        return found
    inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True).graph
    graph = proto.graph
    values = (*inferred.input, *inferred.output, *inferred.value_info)
    tensors = {value.name: value.type.tensor_type for value in values}
    types = {name: tensor.elem_type for name, tensor in tensors.items()}
    constants = {constant.name: constant for constant in graph.initializer}
    types |= {name: constant.data_type for name, constant in constants.items()}
    for name, tensor in tensors.items():
        if len(tensor.shape.dim) > RANK:
            found.append(f"tensor {name!r} has {len(tensor.shape.dim)} dimensions: {RANK} at most")
    for value in (*graph.input, *graph.output):
        wanted = "fi" if value in graph.input else "f"
        if LETTERS.get(types[value.name], "?") not in wanted:
            found.append(f"{value.name!r} goes in or out as {_word(types[value.name])}")
    for node in graph.node:
        faults = _node_problems(node, types, constants, tensors)
        found += [f"{node.op_type} {node.name!r}: {fault}" for fault in faults]
    return found


def refuse(proto: onnx.ModelProto) -> None:
    """Raise ModelError for a graph that TensorRT would refuse, with what it would refuse."""
    found = problems(proto)
    if found:
        raise ModelError(
            f"TensorRT takes no such graph ({len(found)} faults): {'; '.join(found[:5])}; change "
            "the model, or the table in infoatlas_export/limits.py if it is wrong"
        )


def _node_problems(
    node: onnx.NodeProto,
    types: Mapping[str, int],
    constants: Mapping[str, TensorProto],
    tensors: Mapping[str, onnx.TypeProto.Tensor],
) -> list[str]:
    """Faults of one node."""
    found = []
    accepted = TYPES[node.op_type]
    for i, name in enumerate(node.input):
        kind = types.get(name, 0)
        if name and LETTERS.get(kind, "?") not in accepted[min(i, len(accepted) - 1)]:
            found.append(f"input {i} is {_word(kind)}")
    for i in CONSTANTS.get(node.op_type, ()):
        if i < len(node.input) and node.input[i] and node.input[i] not in constants:
            found.append(f"input {i} has to be a constant")
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    for name, value in attributes.items():
        allowed = ATTRIBUTES.get((node.op_type, name))
        if allowed is not None and value not in allowed:
            found.append(f"{name} is {value!r}")
    special = SPECIAL.get(node.op_type)
    return found + (special(node, attributes, constants, tensors) if special else [])


def _one_output(node: onnx.NodeProto, *_: object) -> list[str]:
    return ["outputs after the first"] if any(node.output[1:]) else []


def _small_k(
    node: onnx.NodeProto,
    attributes: Mapping[str, object],
    constants: Mapping[str, TensorProto],
    tensors: Mapping[str, onnx.TypeProto.Tensor],
) -> list[str]:
    k = constants.get(node.input[1])
    if k is not None and int(onnx.numpy_helper.to_array(k).max()) > LARGEST_K:
        return [f"K is above {LARGEST_K}"]
    return []


def _plain_equation(
    node: onnx.NodeProto, attributes: Mapping[str, object], *_: object
) -> list[str]:
    equation = attributes["equation"]
    assert isinstance(equation, bytes)
    terms = re.split(r",|->", equation.decode().replace(" ", ""))
    if "..." in equation.decode() or any(len(set(term)) < len(term) for term in terms):
        return [f"equation {equation.decode()!r} has an ellipsis or a diagonal"]
    return []


def _static_input(
    node: onnx.NodeProto,
    attributes: Mapping[str, object],
    constants: Mapping[str, TensorProto],
    tensors: Mapping[str, onnx.TypeProto.Tensor],
) -> list[str]:
    name = node.input[0]
    if name in constants:
        return []
    dims = tensors[name].shape.dim if name in tensors else ()
    known = bool(dims) and all(dim.HasField("dim_value") for dim in dims)
    return [] if known else ["the input has to have static dimensions"]


def _one_way_to_split(
    node: onnx.NodeProto, attributes: Mapping[str, object], *_: object
) -> list[str]:
    both = len(node.input) > 1 and node.input[1] and "num_outputs" in attributes
    return ["sizes and num_outputs are both given"] if both else []


SPECIAL: dict[str, Callable[..., list[str]]] = {
    "Einsum": _plain_equation,
    "EyeLike": _static_input,
    "LayerNormalization": _one_output,
    "Split": _one_way_to_split,
    "TopK": _small_k,
}


def largest_tensor(model: bytes, slices: int, samples: int, shifts: int) -> tuple[int, str]:
    """Elements and name of the largest tensor of a graph at such sizes, without evaluating it.

    TensorRT refuses a profile if, at its largest sizes, there is one of more than `ELEMENTS`.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for axis, size in {"slices": slices, "samples": samples, "shifts": shifts}.items():
        options.add_free_dimension_override_by_name(axis, size)
    # ONNX Runtime folds what depends on sizes alone; then shapes are numbers.
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
