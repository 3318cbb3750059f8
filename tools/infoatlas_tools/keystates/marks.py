"""Files of labels: what a person marked in demonstrations, with fingerprints of the data.

`infoatlas-rt label` writes them. A plain file of {demonstration: steps} is read, too.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError, OutputError

from ..episode_numbers import find_episode
from ..presentation import first_names
from ..trajectories import Trajectories, episode_names

WAY_OUT = (
    "pass the data and the options (such as --features) that they were made with, or mark these "
    "data in a new file"
)


@dataclass(frozen=True)
class Marks:
    """Key states that a person marked."""

    kinds: tuple[str, ...] = ()  # names of all kinds, in the order in which they were added
    # Recorded steps by demonstration and kind; None where the person marked that the demonstration
    # lacks the kind. Kinds that are not there are to be found.
    steps: Mapping[int, Mapping[str, int | None]] = field(default_factory=dict)


def fingerprint(states: NDArray[Any]) -> str:
    """Digest of the states [T, d] of a demonstration, in single precision."""
    return hashlib.sha256(np.ascontiguousarray(states, np.float32).tobytes()).hexdigest()[:16]


def _second(trajectories: Trajectories, which: int, step: int) -> float | None:
    seconds = round(float(trajectories.seconds(which)[step]), 6)
    return seconds if seconds == seconds else None


def write_marks(path: Path, marks: Marks, trajectories: Trajectories) -> None:
    """Write marks; a file that exists is replaced atomically. OutputError if that fails."""
    names, states = episode_names(trajectories), trajectories.split()
    rate = trajectories.rate
    episodes = {
        names[i]: {
            "length": len(states[i]),
            "fingerprint": fingerprint(states[i]),
            "marks": {
                kind: None
                if step is None
                else {"step": step, "seconds": _second(trajectories, i, step)}
                for kind, step in own.items()
            },
        }
        for i, own in sorted(marks.steps.items())
        if own
    }
    text = json.dumps({"kinds": marks.kinds, "rate": rate, "episodes": episodes}, indent=1)
    new = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written ({error}): choose another place") from error


def read_labels(path: str | os.PathLike[str], trajectories: Trajectories) -> Marks | dict[int, Any]:
    """Marks of a file that `label` wrote, or the steps by index of a plain one.

    InputError if the file cannot be read, or its marks are of other data.
    """
    plain: dict[str, Any] = {}
    kinds: tuple[str, ...] = ()
    marked: list[tuple[str, int, str, dict[str, int | None]]] = []
    names = episode_names(trajectories)
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
        if "kinds" not in given:
            plain = dict(given.items())
        else:
            kinds = tuple(map(str, given["kinds"]))
            for name, one in given["episodes"].items():
                own = {k: None if m is None else int(m["step"]) for k, m in one["marks"].items()}
                marked.append((name, one["length"], one["fingerprint"], own))
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(
            f"labels {path} cannot be read ({error}): pass a file that infoatlas-rt label wrote, "
            'or JSON as {"0": {"grasp": 75, "release": 150}}'
        ) from error
    if plain:
        return placed_labels(plain, names)
    places = {name: i for i, name in enumerate(names)}
    states, steps = trajectories.split(), {}
    for name, length, digest, own in marked:
        i, fault = places.get(name), ""
        if i is None:
            fault = f"there is no demonstration {name}, but {first_names(places, 8)}"
        elif length != len(states[i]):
            fault = f"demonstration {name} has {len(states[i])} steps, and had {length}"
        elif digest != fingerprint(states[i]):
            fault = f"the states of demonstration {name} differ from those that were marked"
        elif wrong := [k for k, at in own.items() if k not in kinds or not 0 <= (at or 0) < length]:
            fault = f"{wrong[0]!r} of {name} is of no kind in the list, or beyond {length} steps"
        if i is None or fault:
            raise InputError(f"labels {path} are of other data: {fault}: {WAY_OUT}")
        steps[i] = own
    return Marks(kinds, steps)


def placed_labels(labels: Mapping[str, Any], names: Sequence[str]) -> dict[int, Any]:
    """Labels by place in the data, from labels by name or number; see `find_episode`.

    InputError if there is no such demonstration, or two labels are of one.
    """
    found: dict[int, Any] = {}
    for given, steps in labels.items():
        try:
            place = find_episode(given, names)
        except InputError as error:
            raise InputError(f"labels: {error}") from error
        if place in found:
            raise InputError(f"labels: demonstration {names[place]} is there twice: give it once")
        found[place] = steps
    return found
