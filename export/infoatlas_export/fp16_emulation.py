"""Emulate an engine's evaluation of an FP16 graph by a graph of FP32 nodes with rounding.

ONNX Runtime's CPU provider computes FP16 nodes in FP32 with almost no rounding, so it does not show
the error of an engine. `emulated` rounds where the engine of TensorRT-RTX rounds, as compared in
benchmarks/results/tensorrt.md: each FP16 tensor of the graph, the steps of GELU, and a product
before its bias is added.

An engine computes an attention layer by one kernel. Its logits are FP32, its weights are rounded
before the division by their sum, and its sums over values are FP16. The type of the sums is that of
the engine, and the order of the steps is that of NVIDIA's published source of such kernels. Up to
32 keys, which the models have, are processed together.

The type of the sums of other products is chosen when an engine is loaded. The emulation uses the
worst case, FP16.
"""

from collections import Counter
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from infoatlas_rt.errors import ModelError

CHUNK = 16  # terms that a tensor core adds before rounding
ROOT = float(np.float16(np.sqrt(2)))  # the square root of two in FP16, 1.4140625
HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


def emulated(proto: onnx.ModelProto, *, sums: bool = True) -> onnx.ModelProto:
    """A graph of FP32 nodes that rounds all values that an engine computes in FP16.

    Nodes keep their names. The name of a new node begins with the name of the original node and a
    colon. For example, "NODE:round:7" rounds a value of NODE to FP16, and "NODE:round_sum:7" a
    running sum. With `sums`, running sums of products are rounded, too, after each 16 terms.
    Otherwise they are FP32, and the product is rounded once. ModelError if a Gemm is scaled, or its
    left side is transposed.
    """
    out = onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True)
    work = _Emulation(out.graph, sums)
    work.run()
    onnx.checker.check_model(out, full_check=True)
    return out


