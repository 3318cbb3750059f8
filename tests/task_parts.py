"""Hand-made sub-tasks of the demonstrations of episodes.py."""

from itertools import pairwise

import numpy as np

from episodes import RATE, places
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks


def reach_and_carry(states, grasps):
    """Reach the cube until the grasp, then carry it to the goal."""
    lengths = np.array([len(s) for s in states])
    grasps = np.asarray(grasps)
    reach = Subtask("tool", np.zeros_like(lengths), grasps, reference="cube")
    carry = Subtask("tool", grasps, lengths, reference="goal", held="cube")
    return Subtasks((reach, carry), lengths, RATE)


def visits(count=12, seed=0, lacking=0.0):
    """States and sub-tasks of `places`."""
    states, cuts = places(count, seed, lacking)
    parts = tuple(Subtask("tool", cuts[:, p], cuts[:, p + 1]) for p in range(3))
    return states, Subtasks(parts, cuts[:, -1], RATE)


def two_picks(rng, closed=False):
    """Two objects carried to one place: states [T, 3], and steps at which the gripper switches."""
    at = np.array([[0, 4], [0, -4]]) + rng.uniform(-1, 1, (2, 2))
    stops = np.stack([np.zeros(2), at[0], [6, 0], at[1], [6, 0], np.zeros(2)])
    place, grip, steps = [np.zeros(2)] * 10, [float(not closed)] * 10, []
    for i, (a, b) in enumerate(pairwise(stops)):
        length = int(rng.integers(35, 50))
        u = (np.arange(length) + 1) / length
        place += list(a + (b - a) * (3 * u**2 - 2 * u**3)[:, None])
        to, now = float(i % 2), grip[-1]
        grip += [1.0 if i in (0, 2) and t > 5 else now for t in range(length)]
        if i < 4:
            steps.append(len(grip))
            place, grip = place + [b] * 10, grip + np.linspace(grip[-1], to, 10).tolist()
    states = np.c_[np.array(place), grip]
    return states + 0.01 * rng.standard_normal(states.shape), np.array(steps)
