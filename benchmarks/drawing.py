"""Common parts of the figures: palette, heading, legends, estimates against truth."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .measure import Row, mean_absolute_bias, names, ours, pick
from .peers import COPULA, KDE, KSG
from .report import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, QUIET, GRID, BAND = "#1c2733", "#6b7785", "#e6e9ed", "#f6f7f9"
NAVY, BLUE, SKY = "#0c2f52", "#1f5f99", "#5b93c4"
ORANGE, SAND, GREEN, RED = "#e08a00", "#f2b950", "#3d9970", "#b5495b"
GREY = "#8a95a1"
BLUES = (BLUE, NAVY, SKY)  # our models
COLOURS = {COPULA: ORANGE, KSG: GREY, KDE: RED}


def colours(estimators: Iterable[str]) -> dict[str, str]:
    """Colours by estimator; our models are blue."""
    blues = iter(BLUES)
    return {name: next(blues) if ours(name) else COLOURS[name] for name in estimators}


def canvas(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    return Figure(figsize=(width, height), dpi=150, facecolor="white")


def quiet(axes: "Axes") -> None:
    """Remove frame lines and soften ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9, length=3)
    axes.set_axisbelow(True)


def heading(figure: Figure, title: str, words: str) -> None:
    """A title with a line under it, at the same distance from the top in all figures."""
    height = figure.get_figheight()
    figure.text(
        0.012, 1 - 0.3 / height, title, color=INK, fontsize=14, fontweight="bold", va="center"
    )
    figure.text(0.012, 1 - 0.58 / height, words, color=QUIET, fontsize=9.5, va="center")


def legend(figure: Figure, handles: Sequence[Line2D], **place: Any) -> None:
    """Legend at the upper right unless `place` has another position."""
    words = {"loc": "upper right", "frameon": False, "fontsize": 9, "labelcolor": INK}
    figure.legend(handles=handles, **{**words, **place})


def against_truth(rows: Sequence[Row], sizes: Sequence[int], tasks: Sequence[str]) -> Figure:
    """Estimate against truth: a panel for each of the sizes, a line for each task, from the top."""
    figure = canvas(12, 1.95 + 0.235 * len(tasks))
    height = figure.get_figheight()
    panels = figure.subplots(1, len(sizes), sharex=True, sharey=True, squeeze=False)[0]
    figure.subplots_adjust(
        left=0.255, right=0.985, top=1 - 1.28 / height, bottom=0.55 / height, wspace=0.05
    )
    estimators = names(rows)
    colour = colours(estimators)
    column = min(0.12, 0.62 / len(estimators))  # of the panel's width, for a mean
    for axes, n in zip(panels, sizes, strict=True):
        quiet(axes)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        for i, task in enumerate(tasks):
            if i % 2:
                axes.axhspan(i - 0.5, i + 0.5, color=BAND, linewidth=0)
            truth = pick(rows, n=n, task=task)[0].truth
            axes.plot([truth] * 2, [i - 0.46, i + 0.46], color=INK, linewidth=2.2)
        for place, name in enumerate(estimators):
            own = {row.label["task"]: row for row in pick(rows, n=n, estimator=name)}
            shift = 0.72 * (place - (len(estimators) - 1) / 2) / len(estimators)
            axes.errorbar(
                [own[task].mean for task in tasks],
                [i + shift for i in range(len(tasks))],
                xerr=[own[task].spread for task in tasks],
                fmt="o",
                markersize=5.5 if ours(name) else 3.8,
                color=colour[name],
                elinewidth=1.2,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4 if ours(name) else 3,
            )
            axes.text(
                1 - column * (len(estimators) - place - 0.5),
                1 + 0.1 / height,
                number(mean_absolute_bias(list(own.values()))),
                transform=axes.transAxes,
                color=colour[name],
                fontsize=9,
                fontweight="bold" if ours(name) else "normal",
                ha="center",
            )
        axes.text(
            0.99 - column * len(estimators),
            1 + 0.1 / height,
            "mean |bias|",
            transform=axes.transAxes,
            color=QUIET,
            fontsize=9,
            ha="right",
        )
        axes.set_title(f"n = {n}", color=INK, fontsize=12, loc="left")
        axes.set_xlabel("mutual information (nats)", color=QUIET, fontsize=9)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(tasks)), tasks, fontsize=8.5)
    panels[0].set_ylim(len(tasks) - 0.5, -0.5)
    marks = [Line2D([], [], color=INK, marker="|", ms=13, mew=2.2, ls="", label="truth")]
    for name in estimators:
        marks.append(Line2D([], [], color=colour[name], marker="o", linestyle="", label=name))
    below = {"bbox_to_anchor": (0.988, 1 - 0.62 / height), "ncols": len(marks)}
    legend(figure, marks, **below, handletextpad=0.2, columnspacing=1.2)
    return figure
