"""Time of key states and windows in a loop over 16 ManiSkill environments, and memory.

    .venv-maniskill/bin/python -m benchmarks.maniskill_loop

PickCube-v1 with random actions runs in one process (Gymnasium's SyncVectorEnv, because ManiSkill
simulates several environments at once on a GPU only) and, shorter, in 16 processes
(AsyncVectorEnv). Times of one process are CPU times, which depend less on other work on the
machine. Times of 16 processes are wall times.
"""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import Any

from infoatlas_tools.generation import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from mani_skill.utils.wrappers import CPUGymWrapper

from benchmarks.report import Options, byline, number, provenance, save, table
from infoatlas_rt import Estimator, KeyStateWrapper, VectorTracker, VectorWindows
from infoatlas_rt.cli.console import progress
from infoatlas_tools import discover_keystates, load_trajectories

COLUMNS = np.r_[0:18, 19:42]  # columns of the demonstrations: 18 is the flag is_grasped
EVERY = 32  # steps between estimates
WARM = 500  # steps before the memory counts


class Timed:
    """Proxy of an object that adds up the seconds of calls of some of its methods."""

    def __init__(self, inner: Any, methods: tuple[str, ...], clock: Any) -> None:
        self._inner, self._methods, self._clock = inner, methods, clock
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in self._methods:
            return value

        def timed(*arguments: Any, **named: Any) -> Any:
            begin = self._clock()
            try:
                return value(*arguments, **named)
            finally:
                self.seconds += self._clock() - begin

        return timed


def make() -> Any:
    """One environment in Gymnasium's interface."""
    env = gymnasium.make("PickCube-v1", obs_mode="state", **headless.OPTIONS)
    return CPUGymWrapper(env)


def resident() -> float:
    """Memory of this process, MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def loop(
    kind: str, number: int, steps: int, keystates: Any, estimator: Estimator
) -> dict[str, Any]:
    """Run the loop over some environments, and return its row of the report."""
    together = kind == "one process"
    clock = time.process_time if together else time.perf_counter
    vector = (SyncVectorEnv if together else AsyncVectorEnv)(
        [make] * number, autoreset_mode=AutoresetMode.SAME_STEP
    )
    envs = Timed(vector, ("step",), clock)
    streams = [
        Timed(stream, ("push", "reset", "latest"), clock)
        for stream in (
            VectorTracker(number, keystates),
            VectorWindows(number, estimator, every=EVERY),
        )
    ]
    wrapped = KeyStateWrapper(envs, *streams, state=lambda obs: obs[:, COLUMNS])
    wrapped.reset(seed=0)
    envs.action_space.seed(0)
    counts = {"episodes": 0, "key states": 0, "estimates": 0}
    memory = []
    newest = np.full(number, -1)
    warm = min(WARM, steps // 5)
    whole = 0.0
    with progress(kind) as advance:
        for step in range(steps):
            if step == warm:
                envs.seconds = whole = 0.0
                for stream in streams:
                    stream.seconds = 0.0
            actions = envs.action_space.sample()
            begin = clock()
            _, _, terminated, truncated, info = wrapped.step(actions)
            whole += clock() - begin
            done = terminated | truncated
            last = info.get("final_info", info)["key_state"]
            counts["key states"] += int((last[done] + 1).sum())
            counts["episodes"] += int(done.sum())
            counts["estimates"] += int((streams[1].gain() != 0).sum())
            newest = info["key_state"]
            if step >= warm and (step - warm) % max(1, (steps - warm) // 20) == 0:
                memory.append((step, resident()))
            advance((step + 1) / steps)
    memory.append((steps, resident()))
    wrapped.close()
    counted = steps - warm
    counts["key states"] += int((newest + 1).sum())
    simulator = envs.seconds / counted
    return {
        "kind": kind,
        "envs": number,
        "steps": steps,
        "every": EVERY,
        "slices": estimator.slices,
        "shifts": estimator.shifts,
        "window": streams[1].window,
        **counts,
        "simulator": simulator,
        "tracker": streams[0].seconds / counted,
        "windows": streams[1].seconds / counted,
        "wrapper": whole / counted - simulator,
        "memory": memory,
    }


def growth(row: dict[str, Any]) -> tuple[float, float, float]:
    """Memory after the warm-up and at the end, MB, and the slope, MB in 1,000 steps."""
    steps, memory = np.array(row["memory"]).T
    return memory[0], memory[-1], float(np.polyfit(steps, memory, 1)[0] * 1000)


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    times = [
        [
            row["kind"],
            f"{row['steps']:,}",
            *(
                f"{1e3 * row[part]:.2f} ms"
                for part in ("simulator", "tracker", "windows", "wrapper")
            ),
            f"{row['wrapper'] / row['simulator']:.1%}",
        ]
        for row in rows
    ]
    memory = [
        [
            row["kind"],
            f"{row['episodes']:,}",
            f"{row['key states']:,}",
            f"{row['estimates']:,}",
            *(number(value, 1) for value in growth(row)[:2]),
            number(growth(row)[2], 2),
        ]
        for row in rows
    ]
    first, where, counts = rows[0], "processes", ("episodes", "key states", "estimates")
    return f"""# Key states and windows in a loop over {first["envs"]} ManiSkill environments

{byline(about, nats=False)}

The environment is PickCube-v1 with state observations, random actions, and episodes of 50 steps
with resets in the same step. `KeyStateWrapper` has two streams:

- a `VectorTracker` of 5 key states of the demonstrations in `examples/data`
- `VectorWindows` of {first["window"]} pairs, {first["slices"]} slices and {first["shifts"]} shifts.
  It estimates when a window is full and then every {first["every"]} steps of its environment.

Times are means of one step of all environments, without the warm-up. "Wrapper" is the total time of
the wrapper with both streams. "Added" is its share of the simulator's time. "One process" is a
SyncVectorEnv, in CPU time. "16 processes" is an AsyncVectorEnv, in wall time.

{table([where, "steps", "simulator", "tracker", "windows", "wrapper", "added"], times)}

Memory is that of the stepping process in MB, after the warm-up and at the end; the slope is that of
a fitted line. Episodes, key states and estimates are counts over all environments.

{table([where, *counts, "after warm-up", "at the end", "MB per 1,000 steps"], memory)}
"""


def main(arguments: Any = None) -> None:
    options = Options(
        "benchmarks.maniskill_loop", __doc__, "2 environments, 60 steps", several=False
    )
    chosen = options.parse_args(arguments)
    estimator = Estimator(chosen.model, threads=1, slices=8, shifts=8)
    demonstrations = load_trajectories("examples/data/pickcube.npz")
    about = provenance(chosen.command, estimator)
    keystates = discover_keystates(demonstrations, 5)
    number, steps = (2, 60) if chosen.quick else (16, 10_000)
    rows = [
        loop(kind, number, count, keystates, estimator)
        for kind, count in (
            ("one process", steps),
            (f"{number} processes", steps if chosen.quick else steps // 20),
        )
    ]
    save(chosen.out, "maniskill_loop", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
