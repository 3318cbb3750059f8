"""Files of recorded episodes, the commands that write them, and the first motion of an object."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

OUT = Path(__file__).parent / "data"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
MOVED = 0.003  # metres
Episode = tuple[NDArray[np.float32], Mapping[str, NDArray[Any]]]


def save(path: Path, episodes: Sequence[Episode], names: Any, seeds: Any) -> Path:
    """Write episodes: states [T, d], whose columns have names, and arrays [T, ...] by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        name: np.concatenate([others[name] for _, others in episodes])
        for name in sorted(episodes[0][1])
    }
    np.savez_compressed(
        path,
        states=np.concatenate([states for states, _ in episodes]),
        lengths=np.array([len(states) for states, _ in episodes], np.int64),
        names=np.array(names),
        seeds=np.array(seeds, np.int64),
        **arrays,
    )
    return path


def load_episodes(path: Path) -> tuple[dict[str, NDArray[Any]], list[slice]]:
    """Arrays of a file, and the rows of each episode.

    `is_grasped` is true if any object is grasped, also if the file has a flag for each object.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    grasped = [values for name, values in arrays.items() if name.startswith("grasped_")]
    if grasped and "is_grasped" not in arrays:
        arrays["is_grasped"] = np.any(grasped, axis=0)
    ends = np.cumsum(arrays["lengths"])
    return arrays, [slice(end - n, end) for end, n in zip(ends, arrays["lengths"], strict=True)]


def chosen(
    text: str | None, tasks: Mapping[str, Any], out: Path = OUT, *first: str, **counts: int
) -> argparse.Namespace:
    """The command line of a collection: `tasks`, `out` and numbers, after arguments `first`."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    for name in first:
        parser.add_argument(name, type=Path)
    parser.add_argument("tasks", nargs="*", default=list(tasks), help="%(default)s")
    for name, count in counts.items():
        parser.add_argument(f"--{name}", type=int, default=count, help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=out, help="folder (%(default)s)")
    found = parser.parse_args()
    unknown = set(found.tasks) - set(tasks)
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}: there are {', '.join(tasks)}")
    return found


def reported(path: Path) -> None:
    """Print a written file with its size."""
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def spans(held: NDArray[np.bool_], shortest: int) -> list[tuple[int, int]]:
    """First step of each span of True, and the step after its last.

    Spans and gaps of less than `shortest` steps do not count.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]]).astype(int)))
    found: list[tuple[int, int]] = []
    for first, last in edges.reshape(-1, 2).tolist():
        if found and first - found[-1][1] < shortest:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return [(first, last) for first, last in found if last - first >= shortest]


def has_moved(place: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether an object at `place` [T, 3] has been 3 mm from where it lay after the first step.

    Some objects are dropped on the table at the start.
    """
    away = np.linalg.norm(place - place[1], axis=1) >= MOVED
    away[0] = False
    return np.logical_or.accumulate(away)
