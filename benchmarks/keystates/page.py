"""The results of `run.py` as Markdown."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import report
from ..measure import one, pick
from ..peers.keystate_finders import PEERS
from ..report import number, table
from ..tasks.demonstrations import SETS, Demonstrations
from .ours import AUTO

Rows = list[dict[str, Any]]
MAIN, EVENTS = "tasks", "events"
FIGURES = {
    "recall_100_ms": "within 0.1 s",
    "recall_250_ms": "within 0.25 s",
    "recall_500_ms": "within 0.5 s",
    "recall_1000_ms": "within 1 s",
    "recall_2_steps": "within 2 steps",
    "recall_5_steps": "within 5 steps",
    "f1_10": "F1@10",
    "f1_25": "F1@25",
    "f1_50": "F1@50",
    "edit": "edit score",
    "accuracy": "accuracy of steps",
    "purity": "purity",
    "completeness": "completeness",
}
AUTOMATIC = {"precision_5_steps": "precision within 5 steps", "found": "key states found"}
COUNTS: dict[int | str, str] = {
    5: "K = 5",
    EVENTS: "K = median number of events in a demonstration",
    "auto": "K chosen by the method",
}
BY_SET: dict[int | str, tuple[str, ...]] = {  # the other figures by set are in keystates.json
    5: ("recall_250_ms", "recall_5_steps", "recall", "f1_50"),
    EVENTS: ("recall_250_ms", "f1_50"),
    "auto": ("recall_250_ms", "found"),
}
TITLES = {**FIGURES, **AUTOMATIC, "recall": "within 0.05 of the demonstration"}
DEFINITIONS = """\
- within 0.25 s, 5 steps, ...: share of true events with a key state within that distance
- F1@10, 25, 50: F1 score of segments. Key states divide a demonstration into segments. A found
  segment is right if it and a true segment of its class overlap by at least 10, 25 or 50%
  (intersection over union). The class of a segment is the kind of the event or key state at its
  begin, with its number ("second grasp"). Classes are matched one to one over a set (Hungarian
  algorithm).
- edit score: 1 - edit distance of the sequences of classes, relative to the longer one
- accuracy of steps: share of steps whose class is right
- purity: of the key states within 0.5 s of an event, the share whose nearest event is the commonest
  one of their kind
- completeness: of the events within 0.5 s of a key state, the share whose nearest key state is of
  the commonest kind of that event. Repetitions of an event ("touch#2") count as one event.
