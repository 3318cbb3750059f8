"""Writes annotations as a tidy table (.csv), as a tree (.json), and as splits (.json)."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..keystates.subtasks.subtask_results import SeenObjects
from ..keystates.summary import finite
from .content import Annotations
from .quality_flags import quality_table

PART = ("tool", "reference", "orientation", "held", "information", "runner_up", "certain")
COLUMNS = (
    *("episode", "what", "number", "name", "start", "end", "start_seconds", "end_seconds"),
    *PART,
    *("strength", "begins", "ends"),
)


def write_csv(
    annotations: Annotations, path: Path, out: Path, *, quality: bool = False
) -> tuple[str, ...]:
    """Write a row for each part and each key state of each demonstration.

    The columns are `episode`, `what` (subtask or key_state), `number` (index of the part or key
    state) and `name`. `start` and `end` are steps, end excluded; `end` is empty for a key state.
    `start_seconds` and `end_seconds` are empty without a rate. Parts also have `tool`, `reference`,
    `orientation`, `held`, `information`, `runner_up` and `certain`. Key states have `strength`, and
    `begins` and `ends`, the steps of the switch of a gripper. With `quality`, each row also has
    `idle`, `idle_start`, `idle_end`, `outliers`, `attempts`, `missing`, `repeated`, `faults`,
    `reasons` and measures of its episode.
    """
    about = quality_table(annotations) if quality else []
    extra = [name for name in (about[0] if about else {}) if name not in ("episode", "frames")]
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *extra], restval="")
        writer.writeheader()
        for i, row in _rows(annotations):
            own = {name: _cell(about[i][name]) for name in extra}
            writer.writerow({**{name: _cell(value) for name, value in row.items()}, **own})
    return ()


def write_json(
    annotations: Annotations, path: Path, out: Path, *, quality: bool = False
) -> tuple[str, ...]:
    """Write `as_tree` of the annotations."""
    tree = {"data": str(path), **as_tree(annotations, quality=quality)}
    text = json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False)
    out.write_text(text + "\n", encoding="utf-8")
    return ()


def write_splits(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write the episodes of each order of sub-tasks, the commonest first: {"order_1": [0, 2]}."""
    numbered = all(name.isdecimal() for name in annotations.episodes)
    splits = {
        f"order_{i}": [int(name) if numbered else name for name in names]
        for i, names in enumerate(annotations.orders.values(), start=1)
    }
    out.write_text(json.dumps(splits) + "\n", encoding="utf-8")
    return ()


def as_tree(annotations: Annotations, *, quality: bool = False) -> dict[str, Any]:
    """Annotations as plain values for JSON.

    The keys are `rate` (Hz or None), `notes` and `warnings`. `subtasks` is a list of parts with
    `name`, `tool`, `reference`, `orientation`, `held`, `information`, `runner_up`,
    `runner_up_information`, `stderr` (nats), `certain`, `share` (of the duration) and `steps`
    (median). `episodes` is a list with `episode`, `frames`, `subtasks` (number, name, start, end),
    `key_states` (number, name, begins, ends, step) and, with `quality`, `quality`. `orders` has the
    episodes of each order of sub-tasks, and `look_at_first` the unusual ones (None without
    `quality` or without a rate). `objects` lists those that a camera sees, with `number`, `name`,
    `camera`, `seen` (share of the demonstrations) and `cuts`: label, information (`nats`) with its
    `stderr`, and whether it is the `reference`.
    """
    subtasks, keystates = annotations.subtasks, annotations.keystates
    shares = [share for tool in subtasks.tools for share in annotations.shares(tool).tolist()]
    parts = []
    for part, name, share in zip(subtasks.parts, subtasks.names, shares, strict=True):
        about = {"name": name, "tool": part.tool, "until": part.until}
        about |= {k: v for k, v in vars(part).items() if k not in ("start", "end", "event")}
        parts.append(
            finite({**about, "certain": part.certain, "share": share}) | {"steps": part.duration}
        )
    episodes: list[dict[str, Any]] = [
        {"episode": name, "frames": int(length), "subtasks": [], "key_states": []}
        for name, length in zip(annotations.episodes, annotations.lengths, strict=True)
    ]
    for i, row in _rows(annotations):
        if row["what"] == "subtask":
            own = {key: row[key] for key in ("number", "name", "start", "end")}
            episodes[i]["subtasks"].append(own)
        else:
            own = {key: row[key] for key in ("number", "name", "begins", "ends")}
            episodes[i]["key_states"].append(own | {"step": row["start"]})
    about_quality = quality_table(annotations) if quality else []
    for episode, own in zip(episodes, about_quality, strict=False):
        episode["quality"] = finite(
            {name: value for name, value in own.items() if name not in ("episode", "frames")}
        )
    return {
        "rate": annotations.rate,
        "subtasks": parts,
        "episodes": episodes,
        "objects": _objects(subtasks.seen) if subtasks.seen else [],
        "orders": annotations.orders,
        "look_at_first": (
            [q["episode"] for q in about_quality if q["reasons"]]
            if quality and annotations.rate
            else None
        ),
        # Both key states and sub-tasks say by how much a camera is late.
        "notes": [
            *dict.fromkeys((*keystates.trajectories.notes, *keystates.notes, *subtasks.notes))
        ],
        "warnings": [*keystates.warnings, *subtasks.warnings],
    }


def _objects(seen: SeenObjects) -> list[dict[str, Any]]:
    """Objects that a camera sees, and their information at each cut."""
    found = []
    for o, name in enumerate(seen.names):
        share = float((seen.boxes[:, o, 2] > 0).mean())
        columns = (seen.nats[:, o], seen.stderr[:, o], seen.left[:, o], seen.references)
        cuts = [
            finite({"cut": cut, "nats": float(nats), "stderr": float(error)})
            | {"place_changes": float(left), "reference": name == reference}
            for cut, nats, error, left, reference in zip(seen.cuts, *columns, strict=True)
        ]
        about = {"number": seen.numbers[o], "name": name, "camera": seen.camera, "seen": share}
        found.append(about | {"cuts": cuts})
    return found


def _rows(annotations: Annotations) -> Iterator[tuple[int, dict[str, Any]]]:
    """Demonstration and columns of each part and key state, by demonstration and time."""
    subtasks, keystates = annotations.subtasks, annotations.keystates
    for i, episode in enumerate(annotations.episodes):
        seconds = annotations.seconds(i)
        rows: list[dict[str, Any]] = []
        for number, (part, name) in enumerate(zip(subtasks.parts, subtasks.names, strict=True)):
            start, end = int(part.start[i]), int(part.end[i])
            if end > start:
                row = {"what": "subtask", "number": number, "name": name, "start": start}
                rows.append(row | {"end": end} | {key: getattr(part, key) for key in PART})
        for event in annotations.events(i):
            row = {"what": "key_state", "number": event.column, "name": event.name}
            strength = float(keystates.strength[event.column])
            dates = {"begins": keystates.begins, "ends": keystates.ends}
            spans = {name: int(own[i, event.column]) for name, own in dates.items()}
            rows.append(row | {"start": event.step, "strength": strength} | spans)
        for own in sorted(rows, key=lambda one: one["start"]):
            for at in ("start", "end"):
                if at in own:
                    own[f"{at}_seconds"] = float(seconds[own[at]])
            yield i, own | {"episode": episode}


def _cell(value: Any) -> Any:
    """Text of a cell: lists separated by spaces, numbers with six digits, NaN empty."""
    if isinstance(value, list):
        return ";".join(map(str, value))
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return value
