"""Results of the runs as rows and a page; intervals and comparisons of rates."""

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from ..measure import grid, one, pick
from ..report import number
from .arms import NONE

Rows = Sequence[dict[str, Any]]
KINDS = ("seen", "unseen")
TITLES = {"pick": "PickCube", "stack": "StackCube"}


def summarise(runs: Rows) -> list[dict[str, Any]]:
    """A row for each task, arm and kind of start: the episodes of all training seeds together."""
    rows = []
    for task, arm in dict.fromkeys((run["task"], run["arm"]) for run in runs):
        own = pick(runs, task=task, arm=arm)
        for kind in KINDS:
            outcomes = [run[kind] for run in own]
            rows.append(
                {
                    "study": "policies",
                    "task": task,
                    "arm": arm,
                    "starts": kind,
                    **rate(outcomes, "episodes"),
                    "seeds": [float(np.mean(one)) for one in outcomes],
                }
            )
    return rows


def rate(outcomes: Sequence[Sequence[bool]], of: str) -> dict[str, Any]:
    """Successes of all outcomes together, their number under the name `of`, and their rate."""
    done, total = sum(map(sum, outcomes)), sum(map(len, outcomes))
    low, high = wilson(done, total)
    return {"successes": done, of: total, "rate": done / total, "low": low, "high": high}


def differences(rows: Rows) -> list[dict[str, Any]]:
    """Each arm against "none": p of equal rates."""
    found = []
    for row in rows:
        base = one(rows, task=row["task"], arm=NONE, starts=row["starts"])
        if base is not None and row["arm"] != NONE:
            found.append(
                {
                    "study": "differences",
                    **{name: row[name] for name in ("task", "arm", "starts")},
                    "difference": row["rate"] - base["rate"],
                    "p": p_value(
                        row["successes"], base["successes"], row["episodes"], base["episodes"]
                    ),
                }
            )
    return found


def _interval(rows: Rows) -> str:
    row = rows[0]
    each = ", ".join(number(100 * share, 0) for share in row["seeds"])
    low, high = number(100 * row["low"], 0), number(100 * row["high"], 0)
    return f"{number(100 * row['rate'], 1)} ({low} to {high}; {each})"


def text(
    about: dict[str, Any], runs: Rows, rows: Rows, others: Rows, missing: Sequence[str]
) -> str:
    """All results as Markdown."""
    first = runs[0]
    settings = first["settings"]
    seeds, each = len({run["seed"] for run in runs}), len(first["unseen"])
    hours = sum(run["wall_seconds"] for run in runs) / 3600
    cpu = sum(run["train_cpu_seconds"] + run["evaluate_cpu_seconds"] for run in runs) / 3600
    limits = " or ".join(dict.fromkeys(str(run["limit"]) for run in runs))
    parts = [
        "# Policies with and without key states",
        "Do key states improve policies by behaviour cloning? The demonstrations are those of "
        "ManiSkill's motion planners, as states without the simulator's flags. A network "
        "predicts a chunk of joint targets. In every arm except `none` it also predicts the "
        f"states at the next key states, with weight {settings['weight']} in the loss (the idea "
        "of CoTPC). The arms differ only in the steps that are key states; the end of a "
        f"demonstration is one of them. Network, {settings['steps']:,} training steps, initial "
        "weights, batches and starts of a seed are the same in all arms. Settings were chosen on "
        "other starts with the arm `none`.",
        "The arm `simulator's flags` is an upper limit of what key states can achieve: other "
        "methods do not have the flags. "
        f"There are {first['demonstrations']} demonstrations and {seeds} training "
        f"seed{'s' * (seeds > 1)}, each with {each} seen (demonstrated) and {each} unseen starts. "
        f"An episode succeeds if any of its {limits} steps does.",
        f"Measured {about['date']} with `{about['command']}` on {about['machine']['cpu']}, one "
        f"thread, in {number(cpu, 2)} hours of processor time and {number(hours, 2)} hours of wall "
        "time beside other work.",
    ]
    if missing:
        parts.append(
            f"Not run yet: {'; '.join(missing)}. "
            "PegInsertionSide and the localiser with MINE-1000 are not part of it."
        )
    for task in dict.fromkeys(row["task"] for row in rows):
        own = pick(rows, task=task)
        parts.append(f"## {TITLES[task]}")
        parts.append(
            "Cells: success in percent (95% Wilson interval over the pooled episodes; rate of each "
            "seed). The interval assumes independent episodes and does not include differences "
            "between training seeds."
        )
        episodes = {"episodes": lambda rows: str(rows[0]["episodes"])}
        parts.append(grid(own, ["arm"], "starts", _interval, last=episodes))
        compared = pick(others, task=task)
        if compared:
            parts.append(
                "Differences from `none` in percentage points, with the p-value of equal rates."
            )
            parts.append(grid(compared, ["arm"], "starts", _against))
            parts.append(verdict(compared))
    return "\n\n".join(parts)


def _against(rows: Rows) -> str:
    p = "p < 0.001" if rows[0]["p"] < 0.001 else f"p = {number(rows[0]['p'], 3)}"
    return f"{100 * rows[0]['difference']:+.1f} ({p})"


def verdict(rows: Rows) -> str:
    """Significant comparisons, corrected for their number (Holm), as a sentence."""
    shown = [
        f"{row['arm']} ({row['starts']}, {100 * row['difference']:+.1f})"
        for row in holm(rows, lambda row: row["p"])
    ]
    if not shown:
        return (
            f"**No arm differs significantly from `none`** (Holm, {len(rows)} comparisons, 5%): "
            "this table does not show that key states help."
        )
    return (
        f"Significant differences (Holm, {len(rows)} comparisons, 5%): {', '.join(shown)}. "
        "The other arms do not differ significantly from `none`."
    )


Row = TypeVar("Row")
Z = NormalDist().inv_cdf(0.975)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of Wilson for a rate."""
    share, square = successes / trials, Z * Z / trials
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * sqrt(share * (1 - share) / trials + square / (4 * trials))
    return middle - half, middle + half


def p_value(a: int, b: int, n: int, m: int) -> float:
    """Two-sided p of equal rates for a of n and b of m successes (pooled normal test)."""
    pooled = (a + b) / (n + m)
    error = sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return 1.0 if error == 0 else 2 * NormalDist().cdf(-abs(a / n - b / m) / error)


def holm(rows: Sequence[Row], p: Callable[[Row], float]) -> list[Row]:
    """Rows whose p-value is significant by Holm's procedure, at 5% over all of them."""
    found = []
    for rank, row in enumerate(sorted(rows, key=p)):
        if p(row) > 0.05 / (len(rows) - rank):
            break
        found.append(row)
    return found
