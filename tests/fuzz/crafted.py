"""Sealed model files with another graph: the native engine refuses them and gives the reason.

Its operators are compiled, so it would otherwise return the estimate of another graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import onnx
from calls import check
from onnx import numpy_helper
from values import Rng, pick

from infoatlas_rt import Estimator, ProviderError
from infoatlas_rt.models.model_file import MODELS
from infoatlas_rt.models.onnx_content import CHECKSUM, checksum

Proto = onnx.ModelProto
# Operators with the same signature.
OTHERS = (
    ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"), ("Greater", "Less", "GreaterOrEqual"),
    ("Exp", "Log", "Tanh", "Neg", "Sqrt", "Reciprocal", "Abs", "Erf", "Softplus", "Sigmoid"),
    ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp"),
)  # fmt: skip


@cache
def content(name: str) -> bytes:
    return (MODELS / f"{name}.onnx").read_bytes()


def entries(proto: Proto) -> dict[str, str]:
    return {p.key: p.value for p in proto.metadata_props}


def sealed(proto: Proto) -> bytes:
    """The file's content with its checksum; the entries that identify its graph are unchanged."""
    kept = {key: value for key, value in entries(proto).items() if key != CHECKSUM}
    onnx.helper.set_model_props(proto, kept)
    found = checksum(proto.SerializeToString(deterministic=True))
    onnx.helper.set_model_props(proto, kept | {CHECKSUM: found})
    return bytes(proto.SerializeToString(deterministic=True))


def operator(rng: Rng, proto: Proto) -> None:
    others = {name: [o for o in group if o != name] for group in OTHERS for name in group}
    node = pick(rng, [node for node in proto.graph.node if node.op_type in others])
    node.op_type = pick(rng, others[node.op_type])


def attribute(rng: Rng, proto: Proto) -> None:
    own = [a for node in proto.graph.node for a in node.attribute if a.type in (1, 2, 7)]
    found = pick(rng, own)
    if found.type == onnx.AttributeProto.FLOAT:
        found.f = found.f * 1.5 + 1e-3
    elif found.type == onnx.AttributeProto.INT:
        found.i += 1
    else:
        found.ints.append(1)


def without_attribute(rng: Rng, proto: Proto) -> None:
    del pick(rng, [node for node in proto.graph.node if node.attribute]).attribute[0]


def is_weight(name: str) -> bool:
    return name.startswith(("hypernetwork.", "gap."))


def constant(rng: Rng, proto: Proto) -> None:
    own = [c for c in proto.graph.initializer if not is_weight(c.name)]
    found = pick(rng, own)
    values = numpy_helper.to_array(found).copy()
    values.flat[rng.integers(values.size)] += 1
    found.CopyFrom(numpy_helper.from_array(values, found.name))


def swapped_inputs(rng: Rng, proto: Proto) -> None:
    own = [n for n in proto.graph.node if len(n.input) > 1 and n.input[0] != n.input[1]]
    node = pick(rng, own)
    node.input[0], node.input[1] = node.input[1], node.input[0]


def rewired(rng: Rng, proto: Proto) -> None:
    """Replace an input by the value of an earlier node."""
    at = int(rng.integers(1, len(proto.graph.node)))
    node, other = proto.graph.node[at], proto.graph.node[int(rng.integers(at))]
    i = int(rng.integers(len(node.input)))
    earlier = other.output[0]
    node.input[i] = earlier if earlier != node.input[i] else "x"


def swapped_outputs(rng: Rng, proto: Proto) -> None:
    """`pointwise` and `influence` have the same shape, and so have `mi` and `spread`."""
    one, two = pick(rng, (("pointwise", "influence"), ("mi", "spread")))
    rename(proto, {one: two, two: one}, declared=False)


def swapped_weights(rng: Rng, proto: Proto) -> None:
    """Swap two weights of one shape."""
    shapes: dict[tuple[int, ...], list[str]] = {}
    for weight in proto.graph.initializer:
        if is_weight(weight.name):
            shapes.setdefault(tuple(weight.dims), []).append(weight.name)
    names = pick(rng, [names for names in shapes.values() if len(names) > 1])
    one, two = names[:2]
    for node in proto.graph.node:
        node.input[:] = [{one: two, two: one}.get(name, name) for name in node.input]


def configuration(rng: Rng, proto: Proto) -> None:
    """Change a setting of the engine that needs no other weights."""
    pairs = (
        ('"newton_steps": ', '"newton_steps": 1'), ('"ridge_floor": 0.000', '"ridge_floor": 0.001'),
        ('"solve_shifts": ', '"solve_shifts": 1'), ('"refine_shifts": ', '"refine_shifts": 1'),
    )  # fmt: skip
    old, new = pick(rng, pairs)
    config = entries(proto)["infoatlas.config"]
    check(old in config, f"no {old} in {config}")
    changed = entries(proto) | {"infoatlas.config": config.replace(old, new)}
    onnx.helper.set_model_props(proto, changed)


def opset(rng: Rng, proto: Proto) -> None:
    proto.opset_import[0].version -= 1


def other_code(rng: Rng, proto: Proto) -> None:
    onnx.helper.set_model_props(proto, entries(proto) | {"infoatlas.code": "0" * 64})


def unstated(rng: Rng, proto: Proto) -> None:
    key = pick(rng, ("infoatlas.graph", "infoatlas.code"))
    onnx.helper.set_model_props(proto, {k: v for k, v in entries(proto).items() if k != key})


def rename(proto: Proto, names: dict[str, str], *, declared: bool = True) -> None:
    """Rename values in nodes and, if `declared`, in their type declarations."""
    for node in proto.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in proto.graph.value_info if declared else ():
        value.name = names.get(value.name, value.name)


def same(rng: Rng, proto: Proto) -> None:
    """The same graph with other names, and nodes in another valid order."""
    own = {name for node in proto.graph.node for name in node.output}
    own -= {value.name for value in proto.graph.output}
    rename(proto, {name: f"{name}_{rng.integers(1000)}" for name in own})
    nodes = list(proto.graph.node)
    for at in rng.permutation(len(nodes) - 1):
        if not set(nodes[at].output) & set(nodes[at + 1].input):
            nodes[at], nodes[at + 1] = nodes[at + 1], nodes[at]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    for node in copies:
        node.name = ""
    del proto.graph.node[:]
    proto.graph.node.extend(copies)


CHANGES: tuple[Callable[[Rng, Proto], None], ...] = (
    operator, attribute, without_attribute, constant, swapped_inputs, rewired, swapped_outputs,
    swapped_weights, configuration, opset, other_code, unstated,
)  # fmt: skip
# A part of the reason.
REASONS = {other_code: "infoatlas.code is 000000000000", unstated: "does not state which graph"}
CHANGED = "changed after its export"


def craft(rng: Rng, folder: Path, change: Callable[[Rng, Proto], None] | None = None) -> str:
    """A sealed file with another graph is refused; one with the same graph is accepted."""
    name = pick(rng, ("edge", "edge", "base", "wide"))
    change = change or pick(rng, (*CHANGES, same))
    proto = onnx.load_from_string(content(name))
    change(rng, proto)
    path = folder / "crafted.onnx"
    path.write_bytes(sealed(proto))
    what = f"{name}: {change.__name__}"
    try:
        Estimator(path, provider="native", threads=1)
    except ProviderError as error:
        check(change is not same, f"{what}: {error}")
        for part in (REASONS.get(change, CHANGED), "use provider='cpu'"):
            check(part in str(error), f"{what}: {error}")
        return "refused"
    check(change is same, f"{what}: accepted")
    return "ok"
