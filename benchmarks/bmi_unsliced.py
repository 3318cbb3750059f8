"""Accuracy on the BMI benchmark (Czyż et al., 2023), beside two classical estimators.

    python -m benchmarks.bmi_unsliced                # build/bmi -> benchmarks/results/bmi.*

The samples are written by bmi_samples.py, in an environment of its own. None was used in training.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from . import drawing, intervals, measure, report
from .drawing import INK, QUIET
from .report import number
from .tasks.bmi_files import EIGHT, load_cases

SIZES = (100, 500, 1000, 5000)


def page(about: dict[str, Any], rows: list[measure.Row], sizes: Sequence[int]) -> str:
    """All results as Markdown."""
    tasks = list(dict.fromkeys(row.label["task"] for row in rows))
    eight = [task for task in EIGHT if task in tasks]
    seeds = max(len(row.estimates) for row in rows)
    parts = [
        "# Accuracy on the BMI benchmark",
        f"These are all {len(tasks)} tasks of the BMI benchmark (Czyż et al., 2023) with at most "
        f"5 dimensions a side, with {seeds} seeds each. All estimators get the same samples. The "
        "samples were not used in training. Two facts favour the models: many tasks (Gaussians, "
        "their monotone maps, spirals) belong to families of the training data, and results on BMI "
        "were used to select the shipped models.",
        report.byline(about),
        "![Estimate against truth](bmi.png)",
        "## Over all tasks",
        "Mean absolute bias: |mean over seeds - truth|, averaged over tasks. Spread: standard "
        "deviation over seeds, averaged over tasks. Smallest bias on: number of tasks on which "
        "the estimator has the smallest absolute bias. For estimators that use ranks only, tasks "
        "that are monotone maps of each other are identical. Time: of one estimate, median over "
        "seeds, averaged over tasks. The eight tasks are those of the paper's "
        "[Table 1](table1.md).",
        summary(rows, eight, len(tasks)),
        intervals.section(rows, sizes, lambda row: row.label["task"]),
    ]
    parts += ["## All tasks", "Mean over seeds ± spread; the smallest absolute bias in bold."]
    for n in reversed(sizes):
        detail = measure.by_label(measure.pick(rows, n=n), "task")
        parts.append(f"<details><summary>n = {n}</summary>\n\n{detail}\n\n</details>")
    return "\n\n".join(parts)


def summary(rows: list[measure.Row], eight: Sequence[str], total: int) -> str:
    def of_eight(own: list[measure.Row]) -> str:
        few = [row for row in own if row.label["task"] in eight]
        return number(measure.mean_absolute_bias(few)) if few else "-"

    columns = {
        f"mean abs. bias, {len(eight)} tasks": of_eight,
        f"mean abs. bias, {total} tasks": lambda own: number(measure.mean_absolute_bias(own)),
        "spread": measure.mean_spread,
        "smallest bias on": measure.ahead(rows, "task"),
        "time": measure.mean_time,
    }
    return measure.figures(rows, ["n", "estimator"], columns)


def draw(rows: list[measure.Row], sizes: Sequence[int]) -> Figure:
    """Estimate against truth for each task, at the smallest and the largest n."""
    tasks = list(dict.fromkeys(row.label["task"] for row in rows))
    shown = list(dict.fromkeys((sizes[0], sizes[-1])))
    figure = drawing.against_truth(rows, shown, tasks)
    for text in figure.axes[0].get_yticklabels():
        text.set_color(INK if text.get_text() in EIGHT else QUIET)
        text.set_fontweight("bold" if text.get_text() in EIGHT else "normal")
    seeds = max(len(row.estimates) for row in rows)
    drawing.heading(
        figure,
        f"Mutual information of {len(tasks)} BMI tasks: estimate against truth",
        f"mean and standard deviation over {seeds} seeds; bold: tasks of the InfoAtlas paper",
    )
    return figure


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 seeds, n = 100 and 500", several=True)
    parser.add_argument("samples", nargs="?", type=Path, default=Path("build/bmi"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = parser.parse_args(arguments)
    sizes, seeds = sorted(chosen.sizes), chosen.seeds
    if chosen.quick:
        sizes, seeds = [100, 500], 2
    cases = load_cases(chosen.samples, sizes, seeds)
    estimators = measure.load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    rows = measure.measure("BMI", cases, estimators)
    print(summary(rows, [*EIGHT], len({row.label["task"] for row in rows})))
    report.save(
        chosen.out, "bmi", about, measure.as_json(rows), page(about, rows, sizes), draw(rows, sizes)
    )


if __name__ == "__main__":
    main()
