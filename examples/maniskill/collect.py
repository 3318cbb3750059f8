"""Record demonstrations of ManiSkill's motion planners, in ManiSkill's own format.

    python examples/maniskill/collect.py PickCube-v1 --number 100 --out demos
    infoatlas-rt keystates demos/trajectory.h5 --save task.json

This runs on a CPU, without a display. An episode of PickCube-v1 needs about 0.25 s.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from infoatlas_tools.generation import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)
from mani_skill.utils.wrappers import RecordEpisode
from tqdm import tqdm

SOLUTIONS = "mani_skill.examples.motionplanning.panda.solutions"
TASKS = {  # the module of each planner
    "PickCube-v1": "pick_cube",
    "StackCube-v1": "stack_cube",
    "PegInsertionSide-v1": "peg_insertion_side",
    "PushCube-v1": "push_cube",
    "PullCubeTool-v1": "pull_cube_tool",
    "LiftPegUpright-v1": "lift_peg_upright",
    "PlugCharger-v1": "plug_charger",
}


def collect(task: str, number: int, out: Path, tries: int = 10) -> Path:
    """Record `number` successful episodes into OUT/trajectory.h5, from seed 0 upwards."""
    env = gymnasium.make(
        task,
        obs_mode="state",
        control_mode="pd_joint_pos",
        max_episode_steps=10_000,  # planners take longer than a policy is given
        **headless.OPTIONS,
    )
    env = RecordEpisode(
        env, str(out), trajectory_name="trajectory", save_video=False, save_on_reset=False
    )
    solve = import_module(f"{SOLUTIONS}.{TASKS[task]}").solve
    found = 0
    with tqdm(total=number, desc=task, file=sys.stderr) as bar:
        for seed in range(tries * number):
            if found == number:
                break
            result = solve(env, seed=seed)  # -1 if it finds no path
            success = result != -1 and bool(result[-1]["success"])
            env.flush_trajectory(save=success)
            found += success
            bar.set_postfix(tried=seed + 1)
            bar.update(int(success))
    env.close()
    if found < number:
        raise SystemExit(f"{task}: {found} of {tries * number} seeds were solved")
    return out / "trajectory.h5"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="PickCube-v1", choices=TASKS)
    parser.add_argument("--number", type=int, default=100, help="episodes (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("demos"), help="folder (%(default)s)")
    chosen = parser.parse_args()
    print(collect(chosen.task, chosen.number, chosen.out))


if __name__ == "__main__":
    main()
