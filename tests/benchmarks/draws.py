"""Gaussians of known mutual information, as several tests of peers draw them."""

import math

import numpy as np


def gaussian(truth, d, n, seed):
    """x, y [n, d] that correlate pair by pair and share `truth` nats."""
    rng = np.random.default_rng(seed)
    rho = math.sqrt(1 - math.exp(-2 * truth / d))
    x, noise = rng.standard_normal((2, n, d))
    return x, rho * x + math.sqrt(1 - rho**2) * noise
