"""Mutual information from exact densities, for tests of benchmark families."""

import numpy as np


def bell(error, sd=1.0):
    return np.exp(-0.5 * (error / sd) ** 2)


def log_ratios(given, x, y, other, at_once=250):
    """log p(y|x) / p(y) of each sample, with p(y) a mean of given(x, y) over x of other samples.

    `given` takes lists of coordinates that broadcast; x, y [n, d] and other [m, dx] are samples.
    """
    own = given(x.T, y.T)
    parts = (slice(i, i + at_once) for i in range(0, len(x), at_once))
    log_marginal = [
        log_mean(own[part], given(other.T, y[part].T[:, :, None]), len(other)) for part in parts
    ]
    return np.log(own) - np.concatenate(log_marginal)


def log_mean(own, others, count):
    """Log of the mean, which includes the sample's own density to be finite, minus its bias."""
    mean = (own + others.sum(1)) / (1 + count)
    square = (own**2 + np.einsum("ij,ij->i", others, others)) / (1 + count)
    return np.log(mean) - (square / mean**2 - 1) / (2 * count)
