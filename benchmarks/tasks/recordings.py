"""Recordings of pick and place as a person teaches them: any rate, noise, pauses, regrasps.

The motion is made in continuous time: minimum-jerk segments between an approach above the object,
the grasp, a place above the goal and the goal, with a via point between them. Durations of
demonstrations and of segments vary, the person pauses at random places, and in a fifth of the
demonstrations closes the gripper, opens it, and closes it again. `rate` decides where the motion is
sampled, and nothing else; noise is drawn for each sample. Times of grasp and release are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .demonstrations import Demonstrations

Array = NDArray[np.float64]

NAMES = (
    *(f"joint{i}.position" for i in range(1, 7)),
    *("tool.x", "tool.y", "tool.z", "tool.qw", "tool.qx", "tool.qy", "tool.qz"),
    "finger1.position",
)
OBJECT = ("object.x", "object.y", "object.z")
OPEN, HOLDING = 0.04, 0.018  # metres
REGRASPED = 0.2  # share of the demonstrations
NOISE = {"joint": 1e-3, "tool.": 3e-4, "tool.q": 5e-4, "finger": 1e-4, "object": 5e-4}


@dataclass(frozen=True)
class Script:
    """Knots of a demonstration: times [m], tool places [m, 3], turns [m] and finger widths [m]."""

    times: Array
    places: Array
    turns: Array
    fingers: Array
    grasp: float
    release: float


def recordings(
    count: int = 50,
    rate: float = 30.0,
    seed: int = 0,
    noise: float = 1.0,
    with_object: bool = True,
) -> Demonstrations:
    """Demonstrations of pick and place.

    Parameters
    ----------
    count : int
    rate : float
        Samples a second (Hz).
    seed : int
        Of the motion and the noise; the motion does not depend on the rate.
    noise : float
        Times 0.3 mm of the tool, 1 mrad of the joints, and so on.
    with_object : bool
        The last three coordinates are the object's position.

    Returns
    -------
    Demonstrations
        With the events grasp and release, in samples.
    """
    names = NAMES + (OBJECT if with_object else ())
    scale = np.array([noise * _noise(name) for name in names])
    arm = np.random.default_rng([seed, 1]).normal(size=(6, 4))
    trajectories, times = [], []
    for i in range(count):
        script = _script(np.random.default_rng([seed, 2, i]))
        t = np.arange(0, script.times[-1], 1 / rate)
        states = _states(script, t, arm)[:, : len(names)]
        drawn = np.random.default_rng([seed, 3, i]).normal(size=states.shape)
        trajectories.append(states + scale * drawn)
        times.append([script.grasp * rate, script.release * rate])
    return Demonstrations(
        trajectories, names, ("grasp", "release"), np.array(times), np.arange(count), rate
    )


def _noise(name: str) -> float:
    return [size for start, size in NOISE.items() if name.startswith(start)][-1]


def _script(rng: np.random.Generator) -> Script:
    pace = rng.uniform(0.7, 1.6)
    cube = np.array([rng.uniform(0.3, 0.6), rng.uniform(-0.3, 0.3), 0.02])
    goal = np.array([rng.uniform(0.3, 0.6), rng.uniform(-0.3, 0.3), 0.03])
    above = np.array([0.0, 0.0, 0.12])
    turn = rng.uniform(-1, 1, size=2)
    place, angle, finger, now = np.array([0.4, 0.0, 0.35]), 0.0, OPEN, 0.0
    knots = [(now, place, angle, finger)]

    def move(to: Array, turned: float, least: float) -> None:
        nonlocal place, angle, now
        seconds = pace * max(least, 2.5 * float(np.linalg.norm(to - place))) * rng.uniform(0.7, 1.4)
        now, place, angle = now + seconds, to, turned
        knots.append((now, place, angle, finger))

    def pause(most: float) -> None:
        nonlocal now
        now += rng.uniform(0.02, most)
        knots.append((now, place, angle, finger))

    def fingers(to: float) -> float:
        nonlocal finger, now
        now, finger = now + rng.uniform(0.15, 0.4), to
        knots.append((now, place, angle, finger))
        return now

    pause(1.5)
    move(cube + above + rng.normal(size=3) * [0.02, 0.02, 0.01], turn[0] * 0.7, 0.5)
    if rng.random() < 0.4:
        pause(1.0)
    move(cube + rng.normal(size=3) * 0.002, turn[0], 0.4)
    pause(0.4)
    if rng.random() < REGRASPED:
        fingers(HOLDING + 0.006)
        pause(0.3)
        fingers(OPEN)
        move(place + rng.normal(size=3) * 0.008, turn[0], 0.3)
        pause(0.3)
    grasp = fingers(HOLDING)
    pause(0.4)
    move(place + above, turn[0], 0.4)
    via = (place + goal) / 2 + [0.0, 0.0, rng.uniform(0.05, 0.15)]
    move(via, turn.mean(), 0.4)
    if rng.random() < 0.3:
        pause(2.0)
    move(goal + above, turn[1], 0.4)
    move(goal, turn[1], 0.4)
    pause(0.5)
    release = now
    fingers(OPEN)
    pause(0.3)
    move(goal + above, turn[1], 0.4)
    pause(1.5)
    times, places, turns, widths = zip(*knots, strict=True)
    return Script(
        np.array(times), np.array(places), np.array(turns), np.array(widths), grasp, release
    )


def _states(script: Script, t: Array, arm: Array) -> Array:
    piece = np.searchsorted(script.times, t, side="right").clip(1, len(script.times) - 1)
    start, end = script.times[piece - 1], script.times[piece]
    u = ((t - start) / (end - start)).clip(0, 1)
    smooth = 10 * u**3 - 15 * u**4 + 6 * u**5
    place, turn = (
        (v[piece - 1].T * (1 - smooth) + v[piece].T * smooth).T
        for v in (script.places, script.turns)
    )
    # Fingers gather speed when they close and stop where they touch; the reverse when they open.
    closing = script.fingers[piece] < script.fingers[piece - 1]
    share = np.where(closing, u**1.5, 1 - (1 - u) ** 1.5)
    finger = script.fingers[piece - 1] * (1 - share) + script.fingers[piece] * share
    held = (t >= script.grasp) & (t < script.release)
    at_grasp, at_release = (
        place[min(int(np.searchsorted(t, moment)), len(t) - 1)]
        for moment in (script.grasp, script.release)
    )
    thing = np.where((t < script.grasp)[:, None], at_grasp, at_release)
    thing = np.where(held[:, None], place, thing)
    zero = np.zeros_like(turn)
    quaternion = np.stack([np.cos(turn / 2), zero, zero, np.sin(turn / 2)], axis=1)
    joints = np.sin(np.column_stack([place * 2, turn]) @ arm.T)
    return np.column_stack([joints, place, quaternion, finger, thing])
