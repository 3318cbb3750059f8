"""Times of a push of the follower in C++ and of `KeyStateTracker`, in a loop of 1 kHz.

    python -m benchmarks.follower                  # -> benchmarks/results/follower.*

It needs `make build/native/ready`, CMake and a C++ compiler. Both follow the key states and
sub-tasks of PickCube in an episode that they were not found in, which is interpolated from 20 Hz.
The C++ program is `examples/cpp`.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import Pose, Position, Trajectories, discover_keystates, load_trajectories

from . import report
from .measure import figures

ROOT = Path(__file__).parents[1]
PREFIX = ROOT / "build/native/prefix"
RATE = 1000  # states a second
SEEN, UNSEEN = 30, 50  # demonstrations in which the task is found, number of the episode
QUANTILES = ("median", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("largest", 1.0)


def prepare(folder: Path) -> np.ndarray[Any, Any]:
    """Write task.json and states.csv; the states [n, d]."""
    found = load_trajectories(ROOT / "examples" / "data" / "pickcube.npz")
    episodes = np.split(found.states, np.cumsum(found.lengths)[:-1])
    keystates = discover_keystates(
        Trajectories(episodes[:SEEN], names=found.names, rate=20), count=3
    )
    objects = {"cube": Pose("cube"), "goal": Position("goal")}
    keystates.save(folder / "task.json", keystates.subtasks(tool=Pose("tool"), objects=objects))
    own = episodes[UNSEEN]
    t = np.arange((len(own) - 1) * RATE // 20 + 1) * 20 / RATE
    states = np.column_stack([np.interp(t, np.arange(len(own)), column) for column in own.T])
    head = ",".join(found.names)
    np.savetxt(folder / "states.csv", states, "%.17g", ",", header=head, comments="")
    return states


def in_cpp(folder: Path, pushes: int) -> list[float]:
    """Quantiles of the program's times, microseconds."""
    build = folder / "build"
    source = ROOT / "examples" / "cpp"
    options = f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_BUILD_TYPE=Release"
    for command in (("cmake", "-S", source, "-B", build, *options), ("cmake", "--build", build)):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    program = build / "follow", folder / "task.json", folder / "states.csv", str(RATE), str(pushes)
    printed = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    (line,) = re.findall(r"microseconds: (.*)", printed)
    return [float(part.split()[1]) for part in line.split(", ")]


def in_python(folder: Path, states: np.ndarray[Any, Any], pushes: int) -> list[float]:
    """The same for `KeyStateTracker`."""
    tracker = KeyStateTracker(folder / "task.json", rate=RATE)
    times, start = np.empty(pushes), time.perf_counter()
    for i in range(pushes):
        pause = start + i / RATE - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        if i % len(states) == 0:
            tracker.reset()
        before = time.perf_counter()
        tracker.push(states[i % len(states)], i / RATE)
        _ = tracker.subtask
        times[i] = 1e6 * (time.perf_counter() - before)
    return np.quantile(times, [q for _, q in QUANTILES], method="lower").tolist()


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    columns = {name: lambda own, n=name: report.number(own[0][n], 1) for name, _ in QUANTILES}
    return f"""# Times of a push in a control loop

{report.byline(about, nats=False)}

A loop of {RATE} Hz pushes the states of PickCube (41 coordinates, one tool) and asks for the
sub-task, {rows[0]["pushes"]:,} times. Every fiftieth push completes a working step, which is most
of the work. Times are in microseconds; those of the system's scheduler are included.

{figures(rows, ["follower"], columns)}
"""


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2,000 pushes instead of 100,000")
    chosen = parser.parse_args(arguments)
    pushes = 2_000 if chosen.quick else 100_000
    about = report.provenance(chosen.command)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        states = prepare(folder)
        times = {
            "libinfoatlas (C++)": in_cpp(folder, pushes),
            "KeyStateTracker (Python)": in_python(folder, states, pushes),
        }
    rows = [
        {"follower": name, "pushes": pushes, **dict(zip(dict(QUANTILES), own, strict=True))}
        for name, own in times.items()
    ]
    report.save(chosen.out, "follower", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
