"""TensorRT-RTX engines of the shipped models: build time, size, memory, refused builds.

    python -m benchmarks.engines                                  # -> results/engines.*

It needs the extra tensorrt-rtx and no GPU. Engines are built, inspected as by `infoatlas-rt build`,
and removed; none is run.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infoatlas_export import fp16
from infoatlas_export.tensorrt import build
from infoatlas_rt import Estimator
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load
from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.models import engine_file, model_file

from . import report
from .measure import figures

RTX = LIBRARIES["tensorrt-rtx"]
FIXED = "slices=40,samples=100"
PROFILES = "control", "batch", FIXED
KEYS = ("model", "precision", "profile", "compute capability")  # of a row
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


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The page, in Markdown."""
    refused: dict[str, list[str]] = {}
    for row in rows:
        if "refused" in row:
            names = " ".join(row[key] for key in KEYS[:3])
            refused.setdefault(row["refused"], []).append(names)
    columns = {
        "layers": lambda own: f"{own[0]['layers']:,}",
        "build, s": lambda own: f"{own[0]['seconds']:.1f}",
        "file, MB": lambda own: f"{own[0]['megabytes']:.1f}",
        "memory, GB": lambda own: ", ".join(map(str, own[0]["gigabytes_needed"])),
        "FP32 / FP16 tensors": lambda own: " / ".join(
            str(own[0]["tensors"].get(kind, 0)) for kind in ("fp32", "fp16")
        ),
    }
    return "\n\n".join(
        [
            "# TensorRT-RTX engines of the shipped models",
            report.byline(about, nats=False),
            f"TensorRT-RTX {about['versions'][RTX.name]}. The engines were built without a GPU, "
            "one after the other. None was run. Layers are those of the parsed network. Memory is "
            "the need of each profile at its largest sizes; at run time an engine allocates for "
            "the sizes at hand. Tensors are those between the engine's kernels.",
            figures([row for row in rows if "layers" in row], KEYS, columns),
            "Refused builds:",
            "\n".join(f"- {why} ({'; '.join(names)})" for why, names in refused.items()),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "edge and a fixed shape alone")
    chosen = parser.parse_args(arguments)
    rows = []
    about = report.provenance(chosen.command, *map(Estimator, model_file.available()))
    about["versions"][RTX.name] = load(RTX).__version__
    with tempfile.TemporaryDirectory() as folder:
        for model, precision, profile, capabilities in cases(chosen.quick):
            names = model, precision, profile, ", ".join(capabilities)
            print(*names, file=sys.stderr)
            file = Path(model)
            if precision == "fp16":
                file = Path(folder) / f"{model}-fp16.onnx"
                if not file.exists():
                    file.write_bytes(fp16.halved(model_file.load(model).bytes)[0])
            row = dict(zip(KEYS, names, strict=True))
            rows.append(row | measure(file, precision, profile, capabilities))
    report.save(chosen.out, "engines", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
