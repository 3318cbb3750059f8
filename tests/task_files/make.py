"""Fit the task files that the tests of the runtime follow; the runtime alone cannot fit any.

    python tests/task_files/make.py

tests/tools/keystates/fits/test_fit_detectors.py compares the files with what is fitted today.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from episodes import RATE, TASKS, pickcube
from infoatlas_rt import Task
from infoatlas_tools import Trajectories, discover_keystates
from regimes import demonstrations
from task_parts import reach_and_carry, visits

NAMES = ("tool.x", "tool.y", "tool.z", "cube.x", "cube.y", "cube.z")


def phases() -> Task:
    """Two key states between three phases of demonstrations, without sub-tasks."""
    states, _ = demonstrations(count=15, seed=3)
    return discover_keystates(Trajectories(states, rate=RATE), count=2).follow()


def three_places() -> Task:
    """A point that visits three places, by discovered key states and given sub-tasks."""
    states, subtasks = visits(seed=1)
    return discover_keystates(Trajectories(states, rate=RATE), count=2).follow(subtasks)


def labelled() -> Task:
    """The same with named columns, and with labels in two demonstrations."""
    states, subtasks = visits(seed=1)
    ends = subtasks.parts[0].end
    labels = {i: {"first": int(ends[i]), "second": int(ends[i]) + 20} for i in (0, 1)}
    found = discover_keystates(Trajectories(states, names=NAMES, rate=RATE), labels=labels)
    return found.follow(subtasks)


def pick() -> Task:
    """PickCube: reach the cube and carry it to the goal."""
    states, grasps, names = pickcube()
    found = discover_keystates(Trajectories(states[:10], names=names, rate=RATE), count=1)
    return found.follow(reach_and_carry(states[:10], grasps[:10]))


FITS = {"phases": phases, "three_places": three_places, "labelled": labelled, "pickcube": pick}

if __name__ == "__main__":
    for name, fit in FITS.items():
        fit().save(TASKS / f"{name}.json")
