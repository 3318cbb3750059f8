"""Cost of a gradient of the mutual information, beside two other losses of dependence.

    python -m benchmarks.gradients          # -> benchmarks/results/gradients.*
    python -m benchmarks.gradients --quick --out build/results

`infoatlas_train.differentiable.mutual_information` is a loss that needs no trained critic. There
are two peers. InfoNCE (van den Oord et al., 2018) has a critic of two layers of 64 units a side,
which is updated at each step. The biased HSIC (Gretton et al., 2005) with Gaussian kernels of
median width is not an information, but is zero only for independent sides. A step computes the loss
and its gradient with respect to both sides; a step of InfoNCE also updates its critic.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from infoatlas_train.differentiable import mutual_information

from . import report
from .measure import load_models
from .report import duration, table

Loss = Callable[[Tensor, Tensor], Tensor]
SLICES = 40
WIDTHS = {0: 3, SLICES: 10}  # slices -> coordinates of a side
SIZES = (64, 256, 1000)
THREADS = (1, 2)
RHO = 0.7
OURS = "infoatlas-rt {model}"
INFONCE, HSIC = "InfoNCE, a step of its critic too", "HSIC"


def ours(model: str, slices: int) -> Loss:
    return partial(mutual_information, k=5, slices=slices or SLICES, model=model)


class InfoNCE:
    """The bound log n - cross-entropy of a separable critic, which is updated at each step."""

    def __init__(self, d: int) -> None:
        torch.manual_seed(0)
        sides = (nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 64)) for _ in range(2))
        self.sides = nn.ModuleList(sides)
        self.optimiser = torch.optim.Adam(self.sides.parameters(), lr=1e-3)

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        scores = self.sides[0](x) @ self.sides[1](y).mT
        return np.log(len(x)) - nn.functional.cross_entropy(scores, torch.arange(len(x)))

    def step(self) -> None:
        for parameter in self.sides.parameters():
            parameter.grad.neg_()  # type: ignore[union-attr]  # the critic maximises the bound
        self.optimiser.step()
        self.optimiser.zero_grad()


def hsic(x: Tensor, y: Tensor) -> Tensor:
    """tr(K H L H) / n^2 of Gaussian kernels K, L and the centring matrix H."""

    def kernel(v: Tensor) -> Tensor:
        apart = (v[:, None] - v).square().sum(-1)
        return torch.exp(-apart / apart.detach().median().clamp(min=1e-12))

    k, l_ = kernel(x), kernel(y)
    centred = k - k.mean(0) - k.mean(1, keepdim=True) + k.mean()
    return (centred * l_).mean()


def sides(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    """Gaussian x, y [n, d] of correlation RHO, coordinate by coordinate."""
    x, noise = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, n, d))).float()
    return x, RHO * x + (1 - RHO**2) ** 0.5 * noise


def measured(loss: Loss, n: int, d: int, gradient: bool, calls: int) -> dict[str, float]:
    """Least wall and process time of several calls in seconds, after a warm-up call."""
    walls, processes = [], []
    for seed in range(calls + 1):
        x, y = (v.requires_grad_(gradient) for v in sides(n, d, seed))
        wall, process = time.perf_counter(), time.process_time()
        with torch.set_grad_enabled(gradient):
            value = loss(x, y)
            if gradient:
                value.backward()
                if isinstance(loss, InfoNCE):
                    loss.step()
        walls.append(time.perf_counter() - wall)
        processes.append(time.process_time() - process)
    return {"seconds": min(walls[1:]), "process_seconds": min(processes[1:])}


def rows_of(
    model: str,
    sizes: tuple[int, ...],
    slices: tuple[int, ...],
    threads: tuple[int, ...],
    calls: int,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    before = torch.get_num_threads()
    try:
        for count in threads:
            torch.set_num_threads(count)
            for s in slices:
                for n in sizes:
                    d = WIDTHS[s]
                    losses = {OURS.format(model=model): ours(model, s)}
                    losses |= {INFONCE: InfoNCE(d), HSIC: hsic}
                    for name, loss in losses.items():
                        label = {"loss": name, "n": n, "d": d, "slices": s, "threads": count}
                        few = 1 if s and n > 500 else calls
                        for gradient in (False, True):
                            times = measured(loss, n, d, gradient, few)
                            rows.append({**label, "gradient": gradient, **times})
    finally:
        torch.set_num_threads(before)
    return rows


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in (row for row in rows if row["gradient"]):
        same = {key: row[key] for key in ("loss", "n", "slices", "threads")}
        forward = next(
            r for r in rows if not r["gradient"] and all(r[k] == v for k, v in same.items())
        )
        lines.append([
            row["loss"], str(row["d"]), str(row["slices"] or "none"), str(row["n"]),
            str(row["threads"]), duration(forward["process_seconds"]), duration(forward["seconds"]),
            duration(row["process_seconds"]), duration(row["seconds"]),
        ])  # fmt: skip
    heads = ["loss", "coordinates a side", "slices", "n", "threads",
             "value, process time", "value, wall time",
             "value and gradient, process time", "value and gradient, wall time"]  # fmt: skip
    return "\n\n".join([
        "# Cost of gradients",
        "Least time of several calls, for the value alone and for the value with its gradient with "
        "respect to both sides. Process time is summed over threads and changes little with other "
        "work on the machine; wall time is an upper bound. All losses of a setting get the same "
        "samples, which change from call to call. HSIC is not an information. InfoNCE trains a "
        "critic, which needs hundreds of steps to be useful.",
        report.byline(about, nats=False),
        table(heads, lines),
    ])  # fmt: skip


def main(arguments: list[Any] | None = None) -> None:
    options = report.Options(
        "benchmarks.gradients", __doc__ or "", "n = 64 alone, one thread", several=False
    )
    chosen = options.parse_args(arguments)
    estimator = load_models([chosen.model])
    about = report.provenance(chosen.command, *estimator.values())
    if chosen.quick:
        rows = rows_of(chosen.model, SIZES[:1], (0, SLICES), THREADS[:1], 2)
    else:
        rows = rows_of(chosen.model, SIZES, (0, SLICES), THREADS, 6)
    report.save(chosen.out, "gradients", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
