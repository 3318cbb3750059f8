"""Learned localisers of key states with several estimates of mutual information, and peers.

    python -m benchmarks.localiser                  # -> benchmarks/results/localiser.*

The localiser is `infoatlas_train.localiser.fit`. Its arms differ only in the estimate of mutual
information. `benchmarks/keystates/scoring.py` scores all key states. The weight of the information
(0.3, from 0.3, 1 and 4) was chosen on PushCube, with ours and the Gaussian copula.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from time import perf_counter, process_time
from typing import Any

import torch
from torch import Tensor

from infoatlas_rt import Estimator
from infoatlas_train.localiser import STEPS, Information, fit, ours

from . import report
from .keystates.ours import AUTO, find_kinds
from .keystates.scoring import score
from .measure import figures, grid, mean, pick
from .peers.keystate_finders import PEERS
from .peers.trained import LEARNING_RATE, mlp
from .report import number
from .tasks.demonstrations import TASKS, Demonstrations, load

K, LAG = 5, 2
EVENLY = "evenly spaced"
# Of objectives in place of our estimate: functions of pooled pairs x, y [n, d] and the number of
# the step, which give nats with gradients.
SHRINKAGE = 0.1  # of the covariance, to the identity: there are more coordinates than pairs
SOFTNESS = 0.1  # standard deviations over which a rank is smoothed


def mine(steps: int) -> Callable[[Tensor, Tensor, int], Tensor]:
    """A critic, trained for `steps` steps at every step of the localiser, and then constant.

    As in the paper ("MINE-100 denotes training MINE for 100 iterations"). All pairs are one
    batch, and the product of marginals permutes them anew in each iteration.
    """

    def information(x: Tensor, y: Tensor, step: int) -> Tensor:
        generator = torch.Generator().manual_seed(step)
        critic = mlp(x.shape[1] + y.shape[1], 1, generator)
        optimiser = torch.optim.Adam(critic.parameters(), lr=LEARNING_RATE)

        def bound(x: Tensor, y: Tensor) -> Tensor:
            other = y[torch.randperm(len(y), generator=generator)]
            joint = critic(torch.cat([x, y], 1)).mean()
            product = critic(torch.cat([x, other], 1))[:, 0]
            return joint - torch.logsumexp(product, 0) + torch.log(torch.tensor(float(len(y))))

        fixed = x.detach(), y.detach()
        for _ in range(steps):
            optimiser.zero_grad()
            (-bound(*fixed)).backward()
            optimiser.step()
        return bound(x, y)

    return information


def gaussian_copula(x: Tensor, y: Tensor, step: int) -> Tensor:
    """Gaussian mutual information of the normal scores of soft ranks, covariance shrunk."""
    both = torch.cat([x, y], 1)
    scaled = (both - both.mean(0)) / (both.std(0) + 1e-6)
    above = torch.sigmoid((scaled[:, None] - scaled[None]) / SOFTNESS)  # [n, n, d]
    scores = torch.special.ndtri(above.mean(1).clamp(1e-3, 1 - 1e-3))
    scores = (scores - scores.mean(0)) / (scores.std(0) + 1e-3)
    covariance = (1 - SHRINKAGE) * scores.T @ scores / len(both)
    covariance = covariance + SHRINKAGE * torch.eye(len(covariance))
    d = x.shape[1]
    sides = torch.logdet(covariance[:d, :d]) + torch.logdet(covariance[d:, d:])
    return 0.5 * (sides - torch.logdet(covariance))


ARMS: dict[str, Information | None] = {
    "localiser, order alone": None,
    "localiser, Gaussian copula": gaussian_copula,
    "localiser, MINE-100": mine(100),
    "localiser, MINE-1000": mine(1000),
    "localiser, ours": ours,
}
SLOW = "localiser, MINE-1000"
TASK_NAMES = tuple(name for name, task in TASKS.items() if not task.people)

Row = dict[str, Any]


def measure(task: str, demos: Demonstrations, arms: Sequence[str], steps: int) -> Iterator[Row]:
    """A row for `discover_keystates`, for evenly spaced steps, and for each arm."""
    ways: dict[str, Callable[[], Any]] = {
        AUTO: lambda: find_kinds(demos, K)[0],
        EVENLY: lambda: PEERS[EVENLY].find(demos, K),
    }
    for name in arms:
        ways[name] = lambda n=name: fit(demos.trajectories, K, LAG, ARMS[n], steps=steps)[0]
    for name, find in ways.items():
        wall, cpu = perf_counter(), process_time()
        found = find()
        seconds, cpu_seconds = perf_counter() - wall, process_time() - cpu
        row = {"task": task, "method": name, "steps": steps, "seconds": seconds}
        yield {**row, "cpu_seconds": cpu_seconds, **scored(demos, found)}
        print(f"{task}, {name}: {cpu_seconds:.0f} s of CPU", flush=True)


def scored(demos: Demonstrations, found: Sequence[Any]) -> Row:
    values = asdict(score(list(found), demos.times, demos.lengths, demos.events, demos.rate))
    kept = ("error", "recall", "recall_5_steps", "recall_se")
    return {name: values[name] for name in kept}


def page(about: Row, rows: list[Row]) -> str:
    def cell(own: list[Row]) -> str:
        return f"{number(own[0]['error'])} / {number(own[0]['recall'], 2)}" if own else ""

    def both(own: list[Row]) -> str:
        return f"{number(mean(own, 'error'))} / {number(mean(own, 'recall'), 2)}"

    titles = {name: task.title + " \\*" * task.chosen_on for name, task in TASKS.items()}
    shown = [{**row, "task": titles[row["task"]]} for row in rows]
    seconds = {"CPU time, s": lambda own: number(mean(own, "cpu_seconds"), 1)}
    kept = [row for row in rows if not TASKS[row["task"]].chosen_on]
    most = len({row["task"] for row in kept})
    means = [row for row in kept if len(pick(kept, method=row["method"])) == most]
    parts = [
        "# Learned localisers of key states with several estimates of mutual information",
        report.byline(about, nats=False),
        "Cells: mean error as a fraction of the demonstration / recall within 0.05 of it. "
        f"K = {K}, lag {LAG}, one seed, {about['optimiser']} steps of the optimiser in every arm. "
        "MINE is trained again at every step.",
        "The weight of the information was chosen on PushCube as 0.3: from 0.3 and 4 with ours, "
        f"from 0.3 and 1 with the Gaussian copula. Settings of `{AUTO}` were chosen on all tasks. "
        "CPU time is the mean over tasks. Empty cells were not run.",
        grid(shown, ["method"], "task", cell, last=seconds),
    ]
    if means:
        parts += [
            "Mean over the tasks without a star:",
            figures(means, ["method"], {"error / recall": both}),
        ]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "one task, 12 demonstrations, 3 steps")
    parser.add_argument("--tasks", nargs="+", default=list(TASK_NAMES), choices=TASK_NAMES)
    parser.add_argument(
        "--slow", nargs="*", default=[], choices=TASK_NAMES, help="tasks with MINE-1000 too"
    )
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    about = report.provenance(chosen.command, Estimator(chosen.model, threads=1))
    about["units"] = "fractions of a trajectory, seconds"
    about["optimiser"] = steps = 3 if chosen.quick else STEPS
    rows: list[Row] = []
    for task in ["push"] if chosen.quick else chosen.tasks:
        demos = load(task, 12 if chosen.quick else None)
        names = [name for name in ARMS if name != SLOW or task in chosen.slow]
        rows += measure(task, demos, names, steps)
        report.save(chosen.out, "localiser", about, rows, page(about, rows))  # as far as it is


if __name__ == "__main__":
    main()
