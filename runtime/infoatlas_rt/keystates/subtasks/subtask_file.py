"""Sub-tasks as plain values of a JSON file."""

from __future__ import annotations

from typing import Any

import numpy as np

from .result import ORIENTATIONS, Subtask, Subtasks

TEXTS = ("tool", "until", "reference", "orientation", "held", "runner_up")
NATS = (
    "information",
    "runner_up_information",
    "stderr",
    "model_information",
    "model_stderr",
)


def subtasks_to_dict(subtasks: Subtasks) -> dict[str, Any]:
    """Plain values, for a JSON file; null stands for NaN."""
    return {
        "parts": [
            {
                "start": part.start.tolist(),
                "end": part.end.tolist(),
                **{name: getattr(part, name) for name in TEXTS},
                **{name: _finite(getattr(part, name)) for name in NATS},
            }
            for part in subtasks.parts
        ],
        "lengths": subtasks.lengths.tolist(),
        "rate": subtasks.rate,
        "given_names": list(subtasks.given_names),
        "notes": list(subtasks.notes),
    }


def subtasks_from_dict(values: dict[str, Any]) -> Subtasks:
    """Inverse of `subtasks_to_dict`; ValueError, KeyError or TypeError if it does not fit."""
    lengths = np.asarray(values["lengths"], np.int64)
    parts = []
    for part in values["parts"]:
        start, end = (np.asarray(part[name], np.int64) for name in ("start", "end"))
        if not start.shape == end.shape == lengths.shape:
            raise ValueError(f"sub-tasks of other than {len(lengths)} demonstrations")
        if not ((start >= 0) & (start <= end) & (end <= lengths)).all():
            raise ValueError(f"a sub-task from {start} to {end} in {lengths} steps")
        if part["orientation"] not in ORIENTATIONS:
            raise ValueError(f"orientation {part['orientation']!r}")
        fields: dict[str, Any] = {name: str(part[name]) for name in TEXTS}
        fields |= {name: _number(part[name]) for name in NATS}
        parts.append(Subtask(start=start, end=end, **fields))
    rate = values["rate"]
    return Subtasks(
        tuple(parts),
        lengths,
        None if rate is None else float(rate),
        tuple(map(str, values["given_names"])),
        tuple(map(str, values["notes"])),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
