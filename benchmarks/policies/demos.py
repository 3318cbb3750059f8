"""Demonstrations with actions, from ManiSkill's planners, and the scenes of the policies.

    .venv-maniskill/bin/python -m benchmarks.policies.demos pick 400 build/policies

`actions` [sum, 8] are joint positions 1 to 7 (rad) and the gripper (1 open, -1 closed) at each
state. The last state of an episode has no action; its row repeats the previous one.
"""

import sys
from pathlib import Path

from infoatlas_tools.generation.collect import collect
from infoatlas_tools.generation.scene import Scene

ENVIRONMENTS = {"pick": "PickCube-v1", "stack": "StackCube-v1"}


def scene(task: str) -> Scene:
    """The simulation of a task, which is reused between episodes: velocities differ by < 0.01."""
    return Scene(ENVIRONMENTS[task])


def record(task: str, number: int, out: Path) -> Path:
    """Record `number` successful episodes from seed 0 upwards, and write OUT/TASK.npz."""
    return collect(ENVIRONMENTS[task], number, out).replace(out / f"{task}.npz")


if __name__ == "__main__":
    print(record(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
