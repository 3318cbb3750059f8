"""Name the weights of a graph by the parameters of the checkpoint.

    hypernetwork.joint_reading.mlp.1.weight.T              of a linear layer, [inputs, outputs]
    hypernetwork.joint_reading.attention.merged_query.T    see `Attention.merged`
    gap.missing.first.weight

The tracer numbers folded constants, so that a new line in the model renames them. These names are
stable. Engines that do not interpret the graph find the weights by name.
"""

from __future__ import annotations

import re

import onnx

PREFIX = "model."  # prefix of parameters in the traced module
TRANSPOSED = ".T"
HYPERNETWORK = re.compile(r"(hypernetwork/.*)/(MatMul|Add)(_\d+)?")
ATTENTION = re.compile(r"(attention|attend_[xy])$")
# Names of the weights of an attention, in the order of its nodes.
MERGED = {
    "MatMul": ("merged_query" + TRANSPOSED, "merged_out" + TRANSPOSED),
    "Add": ("merged_query_bias", "merged_out_bias"),
}


def name_weights(graph: onnx.GraphProto) -> None:
    """Name all weights of a graph with named nodes; other constants keep their names."""
    constants = {constant.name: len(constant.dims) for constant in graph.initializer}
    new = {name: name.removeprefix(PREFIX) for name in constants}
    merged: dict[tuple[str, str], int] = {}  # number of named weights of an attention
    for node in graph.node:
        found = HYPERNETWORK.fullmatch(node.name)
        if found is None:
            continue
        scope, kind = found[1].replace("/", "."), found[2]
        for name in node.input:
            if constants.get(name) != {"MatMul": 2, "Add": 1}[kind]:
                continue
            if ATTENTION.search(scope):
                count = merged.get((scope, kind), 0)
                new[name] = f"{scope}.{MERGED[kind][count]}"
                merged[scope, kind] = count + 1
            elif kind == "MatMul":
                new[name] = f"{scope}.weight{TRANSPOSED}"
    if len(set(new.values())) != len(new):
        raise ValueError("two weights have one name")
    for constant in graph.initializer:
        constant.name = new[constant.name]
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
    for value in graph.value_info:
        value.name = new.get(value.name, value.name)
