"""Mixed precision: a graph whose wide products are FP16 and whose arithmetic on samples is FP32.

    infoatlas-rt export edge --precision fp16 --out edge-fp16.onnx

What is in FP16 are the layers of the hypernetwork: products over features, at most 256 terms,
with their biases and activations. In FP32 stay inputs and outputs, the critic and its anchor,
softmax and the means that it weights, normalisation, kernels of neighbours, every sum over samples,
every logarithm and exponential, the solve, the DV readout and the bias correction. The graph says
the type of each tensor, and TensorRT, strongly typed, obeys.

What that costs is computed on the CPU, by a graph of FP32 nodes that rounds where an engine does
(fp16_emulation.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from infoatlas_export import limits
from infoatlas_export.fp16_emulation import (
    HALF,
    SINGLE,
    element_types,
    emulated,
    fixed_shapes,
    replace_nodes,
)
from infoatlas_export.graph_digest import CODE, GRAPH
from infoatlas_export.onnx import differences, sealed
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models.model_file import OUTPUTS

# Scopes of layers. `condition` is none: of 20 coordinates a side its first product has 1762 terms,
# and summed up in FP16 it alone moves estimates by 0.02 nats. It runs once for each slice.
SCOPES = (
    r"hypernetwork/(pair_embedding|f_x|f_y)/\d+",
    r"hypernetwork/(.*/)?(mlp/\d+|attention|attend_[xy])",
    r"hypernetwork/generation/write",
)
# In these, operators that compute in FP16; and anywhere, those that only move what is FP16.
COMPUTING = {"MatMul", "Gemm", "Add", "Mul", "Gelu"}
MOVING = {"Reshape", "Transpose", "Unsqueeze", "Squeeze", "Slice", "Concat", "Gather", "Identity"}
# Slices, samples and coordinates of a side (0: all that the model takes).
SIZES = (
    (1, 17, 0), (4, 32, 0), (10, 100, 0), (40, 100, 0), (3, 1000, 0), (2, 5000, 0),
    (4, 300, 1), (4, 1000, 1), (2, 5000, 1), (4, 1000, 2),
)  # fmt: skip
TOLERANCE = 0.02  # nats


def chosen(graph: onnx.GraphProto, scopes: Iterable[str] = SCOPES) -> set[str]:
    """Names of the nodes that are to be FP16; no product among them runs over samples."""
    pattern = re.compile(rf"({'|'.join(scopes)})/\w+")
    shapes = fixed_shapes(graph)
    found, half = set(), set()
    for node in graph.node:
        layer = pattern.fullmatch(node.name) is not None
        if node.op_type in COMPUTING:
            inside = layer and not (node.op_type == "MatMul" and not terms(node, shapes))
        elif node.op_type == "Concat":
            inside = layer
        else:
            inside = node.op_type in MOVING and bool(node.input) and node.input[0] in half
        if inside:
            found.add(node.name)
            half.update(node.output)
    return found


def terms(product: onnx.NodeProto, shapes: dict[str, list[int]]) -> int:
    """How many terms each sum of a matrix product has; 0 where it depends on the input."""
    left, right = (shapes.get(name) or [0] for name in product.input)
    return left[-1] or right[max(-2, -len(right))]


def mixed(proto: onnx.ModelProto, nodes: set[str]) -> onnx.ModelProto:
    """The graph with these nodes in FP16, and one Cast for each tensor that crosses over.

    Raises
    ------
    ModelError
        If a weight is beyond FP16, 65504.
    """
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    graph = out.graph
    types = element_types(graph)
    weights = {w.name: w for w in graph.initializer}
    made: dict[tuple[str, int], str] = {}
    half: set[str] = set()
    body: list[onnx.NodeProto] = []

    def as_type(name: str, wanted: int, scope: str) -> str:
        """The tensor in the wanted type, through a Cast or a weight converted now."""
        if (name, wanted) in made:
            return made[name, wanted]
        new = f"{name}_fp{16 if wanted == HALF else 32}"
        if name in weights and wanted == HALF:
            values = numpy_helper.to_array(weights[name])
            if np.abs(values).max(initial=0) > np.finfo(np.float16).max:
                raise ModelError(f"{name} has values beyond FP16: leave {scope} in FP32")
            graph.initializer.append(numpy_helper.from_array(values.astype(np.float16), new))
        else:
            body.append(
                helper.make_node("Cast", [name], [new], name=f"{scope}/Cast:{new}", to=wanted)
            )
        made[name, wanted] = new
        return new

    for node in graph.node:
        inside, scope = node.name in nodes, node.name.rsplit("/", 1)[0]
        for i, name in enumerate(node.input):
            if types.get(name) == SINGLE and inside and name not in half:
                node.input[i] = as_type(name, HALF, scope)
            elif name in half and not inside:
                node.input[i] = as_type(name, SINGLE, scope)
        body.append(node)
        if inside:
            half.update(name for name in node.output if types[name] == SINGLE)
    outputs = {value.name for value in graph.output}
    if half & outputs:
        raise ModelError(f"outputs stay in FP32, and {sorted(half & outputs)} would not")
    for value in graph.value_info:
        if value.name in half:
            value.type.tensor_type.elem_type = HALF
    used = {name for node in body for name in node.input}
    kept = [w for w in graph.initializer if w.name in used]
    replace_nodes(graph, body)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.checker.check_model(out, full_check=True)
    return out


def converted(content: bytes, scopes: Iterable[str] = SCOPES) -> bytes:
    """A model file in mixed precision; not compared with the given one.

    Raises
    ------
    ModelError
        Where nodes have no scopes in their names, or FP16 overflows.
    """
    proto = onnx.load_from_string(content)
    nodes = chosen(proto.graph, scopes)
    if not nodes:
        raise ModelError(
            "no node of the model has the name of a layer, so it is unknown what may be FP16: "
            "export its checkpoint again, and convert that file"
        )
    half = mixed(proto, nodes)
    limits.refuse(half)
    own = GRAPH, CODE  # which graph the FP32 file has
    kept = {p.key: p.value for p in proto.metadata_props if p.key not in own}
    helper.set_model_props(half, kept | {"infoatlas.precision": "fp16"})
    return sealed(half)


def refuse_inexact(content: bytes, half: bytes) -> list[dict[str, float]]:
    """The parity table of an FP16 file: emulated FP16 against the FP32 file that it was made from.

    Raises
    ------
    ModelError
        A value is not finite, or the mutual information of an example is off by more than the
        tolerance.
    """
    rows = parity(content, emulated(onnx.load_from_string(half)).SerializeToString())
    worst = max(row["mi"] for row in rows)
    if not worst <= TOLERANCE or not np.isfinite([[*row.values()] for row in rows]).all():
        raise ModelError(f"FP16 and FP32 differ by {worst:.2g} nats, more than {TOLERANCE}: {rows}")
    return rows


def halved(content: bytes, scopes: Iterable[str] = SCOPES) -> tuple[bytes, list[dict[str, float]]]:
    """A model file in mixed precision, and its parity table; ModelError as in the two parts."""
    half = converted(content, scopes)
    return half, refuse_inexact(content, half)


def parity(expected: bytes, emulation: bytes) -> list[dict[str, float]]:
    """Largest differences of all outputs in nats at each size; infinite where one is not finite."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    sessions = [
        onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        for model in (expected, emulation)
    ]
    dim = sessions[0].get_inputs()[0].shape[2]
    exact, rounded = (lambda inputs, s=s: s.run(OUTPUTS, inputs) for s in sessions)
    return differences(exact, rounded, SIZES, dim)