class _Emulation:
    """Builder of the emulating graph."""

    def __init__(self, graph: onnx.GraphProto, sums: bool) -> None:
        self.graph = graph
        self.sums = sums
        self.types = element_types(graph)
        self.shapes = fixed_shapes(graph)
        self.body: list[onnx.NodeProto] = []
        self.attention = attention_layers(graph, self.types)

    def run(self) -> None:
        absorbed = {name for layer in self.attention.values() for name in layer}
        for node in self.graph.node:
            half = bool(node.output) and self.types.get(node.output[0]) == HALF
            if node.name in self.attention:
                self.kernel(node, self.attention[node.name])
            elif node.name in absorbed:
                continue
            elif half and node.op_type in ("MatMul", "Gemm"):
                self.product_node(node)
            elif half and node.op_type == "Gelu":
                self.gelu(node)
            else:
                self.plain(node)
        for i, weight in enumerate(self.graph.initializer):
            if weight.data_type == HALF:
                values = numpy_helper.to_array(weight).astype(np.float32)
                self.graph.initializer[i].CopyFrom(numpy_helper.from_array(values, weight.name))
        replace_nodes(self.graph, self.body)
        del self.graph.value_info[:]

    def add(self, owner: str, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        name = f"{owner}:{len(self.body)}"
        self.body.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def round(self, owner: str, exact: str, output: str, what: str = "round") -> str:
        half = f"{output}:fp16"
        name = f"{owner}:{what}:{len(self.body)}"
        self.body.append(helper.make_node("Cast", [exact], [half], name, to=HALF))
        return self.add(owner, "Cast", [half], output, to=SINGLE)

    def constant(self, owner: str, value: float | list[int]) -> str:
        name = f"{owner}:constant_{len(self.graph.initializer)}"
        kind = np.int64 if isinstance(value, list) else np.float32
        self.graph.initializer.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def plain(self, node: onnx.NodeProto) -> None:
        """Add a node in FP32, with rounded outputs."""
        if node.op_type == "Cast" and self.types[node.output[0]] == HALF:
            node.attribute[0].i = SINGLE
        self.body.append(node)
        for i, name in enumerate(node.output):
            if self.types.get(name) == HALF:
                node.output[i] = f"{name}:exact"
                self.round(node.name, node.output[i], name)

    def product_node(self, node: onnx.NodeProto) -> None:
        """Add a MatMul, or a Gemm whose bias is added to the rounded product."""
        left, right, output = node.input[0], node.input[1], node.output[0]
        size = self.shapes[left][-1] or self.shapes[right][max(-2, -len(self.shapes[right]))]
        gemm = node.op_type == "Gemm"
        if gemm:
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if given.get("transA", 0) or (given.get("alpha", 1), given.get("beta", 1)) != (1, 1):
                raise ModelError(f"{node.name} is a scaled or transposed Gemm: leave it in FP32")
            if given.get("transB", 0):
                right = self.add(node.name, "Transpose", [right], f"{output}:right", perm=[1, 0])
                self.shapes[right] = self.shapes[node.input[1]][::-1]
                size = self.shapes[right][0]
        exact = self.product(node.name, left, right, f"{output}:product", size)
        if not gemm or len(node.input) < 3:
            self.round(node.name, exact, output)
            return
        half = self.round(node.name, exact, f"{output}:rounded")
        total = self.add(node.name, "Add", [half, node.input[2]], f"{output}:exact")
        self.round(node.name, total, output)

    def product(self, owner: str, left: str, right: str, output: str, size: int) -> str:
        """Add a matrix product whose partial sums, except for the last, are rounded."""
        parts = -(-size // CHUNK)
        if not self.sums or parts < 2:
            return self.add(owner, "MatMul", [left, right], output)
        axes = -1, -1 if len(self.shapes[right]) == 1 else -2
        sizes = self.constant(owner, [CHUNK] * (parts - 1) + [size - CHUNK * (parts - 1)])
        cut = []
        for name, axis, side in zip((left, right), axes, "lr", strict=True):
            cut.append([f"{output}:{side}{i}" for i in range(parts)])
            self.body.append(
                helper.make_node(
                    "Split", [name, sizes], cut[-1], f"{owner}:split_{side}", axis=axis
                )
            )
        total = ""
        for i, pair in enumerate(zip(*cut, strict=True)):
            last = i == parts - 1
            part = self.add(
                owner, "MatMul", list(pair), f"{output}:part{i}" if i else f"{output}:0"
            )
            if i:
                name = output if last else f"{output}:sum{i}"
                part = self.add(owner, "Add", [total, part], name)
            total = part if last else self.round(owner, part, f"{part}:rounded", "round_sum")
        return total

    def gelu(self, node: onnx.NodeProto) -> None:
        """Add x (1 + erf(x / sqrt(2))) / 2 in steps, all FP16 except for the error function."""
        owner, x, y = node.name, node.input[0], node.output[0]
        value = x
        for op, other in (("Div", ROOT), ("Erf", None), ("Add", 1.0), ("Mul", x), ("Mul", 0.5)):
            given = (
                other if other is None or isinstance(other, str) else self.constant(owner, other)
            )
            exact = self.add(
                owner, op, [value] if given is None else [value, given], f"{y}:step{len(self.body)}"
            )
            value = self.round(owner, exact, y if other == 0.5 else f"{exact}:rounded")

    def kernel(self, last: onnx.NodeProto, layer: tuple[str, ...]) -> None:
        """Add an attention layer as one kernel."""
        first = next(node for node in self.graph.node if node.name == layer[0])
        owner, output, values = last.name, last.output[0], last.input[1]
        logits = self.add(owner, "MatMul", list(first.input), f"{output}:logits")
        axis = self.constant(owner, [-1])
        largest = self.add(owner, "ReduceMax", [logits, axis], f"{output}:largest")
        above = self.add(owner, "Sub", [logits, largest], f"{output}:above")
        weights = self.add(owner, "Exp", [above], f"{output}:weights")
        total = self.add(owner, "ReduceSum", [weights, axis], f"{output}:total")
        half = self.round(owner, weights, f"{output}:weights_rounded", "round_weights")
        product = self.product(owner, half, values, f"{output}:product", self.shapes[values][-2])
        if self.sums:
            product = self.round(owner, product, f"{output}:sum", "round_sum")
        mean = self.add(owner, "Div", [product, total], f"{output}:exact")
        self.round(owner, mean, output)


def attention_layers(graph: onnx.GraphProto, types: dict[str, int]) -> dict[str, tuple[str, ...]]:
    """Attention layers of one kernel: name of the last product -> names of the nodes before it.

    Such a layer consists of two FP16 products and the softmax between them, with its casts, if no
    other node uses an intermediate result.
    """
    uses = Counter(name for node in graph.node for name in node.input)
    maker = {name: node for node in graph.node for name in node.output}
    found = {}
    for node in graph.node:
        chain = [node]
        for op in ("Cast", "Softmax", "Cast", "MatMul"):
            before = maker.get(chain[-1].input[0])
            if before is None or before.op_type != op or uses[before.output[0]] != 1:
                break
            chain.append(before)
        ends = [types.get(chain[i].output[0]) for i in (0, -1)]
        if len(chain) == 5 and node.op_type == "MatMul" and ends == [HALF, HALF]:
            found[node.name] = tuple(part.name for part in reversed(chain[1:]))
    return found


def element_types(graph: onnx.GraphProto) -> dict[str, int]:
    """Element type of each tensor whose type the graph states."""
    types = {w.name: w.data_type for w in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    return types


def fixed_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """Shapes of tensors, with 0 for dynamic axes."""
    shapes = {w.name: list(w.dims) for w in graph.initializer}
    for value in (*graph.input, *graph.value_info):
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    return shapes


def replace_nodes(graph: onnx.GraphProto, body: list[onnx.NodeProto]) -> None:
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in body]
    del graph.node[:]
    graph.node.extend(copies)
