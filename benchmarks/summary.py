"""Figures and chart of the README, from the results of the other benchmarks.

    python -m benchmarks.summary

Nothing is measured here. `summary.json` and `summary.md` list each figure with its file and the
command that wrote the file. A test compares the README with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from .drawing import BLUE, GREY, GRID, NAVY, ORANGE, RED, SKY
from .peers import COPULA, KDE, KSG

RESULTS = Path(__file__).parent / "results"
MODELS = ("edge", "base", "wide")
KEY_STATE_SETS = {
    "five sets by people": (
        *("sawyer_place", "sawyer_pickplace_long", "sawyer_nut_long", "handover", "lift_people"),
    ),
    "five tasks of Meta-World": (
        *("mw_pick_place", "mw_assembly", "mw_drawer_open", "mw_door_open", "mw_hammer"),
    ),
}
POLICIES = (
    *("ten alone", "sub-tasks", "sub-tasks, 1,000 attempts", "simulator's flags"),
    *("five even cuts", "300 real"),
)
SETS = {  # benchmark: what it is, smaller n, larger n
    "bmi": ("33 tasks of BMI", 100, 5000),
    "blind": ("20 blind families", 100, 1000),
    "strong": ("strong dependence, 1 to 5 nats", 100, 1000),
}


def load(name: str) -> dict[str, Any]:
    """One file of results."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def bias(rows: list[dict[str, Any]], estimator: str, n: int) -> float | None:
    """Mean over tasks of the absolute bias, nats; None if it was not measured."""
    found = [abs(row["bias"]) for row in rows if (row["estimator"], row["n"]) == (estimator, n)]
    return mean(found) if found else None


def figures() -> list[dict[str, str]]:
    """All figures: value as shown, description, file, and the command that wrote the file."""
    found: list[dict[str, str]] = []

    def add(value: float | None, digits: int, what: str, name: str, command: str) -> None:
        if value is not None:
            entry = {"value": f"{value:.{digits}f}", "what": what, "file": f"{name}.json"}
            found.append(entry | {"command": command})

    for name, (title, few, many) in SETS.items():
        data = load(name)
        for estimator in [*(f"infoatlas-rt {model}" for model in MODELS), KSG, COPULA]:
            for n in (many, few):
                what = f"mean absolute bias in nats, {title}, {estimator}, n = {n}"
                add(bias(data["rows"], estimator, n), 3, what, name, data["command"])

    data = load("keystates")
    for method in ("auto", "second difference", "evenly spaced"):
        for kind, tasks in KEY_STATE_SETS.items():
            recalls = [
                row["recall_5_steps"]
                for row in data["rows"]
                if row["study"] == "tasks" and row["task"] in tasks
                if (row["method"], row["count"]) == (method, 5)
            ]
            what = f"key states, {kind}, {method}, K = 5: mean recall within 5 steps"
            add(mean(recalls), 2, what, "keystates", data["command"])

    data = load("generation")
    for row in data["rows"]:
        if row["study"] == "policies" and row["arm"] in POLICIES:
            what = f"policies of {row['task']}, {row['arm']}: success on unseen starts"
            add(row["rate"], 2, what, "generation", data["command"])

    for report in load("native/edge")["reports"]:
        shape = f"n = {report['samples']}, {report['dims'][0]} + {report['dims'][1]} coordinates"
        engine = f"{report['slices']} slices, provider {report['provider']}"
        what = f"one update of {report['model']}, {shape}, {engine}: median ms"
        command = "infoatlas-rt bench --provider all --json"
        add(report["stages"]["total"]["median"], 0, what, "native/edge", command)
    return found


def draw(path: Path) -> None:
    """Draw the chart: absolute bias over n of our models and the peers, in three benchmarks."""
    styles = {
        "infoatlas-rt edge": (BLUE, "o", "-"),
        "infoatlas-rt base": (NAVY, "s", "-"),
        "infoatlas-rt wide": (SKY, "^", "-"),
        KSG: (GREY, "D", "--"),
        KDE: (RED, "v", "--"),
        COPULA: (ORANGE, "x", "--"),
    }
    figure = Figure(figsize=(10, 3.9), dpi=120, layout="constrained", facecolor="white")
    panels = figure.subplots(1, len(SETS), sharey=True)
    for axes, (name, (title, *_)) in zip(panels, SETS.items(), strict=True):
        rows = load(name)["rows"]
        for estimator, (colour, marker, line) in styles.items():
            ns = sorted({row["n"] for row in rows if row["estimator"] == estimator})
            values = [bias(rows, estimator, n) for n in ns]
            if ns:
                axes.plot(ns, values, color=colour, marker=marker, ls=line, label=estimator)
        axes.set(title=title, xlabel="samples", xscale="log", yscale="log")
        ticks = sorted({row["n"] for row in rows})
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.minorticks_off()
        axes.set_xlim(70, 8000)
        axes.grid(axis="y", color=GRID)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("mean absolute bias, nats")
    panels[0].set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    handles = {}
    for axes in panels:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=6, frameon=False
    )
    figure.savefig(path)


def main() -> None:
    found = figures()
    (RESULTS / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lines = [
        "# Figures of the README",
        "",
        "`python -m benchmarks.summary` reads the figures from these files and draws the chart.",
        "",
        "![Mean absolute bias over the number of samples, with peers](summary.png)",
        "",
        "| figure | description | file | command that wrote the file |",
        "|---:|---|---|---|",
    ]
    lines += [
        f"| {figure['value']} | {figure['what']} | [{figure['file']}]({figure['file']}) "
        f"| `{figure['command']}` |"
        for figure in found
    ]
    (RESULTS / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(RESULTS / "summary.png")


if __name__ == "__main__":
    main()
