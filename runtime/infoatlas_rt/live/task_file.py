"""Key states as a .json file: steps, strengths, detectors and sub-tasks, without demonstrations."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .live import LiveModel
from .progress.live_subtasks import LiveSubtasks
from .steps import Steps, empty_steps

FORMAT = 4
READ = (3, FORMAT)  # 3 has no sub-tasks
PLAIN = ("method", "lag", "stride", "rate", "names", "labels", "reproduced", "evident", "notes")


def write(
    fields: dict[str, Any], path: str | os.PathLike[str], subtasks: LiveSubtasks | None = None
) -> None:
    """Write the fields of `KeyStates`, and sub-tasks; InputError if the file cannot be written."""
    found, live = fields["found"], fields["live"]
    values = {
        "format": FORMAT,
        **{name: _plain(fields[name]) for name in PLAIN},
        "steps": [
            [None if masked else int(step) for step, masked in zip(row, mask, strict=True)]
            for row, mask in zip(
                found.steps.filled(-1), np.ma.getmaskarray(found.steps), strict=True
            )
        ],
        "strength": found.strength.tolist(),
        "kind": found.kind.tolist(),
        "shared": found.shared.tolist(),
        "origin": list(found.origin),
        "following": list(found.following),
        "live": live.to_dict(),
        "subtasks": None if subtasks is None else subtasks.to_dict(),
    }
    try:
        Path(path).write_text(json.dumps(values, allow_nan=False) + "\n", encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be written ({error}): check the path") from error


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Fields of `KeyStates` from a file of `write`.

    Raises
    ------
    InputError
        The file is missing, damaged or of another format.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        if values["format"] not in READ:
            raise ValueError(
                f"format {values['format']}, this version reads {' and '.join(map(str, READ))}"
            )
        found, live = _steps(values), LiveModel.from_dict(values["live"])
        fields = {name: values[name] for name in PLAIN}
        for name in ("names", "labels", "notes"):
            fields[name] = tuple(map(str, fields[name]))
        if fields["reproduced"] is None:
            fields["reproduced"] = float("nan")
        lag, stride = int(fields["lag"]), int(fields["stride"])
        if lag < 1 or stride != live.timing.stride:
            raise ValueError(f"lag {lag}, stride {stride}")
        if len(live.offset) != len(found.strength):
            raise ValueError(f"{len(live.offset)} detectors for {len(found.strength)} key states")
        if len(fields["names"]) not in (0, live.coordinates.width):
            raise ValueError(
                f"{len(fields['names'])} names for {live.coordinates.width} coordinates"
            )
        given = values.get("subtasks")
        subtasks = None
        if given is not None:
            coordinates = live.coordinates
            subtasks = LiveSubtasks.from_dict(given, len(coordinates.names), coordinates.width)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError,
        OverflowError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{path} is no file of key states ({type(error).__name__}: {error}): make one with "
            "`infoatlas-rt keystates DATA --save FILE.json`"
        ) from error
    return {**fields, "found": found, "loaded": live, "live_subtasks": subtasks}


def _steps(values: dict[str, Any]) -> Steps:
    rows, count = values["steps"], len(values["strength"])
    if any(len(row) != count for row in rows):
        raise ValueError(f"steps of other than {count} key states")
    steps = empty_steps(len(rows), count)
    for i, row in enumerate(rows):
        for j, step in enumerate(row):
            if step is not None:
                steps[i, j] = int(step)
    found = Steps(
        steps,
        np.asarray(values["strength"], np.float64),
        np.asarray(values["kind"], np.int64),
        np.asarray(values["shared"], bool),
        tuple(map(str, values["origin"])),
        tuple(map(float, values["following"])),
    )
    if not np.isfinite(found.strength).all():
        raise ValueError(f"strength {found.strength}")
    if {len(found.kind), len(found.shared), len(found.origin)} != {count}:
        raise ValueError(f"kinds, shares or origins of other than {count} key states")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value
