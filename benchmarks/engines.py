"""TensorRT-RTX engines of the shipped models: build time, size, memory, refused builds.

    python -m benchmarks.engines                                  # -> results/engines.*
    python -m benchmarks.engines --quick --out build/results      # edge and a fixed shape alone

It needs the extra tensorrt-rtx and no GPU. Engines are built, inspected as by `infoatlas-rt build`,
and removed; none is run. Rows of engines.json for the same model files and library version are
kept, so a stopped run can be continued.
"""

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from infoatlas_export import fp16
from infoatlas_export.tensorrt import build
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load
from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.models import engine_file, model_file

RESULTS = Path(__file__).parent / "results"
RTX = LIBRARIES["tensorrt-rtx"]
FIXED = "slices=40,samples=100"
PROFILES = "control", "batch", FIXED
KEYS = "model", "precision", "profile", "capability"  # of a row
# Each capability alone, and all together. Larger models have fewer: results are nearly equal.
CAPABILITIES = ("7.5",), ("8.0",), ("8.9",), ("12.0",), RTX.builds_for
FEWER = ("7.5",), ("8.9",), RTX.builds_for


def cases(quick: bool) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Model, precision, profile, compute capabilities."""
    for model in ("edge",) if quick else ("edge", "wide", "base"):
        for precision in ("fp32", "fp16"):
            for profile in (FIXED,) if quick else PROFILES:
                for capabilities in CAPABILITIES if model == "edge" else FEWER:
                    yield model, precision, profile, capabilities


def measure(
    file: Path, precision: str, profile: str, capabilities: tuple[str, ...]
) -> dict[str, Any]:
    """Result of one build: layers, seconds, MB, memory and tensors by type; or the refusal."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            built = build(
                file,
                Path(folder) / "x.engine",
                library=RTX.name,
                compute_capabilities=capabilities,
                profiles=[profile],
            )
        except InfoAtlasError as error:
            return {"refused": str(error)}
        engine = engine_file.read(built.path)
        if engine.precision != precision:
            raise SystemExit(f"{file} became {engine.precision} instead of {precision}")
        return {
            "layers": built.layers,
            "seconds": round(built.seconds, 1),
            "megabytes": round(built.path.stat().st_size / 1e6, 1),
            "gigabytes_needed": [round(size / 1e9, 2) for size in engine.memory],
            "tensors": engine.tensors,
        }


def half(model: str, folder: Path) -> Path:
    """The FP16 file of a shipped model, made once."""
    path = folder / f"{model}-fp16.onnx"
    if not path.exists():
        path.write_bytes(fp16.halved(model_file.load(model).bytes)[0])
    return path


def page(found: dict[str, Any]) -> str:
    """The page, in Markdown."""
    about, rows = found["about"], found["rows"]
    lines = [
        "# TensorRT-RTX engines of the shipped models",
        "",
        f"`{about['command']}`, {about['date']}, {about['machine']}, TensorRT-RTX "
        f"{about['version']}. The engines were built without a GPU, one after the other, beside "
        "other work. None was run. Layers are those of the parsed network. Memory is the need of "
        "each profile at its largest sizes; at run time an engine allocates for the sizes at hand. "
        "Tensors are those between the engine's kernels.",
        "",
        "| model | precision | profile | compute capability | layers | build, s | file, MB | "
        "memory, GB | FP32 / FP16 tensors |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    refused: dict[str, list[str]] = {}
    for row in rows:
        names = [row[key] for key in KEYS]
        if "refused" in row:
            refused.setdefault(row["refused"], []).append(" ".join(names[:3]))
            continue
        tensors = row["tensors"]
        lines.append(
            f"| {' | '.join(names)} | {row['layers']:,} | {row['seconds']:.1f} | "
            f"{row['megabytes']:.1f} | {', '.join(map(str, row['gigabytes_needed']))} | "
            f"{tensors.get('fp32', 0)} / {tensors.get('fp16', 0)} |"
        )
    lines += ["", "Refused builds:", ""]
    lines += [f"- {reason} ({'; '.join(names)})" for reason, names in refused.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--out", type=Path, default=RESULTS, help="folder (%(default)s)")
    p.add_argument("--quick", action="store_true", help="edge and a fixed shape alone")
    arguments = p.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    keep = arguments.out / "engines.json"
    about = {
        "command": shlex.join(["python", "-m", "benchmarks.engines", *sys.argv[1:]]),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "version": load(RTX).__version__,
        "models": {name: model_file.load(name).sha256 for name in model_file.available()},
    }
    found: dict[str, Any] = {"about": about, "rows": []}
    if keep.exists():
        before = json.loads(keep.read_text(encoding="utf-8"))
        if all(before["about"].get(key) == about[key] for key in ("version", "models")):
            found["rows"] = before["rows"]
    done = {tuple(row[key] for key in KEYS) for row in found["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        for model, precision, profile, capabilities in cases(arguments.quick):
            names = model, precision, profile, ", ".join(capabilities)
            if names in done:
                continue
            print(*names, file=sys.stderr)
            file = half(model, Path(folder)) if precision == "fp16" else Path(model)
            row = dict(zip(KEYS, names, strict=True))
            found["rows"].append(row | measure(file, precision, profile, capabilities))
            keep.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (arguments.out / "engines.md").write_text(page(found), encoding="utf-8")
    print(arguments.out / "engines.md")


if __name__ == "__main__":
    main()
