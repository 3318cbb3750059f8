"""Names of a graph's nodes: the modules and functions of the model that they came from.

    hypernetwork/joint_reading/mlp/1/MatMul
    critic/solve_readout/inverse/block_inverse/MatMul_17
    critic/neighbour_features/inside/gaussian/Exp

Precision tools choose nodes by name, and profilers and TensorRT report them. The tracer numbers
nodes in order, so that one line more in the model renames all after it; these names stay.
"""

from __future__ import annotations

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
HOOK = "_filter_traceback_frames"  # that torch says can be overridden
SHAPES = "shapes"  # of nodes that the tracer added of itself: arithmetic on sizes
ROOT = "infoatlas"  # of nodes in the forward function of the whole model
PARTS = {"gap": "bias_correction"}  # where a checkpoint's name is not the glossary's


@contextmanager
def recorded() -> Iterator[None]:
    """While it is open, the tracer records which functions of this project a node comes from.

    By itself it keeps the frames of modules' forward functions alone, and the solve, the neighbour
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
    """Name every node by its scope and operator; a number follows where there are several."""
    seen: Counter[str] = Counter()
    for node in graph.node:
        notes = {note.key: note.value for note in node.metadata_props}
        name = f"{scope(notes)}/{node.op_type}"
        node.name = f"{name}_{seen[name]}" if seen[name] else name
        seen[name] += 1


def scope(notes: dict[str, str]) -> str:
    """Scope from the tracer's notes on a node: modules, then functions within the last of them.

    A function of another file is preceded by the name of that file, unless it repeats the part
    before it.
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
