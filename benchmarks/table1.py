"""Table 1 of the InfoAtlas paper: eight BMI tasks at n = 5000, error and time of each estimator.

    python -m benchmarks.table1             # build/bmi -> benchmarks/results/table1.*

The peers are classical estimators and estimators that are trained for each data set. All run in
this process, one after another. The samples are written by bmi_samples.py.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import intervals, report
from .measure import Row, as_json, load_models, mean_absolute_bias, mean_time, measure, names, pick
from .peers import CLASSICAL, Score
from .peers.trained import infonce, knife, mine
from .report import number, table
from .tasks.bmi_files import EIGHT, load_cases

SIZE = 5000
# InfoAtlas (ICML 2026), Table 1, as published: means over 10 seeds at n = 5000, and seconds on a
# single H800 and an 8-core Xeon 8480C.
PUBLISHED_TRUTH = (0.59, 1.02, 0.45, 0.18, 1.02, 1.02, 1.71, 0.41)
PUBLISHED = {
    "KSG": ((0.54, 0.75, 0.25, 0.07, 0.79, 0.58, 1.61, 0.41), 0.13),
    "KDE": ((1.59, 2.87, 2.43, 2.36, 1.17, 2.23, 2.94, 1.23), 2.04),
    "MINE": ((0.60, 1.00, 0.53, 0.21, 1.03, 1.06, 1.63, 0.39), 25.9),
    "MINE-5s": ((0.60, 0.90, 0.33, 0.15, 0.93, 1.06, 1.61, 0.38), 4.92),
    "MINDE": ((0.58, 0.92, 0.43, 0.36, 0.89, 1.01, 1.42, 0.50), 34.2),
    "InfoNCE": ((0.56, 0.98, 0.49, 0.18, 0.97, 1.03, 1.62, 0.40), 67.6),
    "KNIFE": ((0.93, 0.10, 0.66, 0.50, 0.07, 0.92, 0.05, 0.65), 48.4),
    "InfoAtlas": ((0.60, 0.89, 0.41, 0.21, 0.93, 0.96, 1.46, 0.39), 0.09),
}
TRAINED: dict[str, Score] = {
    "MINE, 100 steps": partial(mine, steps=100),
    "MINE, 1000 steps": partial(mine, steps=1000),
    "MINE, 5 s": partial(mine, steps=None, seconds=5.0),
    "InfoNCE": infonce,
    "KNIFE": knife,
}
SHORT = TRAINED | {
    "MINE, 1000 steps": partial(mine, steps=120),
    "MINE, 5 s": partial(mine, steps=None, seconds=0.2),
    "InfoNCE": partial(infonce, steps=10),
    "KNIFE": partial(knife, steps=10),
}
NOTE = (
    "KSG is the implementation of npeet-plus. Our KDE leaves out the sample at which a density is "
    "evaluated; the published values suggest that theirs does not. MINE, InfoNCE and KNIFE are "
    "short implementations from their papers. They are trained on one half of the samples with "
    "Adam at 1e-3, and evaluated on the other half. MINDE is only quoted: the package index has "
    "one alpha release of a third party. MIST is missing: its package there has no weights."
)


def page(about: dict[str, Any], rows: list[Row], quick: bool) -> str:
    """The measured table and the published one, as Markdown."""
    tasks = [task for task in EIGHT if pick(rows, task=task)]
    n = rows[0].n
    many, few = (f(len(row.estimates) for row in rows) for f in (max, min))
    parts = [
        f"# {len(tasks)} tasks of BMI, n = {n}",
        f"Mean ± standard deviation over {many} seeds ({few} for the trained estimators), in nats; "
        "the smallest absolute bias in bold. Mean absolute bias: |mean over seeds - truth|, "
        "averaged over tasks. Time: of one estimate, median over seeds, averaged over tasks. Torch "
        f"used {about['torch_threads']} thread{'s' * (about['torch_threads'] > 1)}.",
        report.byline(about),
        *(
            ["**Quick run: training was cut short, the results of trained peers are void.**"]
            * quick
        ),
        measured(rows, tasks),
        NOTE,
        intervals.section(rows, [n], lambda row: EIGHT[row.label["task"]]),
    ]
    if n == SIZE and len(tasks) == len(EIGHT):
        parts += [
            "## As published",
            "Quoted from Table 1 of the InfoAtlas paper. Its authors used a single H800 GPU and an "
            "8-core Xeon 8480C, so their times are not comparable with those measured here. The "
            "mean absolute bias is computed from the quoted values, which have two decimals.",
            published(),
        ]
    return "\n\n".join(parts)


def measured(rows: list[Row], tasks: list[str]) -> str:
    best = {task: min(pick(rows, task=task), key=lambda row: abs(row.bias)) for task in tasks}
    lines = [["truth", *(number(best[task].truth, 2) for task in tasks), "", ""]]
    for name in names(rows):
        own = [pick(rows, task=task, estimator=name)[0] for task in tasks]
        cells = [f"{number(row.mean, 2)} ± {number(row.spread, 2)}" for row in own]
        cells = [
            f"**{cell}**" if best[task] is row else cell
            for cell, row, task in zip(cells, own, tasks, strict=True)
        ]
        lines.append([name, *cells, number(mean_absolute_bias(own)), mean_time(own)])
    return table(["", *(EIGHT[task] for task in tasks), "mean abs. bias", "time"], lines)


def published() -> str:
    lines = [["truth", *(f"{value:.2f}" for value in PUBLISHED_TRUTH), "", ""]]
    for name, (values, seconds) in PUBLISHED.items():
        cells = (f"{value:.2f}" for value in values)
        lines.append([name, *cells, number(published_bias(name)), f"{seconds} s"])
    return table(["", *EIGHT.values(), "mean abs. bias", "time"], lines)


def published_bias(name: str) -> float:
    return float(np.mean(np.abs(np.subtract(PUBLISHED[name][0], PUBLISHED_TRUTH))))


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(
        __spec__.name, __doc__, "1 seed, n = 500, training cut short", several=True
    )
    parser.add_argument("samples", nargs="?", type=Path, default=Path("build/bmi"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trained-seeds", type=int, default=3, help="of the trained peers (3)")
    chosen = parser.parse_args(arguments)
    n, seeds, few, trained = SIZE, chosen.seeds, chosen.trained_seeds, TRAINED
    if chosen.quick:
        n, seeds, few, trained = 500, 1, 1, SHORT
    cases = [case for case in load_cases(chosen.samples, [n], seeds) if case.label["task"] in EIGHT]
    if not cases:
        parser.error(f"none of the eight tasks is in {chosen.samples}")
    estimators = load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    about["torch_threads"] = torch.get_num_threads()
    rows = measure(
        "Table 1", cases, estimators, {**CLASSICAL, **trained}, dict.fromkeys(trained, few)
    )
    print(measured(rows, [task for task in EIGHT if pick(rows, task=task)]))
    text = page(about, rows, chosen.quick)
    report.save(chosen.out, "table1", about, as_json(rows), text)


if __name__ == "__main__":
    main()
