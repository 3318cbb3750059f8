"""Painted scenes of coloured squares, and demonstrations whose joints depend on their places."""

import numpy as np

from infoatlas_tools.cameras.scene import WIDTH

HEIGHT, RATE = WIDTH * 3 // 4, 10.0
RED, GREEN, BLUE, DARK_RED = (205, 40, 40), (40, 165, 60), (50, 70, 200), (110, 15, 15)
JOINTS = ("j1", "j2", "j3", "j4", "gripper")


def table(seed=0):
    """A brown table with a grain, and a dark wall behind it."""
    rng = np.random.default_rng(seed)
    image = np.array((150, 120, 95)) + np.repeat(rng.normal(0, 6, (HEIGHT, WIDTH // 4, 1)), 4, 1)
    image[:30] = 60, 65, 70
    image[60:64, 20:50] = 90, 70, 50  # a slot
    return image


def places(count, objects, seed=0):
    """Centres [count, objects, 2] on the table, apart from each other."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        own = rng.uniform((20, 50), (WIDTH - 20, HEIGHT - 20), (objects, 2))
        apart = np.linalg.norm(own[:, None] - own, axis=-1) + 100 * np.eye(objects)
        if apart.min() > 32:
            found.append(own)
    return np.array(found)


def paint(where, colours, *, back=None, size=20, seed=0):
    """An image with a square of each colour at `where` [objects, 2]; NaN where it is absent.

    A pair of colours is that of the upper and lower half of a square.
    """
    image = (table() if back is None else back).copy()
    half = size // 2
    for (x, y), colour in zip(where, colours, strict=True):
        if np.isfinite(x):
            faces = np.array(colour).reshape(-1, 3)
            i, j = round(y), round(x)
            image[i - half : i, j - half : j + half] = faces[0]
            image[i : i + half, j - half : j + half] = faces[-1]
    noise = np.random.default_rng(seed).normal(0, 2, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def demonstrations(where, seed=0, *, home=0.05, noise=0.01):
    """Joints that reach the first object, close the gripper, reach the second one, and open it.

    Returns
    -------
    states : list of [T, 5]
    cuts : [count, 2] int64
        Steps at which the gripper closes and opens.
    """
    rng = np.random.default_rng(seed)
    maps = np.random.default_rng(7).normal(size=(2, 2, 4)) / 80
    states, cuts = [], []
    for own in where:
        start = rng.normal(0, home, 4)
        ends = [own[k % len(own)] @ maps[k] + rng.normal(0, noise, 4) for k in range(2)]
        close, opened = np.cumsum(rng.integers(16, 22, 2))
        length = opened + 14
        t = np.arange(length)
        marks = [(0, start), (close - 3, ends[0]), (close + 2, ends[0]), (opened - 3, ends[1]),
                 (opened + 2, ends[1]), (length - 1, start)]  # fmt: skip
        at, values = zip(*marks, strict=True)
        joints = np.column_stack([np.interp(t, at, column) for column in np.array(values).T])
        gripper = np.interp(t, [close - 1, close + 1, opened - 1, opened + 1], [8, 3, 3, 8]) / 100
        states.append(np.column_stack([joints, gripper]))
        cuts.append((close, opened))
    return states, np.array(cuts)


def films(images, states):
    """Images of all steps, which do not change."""
    return [
        np.broadcast_to(image, (len(own), *image.shape))
        for image, own in zip(images, states, strict=True)
    ]
