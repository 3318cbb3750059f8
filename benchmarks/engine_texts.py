"""Texts of a built engine of TensorRT-RTX: layers, source of kernels, operators of fusions.

The layers are the builder's (engine_layers.py). The rest is text inside the engine file and not a
documented interface: other versions may have another form of it, or none.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from infoatlas_export import engine_layers
from infoatlas_export.engine_builder import Order, make
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES
from infoatlas_rt.models.engine_file import Profile


@dataclass
class Engine:
    """Contents of the texts of an engine."""

    layers: list[engine_layers.EngineLayer]
    types: dict[str, set[str]]  # of the nodes of the network, as from `network_types`
    tactics: dict[str, str]  # name of a layer -> name of its kernel
    kernels: dict[str, str]  # name of a kernel -> its source
    # Precision of the sums in the two products, for each attention kernel.
    attention: list[tuple[str, str]]
    # Operators of fusions: name, types of the inputs, type of the output, node.
    fused: list[tuple[str, str, str, str]]
    sums: Counter[str]  # `accumulation_type` of products -> how many
    tf32: set[str]  # "0" where it is off
    seconds: float
    megabytes: float


def built(content: bytes, dim: int, capability: str, profile: Profile) -> Engine:
    """Build an engine as `infoatlas-rt build` does, and return its texts."""
    rtx = LIBRARIES["tensorrt-rtx"]
    made = make(Order(rtx, content, "the graph", dim, [profile], [capability]))
    text = made.content.decode("latin-1")
    report = "\n".join(made.reports)
    return Engine(
        layers=engine_layers.parse(report),
        types=made.types,
        tactics=dict(re.findall(r"^Name: (.*?), LayerType: .*TacticName: (\w+)", report, re.M)),
        kernels=sources(text),
        attention=re.findall(r"Kernel_traits_v2\w*<\s*fmha::(\w+),\s*fmha::(\w+),", text),
        fused=operators(text),
        sums=Counter(re.findall(r"accumulation_type=(\d+)", text)),
        tf32=set(re.findall(r"\n  tf32=(\d)", text)),
        seconds=made.seconds,
        megabytes=len(text) / 1e6,
    )


def sources(text: str) -> dict[str, str]:
    """The kernels of an engine: name -> the source behind its first line."""
    pattern = r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\('
    return {
        found[1]: text[found.start() : text.find("\0", found.start())]
        for found in re.finditer(pattern, text)
    }


def operators(text: str) -> list[tuple[str, str, str, str]]:
    """Operators of the fusions: name, types of inputs, type of the output, and the node."""
    found = []
    for part in text.split("NLYM")[1:]:
        if "runtime-fusion" not in part[:1000]:
            continue
        part = part[: part.find("\n}\n", part.find("\nmain {"))]
        types = dict(re.findall(r'tensor=\{[^\n]*? name="([^"]*)"[^\n]*? type=(\w+) \}', part))
        pattern = r'\n  (\w+)=\{ name="[^"]*" output=\{([^}]*)\} input=\{([^}]*)\}([^\n]*)'
        for operator, outputs, inputs, rest in re.findall(pattern, part):
            given = [types.get(name, "?") for name in re.findall(r'"([^"]*)"', inputs)]
            made = [types.get(name, "?") for name in re.findall(r'"([^"]*)"', outputs)]
            node = re.findall(r"\[ONNX Layer: ([^\]]*)\]", rest)
            # After the inputs of a product there are two FP32 factors.
            found.append((operator, " ".join(given[:2]), made[0], node[0] if node else ""))
    return found
