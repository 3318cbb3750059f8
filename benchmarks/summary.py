"""Figures of the README, from the results of the other benchmarks.

    python -m benchmarks.summary

Nothing is measured here. `summary.json` and `summary.md` list each figure with its file and the
command that wrote the file. A test compares the README with them.
"""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from .peers import COPULA, KSG
from .report import table

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


def main() -> None:
    found = figures()
    (RESULTS / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    cells = [
        [each["value"], each["what"], f"[{each['file']}]({each['file']})", f"`{each['command']}`"]
        for each in found
    ]
    page = f"""# Figures of the README

`python -m benchmarks.summary` reads the figures from these files.

{table(["figure", "description", "file", "command that wrote the file"], cells)}
"""
    (RESULTS / "summary.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
