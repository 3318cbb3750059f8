"""Episodes of PickCube, and synthetic ones with a skipped part; they need no tools.

`tests/task_files` has a task file of each kind, made by `tests/task_files/make.py`.
"""

from pathlib import Path

import numpy as np

PICKCUBE = Path(__file__).parents[1] / "examples" / "data" / "pickcube.npz"
TASKS = Path(__file__).with_name("task_files")
RATE = 20.0


def pickcube():
    """States [T, 41] of each demonstration, first step of the grasp, and names of the columns."""
    with np.load(PICKCUBE) as file:
        ends = np.cumsum(file["lengths"])[:-1]
        states = np.split(file["states"].astype(float), ends)
        grasps = [int(flag.argmax()) for flag in np.split(file["is_grasped"], ends)]
        return states, np.array(grasps), tuple(map(str, file["names"]))


def resampled(states, factor):
    """The same motion with `factor` times as many steps, by linear interpolation."""
    t = np.arange(int((len(states) - 1) * factor) + 1) / factor
    return np.column_stack([np.interp(t, np.arange(len(states)), c) for c in states.T])


def retried(states, grasp):
    """The same motion with a failed grasp: it is played backwards after 12 steps, and again."""
    begin, end = grasp - 15, grasp + 12
    return np.concatenate([states[:end], states[begin:end][::-1], states[begin:]])


def follow_parts(tracker, states):
    """The state of the sub-task after each push to a tracker."""
    found = []
    for state in states:
        tracker.push(state)
        found.append(tracker.subtask)
    return found


def places(count=12, seed=0, lacking=0.0):
    """A point that visits three places in turn, which differ between demonstrations.

    Returns
    -------
    states : list of [T, 6]
        Position of the point and of the first place, with noise of 1 mm.
    cuts : [count, 4] int
        Starts of the three parts, and the length; a share `lacking` of the demonstrations leaves
        out the second.
    """
    rng = np.random.default_rng(seed)
    states, starts = [], []
    for number in range(count):
        places = np.array([[0.3, 0, 0], [0.3, 0.4, 0], [-0.3, 0, 0.3]])
        places = places + 0.05 * rng.standard_normal((3, 3))
        chosen = [0, 2] if number < lacking * count else [0, 1, 2]
        path, cuts, here = [], [], 0.01 * rng.standard_normal(3)
        for place in chosen:
            cuts.append(sum(map(len, path)))
            share = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, rng.integers(18, 30)))[:, None]
            path.append(here + share * (places[place] - here))
            here = places[place]
        path = np.concatenate(path)
        path = path + 0.001 * rng.standard_normal(path.shape)
        states.append(np.column_stack([path, np.tile(places[0], (len(path), 1))]))
        first = cuts[1]
        starts.append((0, first, cuts[-1] if len(chosen) == 3 else first, len(path)))
    return states, np.array(starts)
