"""Information that a critic does not resolve: a bound from neighbours in single coordinates.

Neither the critic nor nearest neighbours in both sides resolve a fast oscillation, as in
y = sin(100 x) + noise. But neighbours in x differ in y by little more than the noise. Let Z be a
coordinate of y as a normal score, and Z' that of the next sample in the order of a coordinate of
x. If x determines the distribution of Z, and neighbours in x are close enough, Z and Z' are two
draws of it. Then the entropy power inequality gives h(Z - Z') >= h(Z | x) + log(2) / 2, so

    I(x; y) >= I(x; Z) >= h(Z) - h(Z - Z') + log(2) / 2.

If neighbours in x are too far apart, the bound is lower.

Neighbours in x are often neighbours in time, and then similar for that reason alone. Therefore
h(Z) + log(2) / 2 is replaced by the entropy of the differences of samples that follow each other in
time, where that is smaller.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import Array, to_host
from .canonical import score_table

# The entropies are estimates. In 1,794 draws of development families, normal pairs and
# oscillations, the difference exceeds the truth by at most 2.9 / sqrt(n).
MARGIN = 3.0
PAIRS = 256  # pairs of neighbours by which one of several coordinates is chosen


def least_information(x: Array, y: Array, order: NDArray[np.int64]) -> float:
    """Information in nats that both sides have at least; may be negative.

    Parameters
    ----------
    x, y : [n, dx], [n, dy] float64
        Shuffled samples, on the host or on a GPU.
    order : [n] int64
        Position i contains sample order[i] of the input, which may be in order of time.
    """
    n = len(order)
    scores = score_table(n)[::2]  # of n different ranks
    time = np.argsort(order)
    # Equal values are sorted by place. The places of y are shuffled again, because equal values of
    # both sides would otherwise be paired.
    first, second = _sort_rows(to_host(x).T), order[_sort_rows(to_host(y)[order].T)]
    at_most = entropy(scores) + math.log(2) / 2
    bounds = []
    for given, target in ((first, second), (second, first)):
        z = np.empty(target.shape)
        np.put_along_axis(z, target, scores[None], axis=1)
        by_time = entropy(np.diff(z[:, time]))
        nearest = np.stack([values[_most_informative(given, values)] for values in z])
        bounds.append((np.minimum(by_time, at_most) - entropy(np.diff(nearest))).max())
    return float(max(bounds)) - MARGIN / math.sqrt(n)


def _sort_rows(columns: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order of each row of [d, n]; equal values by place."""
    order = np.argsort(columns, axis=1)  # many times faster than a stable sort
    ranked = np.take_along_axis(columns, order, axis=1)
    tied = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
    order[tied] = np.argsort(columns[tied], axis=1, kind="stable")
    return order


def _most_informative(given: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The order of [d, n] in which neighbours differ least in their values [n].

    Some pairs of neighbours are enough to choose it.
    """
    step = max(1, len(values) // PAIRS)
    pairs = given[:, :-1:step], given[:, 1::step]
    differences = values.take(pairs[0]) - values.take(pairs[1])
    chosen: NDArray[np.int64] = given[np.abs(differences).mean(axis=1).argmin()]
    return chosen


def entropy(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differential entropy over the last axis, by spacings (Vasicek, 1976), nats.

    It is too low by what the ends of a sample contribute, which hardly matters for differences.
    """
    n = values.shape[-1]
    m = max(1, round(math.sqrt(n) / 2))
    ranked = np.sort(values, axis=-1)
    spacing = np.maximum(ranked[..., m:] - ranked[..., :-m], 1e-12)
    digamma = sum(1 / k for k in range(1, m)) - np.euler_gamma
    found: NDArray[np.float64] = np.log(spacing * (n + 1)).mean(axis=-1) - digamma
    return found
