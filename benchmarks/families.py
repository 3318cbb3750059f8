"""Accuracy on hand-made families that are not in the atlas, beside three classical estimators.

python benchmarks/accuracy/families.py           # -> results/families.*, more_families.*, unseen.*
python benchmarks/accuracy/families.py --quick --out build/results
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import report
from hand_made import FAMILIES, Family
from matplotlib.figure import Figure
from more_families import MORE
from report import GRID, INK, QUIET, Case, Row, names, number, ours, pick, table
from unseen import UNSEEN

SIZES = (100, 1000)


@dataclass(frozen=True)
class Collection:
    name: str  # of its page
    title: str
    families: list[Family]
    about: str


COLLECTIONS = (
    Collection(
        "families",
        "Hand-made families",
        FAMILIES,
        "None is in the form of the atlas that the model was trained on, and no model was fitted "
        "to them; but what they showed has led to kinds of data that the gap is fitted to, and "
        "fits have been compared by them.",
    ),
    Collection(
        "more_families",
        "More families",
        MORE,
        "They were written down by others, who did not know how the model is trained, and first "
        "read by 0.8.0; what they showed has led to kinds of data that the gap of `edge` 0.9.0 is "
        "fitted to.",
    ),
    Collection(
        "unseen",
        "Unseen families",
        UNSEEN,
        "They were written down by others, who did not know how the model is trained, and were "
        "seen by nobody else, nor read by any model, before `edge` 0.9.0 was settled. What they "
        "showed has decided nothing since.",
    ),
)


def cases(families: Sequence[Family], sizes: Sequence[int], draws: int) -> list[Case]:
    made = []
    for family in families:
        x, y = family.draw(2, 0)
        label = {"family": family.name, "kind": family.kind, "dx": x.shape[1], "dy": y.shape[1]}
        series = family.kind == "process"
        made += [
            Case(label, family.truth, n, draws, lambda i, f=family, n=n: f.draw(n, i), series)
            for n in sizes
        ]
    return made


def page(
    collection: Collection, about: dict[str, Any], rows: list[Row], sizes: Sequence[int]
) -> str:
    """Everything that was measured, wins and losses alike, as Markdown."""
    draws = max(len(row.estimates) for row in rows)
    says = {family.name: family.says for family in collection.families}
    parts = [
        f"# {collection.title}",
        f"{len(says)} families of known mutual information, {draws} draws of each, the same "
        f"samples for each estimator. {collection.about}",
        report.byline(about),
        f"![Estimate against truth]({collection.name}.png)",
        "## Over all families",
        "Mean absolute bias: |mean over draws - truth|, mean over families. Spread: standard "
        "deviation over draws, mean over families. Nearest: families on which the estimator has "
        "the smallest absolute bias.",
        summary(rows, sizes),
        "## By kind",
        "Mean absolute bias.",
        by_kind(rows, sizes),
    ]
    for n in reversed(sizes):
        parts += [f"## Family by family, n = {n}", by_family(pick(rows, n=n))]
    parts += [
        "## What they are",
        table(["family", "sides", "truth", ""], [*listing(rows, says)]),
    ]
    return "\n\n".join(parts)


def listing(rows: list[Row], says: dict[str, str]) -> list[list[str]]:
    seen = {row.label["family"]: row for row in rows}
    return [
        [name, f"{row.label['dx']} + {row.label['dy']}", number(row.truth), says[name]]
        for name, row in seen.items()
    ]


def summary(rows: list[Row], sizes: Sequence[int]) -> str:
    lines = []
    for n in sizes:
        best = report.nearest(pick(rows, n=n), "family")
        for name in names(rows):
            own = pick(rows, n=n, estimator=name)
            ahead = sum(row.estimator == name for row in best.values())
            lines.append(
                [
                    str(n),
                    name,
                    number(report.mean_absolute_bias(own)),
                    number(float(np.mean([row.spread for row in own]))),
                    f"{ahead} of {len(own)}",
                    report.duration(report.mean_seconds(own)),
                ]
            )
    return table(["n", "estimator", "mean abs. bias", "spread", "nearest", "time"], lines)


def by_kind(rows: list[Row], sizes: Sequence[int]) -> str:
    kinds = list(dict.fromkeys(row.label["kind"] for row in rows))
    lines = []
    for n in sizes:
        for name in names(rows):
            own = (pick(rows, n=n, estimator=name, kind=kind) for kind in kinds)
            lines.append([str(n), name, *(number(report.mean_absolute_bias(r)) for r in own)])
    return table(["n", "estimator", *kinds], lines)


def by_family(rows: list[Row]) -> str:
    best = report.nearest(rows, "family")
    lines = []
    for name, nearest_row in best.items():
        own = pick(rows, family=name)
        cells = [f"{number(row.mean)} ± {number(row.spread)}" for row in own]
        place = own.index(nearest_row)
        cells[place] = f"**{cells[place]}**"
        lines.append([name, number(own[0].truth), *cells])
    text = "Mean over draws ± spread; the nearest to the truth in bold."
    return f"{text}\n\n{table(['family', 'truth', *names(rows)], lines)}"


def draw(title: str, rows: list[Row], sizes: Sequence[int]) -> Figure:
    """Estimate against truth for each family, a panel for each n."""
    shown = list(dict.fromkeys(row.label["family"] for row in rows))
    estimators = names(rows)
    colours = report.colours(estimators)
    figure = Figure(figsize=(12, 2.0 + 0.28 * len(shown)), dpi=150, facecolor="white")
    height = figure.get_figheight()
    panels = figure.subplots(1, len(sizes), sharex=True, sharey=True, squeeze=False)[0]
    figure.subplots_adjust(
        left=0.2, right=0.985, top=1 - 1.3 / height, bottom=0.55 / height, wspace=0.05
    )
    for axes, n in zip(panels, sizes, strict=True):
        report.quiet(axes)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        for i, name in enumerate(shown):
            if i % 2:
                axes.axhspan(i - 0.5, i + 0.5, color="#f6f7f9", linewidth=0)
            truth = pick(rows, family=name, n=n)[0].truth
            axes.plot([truth] * 2, [i - 0.46, i + 0.46], color=INK, linewidth=2.2)
        for place, name in enumerate(estimators):
            own = pick(rows, n=n, estimator=name)
            shift = 0.72 * (place - (len(estimators) - 1) / 2) / len(estimators)
            axes.errorbar(
                [row.mean for row in own],
                np.arange(len(own)) + shift,
                xerr=[row.spread for row in own],
                fmt="o",
                markersize=5.5 if ours(name) else 3.8,
                color=colours[name],
                elinewidth=1.2,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4 if ours(name) else 3,
            )
            axes.text(
                1 - 0.12 * (len(estimators) - place - 0.5),
                1 + 0.1 / height,
                number(report.mean_absolute_bias(own)),
                transform=axes.transAxes,
                color=colours[name],
                fontsize=10,
                fontweight="bold" if ours(name) else "normal",
                ha="center",
            )
        axes.text(
            0.99 - 0.12 * len(estimators),
            1 + 0.1 / height,
            "mean abs. bias",
            transform=axes.transAxes,
            color=QUIET,
            fontsize=9,
            ha="right",
        )
        axes.set_title(f"n = {n}", color=INK, fontsize=12, loc="left")
        axes.set_xlabel("nats", color=QUIET, fontsize=9)
        axes.tick_params(axis="y", length=0)
    sides = {row.label["family"]: f"{row.label['dx']}+{row.label['dy']}" for row in rows}
    panels[0].set_yticks(range(len(shown)), [f"{name}  {sides[name]}" for name in shown])
    panels[0].set_ylim(len(shown) - 0.5, -0.5)
    farthest = max(row.mean + row.spread for row in rows if ours(row.estimator))
    panels[0].set_xlim(-0.35, max(2.6, farthest + 0.1))
    draws = max(len(row.estimates) for row in rows)
    report.heading(
        figure,
        f"{title}: estimate against truth",
        f"mean and standard deviation over {draws} draws; what lies outside the axis is cut off",
    )
    report.truth_legend(figure, {name: colours[name] for name in estimators})
    return figure


def main() -> None:
    parser = report.options(__doc__, "2 draws, n = 100")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    sizes, draws = sorted(options.sizes), options.draws
    if options.quick:
        sizes, draws = [100], 2
    estimators = report.load(options.model)
    about = report.provenance(*estimators.values())
    for c in COLLECTIONS:
        drawn = cases(c.families, sizes, draws)
        rows = report.measure(c.title, drawn, estimators, report.FOUR)
        print(summary(rows, sizes))
        text, figure = page(c, about, rows, sizes), draw(c.title, rows, sizes)
        report.write(options.out, c.name, about, rows, text, figure)


if __name__ == "__main__":
    main()
