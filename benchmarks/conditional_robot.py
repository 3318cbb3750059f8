"""Conditional information of a robot's demonstrations, a part of `benchmarks.conditional`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_tools import conditional_mutual_information as conditional, load_trajectories

from .intervals import Z90
from .report import number, table
from .tasks import Array

ROBOT = Path("examples/data/pickcube.npz")
AHEAD, EVERY = 5, 4  # steps of a motion, and between samples
CARRIED = 0.03  # metres; the cube rests at 0.02
JOINTS = [f"joint{i}.position" for i in range(1, 8)]
HEADERS = (
    *("part of the state, given another", "model", "n", "I(part; lift)"),
    *("I(part; lift given the other)", "90% interval", "p"),
)


def measure(permutations: int) -> list[dict[str, Any]]:
    """Information of a part of the state on the lift of the carried cube, given another part."""
    found = load_trajectories(ROBOT)
    columns = {name: i for i, name in enumerate(found.names)}
    states, ends = found.states.astype(float), np.cumsum(found.lengths)
    starts = ends - found.lengths

    def side(*names: str) -> Array:
        return states[:, [columns[name] for name in names]]

    height = side("cube.z")
    steps = [np.arange(start, end - AHEAD, EVERY) for start, end in zip(starts, ends, strict=True)]
    steps = [
        rows[(height[rows, 0] > CARRIED) & (height[rows + AHEAD, 0] > CARRIED)] for rows in steps
    ]
    # One sample of each demonstration: these are independent of each other.
    samples = {False: np.concatenate([rows[:1] for rows in steps]), True: np.concatenate(steps)}
    tool, goal, three = side("tool.z"), side("goal.z"), JOINTS[1:6:2]
    edge, wide = (Estimator(name, provider="auto", threads=1) for name in ("edge", "wide"))
    questions = {
        "tool's height, given the goal's": (tool, goal, edge),
        "goal's height, given the tool's": (goal, tool, edge),
        "fingers, given both heights": (side("finger1.position"), np.c_[tool, goal], edge),
        "tool's height, given joints 2, 4 and 6": (tool, side(*three), edge),
        "tool, given the seven joints": (side("tool.x", "tool.y", "tool.z"), side(*JOINTS), wide),
    }
    results = []
    for question, (one, given, estimator) in questions.items():
        for series, rows in samples.items():
            lift = height[rows + AHEAD] - height[rows]
            options: Any = {"time_series": series}
            alone = estimator.estimate(one[rows], lift, **options)
            options["permutations"] = permutations
            answer = conditional(one[rows], lift, given[rows], estimator, **options)
            results.append(
                {"question": question, "every": EVERY if series else None, "samples": len(rows)}
                | {"model": answer.model, "unconditional": alone.mi, "mi": answer.mi}
                | {"stderr": answer.stderr, "noise": answer.noise, "p": answer.p_value}
            )
    return results


def paragraphs(answers: Sequence[dict[str, Any]]) -> list[str]:
    """The answers of `measure`, as Markdown."""
    lines = []
    for a in answers:
        low, high = (a["mi"] + sign * Z90 * a["stderr"] for sign in (-1, 1))
        count = str(a["samples"]) + (f", every {a['every']}th step" if a["every"] else "")
        values = number(a["unconditional"]), number(a["mi"]), f"{low:.2f} to {high:.2f}"
        lines.append([a["question"], a["model"], count, *values, f"{a['p']:.3g}"])
    return [
        "How informative is a part of the state about the cube's lift in the next "
        f"{AHEAD} steps, given another part? The steps are those of PickCube demonstrations at "
        f"which the cube is higher than {CARRIED} m. Samples are either the first such step of "
        f"each demonstration, which are independent, or every {EVERY}th step as a time series.",
        "For the time series the test assumes that, given the other part, the lift does not "
        "depend on its own past. Here it does depend on it. Only the p-values of the independent "
        "samples are valid.",
        "In the last question the truth is 0: the arm's base is fixed, so the seven joints "
        "determine the tool. The interval is too wide to show this. Where z determines x up to "
        "rounding, neither 100 demonstrations nor more steps of them are enough. Choose a few "
        "coordinates that do not determine each other, as in the first two questions.",
        table(HEADERS, lines),
    ]
