"""Synthetic recordings of a hand that carries things, with known key states and objects."""

from itertools import pairwise

import numpy as np

RATE = 20.0
STILL = 8  # steps of rest at each place
NAMES = ("x", "y", "z", "qw", "qx", "qy", "qz")


def columns(*bodies: str) -> tuple[str, ...]:
    """Names of the columns of poses."""
    return tuple(f"{body}.{part}" for body in bodies for part in NAMES)


def carrying(
    number: int,
    moves: list[tuple[str, str]],
    goals: tuple[str, ...] = (),
    *,
    seed: int = 0,
    noise: float = 0.0002,
    speed: tuple[float, float] = (0.8, 1.25),
    lift: float = 0.1,
):
    """Demonstrations in which a hand grasps things and puts them beside others.

    Parameters
    ----------
    moves : list of (thing, target)
        The hand goes to the thing, grasps it, and brings it to the target. Without a target ("")
        it stays at the thing.
    goals : tuple of str
        Targets that never move and have no orientation.

    Returns
    -------
    states : list of [T, 7 * bodies]
        Poses of "tool" and of all things, wxyz.
    names : tuple of str
    cuts : [number, 2 * moves]
        Steps at which each thing is grasped, and at which it is released.
    """
    rng = np.random.default_rng(seed)
    bodies = list(dict.fromkeys(name for move in moves for name in move if name))
    states, cuts = [], []
    for _ in range(number):
        tempo = rng.uniform(*speed)
        place = {
            body: np.array([0.25 * i, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3) * [1, 1, 0.1]
            for i, body in enumerate(bodies)
        }
        hand = np.array([0, -0.4, 0.4]) + rng.normal(0, 0.02, 3)
        path, things, marks = [hand], [{b: p.copy() for b, p in place.items()}], []

        def go(to, carried="", path=path, things=things, place=place, tempo=tempo):
            start = path[-1]
            steps = max(4, round(float(np.linalg.norm(to - start)) / 0.02 / tempo))
            for u in np.linspace(0, 1, steps + 1)[1:]:
                smooth = u * u * u * (10 - 15 * u + 6 * u * u)
                path.append(start + (to - start) * smooth)
                if carried:
                    place[carried] = place[carried] + path[-1] - path[-2]
                things.append({b: p.copy() for b, p in place.items()})

        def rest(path=path, things=things, place=place, tempo=tempo):
            for _ in range(round(STILL / tempo)):
                path.append(path[-1])
                things.append({b: p.copy() for b, p in place.items()})

        up = np.array([0, 0, lift])
        for thing, target in moves:
            go(place[thing] + up)
            go(place[thing])
            rest()
            marks.append(len(path) - 1)
            if target:
                aim = place[target] + [0, 0, 0.04]
                go(path[-1] + up, thing)
                go(aim + up, thing)
                go(aim, thing)
                rest()
            marks.append(len(path) - 1)
            if target:
                go(path[-1] + up)
        rest()
        hand = np.array(path)
        turn = np.tile([0.0, 1.0, 0.0, 0.0], (len(hand), 1))
        parts = [hand, turn]
        for body in bodies:
            own = np.array([at[body] for at in things])
            parts += [own, np.tile([1.0, 0.0, 0.0, 0.0], (len(own), 1))]
        made = np.concatenate(parts, axis=1)
        moving = np.concatenate([np.arange(7 * i, 7 * i + 3) for i in range(len(bodies) + 1)])
        made[:, moving] += noise * rng.normal(size=(len(made), len(moving)))
        states.append(made)
        cuts.append(marks)
    return states, columns("tool", *bodies), np.array(cuts)


def way(*knots: tuple[float, list[float]], rate: float = RATE):
    """Positions [T, k] that pass through places at times (seconds), with rest where both agree."""
    seconds = np.arange(round(knots[-1][0] * rate) + 1) / rate
    path = np.tile(np.array(knots[0][1], float), (len(seconds), 1))
    for (begin, start), (end, goal) in pairwise(knots):
        u = np.clip((seconds - begin) / (end - begin), 0, 1)[:, None]
        path += (np.array(goal) - np.array(start)) * u**3 * (10 - 15 * u + 6 * u * u)
    return path


def handed_over():
    """Paths of two hands, and of a box that passes from the left one to the right one at 6.1 s."""
    left = way((0, [0, 0, 0]), (3, [0.3, 0, 0]), (4, [0.3, 0, 0]), (6, [0.6, 0.2, 0.1]),
               (6.2, [0.6, 0.2, 0.1]), (9, [0, 0, 0]), (13, [0, 0, 0]))  # fmt: skip
    right = way((0, [1, 0, 0]), (4, [1, 0, 0]), (6, [0.6, 0.3, 0.1]), (6.2, [0.6, 0.3, 0.1]),
                (9, [1, 0.5, 0]), (10, [1, 0.5, 0]), (12, [1, 0, 0]), (13, [1, 0, 0]))  # fmt: skip
    box = way((0, [0.3, 0, 0]), (4, [0.3, 0, 0]), (6, [0.6, 0.2, 0.1]), (6.2, [0.6, 0.2, 0.1]),
              (9, [1, 0.4, 0]), (13, [1, 0.4, 0]))  # fmt: skip
    return left, right, box
