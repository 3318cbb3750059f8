"""The first picture of the README: sub-tasks of two sets of demonstrations, and what they give.

    python -m benchmarks.front    # draws docs/front.png

The sub-tasks are found when the picture is drawn, in files of the key-state benchmark. The rates of
success are those of results/generation.json (python -m benchmarks.generation).
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from infoatlas_tools import Pose, Subtasks, Trajectories, discover_keystates, load_trajectories

from .drawing import BLUE, GREY, INK, NAVY, ORANGE, QUIET, SKY, canvas, quiet
from .summary import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
COLOURS = (SKY, ORANGE)  # of the parts
SIGNALS = (("tool.z", "height of the tool", NAVY), ("finger1.position", "gripper", GREY))
LANES = 10  # demonstrations under the signals
RATE = 20  # recorded steps a second
ARMS = {  # of results/generation.json, and what they are
    "ten alone": "10 demonstrations",
    "five even cuts": "generated from\neven cuts",
    "sub-tasks": "generated from\nfound sub-tasks",
    "300 real": "300 demonstrations",
}


class Task(NamedTuple):
    """Demonstrations that the picture shows."""

    file: str
    title: str
    objects: tuple[str, ...]
    shown: int  # the episode whose signals are drawn


TASKS = (
    Task("sawyer_place", "A person places an object", ("object",), 8),
    Task("stack", "A robot stacks two cubes", ("cube_a", "cube_b"), 6),
)


def found(task: Task) -> tuple[Trajectories, Subtasks]:
    path = ROOT / f"benchmarks/tasks/data/{task.file}.npz"
    demonstrations = load_trajectories(path, rate=RATE)
    keystates = discover_keystates(demonstrations)
    objects = {name: Pose(name) for name in task.objects}
    return demonstrations, keystates.subtasks({"tool": Pose("tool")}, objects)


def signals(axes: Axes, task: Task, demonstrations: Trajectories, parts: Subtasks) -> None:
    """Height and gripper of one episode, over the sub-tasks of the first ten."""
    names = list(demonstrations.names)
    start = int(demonstrations.lengths[: task.shown].sum())
    own = demonstrations.states[start : start + int(demonstrations.lengths[task.shown])]
    for column, label, colour in SIGNALS:
        values = own[1:, names.index(column)].astype(float)
        values = (values - values.min()) / np.ptp(values)
        seconds = np.arange(1, len(own)) / RATE
        axes.plot(seconds, 1.25 + values, color=colour, lw=1.6, label=label)
    height = 1 / LANES
    for i, (part, name) in enumerate(zip(parts.parts, parts.names, strict=True)):
        begin, end = part.start / RATE, part.end / RATE
        for lane in range(LANES):
            y = 1 - (lane + 1) * height
            width = end[lane] - begin[lane]
            axes.barh(y, width, 0.72 * height, begin[lane], color=COLOURS[i], align="edge", lw=0)
        one = begin[task.shown], end[task.shown]
        axes.fill_between(one, 1.17, 2.85, color=COLOURS[i], alpha=0.16, lw=0)
        words = textwrap.fill(name, 14)
        axes.text(sum(one) / 2, 2.6, words, color=INK, fontsize=9, ha="center", va="center")
    quiet(axes)
    axes.set_xlim(0, max(parts.lengths[:LANES]) / RATE)
    axes.set_ylim(-0.05, 2.85)
    axes.set_yticks([0.5, 1.75], [f"sub-tasks of\n{LANES} episodes", "signals of\none episode"])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds", color=QUIET, fontsize=9)
    axes.set_title(task.title, color=INK, fontsize=11, loc="left", pad=8)


def success() -> dict[str, list[float]]:
    """Percent of unseen starts, by task, for each of `ARMS`."""
    rows = [row for row in load("generation")["rows"] if row["study"] == "policies"]
    rates = {(row["task"], row["arm"]): row["rate"] for row in rows}
    return {
        name: [round(100 * rates[task, arm], 1) for arm in ARMS]
        for task, name in (("pick", "PickCube"), ("stack", "StackCube"))
    }


def bars(axes: Axes) -> None:
    """Success of policies of two tasks, by their training data."""
    for i, ((task, rates), colour) in enumerate(zip(success().items(), (BLUE, SKY), strict=True)):
        for place, rate in enumerate(rates):
            y = place + 0.36 * (i - 0.5)
            axes.barh(y, rate, 0.34, color=colour, label=task if place == 0 else None)
            axes.text(rate + 1, y, f"{rate:.0f}", color=INK, fontsize=8.5, va="center")
    quiet(axes)
    axes.set_yticks(range(len(ARMS)), ARMS.values())
    axes.set_ylim(len(ARMS) - 0.4, -0.6)
    axes.set_xlim(0, 70)
    axes.set_xlabel("success on unseen starts, %", color=QUIET, fontsize=9)
    axes.set_title("Policies, by their training data", color=INK, fontsize=11, loc="left", pad=8)
    axes.legend(loc="upper right", frameon=False, fontsize=8.5)


def front() -> Figure:
    """The picture."""
    figure = canvas(12.6, 3.7)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1.25, 1))
    for axes, task in zip((left, middle), TASKS, strict=True):
        signals(axes, task, *found(task))
    bars(right)
    figure.tight_layout(w_pad=2, rect=(0, 0.05, 1, 1))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower left", ncols=2, frameon=False, fontsize=8.5)
    return figure


def main() -> None:
    front().savefig(ROOT / "docs/front.png", metadata={"Comment": json.dumps(success())})


if __name__ == "__main__":
    main()
