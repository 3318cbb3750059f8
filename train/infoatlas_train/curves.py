"""Learning curves of pretraining runs: python -m infoatlas_train.curves runs/edge --out curves.png

The picture shows held-out loss, learning rate, and held-out error at each sample size, with one
line per run. Levels of two runs are comparable only if both have the same atlas and dimension,
because these determine the held-out datasets.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, MaxNLocator
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: pip install 'infoatlas-rt[train]'", name=error.name
    ) from error

SIZES = (50, 100, 500, 2000)  # those of options.HELD_OUT, without torch
KEYS = ("step", "datasets", "lr", "held_out", *(f"error_{n}" for n in SIZES))
AGAINST = {"datasets": "training datasets (including those of --init)", "step": "steps"}
ABOUT = "Averaged weights on held-out datasets. Rings mark the start of learning-rate decay."
INK, QUIET, GRID = "#1c2733", "#6b7785", "#e6e9ed"
COLOURS = ("#1f5f99", "#e08a00", "#b5495b", "#2f8f83", "#7a5aa8", "#8a95a1")
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
         "axes.edgecolor": QUIET, "axes.labelcolor": QUIET, "xtick.color": QUIET,
         "ytick.color": QUIET, "axes.grid.axis": "y", "grid.color": GRID, "axes.titlecolor": INK,
         "axes.titlelocation": "left", "axes.titlesize": 10, "legend.frameon": False}  # fmt: skip
Run = dict[str, np.ndarray]  # a column for each of KEYS, in the order of steps


def parse(argument: str) -> tuple[str, Path]:
    """Name and metrics file of RUN or NAME=RUN."""
    named = "=" in argument and not Path(argument).exists()
    name, _, rest = (argument if named else f"={argument}").partition("=")
    path = Path(rest) if rest.endswith(".jsonl") else Path(rest) / "metrics.jsonl"
    return name or path.resolve().parent.name, path


def read(path: Path) -> Run:
    """The evaluations of a run; where it resumed from an earlier step, later lines replace earlier.

    Raises ValueError if the file is absent, empty or damaged.
    """
    if not path.is_file():
        raise ValueError(f"{path} does not exist: give a folder that pretrain wrote (its --out)")
    lines: list[dict[str, float]] = []
    for number, text in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            line = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{where} is not JSON: remove the line") from error
        for key in KEYS:
            if not isinstance(line, dict) or not isinstance(line.get(key), (int, float)):
                raise ValueError(f"{where} has no number {key!r}: remove it, or name another run")
        lines = [kept for kept in lines if kept["step"] < line["step"]] + [line]
    if not lines:
        raise ValueError(f"{path} is empty: wait until pretrain has evaluated (--evaluate)")
    return {key: np.array([line[key] for line in lines], float) for key in KEYS}


def limits(columns: list[np.ndarray]) -> tuple[float, float]:
    """Limits of an axis; they exclude outliers, such as first evaluations or divergence."""
    values = [np.sort(column[np.isfinite(column)]) for column in columns]
    cores = np.concatenate([v[len(v) // 10 : len(v) - len(v) // 10] for v in values])
    reach = 0.75 * np.ptp(cores) if len(cores) else 0.0
    near = [x for v in values for x in v if cores.min() - reach <= x <= cores.max() + reach]
    low, high = (min(near), max(near)) if near else (0.0, 1.0)
    margin = max(0.07 * (high - low), 3e-3 * abs(high), 1e-6)
    return low - margin, high + margin


def apart(wanted: list[float], least: float) -> np.ndarray:
    """Places in [0, 1] near the wanted ones, in the same order and at least `least` apart."""
    order, room = np.argsort(wanted, kind="stable"), least * np.arange(len(wanted))
    slack = np.array(wanted)[order] - room
    up, down = np.maximum.accumulate(slack), np.minimum.accumulate(slack[::-1])[::-1]
    return (np.clip((up + down) / 2, 0, 1 - least * (len(wanted) - 1)) + room)[np.argsort(order)]


def panel(ax: Axes, runs: dict[str, Run], key: str, against: str, title: str) -> None:
    """A line for each run, a ring where a decay begins, and the last value in the margin."""
    low, high = limits([run[key] for run in runs.values()])
    ax.set(ylim=(low, high), title=title)
    ends = []
    for colour, (name, run) in zip(COLOURS, runs.items(), strict=False):
        x, y = run[against], run[key]
        best = run["step"][np.nan_to_num(run["held_out"], nan=np.inf).argmin()]
        label = f"{name}: {run['step'][-1]:,.0f} steps, best after {best:,.0f}"
        ax.plot(x, y, color=colour, linewidth=1.7, label=label)
        begins = np.flatnonzero(np.diff(1 * (np.diff(run["lr"]) < 0), prepend=0) > 0)
        ax.plot(x[begins], y[begins], "o", color=colour, ms=6.5, mew=1.4, mfc="white", zorder=3)
        for last in np.flatnonzero(np.isfinite(y))[-1:]:
            ax.plot(x[last], y[last], "o", color=colour, ms=4.5, zorder=4)
            ends.append((x[last], np.clip(y[last], low, high), f"{y[last]:.4f}", colour))
    height = ax.get_position().height * ax.figure.get_figheight() * 72
    places = apart([(y - low) / (high - low) for _, y, *_ in ends], 12 / height)
    for (x, y, text, hue), place in zip(ends, places, strict=True):
        line = {"arrowstyle": "-", "color": hue, "linestyle": (0, (1, 2)), "relpos": (0, 0.5)}
        ax.annotate(text, (x, y), (1.04, place), "data", "axes fraction", line, c=hue, va="center")


@rc_context(STYLE)
def page(runs: dict[str, Run], against: str = "datasets") -> Figure:
    """The picture of up to six runs by name, with `datasets` or `step` on the horizontal axis."""
    height = 6 + 0.21 * math.ceil(len(runs) / 3)
    figure = Figure(figsize=(12.2, height), facecolor="white")
    place = {"left": 0.055, "right": 0.947, "bottom": 0.6 / height, "top": 4.85 / height}
    left, right = figure.add_gridspec(1, 2, width_ratios=(1, 1.12), wspace=0.26, **place)
    loss, rate = left.subgridspec(2, 1, height_ratios=(5, 1), hspace=0.25).subplots(sharex=True)
    errors = right.subgridspec(2, 2, wspace=0.6, hspace=0.3).subplots(sharex=True)
    panel(loss, runs, "held_out", against, "Held-out loss, mean over n")
    for ax, n in zip(errors.flat, SIZES, strict=True):
        panel(ax, runs, f"error_{n}", against, f"Held-out error at n = {n:,}, nats")
    for colour, run in zip(COLOURS, runs.values(), strict=False):
        rate.plot(run[against], run["lr"], c=colour, lw=1.2, marker=".", markevery=[-1], alpha=0.8)
    for ax in figure.axes:
        ax.xaxis.set(major_formatter=EngFormatter(sep=""), major_locator=MaxNLocator(5))
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
    for ax in (rate, *errors[-1]):
        ax.set_xlabel(AGAINST[against])
    most = max(run["lr"].max() for run in runs.values())
    rate.set(ylim=(0, 1.15 * most), yticks=(0, most), yticklabels=(0, f"{most:.2g}"))
    rate.set_title("Learning rate")
    figure.text(0.012, 1 - 0.3 / height, "Learning curves", color=INK, size=14, weight="bold")
    figure.text(0.012, 1 - 0.56 / height, ABOUT, color=QUIET, size=9.5)
    keys, corner = loss.get_legend_handles_labels(), (0.004, 1 - 0.64 / height)
    figure.legend(*keys, loc="upper left", bbox_to_anchor=corner, ncols=3, labelcolor=INK)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("runs", nargs="+", metavar="RUN", help="folder or metrics.jsonl, or NAME=RUN")
    p.add_argument("--out", type=Path, required=True, help="the picture: .png, .pdf or .svg")
    p.add_argument(
        "--against", choices=AGAINST, default="datasets", help="horizontal axis (datasets)"
    )
    args = p.parse_args(argv)
    paths = dict(map(parse, args.runs))
    if len(paths) < len(args.runs) or len(paths) > len(COLOURS):
        p.error(f"give at most {len(COLOURS)} runs with different names: NAME=RUN sets a name")
    try:
        runs = {name: read(path) for name, path in paths.items()}
        args.out.parent.mkdir(parents=True, exist_ok=True)
        page(runs, args.against).savefig(args.out, dpi=120)
    except (OSError, ValueError) as error:
        p.error(str(error))
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
