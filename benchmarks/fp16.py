"""Error of emulated FP16: all FP16 tensors rounded, against the same model in FP32.

    python -m benchmarks.fp16 build/bmi                           # -> results/fp16.*

The emulation rounds where an engine rounds (fp16_emulation.py). Running sums of FP16 products are
rounded every 16 terms, which is the worst case of tensor cores. There are three kinds of input:
tasks of the BMI benchmark (samples of bmi_samples.py), recorded demonstrations of robots in 8
slices, and adversarial draws.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from infoatlas_export import fp16, fp16_emulation
from infoatlas_export.onnx import sealed
from infoatlas_rt import Estimator

from . import report
from .measure import figures

DATA = Path(__file__).parent / "tasks" / "data"
SIZES = (100, 1000, 5000)  # of the tasks
ADVERSARIAL_SIZES = (32, 50, 100, 300, 1000, 5000)
POOLED, LAG, MOMENTS = 3, 2, 6  # steps a window, steps apart, windows a demonstration
LEAST = 30  # demonstrations of a file
LIMIT = 0.02  # nats, on tasks and robots; adversarial inputs are compared with other seeds

Input = tuple[str, str, np.ndarray, np.ndarray, dict[str, int]]  # kind, name, x, y, options


def tasks(folder: Path, sizes: tuple[int, ...]) -> Iterator[Input]:
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as data:
            x, y = data["x"][0], data["y"][0]
        for n in sizes:
            yield "BMI", file.stem, x[:n], y[:n], {}


def demonstrations() -> Iterator[Input]:
    """States of all demonstrations at the same moments, pooled over a few steps."""
    for file in sorted(DATA.glob("*.npz")):
        with np.load(file) as data:
            states, lengths = data["states"], data["lengths"]
        if len(lengths) < LEAST:
            continue
        starts = np.cumsum(lengths) - lengths
        first, last = LAG, lengths.min() - POOLED
        for step in np.linspace(first, last, MOMENTS).astype(int):
            now = (starts[:, None] + step + np.arange(POOLED)).ravel()
            yield "robot", f"{file.stem} at {step}", states[now], states[now - LAG], {"slices": 8}


def adversarial(n: int) -> Iterator[Input]:
    """Copies, strong and no dependence, heavy tails, few values, extreme scales, unequal sides."""
    rng = np.random.default_rng(n)
    for d in (1, 2, 5):
        x = rng.normal(size=(n, d))
        noise = rng.normal(size=(n, d))
        heavy = rng.standard_t(1, size=(n, d))
        levels = rng.integers(0, 3, size=(n, d)).astype(float)
        draws = {
            "copy": (x, x),
            "noise 1e-6": (x, x + 1e-6 * noise),
            "noise 1e-3": (x, x + 1e-3 * noise),
            "noise 0.03": (x, x + 0.03 * noise),
            "independent": (x, noise),
            "Cauchy, noise 0.1": (heavy, heavy + 0.1 * noise),
            "Cauchy, common scale": (heavy[:, :1] * x, heavy[:, :1] * noise),
            "three levels, copy": (levels, levels),
            "three levels": (levels, (levels + (rng.random((n, d)) < 0.3)) % 3),
            "sine": (x, np.sin(6 * x) + 0.05 * noise),
            "scales 1e-9 and 1e9": (1e-9 * x, 1e9 * (x + 0.1 * noise)),
            "radius": (x, (x * x).sum(1, keepdims=True) + 0.01 * noise[:, :1]),
        }
        for name, (a, b) in draws.items():
            yield "adversarial", f"{name}, {d} + {b.shape[1]}", a, b, {}


def converted(content: bytes, folder: Path) -> tuple[Path, Path]:
    """The model in FP32, and the emulation of its FP16 graph, as files."""
    single, rounded = folder / "fp32.onnx", folder / "fp16.onnx"
    proto = onnx.load_from_string(content)
    half = fp16.mixed(proto, fp16.chosen(proto.graph))
    single.write_bytes(content)
    rounded.write_bytes(sealed(fp16_emulation.emulated(half)))
    return single, rounded


def compared(inputs: Iterator[Input], single: Path, rounded: Path) -> Iterator[dict[str, Any]]:
    """Both estimates of each input, and the largest difference of a slice."""
    made: dict[tuple[Path, str], Estimator] = {}
    for kind, name, x, y, options in inputs:
        found = []
        for path in (single, rounded):
            key = path, json.dumps(options)
            made.setdefault(key, Estimator(path, threads=1, **options))
            found.append(made[key].estimate(x, y))
        a, b = found
        values = np.concatenate([b.per_slice, b.pointwise, [b.mi, b.stderr]])
        yield {
            "kind": kind,
            "input": name,
            "n": len(x),
            "fp32": a.mi,
            "fp16": b.mi,
            "error": abs(a.mi - b.mi),
            "worst_slice": float(np.abs(a.per_slice - b.per_slice).max()),
            "stderr_error": abs(a.stderr - b.stderr),
            "finite": bool(np.isfinite(values).all()),
        }


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""

    def figure(key: str, of: Callable[[list[float]], float]) -> Callable[[list[Any]], str]:
        return lambda own: f"{of([row[key] for row in own]):.4f}"

    columns = {
        "count": lambda own: str(len(own)),
        "largest error": figure("error", max),
        "mean error": figure("error", lambda values: float(np.mean(values))),
        "largest error of a slice": figure("worst_slice", max),
        "largest error of stderr": figure("stderr_error", max),
        "finite": lambda own: "all" if all(row["finite"] for row in own) else "NOT ALL",
    }
    return "\n\n".join(
        [
            "# Error of emulated FP16",
            report.byline(about),
            "Nothing ran on a GPU. The emulation rounds to FP16 where [built "
            "engines](tensorrt.md#fp16) of `infoatlas-rt export --precision fp16` do, and also "
            "rounds the running sums of products. Errors are absolute differences from FP32: of "
            "the estimate, of a single slice, and of the standard error.",
            figures(sorted(rows, key=lambda row: row["n"]), ["model", "kind", "n"], columns),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "n to 1000 only", several=True)
    parser.add_argument("bmi", type=Path, help="folder of bmi_samples.py")
    chosen = parser.parse_args(arguments)
    most = 1000 if chosen.quick else 5000
    estimators = {name: Estimator(name, threads=1) for name in chosen.model}
    about = report.provenance(chosen.command, *estimators.values())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model, estimator in estimators.items():
            paths = converted(estimator.model_file.bytes, Path(folder))
            inputs = chain(
                tasks(chosen.bmi, tuple(n for n in SIZES if n <= most)),
                demonstrations(),
                *(adversarial(n) for n in ADVERSARIAL_SIZES if n <= most),
            )
            rows += [{"model": Path(model).stem, **row} for row in compared(inputs, *paths)]
    report.save(chosen.out, "fp16", about, rows, page(about, rows))
    worst = max(row["worst_slice"] for row in rows if row["kind"] != "adversarial")
    if not (worst <= LIMIT and all(row["finite"] for row in rows)):
        raise SystemExit(f"FP16 is off by more than {LIMIT} nats, or not finite")


if __name__ == "__main__":
    main()
