"""Mutual information from exact densities, for tests of benchmark families."""

import math

import numpy as np
import pytest


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


def check_truth(draw, truth, given, ratio, n, inner=1000, slack=0.0, block=1):
    """The truth is the mean log-ratio of n samples within three standard errors and `slack`.

    `draw` is from a number of samples and a seed to x, y [n, d]. The log-ratio is `ratio` of them
    or, if that is None, from `given` and `inner` other samples. Means of a `block` of samples are
    hardly dependent, unlike the samples of a process.
    """
    x, y = draw(n, 77)
    log_ratio = ratio(x, y) if ratio else log_ratios(given, x, y, draw(inner, 78)[0])
    means = log_ratio.reshape(-1, block).mean(1)
    tolerance = 3 * means.std() / math.sqrt(len(means)) + slack
    assert tolerance < 0.03
    assert log_ratio.mean() == pytest.approx(truth, abs=tolerance)
