"""FP16 in built engines, layer by layer, compared with the emulation (fp16_emulation.py).

    python -m benchmarks.fp16_layers                              # -> results/fp16_layers.*
    python -m benchmarks.fp16_layers --quick --out build/results  # edge, one engine

TensorRT-RTX builds the FP16 graphs without a GPU. Three texts are parsed: the builder's list of
layers (engine_layers.py), the source of the kernels, and the operators of each fusion with the
types of their tensors. The last two are in the engine file and are not a documented interface. If a
version lacks them, nothing can be compared, and the benchmark fails.

The precision of sums in matrix products is not visible: their kernels are chosen or compiled when
an engine is loaded. An engine requests FP32 sums of FP16 products, or leaves the choice to the
library.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import onnx

from benchmarks.engine_texts import Engine, built
from infoatlas_export import engine_layers, fp16, fp16_emulation
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import Profile

RESULTS = Path(__file__).parent / "results"
FIXED = Profile("40 slices of 100", (40,) * 3, (100,) * 3, (5,) * 3)
CONTROL = Profile("1 to 64 of 64 to 512", (1, 40, 64), (64, 100, 512), (4, 5, 125))
BUILDS = (
    ("edge", "8.9", FIXED), ("edge", "8.9", CONTROL), ("edge", "8.0", FIXED),
    ("edge", "12.0", FIXED), ("base", "8.9", FIXED), ("wide", "8.9", FIXED),
)  # fmt: skip
PRODUCTS = {"MatMul", "Gemm"}
HALF_ADD = "__myln_add___myln_half___myln_half("
# Attention kernels: precision of the sums of queries times keys, and of weights times values.
SUMS_OF_ATTENTION = "Ampere_hmma_fp32_traits", "Ampere_hmma_fp16_traits"
ROUNDING = PRODUCTS | {"Add", "Mul", "Gelu", "Cast"}  # other operators move FP16 values


def fp16_graph(name: str) -> onnx.ModelProto:
    """The FP16 graph of a shipped model."""
    return onnx.load_from_string(fp16.converted(model_file.load(name).bytes))


def engine_roundings(engine: Engine, kinds: dict[str, str]) -> Counter[str]:
    """Number of roundings to FP16 in the engine by node, without those of running sums."""
    found: Counter[str] = Counter()
    for operator, given, made, node in engine.fused:
        if made == "half" and (operator != "cast" or "float" in given):
            found[node] += 1
    cast = set()
    for layer in engine.layers:
        if "fp16" not in {*layer.inputs, *layer.outputs}:
            continue
        half = [node for node in layer.nodes if "fp16" in engine.types[node]]
        if layer.kind == "gemm" and "fp16" in layer.outputs:
            found.update(node for node in half if kinds[node] in PRODUCTS)
        elif layer.kind == "kgen":
            if HALF_ADD in engine.kernels.get(engine.tactics.get(layer.name, ""), ""):
                found.update(node for node in half if kinds[node] == "Add")
            if "fp16" in layer.outputs:  # a kernel with FP16 outputs rounds by its casts
                cast.update(node for node in half if node.endswith("_fp16"))
    return found | Counter(cast)


def emulated_roundings(half: onnx.ModelProto) -> Counter[str]:
    """Number of roundings to FP16 in the emulation by node, without those of running sums."""
    found: Counter[str] = Counter()
    for node in fp16_emulation.emulated(half).graph.node:
        owner, colon, what = node.name.rpartition(":round")
        if colon and not what.startswith("_sum"):
            found[owner] += 1
    return found


def repeated(graph: onnx.GraphProto) -> set[str]:
    """Casts to FP16 of a value that another cast rounds, too, up to a transposition."""
    maker = {name: node for node in graph.node for name in node.output}
    rounds: dict[str, list[str]] = {}
    for node in graph.node:
        if node.op_type == "Cast" and node.output[0].endswith("_fp16"):
            origin, moved = node.input[0], 0
            while origin in maker and maker[origin].op_type == "Transpose":
                origin, moved = maker[origin].input[0], 1
            rounds.setdefault(origin, []).insert(moved * len(rounds.get(origin, [])), node.name)
    return {name for names in rounds.values() for name in names[1:]}


def compared(half: onnx.ModelProto, engine: Engine) -> dict[str, Any]:
    """Counts of an engine for the table, and its differences from the emulation."""
    kinds = {node.name: node.op_type for node in half.graph.node}
    nodes = [name for name, types in engine.types.items() if "fp16" in types and name in kinds]
    there, here = engine_roundings(engine, kinds), emulated_roundings(half)
    inferred = onnx.shape_inference.infer_shapes(half).graph
    types = fp16_emulation.element_types(inferred)
    attention = {
        frozenset(name for name in (last, *before) if kinds[name] in PRODUCTS)
        for last, before in fp16_emulation.attention_layers(inferred, types).items()
    }
    one_kernel = {
        frozenset(name for name in layer.nodes if kinds[name] in PRODUCTS)
        for layer in engine.layers
        if layer.name.startswith("_gemm_mha")
    }
    inside = {name for layer in engine.layers if layer.name.startswith("_gemm_mha")
              for name in layer.nodes}  # fmt: skip
    again = repeated(half.graph)
    counted = [name for name in nodes if kinds[name] in ROUNDING and name not in inside | again]
    faults = engine_layers.changed_types(engine.types, engine.layers)
    faults += [
        f"{name} ({kinds[name]}) is rounded {there[name]} times by the engine, and {here[name]} "
        "times by the emulation"
        for name in counted
        if there[name] != here[name]
    ]
    if attention != one_kernel:
        faults.append(f"attention layers in one kernel: {sorted(map(sorted, one_kernel))}")
    if set(engine.attention) != {SUMS_OF_ATTENTION}:
        faults.append(f"kernels of attention sum up by {sorted(set(engine.attention))}")
    functions = {
        found
        for source in engine.kernels.values()
        for found in re.findall(r"__myln_(\w+?)___myln_half(?:___myln_half)*\(", source)
    }
    if functions - {"add", "move"}:
        faults.append(f"kernels compute in FP16: {sorted(functions - {'add', 'move'})}")
    if not engine.kernels or not engine.fused:
        faults.append("the engine has no source of kernels, or no operators of fusions")
    if engine.tf32 != {"0"}:
        faults.append("TF32 is on")
    holding = [layer for layer in engine.layers if "fp16" in layer.types]
    named = {node for layer in engine.layers for node in layer.nodes}
    operators_of = Counter(kinds[name] for name in nodes)
    fused = Counter(row[:3] for row in engine.fused)
    return {
        "layers": len(engine.layers),
        "layers_with_fp16": len(holding),
        "by_kind": dict(Counter(layer.kind for layer in holding)),
        "nodes_with_fp16": len(nodes),
        "nodes_by_operator": dict(operators_of),
        "roundings": {
            operator: [sum(found[name] for name in counted if kinds[name] == operator)
                       for found in (there, here)]
            for operator in sorted(ROUNDING & set(operators_of))
        },
        "nodes_in_no_layer": dict(Counter(kinds[name] for name in nodes if name not in named)),
        "fused": {
            f"{name}({given}) -> {made}": count
            for (name, given, made), count in sorted(fused.items())
            if "half" in f"{given} {made}"
        },
        "sums_of_products": dict(engine.sums),
        "kernels_of_attention": len(one_kernel),
        "half_functions_of_kernels": sorted(functions),
        "faults": faults,
    }  # fmt: skip


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    lines = [
        "# FP16 in built engines, layer by layer",
        "",
        f"`{about['command']}`, {about['date']}, {about['machine']}, TensorRT-RTX "
        f"{about['tensorrt-rtx']}. The FP16 graphs were built for GPUs of the given compute "
        "capability. Nothing ran on a GPU. Nodes are those of the ONNX graph with FP16 inputs or "
        "outputs; layers are those of the engine. A rounding converts an FP32 value or a result to "
        "FP16. The emulation (`fp16_emulation.py`) should make the same number of roundings for "
        "each node; the last column lists differences.",
        "",
        "| model | compute capability | profile | nodes with FP16 | layers with FP16, of all | "
        "roundings in the engine: products + additions + GELU + casts | the same in the emulation "
        "| attention layers in one kernel | differences |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        counts = [
            " + ".join(
                str(sum(row["roundings"].get(name, (0, 0))[side] for name in names))
                for names in (("MatMul", "Gemm"), ("Add", "Mul"), ("Gelu",), ("Cast",))
            )
            for side in (0, 1)
        ]
        lines.append(
            f"| {row['model']} | {row['capability']} | {row['profile']} | {row['nodes_with_fp16']} "
            f"| {row['layers_with_fp16']} of {row['layers']} | {counts[0]} | {counts[1]} | "
            f"{row['kernels_of_attention']} | {'; '.join(row['faults']) or 'none'} |"
        )
    fused = sorted({name for row in rows for name in row["fused"]})
    functions = sorted({name for row in rows for name in row["half_functions_of_kernels"]})
    sums = sorted({name for row in rows for name in row["sums_of_products"]})
    moved = sorted({name for row in rows for name in row["nodes_in_no_layer"]})
    lines += [
        "",
        "All engines have in common:",
        "",
        f"- FP16 operators in fusions: {', '.join(f'`{name}`' for name in fused)}.",
        f"- FP16 functions in the source of kernels: {', '.join(functions)}.",
        "- Attention layers in one kernel: products of queries and keys are summed in FP32 and not "
        "rounded. Products of weights and values are summed in FP16. The division by the sum of "
        "the weights comes last, according to NVIDIA's published source of such kernels; the "
        "engine does not contain this.",
        f"- Other products: `accumulation_type` is {', '.join(sums)} for all. A value of 2 "
        "requests FP32 sums, by casts around a product. A value of 0 leaves the choice to the "
        "library when it loads the engine. The emulation uses the worst case, FP16.",
        f"- FP16 nodes without a layer move values, or round values that are already rounded: "
        f"{', '.join(moved)}.",
        "- TF32 is off.",
    ]
    return "\n".join(lines) + "\n"


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="edge, one engine")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    rows, models = [], {}
    for name, capability, profile in BUILDS[: 1 if arguments.quick else None]:
        source = model_file.load(name)
        models[name], half = source.sha256, fp16_graph(name)
        engine = built(half.SerializeToString(), source.dim, capability, profile)
        row = {"model": name, "capability": capability, "profile": profile.name}
        row |= {"seconds": round(engine.seconds, 1), "megabytes": round(engine.megabytes, 1)}
        rows.append(row | compared(half, engine))
        print({key: rows[-1][key] for key in (*row, "faults")}, flush=True)
    about = {
        "command": "python -m benchmarks.fp16_layers" + " --quick" * arguments.quick,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{platform.machine()}, 2 virtual cores of a shared host, no GPU",
        "tensorrt-rtx": load(LIBRARIES["tensorrt-rtx"]).__version__,
        "models": models,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    content = {"about": about, "rows": rows}
    (arguments.out / "fp16_layers.json").write_text(json.dumps(content, indent=1) + "\n")
    (arguments.out / "fp16_layers.md").write_text(page(about, rows), encoding="utf-8")
    faults = [fault for row in rows for fault in row["faults"]]
    if faults:
        sys.exit("\n".join(faults[:20]))


if __name__ == "__main__":
    main()
