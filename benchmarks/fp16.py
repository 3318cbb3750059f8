"""Error of emulated FP16: all FP16 tensors rounded, against the same model in FP32.

    python -m benchmarks.fp16 build/bmi                           # -> results/fp16.*
    python -m benchmarks.fp16 build/bmi --quick --out build/results

The emulation rounds where an engine rounds (fp16_emulation.py). Running sums of FP16 products are
rounded every 16 terms, which is the worst case of tensor cores. There are three kinds of input:
tasks of the BMI benchmark (samples of bmi_samples.py), recorded demonstrations of robots in 8
slices, and adversarial draws.
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from infoatlas_export import fp16, fp16_emulation
from infoatlas_export.onnx import sealed
from infoatlas_rt import Estimator

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent / "tasks" / "data"
SIZES = (100, 1000, 5000)  # of the tasks
ADVERSARIAL_SIZES = (32, 50, 100, 300, 1000, 5000)
POOLED, LAG, MOMENTS = 3, 2, 6  # steps a window, steps apart, windows a demonstration
LEAST = 30  # demonstrations of a file
LIMIT = 0.02  # nats, on tasks and robots; adversarial inputs are compared with other seeds
SEEDS = range(1, 8)

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
        # Near a discontinuity of the readout any rounding changes it, and so does another shuffle.
        seeds = [a.mi]
        if abs(a.mi - b.mi) > LIMIT:
            others = (Estimator(single, threads=1, seed=seed, **options) for seed in SEEDS)
            seeds += [estimator.estimate(x, y).mi for estimator in others]
        yield {
            "kind": kind,
            "input": name,
            "n": len(x),
            "fp32": a.mi,
            "fp16": b.mi,
            "error": abs(a.mi - b.mi),
            "worst_slice": float(np.abs(a.per_slice - b.per_slice).max()),
            "fp32_by_seed": seeds,
            "stderr_error": abs(a.stderr - b.stderr),
            "finite": bool(np.isfinite(values).all()),
        }


def page(about: dict[str, Any], rows: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "# Error of emulated FP16",
        "",
        f"`{about['command']}`, {about['date']}, {about['machine']}, ONNX Runtime "
        f"{about['onnxruntime']} on the CPU. Nothing ran on a GPU. The emulation rounds to FP16 "
        "where [built engines](tensorrt.md#fp16) of `infoatlas-rt export --precision fp16` do, and "
        "also rounds the running sums of products. Errors are absolute differences from FP32 in "
        "nats: of the estimate, of a single slice, and of the standard error.",
        "",
        "| model | inputs | n | count | largest |error| | mean |error| | largest |error| of a "
        "slice "
        "| largest |error| of stderr | finite |".replace("|error|", "\\|error\\|"),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model, found in rows.items():
        for kind in dict.fromkeys(row["kind"] for row in found):
            for n in sorted({row["n"] for row in found if row["kind"] == kind}):
                some = [row for row in found if row["kind"] == kind and row["n"] == n]
                errors, slices, stderr = (
                    [row[key] for row in some] for key in ("error", "worst_slice", "stderr_error")
                )
                lines.append(
                    f"| {model} | {kind} | {n} | {len(some)} | {max(errors):.4f} | "
                    f"{np.mean(errors):.4f} | {max(slices):.4f} | {max(stderr):.4f} | "
                    f"{'all' if all(row['finite'] for row in some) else 'NOT ALL'} |"
                )
    lines += ["", "The three inputs of each model with the largest error of a slice:", ""]
    for model, found in rows.items():
        for row in sorted(found, key=lambda row: -row["worst_slice"])[:3]:
            lines.append(
                f"- {model}, {row['kind']} {row['input']}, n = {row['n']}: {row['fp32']:.4f} in "
                f"FP32, {row['fp16']:.4f} in FP16; error of a slice {row['worst_slice']:.4f}"
                + seeds(row)
            )
    return "\n".join(lines) + "\n"


def seeds(row: dict[str, Any]) -> str:
    """Range of FP32 estimates over shuffles of the same samples, if measured."""
    values = row["fp32_by_seed"]
    if len(values) == 1:
        return ""
    return f"; FP32 with {len(values)} seeds: {min(values):.4f} to {max(values):.4f}"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("bmi", type=Path, help="folder of bmi_samples.py")
    p.add_argument("--model", nargs="+", default=["edge"], help="models with named nodes")
    p.add_argument("--quick", action="store_true", help="n to 1000 only")
    p.add_argument("--out", type=Path, default=RESULTS)
    arguments = p.parse_args()
    most = 1000 if arguments.quick else 5000
    rows = {}
    files = {name: Estimator(name).model_file for name in arguments.model}
    with tempfile.TemporaryDirectory() as folder:
        for model, file in files.items():
            paths = converted(file.bytes, Path(folder))
            print(f"{file.name} {file.version}", flush=True)

            def inputs() -> Iterator[Input]:
                yield from tasks(arguments.bmi, tuple(n for n in SIZES if n <= most))
                yield from demonstrations()
                for n in ADVERSARIAL_SIZES:
                    if n <= most:
                        yield from adversarial(n)

            rows[Path(model).stem] = list(compared(inputs(), *paths))
    import onnxruntime

    shown = [f"--model {' '.join(arguments.model)}"] + ["--quick"] * arguments.quick
    about = {
        "command": f"python -m benchmarks.fp16 build/bmi {' '.join(shown)}",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{platform.machine()}, 2 virtual cores of a shared host",
        "onnxruntime": onnxruntime.__version__,
        "models": {Path(name).stem: file.sha256 for name, file in files.items()},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    content = {"about": about, "rows": rows}
    (arguments.out / "fp16.json").write_text(json.dumps(content, indent=1) + "\n")
    (arguments.out / "fp16.md").write_text(page(about, rows), encoding="utf-8")
    worst = max(
        row["worst_slice"]
        for found in rows.values()
        for row in found
        if row["kind"] != "adversarial"
    )
    finite = all(row["finite"] for found in rows.values() for row in found)
    print(f"tasks and robots: largest error of a slice {worst:.4f} nats; all finite: {finite}")
    if not (worst <= LIMIT and finite):
        raise SystemExit(f"FP16 is off by more than {LIMIT} nats, or not finite")


if __name__ == "__main__":
    main()
