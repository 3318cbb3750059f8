"""Time for the mutual information of the paper's Table 2: T = 200, n = 100, d = 100.

    python -m benchmarks.table2_time               # -> benchmarks/results/table2_time.*

I(s_t; s_t-2) at 200 timesteps, each over 100 trajectories of 100-dimensional states. Ours is the
curve in 40 and in 25 slices, also with the native engine and with CUDA where they are installed,
and with an executor where there are cores for it. The peer is MINE, trained at each timestep for
100 and for 1,000 steps. The states are autoregressive and Gaussian; times do not depend on them.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch

from infoatlas_rt import Estimator
from infoatlas_rt.backends.onnxruntime import has_cuda
from infoatlas_rt.cli.board import Board
from infoatlas_tools import Trajectories, mi_curve

from . import report
from .peers.trained import mine
from .report import number

T, N, D, LAG = 200, 100, 100, 2
LIMIT = 180.0  # seconds; a method that needs more is measured on fewer timesteps
PAPER = {"ours, 25 slices": 2.17, "MINE-100": 0.62, "MINE-1000": 6.01}  # seconds on an H800
NATIVE, CUDA = ", native engine", ", CUDA"
WORKERS = 4  # threads of the executor

Row = dict[str, Any]


def states(timesteps: int) -> Trajectories:
    """N trajectories of `timesteps` pairs each: x_t = 0.9 x_t-1 + noise."""
    rng = np.random.default_rng(0)
    x = np.zeros((N, timesteps + LAG, D))
    x[:, 0] = rng.standard_normal((N, D))
    for t in range(1, x.shape[1]):
        x[:, t] = 0.9 * x[:, t - 1] + np.sqrt(0.19) * rng.standard_normal((N, D))
    return Trajectories(x.reshape(-1, D), np.full(N, x.shape[1]))


def measured(method: str, work: Callable[[int], Any], timesteps: int, probe: int) -> Row:
    """Seconds for all timesteps, extrapolated from a few if all would need too long."""
    work(1)  # warm-up
    wall, cpu = perf_counter(), process_time()
    work(probe)
    each = (perf_counter() - wall) / probe
    done = timesteps if each * timesteps < LIMIT else probe
    if done > probe:
        wall, cpu = perf_counter(), process_time()
        work(done)
    share = timesteps / done
    row = {"method": method, "timesteps": timesteps, "measured_on": done}
    seconds = (perf_counter() - wall) * share
    return {**row, "seconds": seconds, "cpu_seconds": (process_time() - cpu) * share}


def curve(model: str, slices: int, provider: str, workers: int) -> Callable[[int], Any]:
    estimator = Estimator(model, k=5, slices=slices, threads=2, provider=provider)
    pool = ThreadPoolExecutor(workers) if workers > 1 else None
    return lambda count: mi_curve(states(count), estimator, lag=LAG, mode="raw", executor=pool)


def trained(steps: int) -> Callable[[int], Any]:
    def work(count: int) -> None:
        x = states(count).states.reshape(N, count + LAG, D)
        for t in range(LAG, count + LAG):
            mine(x[:, t], x[:, t - LAG], steps=steps)

    return work


def page(about: Row, rows: list[Row]) -> str:
    def line(row: Row) -> list[str]:
        part = "" if row["measured_on"] == row["timesteps"] else f"{row['measured_on']} timesteps"
        paper = PAPER.get(", ".join(row["method"].split(", ")[:2]))
        return [
            row["method"],
            number(row["seconds"], 1),
            number(row["cpu_seconds"], 1),
            part or "all",
            "" if paper is None else number(paper, 2),
        ]

    gpu = about["machine"]["gpu"]
    headers = ["method", "seconds", "CPU seconds", "measured timesteps", "paper, H800, seconds"]
    return "\n\n".join(
        [
            "# Time for the mutual information of the paper's Table 2",
            report.byline(about, nats=False),
            f"T = {rows[0]['timesteps']} timesteps, n = {N}, d = {D}, k = 5. Our curve uses two "
            f"threads{'' if gpu is None else f', with CUDA one {gpu}'}. MINE "
            "(`benchmarks/peers/trained.py`) uses one, because two are slower, and is trained from "
            "a new initialisation at each timestep. Where fewer timesteps were measured, the "
            "seconds are extrapolated from them.",
            report.table(headers, map(line, rows)),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "4 timesteps")
    chosen = parser.parse_args(arguments)
    timesteps, probe = (4, 1) if chosen.quick else (T, 5)
    torch.set_num_threads(1)  # these networks are small: two threads are slower
    about = report.provenance(chosen.command, Estimator(chosen.model, threads=2))
    about["units"] = "seconds"
    about["machine"]["gpu"] = Board().name
    engines = {"": "cpu"} | ({NATIVE: "native"} if find_spec("infoatlas_native") else {})
    engines |= {CUDA: "cuda"} if has_cuda() else {}
    works = {
        f"ours, {slices} slices{name}{f', {workers} workers' * (workers > 1)}": curve(
            chosen.model, slices, provider, workers
        )
        for slices in (40, 25)
        for name, provider in engines.items()
        for workers in ((1, WORKERS) if (os.cpu_count() or 1) > 2 * WORKERS else (1,))
    }
    works |= {f"MINE-{n}": trained(n) for n in ((5, 10) if chosen.quick else (100, 1000))}
    rows = [measured(method, work, timesteps, probe) for method, work in works.items()]
    report.save(chosen.out, "table2_time", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
