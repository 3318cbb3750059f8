"""Name nodes by the parts of the model they come from, and weights by parameters of checkpoints.

    hypernetwork/joint_reading/mlp/1/MatMul
    critic/neighbour_features/inside/gaussian/Exp
    hypernetwork.joint_reading.mlp.1.weight.T              of a linear layer, [inputs, outputs]
    hypernetwork.joint_reading.attention.merged_query.T    see `Attention.merged`

The tracer numbers nodes and folded constants, so that a new line in the model renames them. These
names are stable. Precision tools and profilers select nodes by name; engines that do not interpret
the graph find the weights by name.
"""

import ast
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import onnx
import torch

PACKAGES = re.compile(r"[\\/]infoatlas_(train|export)[\\/]")
FRAME = re.compile(r'File "([^"]*)", line \d+, in (\w+|<\w+>)')
HOOK = "_filter_traceback_frames"  # a function that torch allows to override
SHAPES = "shapes"  # scope of nodes that the tracer adds: arithmetic on sizes
ROOT = "infoatlas"  # scope of nodes in the forward function of the complete model
PARTS = {"gap": "bias_correction"}  # name in checkpoints -> name in the documentation


@contextmanager
def recorded() -> Iterator[None]:
    """A context in which the tracer records the functions of this project for each node.

    By default the tracer records only forward functions of modules. The solve, the neighbour
    features and the readout are plain functions.
    """
    tracer = torch.fx.proxy.TracerBase
    default = getattr(tracer, HOOK)

    def ours(_: object, frames: traceback.StackSummary) -> traceback.StackSummary:
        kept = [f for f in frames if f.name == "forward" or PACKAGES.search(f.filename)]
        return traceback.StackSummary.from_list(kept)

    setattr(tracer, HOOK, ours)
    try:
        yield
    finally:
        setattr(tracer, HOOK, default)


def name_nodes(graph: onnx.GraphProto) -> None:
    """Name each node by its scope and operator, with a number if there are several."""
    seen: Counter[str] = Counter()
    for node in graph.node:
        notes = {note.key: note.value for note in node.metadata_props}
        name = f"{scope(notes)}/{node.op_type}"
        node.name = f"{name}_{seen[name]}" if seen[name] else name
        seen[name] += 1


def scope(notes: dict[str, str]) -> str:
    """Scope of a node from the tracer's notes: modules, then functions within the last module.

    The name of the file precedes a function of another file, unless it repeats the part before.
    """
    frames = FRAME.findall(notes.get("pkg.torch.onnx.stack_trace", ""))
    forward = [i for i, (_, function) in enumerate(frames) if function == "forward"]
    if not any(PACKAGES.search(frames[i][0]) for i in forward):
        return SHAPES
    modules = ast.literal_eval(notes["pkg.torch.onnx.name_scopes"])[-2]
    parts = [PARTS.get(part, part) for part in modules.split(".")[1:]]
    last = forward[-1]
    here = frames[last][0]
    for file, function in frames[last + 1 :]:
        if function.startswith("<"):  # a comprehension
            continue
        stem = re.split(r"[\\/]", file)[-1].removesuffix(".py")
        if file != here and parts[-1:] != [stem]:
            parts.append(stem)
        parts.append(function.strip("_"))
        here = file
    return "/".join(parts) or ROOT


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