- Methods without kinds have ordinal classes: first key state, second, ...
- `*`: the method uses the names of columns
- a dash: the method does not support this; in brackets: number of sets with a value, if not all"""


def text(about: dict[str, Any], rows: Rows, tasks: dict[str, Demonstrations]) -> str:
    """All results as Markdown."""
    chosen = [SETS[name].title for name in tasks if SETS[name].chosen_on]
    parts = [
        "# Key states compared with true events",
        "Each method gets the states of all demonstrations of a set, and returns K steps of each. "
        "They are compared with the true events of the demonstrations. The end of a demonstration "
        "is given and does not count.",
        DEFINITIONS,
        "Settings of `auto` were chosen on these sets, for Meta-World on other draws. Settings of "
        f"BOCPD were chosen on eight of them, those of the other methods on {', '.join(chosen)}.",
        report.byline(about, nats=False),
        "## Methods",
        "\n".join(
            [f"- {AUTO}: `discover_keystates` with the names of columns and the rate"]
            + [f"- {starred(name)}: {peer.how}" for name, peer in PEERS.items()]
        ),
        "## Means",
    ]
    parts += [
        f"### {title}\n\n{means(rows, count, list(tasks))}" for count, title in COUNTS.items()
    ]
    for count, title in COUNTS.items():
        parts.append(f"## {title}")
        for figure in BY_SET[count]:
            parts.append(f"### {TITLES[figure]}\n\n{by_set(rows, count, list(tasks), figure)}")
    others = [s for s in dict.fromkeys(row["study"] for row in rows) if s not in (MAIN, "online")]
    parts += ["## Changed demonstrations of planners", changed(rows, others)]
    parts += ["## Online tracking", online(pick(rows, study="online"))]
    parts += ["## Sets", sets(tasks)]
    if about["refused"]:
        whys: dict[str, list[str]] = {}
        for where, why in about["refused"].items():
            method, task, _ = where.split("; ")
            whys.setdefault(f"{method}: {why}", []).append(SETS[task].title)
        parts += [
            "## Unsupported cases",
            "\n".join(f"- {why} ({', '.join(dict.fromkeys(on))})" for why, on in whys.items()),
        ]
    return "\n\n".join(parts)


def kinds_of(tasks: Sequence[str]) -> dict[str, list[str]]:
    """Sets by who or what made them."""
    kinds: dict[str, list[str]] = {}
    for task in tasks:
        scripted = "Meta-World" if task.startswith("mw_") else "planners"
        kinds.setdefault("people" if SETS[task].people else scripted, []).append(task)
    return kinds


def means(rows: Rows, count: int | str, tasks: Sequence[str]) -> str:
    """Means over kinds of sets: a row for each figure, a column for each method."""
    methods = methods_of(pick(rows, study=MAIN, count=count))
    lines = []
    for kind, own in kinds_of(tasks).items():
        of_kind = [row for row in pick(rows, study=MAIN, count=count) if row["task"] in own]
        kept = {m: [row["task"] for row in pick(of_kind, method=m)] for m in methods}
        lines.append([f"**{kind}**", "number of sets", *(str(len(kept[m])) for m in methods)])
        lines += [
            ["", title, *(mean(of_kind, MAIN, count, m, kept[m], name) for m in methods)]
            for name, title in (FIGURES | AUTOMATIC if count == "auto" else FIGURES).items()
        ]
    return table(["sets", "figure", *map(starred, methods)], lines)


def by_set(rows: Rows, count: int | str, tasks: Sequence[str], figure: str) -> str:
    """One figure: a row for each set and kind of sets, a column for each method."""
    methods = methods_of(pick(rows, study=MAIN, count=count))
    named = {
        **{SETS[task].title: [task] for task in tasks},
        **{f"**mean, {kind}**": own for kind, own in kinds_of(tasks).items()},
    }
    lines = [
        [title, *(mean(rows, MAIN, count, method, own, figure) for method in methods)]
        for title, own in named.items()
    ]
    return table(["set", *map(starred, methods)], lines)


def methods_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def starred(method: str) -> str:
    return method + ("*" if method in PEERS and PEERS[method].knows_columns else "")


def mean(
    rows: Rows, study: str, count: int | str, method: str, tasks: Sequence[str], figure: str
) -> str:
    """Mean over the sets that have a value, and how many they are if not all."""
    found = [one(rows, study=study, count=count, method=method, task=task) for task in tasks]
    values = [row[figure] for row in found if row is not None and row[figure] is not None]
    part = "" if len(values) == len(tasks) else f" ({len(values)} of {len(tasks)})"
    return number(float(np.mean(values)), 2) + part if values else "-"


def changed(rows: Rows, studies: Sequence[str]) -> str:
    """Recall in changed copies: a row for each change."""
    tasks = list(dict.fromkeys(row["task"] for row in rows if row["study"] in studies))
    methods = methods_of([row for row in rows if row["study"] in studies])
    lines = [
        [label, *(mean(rows, study, 5, method, tasks, "recall_5_steps") for method in methods)]
        for study, label in {MAIN: "unchanged", **{name: name for name in studies}}.items()
    ]
    words = "Recall within 5 steps at K = 5, mean over the tasks of planners."
    return f"{words}\n\n{table(['data', *map(starred, methods)], lines)}"


def online(rows: Rows) -> str:
    """Results of the tracker by set."""
    words = (
        "`KeyStateTracker` is fitted on two thirds of the demonstrations (30 at most, K = 5) and "
        "follows the others step by step. Values are means over events, weighted by the number of "
        "episodes, and over three random splits.\n\n- found: "
        "share of events with a report whose time is within 0.5 s of the event\n- found by its key "
        "state: the same, with reports of one key state only: the nearest to the event in the "
        "fitted demonstrations\n- false reports: other reports of that key state, for each "
        "episode\n- delay: median time from the event to its report\n- time of a step: mean time "
        "of `push` on a shared core"
    )
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = pick(rows, task=task)
        values = [weighted(own, f) for f in ("recall", "own_recall", "false_reports", "delay")]
        shown = ["-" if np.isnan(value) else number(value, 2) for value in values]
        lines.append([SETS[task].title, *shown, f"{weighted(own, 'microseconds'):.0f} µs"])
    headers = ["set", "found", "found by its key state", "false reports", "delay, s"]
    return f"{words}\n\n{table([*headers, 'time of a step'], lines)}"


def weighted(rows: Rows, figure: str) -> float:
    """Mean over events, weighted by their episodes; NaN if there is none."""
    known = [row for row in rows if row["episodes"] and row[figure] is not None]
    total = sum(row["episodes"] for row in known)
    return sum(row["episodes"] * row[figure] for row in known) / total if total else np.nan


def sets(tasks: dict[str, Demonstrations]) -> str:
    """Table of sets, with events that half of the demonstrations have, and their definitions."""
    lines = []
    for name, demos in tasks.items():
        lengths = demos.lengths
        meant = {event.name: f" ({event.meaning})" for event in SETS[name].events}
        where = [
            f"{event}{meant.get(event, '')}, at {np.nanmedian(at / (lengths - 1)):.2f}"
            for event, at in zip(demos.events, demos.times.T, strict=True)
            if np.isfinite(at).mean() >= 0.5
        ]
        size = f"{len(lengths)} x {lengths.min()} to {lengths.max()} x {len(demos.names)}"
        lines.append([SETS[name].title, "; ".join(where), str(demos.usual), size])
    words = "Each event has its median position as a fraction of the demonstration."
    head = ["set", "events", "median number of events", "demonstrations x steps x columns"]
    return f"{words}\n\n{table(head, lines)}"
