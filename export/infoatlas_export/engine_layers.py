"""What the layers of a built engine are, from what the library has written of them.

Two texts have them: the builder's message "Layers:" of TensorRT-RTX, which needs no GPU, and the
answer of TensorRT's engine inspector, JSON. Both show the tensors between the kernels of an engine
and their types. They show neither the types inside of a kernel nor those in which it sums up.

Nothing here needs TensorRT, torch or onnx.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Types as the libraries write them, and ours. Versions differ ("Half", "Row major linear FP16
# format").
WORDS = {
    "BFLOAT16": "bf16", "BF16": "bf16", "FLOAT16": "fp16", "HALF": "fp16", "FP16": "fp16",
    "FLOAT": "fp32", "FP32": "fp32", "INT64": "int64", "INT32": "int32", "BOOL": "bool",
}  # fmt: skip

_LAYER = re.compile(r"^\s*Name: (?P<name>.*?), LayerType: (?P<kind>[^,]*)(?P<rest>.*)$", re.M)
_TENSORS = re.compile(r"(Inputs|Constants|Outputs): \[(?:\]| (\{ .*? \})\])")
_PROFILE = re.compile(r" \[profile (\d+)\]")
_GRAPH = re.compile(r"_myl(\d+)_\d+$")
_NODE = re.compile(r"\[ONNX Layer: ([^\]]*)\]")
_PRODUCT = re.compile(r"gemm|matrix_?multiply|matmul|_Fc[A-Z_]", re.I)
_SCRATCH = re.compile(r"Max Scratch Memory: (\d+) bytes")
_END = re.compile(r"^\s*Name: (\w+), IOMode: \w+, .*?Dimensions: \[([-\d, ]*)\]", re.M)


@dataclass(frozen=True)
class EngineLayer:
    """A layer of an engine: one kernel, or a step between kernels.

    Attributes
    ----------
    name : str
        Without the profile.
    profile : int
        Index of the profile that it is for.
    kind : str
        The library's word: "gemm", "kgen" (a kernel made for a few operators), "runtime_fusion".
    inputs, constants, outputs : tuple of str
        Type of each tensor, one of the values of `WORDS`; tensors of other types are left out.
    nodes : tuple of str
        Names of the nodes of the ONNX graph that it computes, as far as the library has kept them.
    """

    name: str
    profile: int
    kind: str
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def types(self) -> set[str]:
        """Types of all of its tensors."""
        return {*self.inputs, *self.constants, *self.outputs}

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product, alone or with operators after it."""
        return _PRODUCT.search(f"{self.kind} {self.name}") is not None


def word(text: str) -> str:
    """The type that a library's text names, as in "fp16"; "" if it is another or none."""
    return next((WORDS[part] for part in re.findall(r"\w+", text.upper()) if part in WORDS), "")


def parse(text: str) -> list[EngineLayer]:
    """The layers that a builder's message or an inspector's JSON has; empty if it has none."""
    if not text.lstrip().startswith("{"):
        layers = [_from_line(found) for found in _LAYER.finditer(text)]
    else:
        try:
            listed = json.loads(text).get("Layers", [])
        except (ValueError, RecursionError):
            return []
        layers = [_from_json(layer) for layer in listed if isinstance(layer, dict)]
    # Each profile has a graph of its own, whose number is in the names of its layers. Only names
    # of some tensors have that of the profile.
    profiles: dict[str, int] = {}
    for layer in layers:
        if graph := _GRAPH.search(layer.name):
            profiles[graph[1]] = max(profiles.get(graph[1], 0), layer.profile)
    return [
        replace(layer, profile=profiles[graph[1]]) if graph else layer
        for layer in layers
        for graph in [_GRAPH.search(layer.name)]
    ]


def _from_line(found: re.Match[str]) -> EngineLayer:
    tensors = {
        group: re.findall(r"Datatype: ([^,}]*)", listed or "")
        for group, listed in _TENSORS.findall(found["rest"])
    }
    return _layer(found["name"], found["kind"], tensors, found[0])


