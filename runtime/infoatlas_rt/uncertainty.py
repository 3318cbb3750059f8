"""The standard error of an estimate: sampling and slices, and what a model is known to miss.

Sampling noise is known from the estimate itself (its influences and slices). How far the model is
off it tells itself, from what it has seen of the samples: its graph was fitted to that
(`infoatlas_train.fit_gap`). And beyond what the ranks of n samples can tell, dependence may be much
stronger than it looks. Four constants for sides that enter whole and four for slices weigh the
three; `infoatlas_train.calibrate` fits them and the model file carries them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("whole", "sliced")
# Factors on sampling noise and on the model's own spread; error in nats per unit of rank noise; how
# much wider (or, negative, narrower) few samples make it all: 1 + few / sqrt(n).
CONSTANTS = ("noise", "spread", "ceiling", "few")

LARGEST_CONSTANT = 1000.0
LEAST_FACTOR = 0.5  # of few samples
MOST_RANK_NOISE = 1.0  # beyond it the direction is lost altogether


def gaussian_part(correlations: Any, rank_x: Any, rank_y: Any, n: int) -> NDArray[np.float64]:
    """Mutual information of Gaussians with these canonical correlations, its bias taken off.

    Parameters
    ----------
    correlations : [S, D] float
    rank_x, rank_y : [S] int
        Dimensions of the sides.
    n : int
        Samples that the correlations were computed from.

    Returns
    -------
    [S] float64, nats, not negative
    """
    unexplained = np.maximum(1 - np.square(correlations), 1 / n**2)
    found = -0.5 * np.log(unexplained).sum(axis=-1)
    return np.maximum(found - np.multiply(rank_x, rank_y) / (2 * n), 0.0)


def rank_noise(correlations: Any, n: int) -> NDArray[np.float64]:
    """How crowded the strongest correlations are by the noise of ranks: [S] float64.

    Ranks place a sample to about 1 / n in variance; a direction of which 1 - rho^2 is unexplained
    is told from a perfectly correlated one while n (1 - rho^2) is large. The sum of the inverse,
    times rho^2, over the directions; correlations [S, D].
    """
    squared = np.square(correlations)
    unexplained = np.maximum(1 - squared, 1 / n**2)
    return np.minimum((squared / unexplained).sum(axis=-1) / n, MOST_RANK_NOISE)


def clustered_variance(values: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """Variance of the mean of values that depend on each other within groups, times n.

    Parameters
    ----------
    values : [n] float64
    groups : [n] int64
        0..G-1, each of which has samples.

    Returns
    -------
    float, not negative; in the squared units of `values`
    """
    sums = np.bincount(groups, weights=values - values.mean())
    return float(sums @ sums) / len(values) * len(sums) / (len(sums) - 1)


def standard_error(
    constants: Mapping[str, Any] | None, noise: Any, spread: Any, rank_noise: Any, samples: Any
) -> Any:
    """Standard error in nats; the arguments are numbers, or arrays (NumPy, torch) of one shape.

    Parameters
    ----------
    constants : mapping or None
        Of `CONSTANTS`; without them it is the noise alone.
    noise : nats
        Sampling and slices.
    spread : nats
        What the model takes its errors to be.
    rank_noise : float
    samples : float
        Effective ones.
    """
    if constants is None:
        return noise
    parts = (
        constants["noise"] * noise,
        constants["spread"] * spread,
        constants["ceiling"] * rank_noise,
    )
    above = 1 + constants["few"] / samples**0.5 - LEAST_FACTOR
    factor = LEAST_FACTOR + (above + abs(above)) / 2  # no less, however few
    return factor * sum(part**2 for part in parts) ** 0.5


def check_constants(values: Any) -> dict[str, dict[str, float]]:
    """The constants of a model file's metadata, as numbers.

    Raises
    ------
    ValueError, TypeError, KeyError
        Not what `infoatlas_train.calibrate` writes.
    """
    found = {kind: {name: float(values[kind][name]) for name in CONSTANTS} for kind in KINDS}
    numbers = [value for kind in found.values() for value in kind.values()]
    unsigned = [value for kind in found.values() for name, value in kind.items() if name != "few"]
    if not (np.abs(numbers).max() <= LARGEST_CONSTANT and min(unsigned) >= 0):  # (also for NaN)
        raise ValueError(
            f"constants have to be at most {LARGEST_CONSTANT:.0f}, and all but `few` not negative"
        )
    return found
