"""Key states of files compared with the flags in them, which the search does not get.

    python -m benchmarks.keystates.flags examples/data/pickcube.npz --rate 20

A flag is a boolean array of an .npz file, as simulators write it. Its events are the first step at
which it is true, and the last one if it is false again at the end of most demonstrations. A flag of
a region, such as an object near its goal, begins during a motion, where no key state is.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_tools import discover_keystates, load_trajectories
from infoatlas_tools.cli.recording_arguments import parse_count

from ..report import number, table


def load_flags(path: Path, count: int) -> dict[str, NDArray[np.bool_]]:
    """Boolean arrays [count] of an .npz file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return {n: a for n, a in arrays.items() if a.dtype == np.bool_ and a.shape == (count,)}


def event_steps(
    flags: dict[str, NDArray[np.bool_]], lengths: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Step [N] of each event in each trajectory, from flags [sum(lengths)].

    Events are in order of time; the last step is "NAME ends". NaN if an event does not happen. A
    flag that is true from the first step on has no first step.
    """
    found = {}
    for name, flag in flags.items():
        first, last = np.full((2, len(lengths)), np.nan)
        for i, part in enumerate(np.split(flag, np.cumsum(lengths)[:-1])):
            if part.any() and not part[0]:
                first[i] = part.argmax()
            if part.any() and not part[-1]:
                last[i] = len(part) - 1 - part[::-1].argmax()
        if not np.isnan(first).all():
            found[name] = first
        if np.isfinite(last).mean() > 0.5:
            found[f"{name} ends"] = last
    return dict(sorted(found.items(), key=lambda item: float(np.nanmedian(item[1]))))


def compare(path: Path, count: int | str, rate: float | None) -> str:
    """A table of the events of a file: shares within 2 and 5 steps of a key state."""
    trajectories = load_trajectories(path)
    trajectories = replace(trajectories, rate=rate or trajectories.rate)
    lengths = trajectories.lengths
    times = event_steps(load_flags(path, len(trajectories.states)), lengths)
    if not times:
        raise SystemExit(f"{path} has no flags: pass an .npz file with boolean arrays")
    own = [row.compressed() for row in discover_keystates(trajectories, count).steps]
    usual = max(1, round(float(np.mean([len(steps) for steps in own]))))
    even = [np.rint(np.linspace(0, n - 1, usual + 2)[1:-1]) for n in lengths]
    rows = [
        [name, str(np.isfinite(at).sum())]
        + [number(_near(found, at, limit)) for found in (own, even) for limit in (2, 5)]
        for name, at in times.items()
    ]
    headers = ["event", "demonstrations", "within 2 steps", "within 5"]
    headers += ["evenly spaced, within 2", "within 5"]
    states = f"{usual} key state{'s' if usual > 1 else ''} a demonstration"
    region = (
        "A flag of a region, as an object near its goal, begins during a motion, where no key\n"
        "state is. Its share is low."
    )
    return f"{path}: {states}\n\n{table(headers, rows)}\n\n{region}"


def _near(found: Sequence[NDArray[Any]], times: NDArray[np.float64], limit: int) -> float:
    """Share of events [N] with a key state within `limit` steps (`make demo` has no SciPy)."""
    away = [np.abs(s - t).min(initial=np.inf) for s, t in zip(found, times, strict=True) if t == t]
    return float(np.mean(np.array(away) <= limit))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare key states with flags in the same file.")
    parser.add_argument("data", metavar="DATA", type=Path, nargs="+", help=".npz with flags")
    parser.add_argument("--count", type=parse_count, default="auto", help="key states, at most")
    parser.add_argument("--rate", type=float, help="recorded steps per second")
    arguments = parser.parse_args(argv)
    for path in arguments.data:
        print(compare(path, arguments.count, arguments.rate), end="\n\n")


if __name__ == "__main__":
    main()