def _from_json(layer: Mapping[str, Any]) -> EngineLayer:
    tensors = {
        group: [
            str(tensor.get("Datatype", tensor.get("Format/Datatype", "")))
            for tensor in layer.get(group) or []
            if isinstance(tensor, dict)
        ]
        for group in ("Inputs", "Constants", "Outputs")
    }
    name, kind = str(layer.get("Name", "")), str(layer.get("LayerType", ""))
    return _layer(name, kind, tensors, str(layer))


def _layer(name: str, kind: str, tensors: Mapping[str, Sequence[str]], text: str) -> EngineLayer:
    inputs, constants, outputs = (
        tuple(short for text in tensors.get(group, ()) if (short := word(text)))
        for group in ("Inputs", "Constants", "Outputs")
    )
    return EngineLayer(
        name=_PROFILE.sub("", name),
        profile=max((int(found) for found in _PROFILE.findall(text)), default=0),
        kind=kind,
        inputs=inputs,
        constants=constants,
        outputs=outputs,
        nodes=tuple(_NODE.findall(text)),
    )


def counts(layers: Iterable[EngineLayer]) -> dict[str, int]:
    """How many tensors of the layers have which type; one that two layers have counts twice."""
    found = Counter(
        kind for layer in layers for kind in (*layer.inputs, *layer.constants, *layer.outputs)
    )
    return {kind: found[kind] for kind in sorted(found)}


def network_types(network: Any) -> dict[str, set[str]]:
    """Types of the inputs and outputs of each ONNX node, from a network that a parser has made.

    Parameters
    ----------
    network : trt.INetworkDefinition
        Strongly typed.

    Returns
    -------
    dict of str to set of str
        Name of a node -> its types, in the words of `WORDS`. A node can be several layers.
    """
    found: dict[str, set[str]] = {}
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        ends = [layer.get_input(j) for j in range(layer.num_inputs)]
        ends += [layer.get_output(j) for j in range(layer.num_outputs)]
        types = {word(tensor.dtype.name) for tensor in ends if tensor is not None} - {""}
        for name in _NODE.findall(layer.metadata or "") or [layer.name]:
            found.setdefault(name, set()).update(types)
    return found


def changed_types(
    expected: Mapping[str, Iterable[str]], layers: Iterable[EngineLayer]
) -> list[str]:
    """What an engine computes in another precision than its network has it.

    Parameters
    ----------
    expected : mapping of str to set of str
        Name of a node -> types of its inputs and outputs, as from `network_types`.
    layers : iterable of EngineLayer

    Returns
    -------
    list of str
        One line for each layer that has FP16 tensors and computes no node that has any, and for
        each matrix product of FP16 nodes that has no FP16 tensor. A layer for which no node is
        named may move FP16 values on, and not make any.
    """
    faults = []
    for layer in layers:
        types = [set(expected[node]) for node in layer.nodes if node in expected]
        half = ["fp16" in some for some in types]
        shown = f"{layer.kind} {layer.name} of profile {layer.profile}"
        nodes = f"its nodes ({', '.join(layer.nodes[:3])}{', ...' * (len(layer.nodes) > 3)})"
        if "fp16" in layer.types and types and not any(half):
            faults.append(f"{shown} has FP16 tensors, and {nodes} have none")
        elif "fp16" in layer.outputs and not types and "fp16" not in layer.inputs:
            faults.append(f"{shown} makes FP16 tensors, and no node of the network is named for it")
        elif layer.is_product and types and all(half) and "fp16" not in layer.types:
            faults.append(f"{shown} has no FP16 tensor, and {nodes} are FP16")
    return faults


def scratch(reports: Iterable[str]) -> tuple[int, ...]:
    """Workspace in bytes that each profile needs, in their order, from the builder's messages."""
    return tuple(int(found) for text in reports for found in _SCRATCH.findall(text))


def dimensions(text: str) -> dict[str, tuple[int, ...]]:
    """Dimensions of inputs and outputs in the builder's message; -1 for an axis of any size."""
    return {name: _sizes(sizes) for name, sizes in _END.findall(text)}


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size.strip())
