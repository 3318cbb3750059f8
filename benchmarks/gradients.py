"""Cost of a gradient of the mutual information, beside two other losses of dependence.

    python -m benchmarks.gradients          # -> benchmarks/results/gradients.*

`infoatlas_train.differentiable.mutual_information` is a loss that needs no trained critic. There
are two peers. InfoNCE (van den Oord et al., 2018) has a critic of two layers of 64 units a side,
which is updated at each step. The biased HSIC (Gretton et al., 2005) with Gaussian kernels of
median width is not an information, but is zero only for independent sides. A step computes the loss
and its gradient with respect to both sides; a step of InfoNCE also updates its critic.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from infoatlas_train.differentiable import mutual_information

from . import report
from .measure import figures, load_models, pick
from .report import duration

Loss = Callable[[Tensor, Tensor], Tensor]
SLICES = 40
WIDTHS = {0: 3, SLICES: 10}  # slices -> coordinates of a side
SIZES = (64, 256, 1000)
THREADS = (1, 2)
RHO = 0.7
INFONCE, HSIC = "InfoNCE, a step of its critic too", "HSIC"


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


def measure(
    model: str, sizes: Sequence[int], threads: Sequence[int], calls: int
) -> list[dict[str, Any]]:
    """A row for each number of threads, width, size and loss, with and without the gradient."""
    rows: list[dict[str, Any]] = []
    before = torch.get_num_threads()
    try:
        for count, (s, d), n in product(threads, WIDTHS.items(), sizes):
            torch.set_num_threads(count)
            own = partial(mutual_information, k=5, slices=s or SLICES, model=model)
            losses = {f"infoatlas-rt {model}": own, INFONCE: InfoNCE(d), HSIC: hsic}
            few = 1 if s and n > 500 else calls
            for (name, loss), gradient in product(losses.items(), (False, True)):
                label = {"loss": name, "n": n, "d": d, "slices": s, "threads": count}
                times = measured(loss, n, d, gradient, few)
                rows.append({**label, "gradient": gradient, **times})
    finally:
        torch.set_num_threads(before)
    return rows


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    columns = {
        f"value{' and gradient' * gradient}, {name} time": (
            lambda own, g=gradient, key=key: duration(pick(own, gradient=g)[0][key])
        )
        for gradient in (False, True)
        for name, key in (("process", "process_seconds"), ("wall", "seconds"))
    }
    shown = [
        {**row, "coordinates a side": row["d"], "slices": row["slices"] or "none"} for row in rows
    ]
    return "\n\n".join(
        [
            "# Cost of gradients",
            "Least time of several calls, for the value alone and for the value with its gradient "
            "with respect to both sides. Process time is summed over threads and changes little "
            "with other work on the machine; wall time is an upper bound. All losses of a setting "
            "get the same samples, which change from call to call. HSIC is not an information. "
            "InfoNCE trains a critic, which needs hundreds of steps to be useful.",
            report.byline(about, nats=False),
            figures(shown, ["loss", "coordinates a side", "slices", "n", "threads"], columns),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "n = 64 alone, one thread")
    chosen = parser.parse_args(arguments)
    about = report.provenance(chosen.command, *load_models([chosen.model]).values())
    sizes, threads, calls = (SIZES[:1], THREADS[:1], 2) if chosen.quick else (SIZES, THREADS, 6)
    rows = measure(chosen.model, sizes, threads, calls)
    report.save(chosen.out, "gradients", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
