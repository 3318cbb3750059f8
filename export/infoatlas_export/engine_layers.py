"""Layers of a built engine and the types of their tensors, from descriptions by the library.

There are two descriptions: the message "Layers:" of TensorRT-RTX's builder, which needs no GPU, and
the JSON of TensorRT's engine inspector. Both contain the tensors between the kernels of an engine
and their types, but not the types within a kernel or of its sums.

This module does not need TensorRT, torch or onnx.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Type in the library's text -> name used here. Versions differ ("Half", "Row major linear FP16
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

    `inputs`, `constants` and `outputs` are the types of its tensors, values of `WORDS`; tensors of
    other types are left out.
    """

    name: str  # without the profile
    profile: int  # index of its profile
    # The library's term: "gemm", "kgen" (a kernel generated for a few operators) or
    # "runtime_fusion".
    kind: str
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]
    # Names of the nodes of the ONNX graph that it computes, as far as the library keeps them.
    nodes: tuple[str, ...]

    @property
    def types(self) -> set[str]:
        """Types of all its tensors."""
        return {*self.inputs, *self.constants, *self.outputs}

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product, alone or with operators after it."""
        return _PRODUCT.search(f"{self.kind} {self.name}") is not None


def word(text: str) -> str:
    """Name of the type in a library's text, such as "fp16"; "" if it is another or none."""
    return next((WORDS[part] for part in re.findall(r"\w+", text.upper()) if part in WORDS), "")


def parse(text: str) -> list[EngineLayer]:
    """Parse the layers of a builder's message or an inspector's JSON; empty without layers."""
    if not text.lstrip().startswith("{"):
        layers = [_from_line(found) for found in _LAYER.finditer(text)]
    else:
        try:
            listed = json.loads(text).get("Layers", [])
        except (ValueError, RecursionError):
            return []
        layers = [_from_json(layer) for layer in listed if isinstance(layer, dict)]
    # Each profile has its own graph, whose number is in the names of its layers. Only some tensors
    # have the number of the profile in their names.
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
    """Number of tensors of each type in the layers; a tensor of two layers counts twice."""
    found = Counter(
        kind for layer in layers for kind in (*layer.inputs, *layer.constants, *layer.outputs)
    )
    return {kind: found[kind] for kind in sorted(found)}


def network_types(network: Any) -> dict[str, set[str]]:
    """Types, as named in `WORDS`, of the inputs and outputs of each ONNX node, by its name.

    They are from the strongly typed network (trt.INetworkDefinition) of a parser. A node can
    consist of several layers.
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
    """Layers of an engine whose precision differs from that of `network_types`.

    There is one line for each layer with FP16 tensors that computes no FP16 node, and for each
    matrix product of FP16 nodes without FP16 tensors. A layer without named nodes may pass FP16
    values on, but not produce any.
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
    """Workspace of each profile in bytes, in their order, from the builder's messages."""
    return tuple(int(found) for text in reports for found in _SCRATCH.findall(text))


def dimensions(text: str) -> dict[str, tuple[int, ...]]:
    """Dimensions of inputs and outputs in the builder's message; -1 for an axis of any size."""
    return {
        name: tuple(int(size) for size in sizes.split(",") if size.strip())
        for name, sizes in _END.findall(text)
    }
