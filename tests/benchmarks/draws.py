"""Gaussian samples of known mutual information, for tests of peers."""

import math

import numpy as np


def gaussian(truth, d, n, seed):
    """x, y [n, d] whose coordinates correlate in pairs, with `truth` nats in total."""
    rng = np.random.default_rng(seed)
    rho = math.sqrt(1 - math.exp(-2 * truth / d))
    x, noise = rng.standard_normal((2, n, d))
    return x, rho * x + math.sqrt(1 - rho**2) * noise
