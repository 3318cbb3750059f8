"""Synthetic demonstrations with known phases."""

import numpy as np


def demonstrations(count=12, d=6, seed=0, noise=0.0):
    """Three phases of random length: all coordinates drift, the second half rests, all return.

    Returns
    -------
    states : list of [T, d]
    cuts : [count, 2] int
        First step of the second and of the third phase.
    """
    rng = np.random.default_rng(seed)
    states, cuts = [], []
    for _ in range(count):
        lengths = rng.integers(15, 40, 3)
        step = 0.1 * rng.standard_normal((lengths.sum(), d)) + 0.3
        first, second = np.cumsum(lengths)[:2]
        step[first:second, d // 2 :] = 0.0
        step[second:] -= 0.8
        path = np.cumsum(step, axis=0)
        states.append(path + noise * np.ptp(path, axis=0) * rng.standard_normal(path.shape))
        cuts.append((first, second))
    return states, np.array(cuts)
