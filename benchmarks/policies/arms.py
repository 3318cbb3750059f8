"""The arms: methods that choose the key states of each demonstration.

An arm is a function from demonstrations to steps [N, K], K at most five. NaN: a trajectory lacks a
key state. None: no key states. The end of a trajectory is a key state of every arm except "none".
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infoatlas_tools import discover_keystates
from infoatlas_train.localiser import fit

from ..localiser import ARMS as LOCALISERS, LAG, SLOW
from ..peers.keystate_finders import Found, evenly, gripper
from ..tasks.demonstrations import GRASP, RELEASE, Demonstrations, read

Steps = NDArray[np.float64]
EVENTS = {"pick": (GRASP,), "stack": (GRASP, RELEASE)}
NONE = "none"
K = 5


def _rows(found: Found) -> Steps:
    """Lists of steps as rows, filled up with NaN."""
    steps = np.full((len(found), max(map(len, found))), np.nan)
    for row, own in zip(steps, found, strict=True):
        row[: len(own)] = own
    return steps


def _localised(demos: Demonstrations, name: str) -> Steps:
    """A learned localiser with the given estimate of mutual information."""
    return fit(demos.trajectories, K, LAG, LOCALISERS[name])[0].astype(np.float64)


ARMS: dict[str, Callable[[Demonstrations], Steps | None]] = {
    NONE: lambda demos: None,
    "simulator's flags": lambda demos: demos.times,
    "key states": lambda demos: _rows(
        [np.sort(row.compressed()) for row in discover_keystates(demos.trajectories, count=K).steps]
    ),
    "evenly spaced": lambda demos: _rows(evenly(demos, K)),
    "gripper rule": lambda demos: _rows(gripper(demos, 2)),
    **{name: partial(_localised, name=name) for name in LOCALISERS if name != SLOW},
}


def write(task: str, folder: Path, arms: Sequence[str]) -> Path:
    """Add missing arms to FOLDER/TASK.arms.npz, from FOLDER/TASK.npz."""
    path = folder / f"{task}.arms.npz"
    known: dict[str, NDArray[np.float64]] = {}
    if path.exists():
        with np.load(path) as file:
            known = {name: file[name] for name in file.files}
    missing = [name for name in arms if name not in known]
    if missing:
        demos = read(folder / f"{task}.npz", EVENTS[task])
        for name in missing:
            steps = ARMS[name](demos)
            known[name] = np.empty((0, 0)) if steps is None else steps
        np.savez_compressed(path, **known)  # type: ignore[arg-type]
    return path
