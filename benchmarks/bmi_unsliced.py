"""Accuracy on the BMI benchmark (Czyż et al., 2023), beside two classical estimators.

    python benchmarks/accuracy/bmi.py                # build/bmi -> benchmarks/results/bmi.*
    python benchmarks/accuracy/bmi.py --quick --out build/results

Reads what bmi_samples.py wrote in an environment of its own. No sample of it is in training.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import report
from matplotlib.figure import Figure
from report import GRID, INK, QUIET, Case, Row, names, number, ours, pick, table

SIZES = (100, 500, 1000, 5000)

# The tasks of the paper's Table 1, in its order.
EIGHT = {
    "multinormal-dense-5-5-0.5": "Mn-dense 5-5-0.5",
    "spiral-multinormal-sparse-3-3-2-2.0": "Spiral 3-3-2-2.0",
    "asinh-student-identity-5-5-2": "Asinh@St 5-5-2",
    "student-identity-3-3-3": "St 3-3-3",
    "normal_cdf-multinormal-sparse-3-3-2-2.0": "Uniform 3-3-2-2.0",
    "half_cube-multinormal-sparse-5-5-2-2.0": "Hc@Mn 5-5-2",
    "1v1-additive-0.1": "Additive 1-1-0.1",
    "1v1-bimodal-0.75": "Bimodal 1-1-0.75",
}
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


def load(folder: Path, sizes: Sequence[int], seeds: int) -> list[Case]:
    """Cases in the order of their truth, sizes innermost."""
    files = sorted(folder.glob("*.npz"))
    if not files:
        sys.exit(f"no .npz files in {folder}: make them with benchmarks/accuracy/bmi_samples.py")
    cases = []
    for file in files:
        with np.load(file) as data:
            x, y, truth = data["x"][:seeds], data["y"][:seeds], float(data["mi"])
        if x.shape[1] < max(sizes):
            sys.exit(f"{file} has {x.shape[1]} samples, fewer than {max(sizes)}: see --sizes")
        label = {"task": file.stem, "dx": x.shape[2], "dy": y.shape[2]}
        cases += [
            Case(label, truth, n, len(x), lambda i, x=x, y=y, n=n: (x[i, :n], y[i, :n]))
            for n in sizes
        ]
    return sorted(cases, key=lambda case: (case.truth, case.label["task"]))


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int]) -> str:
    """Everything that was measured, wins and losses alike, as Markdown."""
    tasks = list(dict.fromkeys(row.label["task"] for row in rows))
    eight = [task for task in EIGHT if task in tasks]
    seeds = max(len(row.estimates) for row in rows)
    parts = [
        "# BMI benchmark",
        f"All {len(tasks)} tasks of the BMI benchmark (Czyż et al., 2023) with at most 5 "
        f"dimensions a side, {seeds} seeds, the same samples for each estimator. None of the "
        "samples is in training, but many tasks (Gaussians, their monotone maps, spirals) are "
        "members of families of the atlas, and BMI has had a say in which fits are shipped.",
        report.byline(about),
        "![Estimate against truth](bmi.png)",
        "## Over all tasks",
        "Mean absolute bias: |mean over seeds - truth|, mean over tasks. Spread: standard "
        "deviation over seeds, mean over tasks. Nearest: tasks on which the estimator has the "
        "smallest absolute bias of all (tasks that are monotone maps of each other are one "
        "and the same to an estimator that looks at ranks). Time: of one estimate, median over "
        "seeds, mean over tasks.",
        summary(rows, sizes, eight, len(tasks)),
        standard_errors(rows, sizes),
    ]
    if eight:
        parts += [
            f"## The paper's {len(eight)} tasks, n = {sizes[-1]}",
            *paper(rows, eight, sizes[-1]),
        ]
    for name in filter(ours, names(rows)):
        parts += [f"## Where a peer is nearer than {name}", losses(rows, sizes[-1], name)]
    parts += ["## Task by task", "Mean over seeds ± spread; the nearest to the truth in bold."]
    for n in reversed(sizes):
        detail = by_task(pick(rows, n=n), tasks)
        parts.append(f"<details><summary>n = {n}</summary>\n\n{detail}\n\n</details>")
    return "\n\n".join(parts)


def summary(rows: list[Row], sizes: Sequence[int], eight: list[str], total: int) -> str:
    headers = [
        "n",
        "estimator",
        f"mean abs. bias, {len(eight)} tasks",
        f"{total} tasks",
        "spread",
        "nearest",
        "time",
    ]
    lines = []
    for n in sizes:
        at_n = pick(rows, n=n)
        ahead = [row.estimator for row in report.nearest(at_n, "task").values()]
        for name in names(rows):
            own = pick(at_n, estimator=name)
            few = [row for row in own if row.label["task"] in eight]
            lines.append(
                [
                    str(n),
                    name,
                    number(report.mean_absolute_bias(few)) if few else "-",
                    number(report.mean_absolute_bias(own)),
                    number(float(np.mean([row.spread for row in own]))),
                    f"{ahead.count(name)} of {total}",
                    report.duration(report.mean_seconds(own)),
                ]
            )
    return table(headers, lines)


def standard_errors(rows: list[Row], sizes: Sequence[int]) -> str:
    """Does what the estimator says of its spread hold?"""
    lines = []
    for name in filter(ours, names(rows)):
        words = []
        for n in sizes:
            own = pick(rows, n=n, estimator=name)
            said, found = (np.mean([getattr(r, a) for r in own]) for a in ("stderr", "spread"))
            words.append(f"{number(said)} for a spread of {number(found)} (n = {n})")
        lines.append(
            f"The standard error that {name} reports, mean over tasks: {', '.join(words)}. "
            "It counts what the model misses on average over the atlas, so it is wider."
        )
    return "\n\n".join(lines)


def paper(rows: list[Row], eight: list[str], n: int) -> list[str]:
    truth = [pick(rows, task=task, n=n)[0].truth for task in eight]
    lines = [["**truth**", *(number(t, 2) for t in truth), "", ""]]
    for name in names(rows):
        own = [pick(rows, task=task, n=n, estimator=name)[0] for task in eight]
        cells = (f"{number(r.mean, 2)} ± {number(r.spread, 2)}" for r in own)
        seconds = report.duration(report.mean_seconds(own))
        lines.append([f"**{name}**", *cells, number(report.mean_absolute_bias(own)), seconds])
    text = "Measured here, mean over seeds ± spread, in bold."
    if n == SIZES[-1]:
        text += (
            ' "As published": quoted from Table 1 of the InfoAtlas paper, measured by its authors '
            "on a single H800 GPU and an 8-core Xeon 8480C, so the times do not compare; the mean "
            "absolute bias in brackets is computed here from the quoted two digits."
        )
        place = [list(EIGHT).index(task) for task in eight]
        for name, (values, seconds) in PUBLISHED.items():
            quoted = [values[i] for i in place]
            bias = np.mean([abs(values[i] - PUBLISHED_TRUTH[i]) for i in place])
            cells = (f"{value:.2f}" for value in quoted)
            lines.append([f"{name}, as published", *cells, f"({bias:.2f})", f"{seconds} s"])
    headers = ["", *(EIGHT[task] for task in eight), "mean abs. bias", "time"]
    return [text, table(headers, lines)]


def losses(rows: list[Row], n: int, name: str) -> str:
    """The tasks on which a peer has the smaller bias than the model `name`, the worst first."""
    at_n = pick(rows, n=n)
    own = {row.label["task"]: row for row in pick(at_n, estimator=name)}
    best = report.nearest((r for r in at_n if r.estimator == name or not ours(r.estimator)), "task")
    lost = [(own[task], row) for task, row in best.items() if row.estimator != name]
    if not lost:
        return f"At n = {n}: nowhere."
    lost.sort(key=lambda pair: abs(pair[1].bias) - abs(pair[0].bias))
    lines = [
        [a.label["task"], number(a.truth), number(a.mean), number(b.mean), b.estimator]
        for a, b in lost
    ]
    intro = f"At n = {n}, on {len(lost)} of {len(own)} tasks; the largest difference first."
    return f"{intro}\n\n{table(['task', 'truth', name, 'nearest peer', ''], lines)}"


def by_task(rows: list[Row], tasks: list[str]) -> str:
    best = report.nearest(rows, "task")
    lines = []
    for task in tasks:
        own = [pick(rows, task=task, estimator=name)[0] for name in names(rows)]
        cells = (
            f"{'**' if row is best[task] else ''}{number(row.mean)}"
            f"{'**' if row is best[task] else ''} ± {number(row.spread)}"
            for row in own
        )
        lines.append([task, number(own[0].truth), *cells])
    return table(["task", "truth", *names(rows)], lines)


def draw(rows: list[Row], sizes: Sequence[int]) -> Figure:
    """Estimate against truth for each task, at the smallest and the largest n."""
    tasks = list(dict.fromkeys(row.label["task"] for row in rows))
    shown = list(dict.fromkeys((sizes[0], sizes[-1])))
    figure = Figure(figsize=(12, 1.9 + 0.235 * len(tasks)), dpi=150, facecolor="white")
    height = figure.get_figheight()
    panels = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    figure.subplots_adjust(
        left=0.255, right=0.985, top=1 - 1.25 / height, bottom=0.55 / height, wspace=0.05
    )
    estimators = names(rows)
    colours = report.colours(estimators)
    middle = (len(estimators) - 1) / 2
    offset = {name: 0.72 * (i - middle) / len(estimators) for i, name in enumerate(estimators)}
    truth = {row.label["task"]: row.truth for row in rows}
    for axes, n in zip(panels, shown, strict=True):
        report.quiet(axes)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        for i, task in enumerate(tasks):
            if i % 2:
                axes.axhspan(i - 0.5, i + 0.5, color="#f6f7f9", linewidth=0)
            axes.plot([truth[task]] * 2, [i - 0.46, i + 0.46], color=INK, linewidth=2.2)
        for name in reversed(estimators):
            own = {row.label["task"]: row for row in pick(rows, n=n, estimator=name)}
            axes.errorbar(
                [own[task].mean for task in tasks],
                [i + offset[name] for i in range(len(tasks))],
                xerr=[own[task].spread for task in tasks],
                fmt="o",
                markersize=5.5 if ours(name) else 3.8,
                color=colours[name],
                elinewidth=1.2,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4 if ours(name) else 3,
            )
            error = report.mean_absolute_bias(list(own.values()))
            axes.text(
                1 - 0.12 * (len(estimators) - estimators.index(name) - 0.5),
                1 + 0.1 / height,
                number(error),
                transform=axes.transAxes,
                color=colours[name],
                fontsize=10,
                fontweight="bold" if ours(name) else "normal",
                ha="center",
            )
        axes.text(
            0.99 - 0.12 * len(estimators),
            1 + 0.1 / height,
            "mean |bias|",
            transform=axes.transAxes,
            color=QUIET,
            fontsize=9,
            ha="right",
        )
        axes.set_title(f"n = {n}", color=INK, fontsize=12, loc="left")
        axes.set_xlabel("nats", color=QUIET, fontsize=9)
    panels[0].set_yticks(range(len(tasks)), tasks)
    panels[0].set_ylim(len(tasks) - 0.5, -0.5)
    for text in panels[0].get_yticklabels():
        text.set_color(INK if text.get_text() in EIGHT else QUIET)
        text.set_fontweight("bold" if text.get_text() in EIGHT else "normal")
        text.set_fontsize(8.5)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    seeds = max(len(row.estimates) for row in rows)
    report.heading(
        figure,
        f"Mutual information of {len(tasks)} BMI tasks: estimate against truth",
        f"mean and standard deviation over {seeds} seeds; in bold: the paper's tasks",
    )
    report.truth_legend(figure, {name: colours[name] for name in estimators})
    return figure


def main() -> None:
    parser = report.options(__doc__, "2 seeds, n = 100 and 500")
    parser.add_argument("samples", nargs="?", type=Path, default=Path("build/bmi"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    sizes, seeds = sorted(options.sizes), options.seeds
    if options.quick:
        sizes, seeds = [100, 500], 2
    cases = load(options.samples, sizes, seeds)
    estimators = report.load(options.model)
    about = report.provenance(*estimators.values())
    rows = report.measure("BMI", cases, estimators)
    print(summary(rows, sizes, [*EIGHT], len({row.label["task"] for row in rows})))
    report.write(options.out, "bmi", about, rows, page(about, rows, sizes), draw(rows, sizes))


if __name__ == "__main__":
    main()
