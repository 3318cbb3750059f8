"""Cases in which an estimate is misleading: slices, small samples, windows of one robot.

    python -m benchmarks.slicing            # -> benchmarks/results/slicing.*

The study of k and S and the two failure cases of slicing are from the InfoAtlas paper (appendices
A.6 and A.7). :mod:`slicing_studies` has the measurements and the truths.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from infoatlas_rt import Estimator

from . import drawing, report
from .drawing import BLUE, GREY, GRID, INK, ORANGE, QUIET
from .measure import OURS, grid, pick
from .report import number, table
from .slicing_studies import (
    COUNTS,
    MOST,
    RADII,
    SIZES,
    SPARSE,
    WIDE,
    WIDTHS,
    WINDOWS,
    Row,
    samples,
    slices,
    structures,
    vanishing,
    windows,
)


def summary(rows: list[Row]) -> str:
    return f"{number(rows[0]['mean'])} ± {number(rows[0]['spread'])}"


def page(about: dict[str, Any], rows: list[Row]) -> str:
    """All results as Markdown."""
    truth = {"truth of slices": lambda own: number(own[0]["truth"])}
    repeats = len(rows[0]["values"])
    first = pick(rows, study="slices")[0]
    parts = [
        "# Misleading estimates: slices, few samples, single windows",
        f"Mean over {repeats} repeats ± standard deviation, in nats. Consequences for users are in "
        "[when to trust an estimate](../../docs/when-to-trust.md).",
        report.byline(about),
        "![Six studies of misleading estimates](slicing.png)",
        "## Width and number of slices",
        f"A Gaussian of {WIDE} + {WIDE} coordinates, {number(first['unsliced_truth'], 1)} nats "
        f"unsliced, n = {first['n']}. Each repeat has its own samples and slices. Wider slices "
        "(larger k) retain more of the information. More slices (larger S) reduce the spread, but "
        "do not recover the information that slices lose.",
        grid(pick(rows, study="slices"), ["k"], "S", summary, "S = {}", first=truth),
        "## Sparse and dense dependence are equal in slices",
        "Two coordinates a side. Sparse: one pair has correlation rho. Dense: both pairs have "
        "correlation rho', chosen so that the mean information of one-dimensional slices is equal. "
        f"n = {pick(rows, study='structures')[0]['n']}, S = {MOST}.",
        table(
            [
                *("dependence, correlation", "truth, slices", "estimate, slices"),
                *("truth, unsliced", "estimate, unsliced"),
            ],
            [
                [
                    f"{kind}, {number(s['rho'])}",
                    *(text for row in (s, w) for text in (number(row["truth"]), summary([row]))),
                ]
                for rho in SPARSE
                for kind in ("sparse", "dense")
                for s, w in [pick(rows, study="structures", kind=kind, of=rho)]
            ],
        ),
        "## Slices lose a common radius",
        "x and y are vectors of independent directions in d dimensions with a common length of 1 "
        "or `ratio`. The unsliced information is 0.693 nats for every ratio. "
        f"n = {pick(rows, study='vanishing')[0]['n']}, 25 slices. Too wide: more coordinates than "
        "the model accepts unsliced.",
        table(
            [
                "d, ratio",
                "k",
                "truth, slices",
                "estimate, slices",
                "truth, unsliced",
                "estimate, unsliced",
            ],
            [
                [
                    f"{d}, {ratio:g}",
                    str(k),
                    number(own[0]["truth"], 4),
                    summary(own),
                    number(own[0]["unsliced_truth"]),
                    summary(own[1:]) if len(own) > 1 else "too wide",
                ]
                for d, k, ratio in RADII
                for own in [pick(rows, study="vanishing", d=d, ratio=ratio)]
            ],
        ),
        "## Few samples",
        "20 + 20 coordinates, correlated pair by pair with the given squared correlation; k = 5, "
        "40 slices.",
        grid(pick(rows, study="samples"), ["rho^2"], "n", summary, "n = {}", first=truth),
        "## One window of two independent robots",
        "Three coordinates each, unsliced. The truth is 0.",
        grid(pick(rows, study="windows"), ["motion"], "n", summary, "{} steps"),
    ]
    return "\n\n".join(parts)


def picture(rows: list[Row]) -> Figure:
    """A panel for each study; dashed: truth of the estimated quantity."""
    figure = drawing.canvas(12, 7.6)
    panels = figure.subplots(2, 3).ravel()
    figure.subplots_adjust(left=0.05, right=0.985, top=0.845, bottom=0.07, wspace=0.2, hspace=0.36)
    titles: tuple[tuple[str, Callable[[Any, list[Row]], None]], ...] = (
        ("Wider slices retain more information", draw_slices),
        ("More slices reduce the spread only", draw_spread),
        ("Equal in slices, different unsliced", draw_structures),
        ("Slices lose a common radius", draw_vanishing),
        ("Few samples (20 + 20 coordinates, k = 5)", draw_samples),
        ("One window of two independent robots", draw_windows),
    )
    for axes, (title, draw) in zip(panels, titles, strict=True):
        drawing.quiet(axes)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.set_title(title, color=INK, fontsize=10.5, loc="left")
        draw(axes, rows)
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    repeats = len(rows[0]["values"])
    drawing.heading(
        figure,
        "Misleading estimates",
        f"estimates of {OURS} in nats, mean and standard deviation of {repeats} repeats; "
        "dashed: truth of the estimated quantity",
    )
    return figure


def curve(axes: Any, x: Sequence[float], own: list[Row], colour: str, label: str) -> None:
    mean, spread = (np.array([row[key] for row in own]) for key in ("mean", "spread"))
    axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    axes.plot(x, mean, color=colour, linewidth=2, marker="o", markersize=4, label=label)
    axes.plot(x, [row["truth"] for row in own], color=colour, linewidth=1.2, linestyle=(0, (4, 3)))


def steps(axes: Any, values: Sequence[float], name: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(name, color=QUIET, fontsize=9)


def draw_slices(axes: Any, rows: list[Row]) -> None:
    for count, colour in zip(COUNTS, (ORANGE, GREY, BLUE), strict=True):
        curve(axes, WIDTHS, pick(rows, study="slices", S=count), colour, f"S = {count}")
    axes.set_xticks(WIDTHS)
    axes.set_xlabel("k, dimensions of a slice", color=QUIET, fontsize=9)
    whole = f"unsliced: {pick(rows, study='slices')[0]['unsliced_truth']:.1f} nats"
    axes.text(0.97, 0.05, whole, transform=axes.transAxes, ha="right", color=QUIET, fontsize=8.5)


def draw_spread(axes: Any, rows: list[Row]) -> None:
    for k, colour in zip((1, 5), (ORANGE, BLUE), strict=True):
        own = pick(rows, study="slices", k=k)
        relative = [row["spread"] / row["truth"] for row in own]
        axes.plot(COUNTS, relative, color=colour, linewidth=2, marker="o", ms=4, label=f"k = {k}")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("standard deviation / truth", color=QUIET, fontsize=9)
    steps(axes, COUNTS, "S, slices")


def draw_structures(axes: Any, rows: list[Row]) -> None:
    places = range(len(SPARSE))
    for kind, colour in (("sparse", BLUE), ("dense", ORANGE)):
        for how, marker in (("unsliced", "o"), ("sliced", "s")):
            own = pick(rows, study="structures", kind=kind, how=how)
            axes.plot(places, [row["truth"] for row in own], color=colour, lw=1.2, ls=(0, (4, 3)))
            axes.errorbar(
                places,
                [row["mean"] for row in own],
                [row["spread"] for row in own],
                color=colour,
                marker=marker,
                ms=5,
                lw=0,
                elinewidth=1.5,
                mfc=colour if how == "unsliced" else "white",
                label=f"{kind}, {how}",
            )
    axes.set_xticks(places, [f"{rho:g}" for rho in SPARSE])
    axes.set_xlabel("rho of the sparse pair", color=QUIET, fontsize=9)


def draw_vanishing(axes: Any, rows: list[Row]) -> None:
    for place, (d, _, ratio) in enumerate(RADII):
        for row in pick(rows, study="vanishing", d=d, ratio=ratio):
            whole = row["how"] == "unsliced"
            offset, colour = (0.2, GREY) if whole else (-0.2, BLUE)
            label = {0: "unsliced" if whole else "slices"}.get(place)
            axes.bar(
                place + offset, row["mean"], 0.36, yerr=row["spread"], color=colour, label=label
            )
            if not whole:
                ends = [place + offset - 0.2, place + offset + 0.2]
                axes.plot(ends, [row["truth"]] * 2, color=INK, lw=1.3, ls=(0, (3, 2)))
    axes.axhline(
        np.log(2), color=INK, linewidth=1.3, linestyle=(0, (3, 2)), label="unsliced, truth"
    )
    axes.set_ylim(top=1.02)
    axes.set_xticks(
        range(len(RADII)), [f"{d}-D, k={k}\n1 or {ratio:g}" for d, k, ratio in RADII], fontsize=8
    )


def draw_samples(axes: Any, rows: list[Row]) -> None:
    for square, colour in ((0.5, BLUE), (0.1, ORANGE), (0.0, GREY)):
        own = pick(rows, study="samples", **{"rho^2": square})
        label = f"rho² = {square:g}" if square else "independent"
        curve(axes, [row["n"] for row in own], own, colour, label)
    steps(axes, [row["n"] for row in own], "samples")


def draw_windows(axes: Any, rows: list[Row]) -> None:
    motions = dict.fromkeys(row["motion"] for row in pick(rows, study="windows"))
    for motion, colour in zip(motions, (BLUE, ORANGE), strict=True):
        own = pick(rows, study="windows", motion=motion)
        curve(axes, [row["n"] for row in own], own, colour, motion)
    steps(axes, [row["n"] for row in own], "steps in the window")


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 repeats of small samples")
    chosen = parser.parse_args(arguments)
    repeats, n, sizes, lengths = 12, 1000, SIZES, WINDOWS
    if chosen.quick:
        repeats, n, sizes, lengths = 2, 100, (32, 100), (50, 100)
    about = report.provenance(chosen.command, Estimator(chosen.model))
    studies = (
        slices(chosen.model, repeats, n),
        structures(chosen.model, repeats, n),
        vanishing(chosen.model, repeats, n),
        samples(chosen.model, repeats, sizes),
        windows(chosen.model, repeats, lengths),
    )
    rows: list[Row] = []
    for study in report.tracked("slicing", studies):
        rows += study
    report.save(chosen.out, "slicing", about, rows, page(about, rows), picture(rows))


if __name__ == "__main__":
    main()
