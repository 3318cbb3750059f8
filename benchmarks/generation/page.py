"""Generation, references and policies as rows of figures and a page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..measure import figures, grid, pick
from ..policies.page import p_value, rate
from ..report import number
from .arms import FIVE, FLAGS, FOUND, MORE, NONE, ONE, SUBTASKS
from .plan import CHANGED, PLAIN, REAL, TEN
from .tasks import TASKS

Rows = Sequence[dict[str, Any]]
TITLES = {name: task.title for name, task in TASKS.items()}
BASES = (TEN, REAL, FIVE)  # of policies: all arms are compared with each


def generation(runs: Rows) -> list[dict[str, Any]]:
    """A row for each variant, task and arm: the attempts of all sets of sources together."""
    rows = []
    for variant, task, arm in dict.fromkeys((r["variant"], r["task"], r["arm"]) for r in runs):
        own = pick(runs, variant=variant, task=task, arm=arm)
        outcomes = [run["successes"] for run in own if run["successes"]]
        if outcomes:
            rows.append(
                {
                    "study": "generation",
                    "variant": variant,
                    "task": task,
                    "arm": arm,
                    **rate(outcomes, "attempts"),
                    "sets": [float(np.mean(o)) for o in outcomes],
                    "right": sum(bool(run["right"]) for run in own if run["successes"]),
                    "seconds_per_attempt": sum(r["seconds"] for r in own if r["successes"])
                    / sum(map(len, outcomes)),
                }
            )
    return rows


def policies(runs: Rows) -> list[dict[str, Any]]:
    """A row for each task and arm: the episodes of all training seeds together."""
    rows: list[dict[str, Any]] = []
    for task, arm in dict.fromkeys((run["task"], run["arm"]) for run in runs):
        own = sorted(pick(runs, task=task, arm=arm), key=lambda run: run["seed"])
        outcomes = [run["unseen"] for run in own]
        rows.append(
            {
                "study": "policies",
                "task": task,
                "arm": arm,
                "demonstrations": own[0]["demonstrations"],
                **rate(outcomes, "attempts"),
                "seeds": [float(np.mean(o)) for o in outcomes],
            }
        )
    for row in rows:
        for base in BASES:
            row[f"p_{base.replace(' ', '_')}"] = _p_of_common(runs, row["task"], row["arm"], base)
    return rows


def _p_of_common(runs: Rows, task: str, arm: str, base: str) -> float | None:
    """p of equal rates on the training seeds that both arms have; None if there are none."""
    mine, theirs = (
        {run["seed"]: run["unseen"] for run in pick(runs, task=task, arm=a)} for a in (arm, base)
    )
    common = sorted(mine.keys() & theirs.keys())
    if arm == base or not common:
        return None
    (a, n), (b, m) = (
        (sum(sum(own[seed]) for seed in common), sum(len(own[seed]) for seed in common))
        for own in (mine, theirs)
    )
    return p_value(a, b, n, m)


def text(about: dict[str, Any], plan: dict[str, Any], rows: Rows, missing: Sequence[str]) -> str:
    """All results as Markdown."""
    made, learned = pick(rows, study="generation"), pick(rows, study="policies")
    parts = [
        "# From ten demonstrations to a policy",
        f"The sources are {plan['sources']} demonstrations of ManiSkill's motion planners. They "
        "are cut into parts. In a new scene, each part is transformed to the pose of its "
        "reference object and executed, and successful attempts are kept (as in MimicGen, "
        "Mandlekar et al. 2023). The arms differ in the cuts and in the choice of references:",
        f"- `{SUBTASKS}`: the sub-tasks that the library finds\n"
        f"- `{FLAGS}`, `{ONE}`: references are given; all other arms use the library's rule\n"
        f"- `{FOUND}`: cuts at key states of the robot alone, without poses of objects",
        f"Measured up to {about['date']} with `python -m benchmarks.generation` on "
        f"{about['machine']['cpu']}, with one thread for each process. The page was written by "
        f"`{about['command']}`.",
        "A cell is a rate in percent (95% Wilson interval over all attempts; rate of each set of "
        "sources or each training seed). The interval assumes independent attempts. Arms other "
        f"than {', '.join(f'`{arm}`' for arm in plan['again'])} have fewer sets of sources. Sets "
        "differ, so compare these arms by the rate of the first set.",
        "![Success of generation and of policies, by arm](generation.png)",
    ]
    if missing:
        parts.append(f"Not run yet: {'; '.join(missing)}.")
    for variant, title, words in (
        (PLAIN, "Generation", "The sources are the planner's demonstrations, unchanged."),
        (
            CHANGED,
            "Generation from changed sources",
            "The same sources at a varying tempo, from half to twice the original, and with two "
            "pauses. Each measured position of the tool and the objects has noise of 0.5 mm. "
            f"Positions are averaged over {plan['smooth'][CHANGED]} steps.",
        ),
    ):
        own = pick(made, variant=variant)
        if own:
            parts += [f"## {title}", words, _generated(own)]
    for task in dict.fromkeys(row["task"] for row in learned):
        parts += [f"## Policies: {TITLES[task]}", *_policies(pick(learned, task=task), plan)]
    return "\n\n".join(parts)


def _generated(rows: Rows) -> str:
    """Tables of rates and of right references: a line for each arm, a column for each task."""

    def cell(own: Rows) -> str:
        return f"{_interval(own[0])}; {_percents(own[0]['sets'])}" if own else "-"

    def right(own: Rows) -> str:
        return f"{own[0]['right']}/{len(own[0]['sets'])}" if own else "-"

    shown = [{**row, "task": TITLES[row["task"]]} for row in rows]
    choosing = [row for row in shown if row["arm"] not in (FLAGS, ONE, NONE, MORE)]
    most, least = (some(row["attempts"] for row in rows) for some in (max, min))
    return "\n\n".join(
        [
            f"{f'{least:,} to ' * (least < most)}{most:,} attempts for each cell.",
            grid(shown, ["arm"], "task", cell),
            "Number of sets of sources with the right references in the right order:",
            grid(choosing, ["arm"], "task", right),
        ]
    )


def _interval(row: dict[str, Any]) -> str:
    rate, low, high = (number(100 * row[name], 0) for name in ("rate", "low", "high"))
    return f"{rate} ({low} to {high})"


def _percents(rates: Sequence[float]) -> str:
    return ", ".join(number(100 * rate, 0) for rate in rates)


def _policies(rows: Rows, plan: dict[str, Any]) -> list[str]:
    settings = plan["policy"]

    def p(row: dict[str, Any], base: str) -> str:
        value = row[f"p_{base.replace(' ', '_')}"]
        if value is None:
            return "-"
        return "< 0.001" if value < 0.001 else number(value, 3)

    columns = {
        "demonstrations": lambda own: str(own[0]["demonstrations"]),
        "success, %": lambda own: (
            f"{number(100 * own[0]['rate'], 1)} ({number(100 * own[0]['low'], 0)} to "
            f"{number(100 * own[0]['high'], 0)}; {_percents(own[0]['seeds'])})"
        ),
    }
    columns |= {f"p, {base}": lambda own, base=base: p(own[0], base) for base in BASES}
    return [
        "Behaviour cloning as in [policies with key states](policies.md), with "
        f"{settings['steps']:,} training steps and without a loss for key states. Each training "
        f"seed has {plan['episodes']} unseen starts. The data are the {plan['sources']} sources "
        f"and the successful attempts of {plan['attempts']}, unless the name has another number. "
        "The columns p are of the hypothesis of equal success rates: two-sided, for independent "
        "episodes, on the starts that both arms have.",
        figures([{"data": row["arm"], **row} for row in rows], ["data"], columns),
    ]
