"""Measures the duration of an update, with the statistics of trtexec."""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import numpy as np

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..estimation.result import Estimate
from ..inputs.checks import as_count
from .board import Board

WARM_UP = 0.2  # seconds
DURATION = 3.0  # seconds, at least
ITERATIONS = 10  # at least, unless they last longer than
LONGEST = 60.0  # seconds for each estimator; one update is then enough, also that of the warm-up
STAGES = ("slicing", "preprocessing", "inference", "total")


@dataclass(frozen=True)
class Times:
    """Statistics of one stage, in milliseconds; `cv` is the coefficient of variation."""

    mean: float
    median: float
    p90: float
    p95: float
    p99: float
    min: float
    max: float
    cv: float


@dataclass(frozen=True)
class Report:
    """Results of a measurement, with settings and machine."""

    # "slicing" (checks, standardising, projections), "preprocessing" (ranks to canonical form),
    # "inference" (the graph), "total" (a call of `Estimator.estimate`).
    stages: dict[str, Times]
    throughput: float  # updates (data sets) per second
    iterations: int
    samples: int
    dims: tuple[int, int]
    slices: int
    k: int | None
    provider: str
    model: str
    threads: int
    # On a GPU, the parts of "inference": "copy_in", "compute", "copy_out". They are measured by
    # CUDA events in a TensorRT engine, by the host's clock in ONNX Runtime. Empty on the CPU.
    transfers: dict[str, Times]
    # Of the process, including Python and libraries; None if the system does not report it.
    peak_memory_mb: float | None
    gpu_memory_mb: float | None  # in use by all processes, after the last update
    # Energy per update of the GPU, or of a Jetson's input rail, which includes the rest of the
    # board. None if several estimators took turns.
    millijoules: float | None
    # Processes that wanted to run before the measurement, for each core (mean over a minute); None
    # if the system does not report it.
    load: float | None
    interrupted: bool  # by Ctrl-C, so there may be fewer updates
    machine: str
    gpu: str | None
    versions: dict[str, str]


def statistics(seconds: Sequence[float]) -> Times:
    """Statistics of durations in ms; a percentile is sorted[max(n - 1 - int((1 - p/100) n), 0)]."""
    times = np.sort(np.asarray(seconds, np.float64)) * 1e3
    n, mean = len(times), float(times.mean())

    def percentile(p: int) -> float:
        return float(times[max(n - 1 - int((1 - p / 100) * n), 0)])

    return Times(
        mean=mean,
        median=float(np.median(times)),
        p90=percentile(90),
        p95=percentile(95),
        p99=percentile(99),
        min=float(times[0]),
        max=float(times[-1]),
        cv=float(times.std()) / mean if mean > 0 else 0.0,
    )


def measure(
    estimators: Sequence[Estimator],
    *,
    samples: int = 100,
    dims: tuple[int, int] = (41, 41),
    duration: float = DURATION,
    progress: Callable[[float], None] | None = None,
) -> list[Report]:
    """Time updates of estimators on data like a robot's (autoregressive, linearly dependent).

    Several estimators take turns, update by update. Other load on the machine slows all of them, so
    ratios are reliable even if times are not. The default of `dims` is that of PickCube, for a
    state and its past. `duration` is the shortest measurement of each estimator in seconds, after a
    warm-up of 0.2 s. There are at least 10 updates, unless these last longer than a minute for each
    estimator. Ctrl-C ends the measurement: estimators without an update have no report, and it is
    raised if none has one. `progress` is called with the completed share, 0 to 1.
    """
    if not 0 < duration < np.inf:
        raise InputError(f"duration is {duration!r}, but has to be seconds above 0")
    x, y = _data(as_count(samples, "samples", 1), as_count(dims[0], "dims", 1), dims[1])
    estimates: list[Estimate] = []
    records: list[dict[str, list[float]]] = [{} for _ in estimators]
    transfers: list[dict[str, list[float]]] = [{} for _ in estimators]
    board, load, interrupted = Board(), _load(), False
    energy = board.energy()
    longest = max(duration, LONGEST) * len(estimators)
    duration *= len(estimators)

    def update(i: int) -> Estimate:
        begin = perf_counter()
        found = estimators[i].estimate(x, y, time_series=True)
        seconds = estimators[i].seconds | {"total": perf_counter() - begin}
        for stage in STAGES:
            records[i].setdefault(stage, []).append(seconds[stage])
        for part, milliseconds in estimators[i].backend.milliseconds.items():
            transfers[i].setdefault(part, []).append(milliseconds / 1e3)
        return found

    start = perf_counter()
    with energy:
        try:
            for i in range(len(estimators)):
                end = perf_counter() + WARM_UP
                estimates.append(update(i))
                while perf_counter() < end:
                    update(i)
            if perf_counter() - start < longest:  # otherwise the warm-up is the measurement
                for times in (*records, *transfers):
                    times.clear()
                start = perf_counter()
            while True:
                spent, done = perf_counter() - start, len(records[-1].get("total", ()))
                share = max(min(spent / duration, done / ITERATIONS), spent / longest * (done > 0))
                if progress is not None:
                    progress(min(share, 1.0))
                if share >= 1:
                    break
                for i in range(len(estimators)):
                    update(i)
        except KeyboardInterrupt:
            if not any(records):
                raise
            interrupted = True
    joules = energy.joules if len(estimators) == 1 else None
    reports = []
    for i, estimator in enumerate(estimators):
        if not records[i]:
            continue
        stages = {stage: statistics(times) for stage, times in records[i].items()}
        count = len(records[i]["total"])
        reports.append(
            Report(
                stages=stages,
                throughput=1e3 / stages["total"].mean,
                iterations=count,
                samples=samples,
                dims=dims,
                slices=estimates[i].slices,
                k=estimates[i].k,
                provider=estimates[i].provider,
                model=estimates[i].model,
                threads=estimator.backend.threads,
                transfers={part: statistics(times) for part, times in transfers[i].items()},
                peak_memory_mb=_peak_memory_mb(),
                gpu_memory_mb=board.memory_mb(),
                millijoules=None if joules is None else 1e3 * joules / count,
                load=load,
                interrupted=interrupted,
                machine=processor(),
                gpu=board.name,
                versions=_versions(),
            )
        )
    return reports


def _data(n: int, dx: int, dy: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a process, and of the same process two steps before."""
    rng = np.random.default_rng(0)
    walk = np.zeros((n + 2, max(dx, as_count(dy, "dims", 1))))
    mix = rng.standard_normal((walk.shape[1], walk.shape[1])) / np.sqrt(walk.shape[1])
    for t in range(1, len(walk)):
        walk[t] = 0.9 * walk[t - 1] + mix @ rng.standard_normal(walk.shape[1])
    return walk[2:, :dx], walk[:-2, :dy]


def _peak_memory_mb() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _load() -> float | None:
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # Windows
        return None


def processor() -> str:
    """Name of the processor."""
    file = Path("/proc/cpuinfo")  # of Linux
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return [*names, platform.processor() or platform.machine()][0]


def _versions() -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    engines = "onnxruntime", "onnxruntime-gpu", "tensorrt", "tensorrt-rtx-cu12-bindings"
    for name in ("infoatlas-rt", "numpy", *engines):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
