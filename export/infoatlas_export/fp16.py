"""Convert a graph to mixed precision: layers of the hypernetwork in FP16, the rest in FP32.

    infoatlas-rt export edge --precision fp16 --out edge-fp16.onnx

The FP16 parts are products over features of at most 256 terms, with their biases and activations.
All other parts are FP32: inputs and outputs, the critic and its anchor, softmax and the means that
it weights, normalisation, the solve, the DV readout and the bias correction. So are kernels of
neighbours, all sums over samples, and all logarithms and exponentials. The graph specifies the type
of each tensor, and strongly typed TensorRT networks keep these types.

The error from FP16 is computed on the CPU, by a graph of FP32 nodes that rounds where an engine
does (fp16_emulation.py).
"""

import re
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from infoatlas_export import fp16_emulation, limits
from infoatlas_export.model_code import CODE
from infoatlas_export.onnx import differences, on_cpu, sealed
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models.model_file import OUTPUTS

# Scopes of FP16 layers. `condition` is excluded: with 20 coordinates a side its first product has
# 1762 terms, and an FP16 sum of it changes estimates by 0.02 nats. It runs once for each slice.
SCOPES = (
    r"hypernetwork/(pair_embedding|f_x|f_y)/\d+",
    r"hypernetwork/(.*/)?(mlp/\d+|attention|attend_[xy])",
    r"hypernetwork/generation/write",
)
# Operators that compute in FP16 within these scopes, and operators that only move FP16 values.
COMPUTING = {"MatMul", "Gemm", "Add", "Mul", "Gelu"}
MOVING = {"Reshape", "Transpose", "Unsqueeze", "Squeeze", "Slice", "Concat", "Gather", "Identity"}
# Slices, samples and coordinates of a side (0: the model's D).
SIZES = (
    (1, 17, 0), (4, 32, 0), (10, 100, 0), (40, 100, 0), (3, 1000, 0), (2, 5000, 0),
    (4, 300, 1), (4, 1000, 1), (2, 5000, 1), (4, 1000, 2),
)  # fmt: skip
TOLERANCE = 0.02  # nats


def chosen(graph: onnx.GraphProto, scopes: Iterable[str] = SCOPES) -> set[str]:
    """Names of the nodes to convert to FP16; none of them is a product over samples."""
    pattern = re.compile(rf"({'|'.join(scopes)})/\w+")
    shapes = fp16_emulation.fixed_shapes(graph)
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
    """Number of terms in each sum of a matrix product; 0 if it depends on the input."""
    left, right = (shapes.get(name) or [0] for name in product.input)
    return left[-1] or right[max(-2, -len(right))]


def mixed(proto: onnx.ModelProto, nodes: set[str]) -> onnx.ModelProto:
    """The graph with these nodes in FP16, and a Cast of each tensor between FP16 and FP32 nodes.

    ModelError if a weight exceeds the range of FP16, 65504.
    """
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    graph = out.graph
    types = fp16_emulation.element_types(graph)
    weights = {w.name: w for w in graph.initializer}
    made: dict[tuple[str, int], str] = {}
    half: set[str] = set()
    body: list[onnx.NodeProto] = []

    def as_type(name: str, wanted: int, scope: str) -> str:
        """The name of a tensor in the wanted type, after a Cast or as a converted weight."""
        if (name, wanted) in made:
            return made[name, wanted]
        new = f"{name}_fp{16 if wanted == fp16_emulation.HALF else 32}"
        if name in weights and wanted == fp16_emulation.HALF:
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
            if types.get(name) == fp16_emulation.SINGLE and inside and name not in half:
                node.input[i] = as_type(name, fp16_emulation.HALF, scope)
            elif name in half and not inside:
                node.input[i] = as_type(name, fp16_emulation.SINGLE, scope)
        body.append(node)
        if inside:
            half.update(name for name in node.output if types[name] == fp16_emulation.SINGLE)
    outputs = {value.name for value in graph.output}
    if half & outputs:
        raise ModelError(f"outputs stay in FP32, and {sorted(half & outputs)} would not")
    for value in graph.value_info:
        if value.name in half:
            value.type.tensor_type.elem_type = fp16_emulation.HALF
    used = {name for node in body for name in node.input}
    kept = [w for w in graph.initializer if w.name in used]
    fp16_emulation.replace_nodes(graph, body)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.checker.check_model(out, full_check=True)
    return out


def converted(content: bytes, scopes: Iterable[str] = SCOPES) -> bytes:
    """Convert a model file to mixed precision, without comparing the two.

    ModelError if the names of nodes have no scopes, or FP16 overflows.
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
    # Without the digest of the code, which has no FP16: the C++ engine would compute in FP32.
    kept = {p.key: p.value for p in proto.metadata_props if p.key != CODE}
    helper.set_model_props(half, kept | {"infoatlas.precision": "fp16"})
    return sealed(half)


def refuse_inexact(content: bytes, half: bytes) -> list[dict[str, float]]:
    """The parity table of an FP16 file: emulated FP16 compared with the original FP32 file.

    ModelError if a value is not finite, or the mutual information of an example differs by more
    than the tolerance.
    """
    rows = parity(content, fp16_emulation.emulated(onnx.load_from_string(half)).SerializeToString())
    worst = max(row["mi"] for row in rows)
    if not worst <= TOLERANCE or not np.isfinite([[*row.values()] for row in rows]).all():
        raise ModelError(f"FP16 and FP32 differ by {worst:.2g} nats, more than {TOLERANCE}: {rows}")
    return rows


def halved(content: bytes) -> tuple[bytes, list[dict[str, float]]]:
    """Convert a model file to mixed precision, and compare it: the file and its parity table."""
    half = converted(content)
    return half, refuse_inexact(content, half)


def parity(expected: bytes, emulation: bytes) -> list[dict[str, float]]:
    """Largest differences of all outputs in nats at each size; infinite if one is not finite."""
    sessions = on_cpu(expected), on_cpu(emulation)
    dim = sessions[0].get_inputs()[0].shape[2]
    exact, rounded = (lambda inputs, s=s: s.run(OUTPUTS, inputs) for s in sessions)
    return differences(exact, rounded, SIZES, dim)
