"""Random Fourier features of normal scores: a measure of dependence of any kind.

The sum of the squared correlations of the features of two sides approximates a kernel measure of
dependence (Rahimi and Recht 2007). It needs a matrix product for each pairing of the samples.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.canonical import normal_scores
from infoatlas_rt.estimation.prepare import Prepared
from infoatlas_rt.inputs.gpu_arrays import to_host

COUNT = 20  # frequencies; each has a cosine and a sine
FREQUENCIES = (0.5, 1.0, 2.0)  # radians for each deviation of a score


def frequencies(d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Frequencies [d, m] of d coordinates, of evenly spread quantiles in each."""
    scales = rng.permutation(np.resize(FREQUENCIES, COUNT)) / np.sqrt(d)
    return np.asarray(spread(d, rng) * scales)


def spread(d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal values [d, m] of evenly spread quantiles, in random order in each row."""
    return np.asarray(normal_scores(rng.random((d, COUNT))))


def waves(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines and sines [n, 2 m] of angles [n, m]."""
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def feature_correlations(
    prepared: Prepared, pairings: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Sum of the squared correlations of the features of both sides, for all pairings [P].

    Sides with as many coordinates have the same features, so that pairs of columns with equal ties
    have one null distribution.
    """
    x, y = (_features(to_host(side), prepared.seed) for side in (prepared.x, prepared.y))
    x = np.ascontiguousarray(x.T)
    every = (pairings[number] for number in range(len(pairings)))
    return np.array([((x @ y[pairing]) ** 2).sum() for pairing in every], np.float64)


def _features(side: NDArray[np.float64], seed: int) -> NDArray[np.float32]:
    """Features [n, m] of a side [n, d], centred, and rotated to be uncorrelated.

    A direction of variance s counts s / (s + 1), so directions other than the strongest count too.
    """
    rng = np.random.default_rng([seed, 3])
    made = waves(normal_scores(side.T).T @ frequencies(side.shape[1], rng))
    made -= made.mean(axis=0)
    length = np.linalg.norm(made, axis=0)
    made /= np.where(length > 1e-9, length, np.inf)
    variance, axes = np.linalg.eigh(made.T @ made)
    weights = np.sqrt(np.maximum(variance, 0)) / (variance + 1)
    return np.asarray((made @ axes) * weights, np.float32)
