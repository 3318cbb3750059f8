"""The standard error of an estimate: sampling noise, model error and noise of ranks.

- **Sampling noise** follows from the estimate itself: from the influence of each sample, and from
  the differences between slices.
- **The model error** is a product of powers of two quantities. The predicted error is an output of
  the graph: a small network estimates from diagnostic features how far the estimate is from the
  true value; `infoatlas_train.fit_correction` fits it. The other one is the variation over slices
  of the information beyond Gaussian dependence (`beyond_gaussian`). Slices that are nearly
  Gaussian, nearly independent or similar are estimated much better than the predicted error of one
  dataset suggests.
- **The noise of ranks** bounds the dependence that n samples can resolve: near a deterministic
  relation the true value may be much larger than the estimate.

`standard_error` weighs the three by six constants, one set for unsliced and one for sliced
estimates. `infoatlas_train.calibrate` fits the constants, and the model file carries them.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.model_file import ModelFile
from .result import Estimate

LEAST_FACTOR = 0.5  # of the factor for small samples, at least
CLUSTERS = 10  # trajectories from which a clustered variance is used
LEAST_BEYOND = 0.02  # nats, added to the information beyond Gaussian dependence
MOST_RANK_NOISE = 1.0  # at 1 the ranks of n samples cannot distinguish rho from 1


class SamplingNoise(NamedTuple):
    """Standard error of the mean over samples and slices, nats, and effective samples.

    These are the independent samples that would have the same variance over samples, at most n.
    """

    noise: float
    effective_samples: float


def sampling_noise(
    influence: NDArray[np.float64],
    per_slice: NDArray[np.float64],
    *,
    time_series: bool = False,
    groups: NDArray[np.int64] | None = None,
) -> SamplingNoise:
    """Standard error from the samples and the slices of one estimate.

    Parameters
    ----------
    influence, per_slice : [n], [S] float64
        Of each sample (mean over slices, in the order of the input), and of each slice, nats.
    time_series : bool
        Neighbours depend on each other: the long-run variance is used if it exceeds the plain one.
    groups : [n] int64, optional
        0..G-1; samples depend on each other within groups: the clustered variance is used if it
        exceeds the plain one.
    """
    n, slices = len(influence), len(per_slice)
    plain = float(influence.var(ddof=1))
    variance = plain
    if groups is not None:
        variance = max(plain, clustered_variance(influence, groups))
    elif time_series:
        variance = max(plain, long_run_variance(influence))
    between = float(per_slice.var(ddof=1)) / slices if slices > 1 else 0.0
    effective = n * (plain / variance) if variance > 0 else float(n)
    return SamplingNoise(math.sqrt(variance / n + between), effective)


def noise_of_trajectories(
    influence: NDArray[np.float64], per_slice: NDArray[np.float64], trajectory: NDArray[np.int64]
) -> SamplingNoise:
    """Standard error from time series that follow each other; the larger one of two.

    `trajectory` has the number of the trajectory of each sample [n], 0..N-1, ascending. With ten
    trajectories or more, the clustered variance is used if it is larger than the long-run one.
    """
    found = sampling_noise(influence, per_slice, time_series=True)
    if trajectory[-1] + 1 < CLUSTERS:
        return found
    return max(found, sampling_noise(influence, per_slice, groups=trajectory))


def long_run_variance(values: NDArray[np.float64]) -> float:
    """Variance of the mean of a time series [n], times n (Newey and West, 1987; Bartlett weights).

    The bandwidth is the larger one of floor(4 (n/100)^(2/9)) and the rule of Andrews (1991) for an
    AR(1) process. The second one is needed because successive states of a robot are strongly
    dependent.
    """
    n = len(values)
    deviation = values - values.mean()
    variance = float(deviation @ deviation) / (n - 1)
    if variance == 0:
        return 0.0
    rho = float(deviation[1:] @ deviation[:-1]) / (variance * (n - 1))
    rho = min(abs(rho), 0.97)  # bound of Andrews: near a unit root the rule would use all lags
    alpha = 4 * rho**2 / (1 - rho**2) ** 2
    bandwidth = max(4 * (n / 100) ** (2 / 9), 1.1447 * (alpha * n) ** (1 / 3))
    lags = min(math.floor(bandwidth), n - 1)
    total = variance
    for lag in range(1, lags + 1):
        weight = 1 - lag / (lags + 1)
        total += 2 * weight * float(deviation[lag:] @ deviation[:-lag]) / (n - 1)
    return max(total, 0.0)


def clustered_variance(values: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """Variance of the mean of values [n] that depend on each other within groups, times n.

    `groups` [n] are 0..G-1, and each has samples.
    """
    sums = np.bincount(groups, weights=values - values.mean())
    return float(sums @ sums) / len(values) * len(sums) / (len(sums) - 1)


def gaussian_part(correlations: Any, rank_x: Any, rank_y: Any, n: int) -> NDArray[np.float64]:
    """Mutual information of Gaussians with given canonical correlations, corrected for its bias.

    Correlations [S, D] were computed from n samples of sides with `rank_x` and `rank_y` [S]
    dimensions. Returns [S] nats, not negative.
    """
    unexplained = np.maximum(1 - np.square(correlations), 1 / n**2)
    found = -0.5 * np.log(unexplained).sum(axis=-1)
    return np.asarray(np.maximum(found - np.multiply(rank_x, rank_y) / (2 * n), 0.0))


def beyond_gaussian(per_slice: NDArray[np.float64], gaussian: NDArray[np.float64]) -> float:
    """Variation over slices of the information that is not Gaussian, nats.

    It is the standard deviation of `per_slice` [S] less `gaussian_part` [S]; of one slice, the
    absolute difference.
    """
    beyond = per_slice - gaussian
    return float(beyond.std() if len(beyond) > 1 else abs(beyond[0]))


def rank_noise(correlations: Any, n: int) -> NDArray[np.float64]:
    """Closeness of the strongest canonical correlations [S, D] to what n ranks can resolve.

    The variance of a sample's rank is about 1 / n. A canonical direction with unexplained variance
    1 - rho^2 can be distinguished from a deterministic one only if n (1 - rho^2) is large. The
    result [S] is the sum of rho^2 / (n (1 - rho^2)) over the directions, at most `MOST_RANK_NOISE`.
    """
    squared = np.square(correlations)
    unexplained = np.maximum(1 - squared, 1 / n**2)
    return np.asarray(np.minimum((squared / unexplained).sum(axis=-1) / n, MOST_RANK_NOISE))


def standard_error(
    constants: Mapping[str, Any] | None,
    noise: Any,
    predicted_error: Any,
    rank_noise: Any,
    samples: Any,
    beyond: Any = 0.0,
) -> Any:
    """Calibrated standard error, nats.

    Parameters
    ----------
    constants : mapping or None
        Values of `model_file.CONSTANTS`; if None, the result is `noise`.
    noise, predicted_error, rank_noise, samples, beyond : float, or arrays of one shape
        Standard error from samples and slices and predicted error, nats; `rank_noise`; effective
        samples; `beyond_gaussian`, nats.
    """
    if constants is None:
        return noise
    further = (beyond + LEAST_BEYOND) ** constants["beyond"]
    model_error = predicted_error ** constants["predicted"] * further
    parts = (
        constants["noise"] * noise,
        constants["spread"] * model_error,
        constants["ceiling"] * rank_noise,
    )
    above = 1 + constants["few"] / samples**0.5 - LEAST_FACTOR
    factor = LEAST_FACTOR + (above + abs(above)) / 2  # at least LEAST_FACTOR
    return factor * sum(part**2 for part in parts) ** 0.5


def with_error(
    found: Estimate, model: ModelFile, time_series: bool, groups: NDArray[np.int64] | None
) -> Estimate:
    """An estimate with its noise, effective samples and standard error, from its other fields."""
    noise, effective = sampling_noise(
        found.influence, found.per_slice, time_series=time_series, groups=groups
    )
    return add_standard_error(replace(found, noise=noise, effective_samples=effective), model)


def add_standard_error(found: Estimate, model: ModelFile) -> Estimate:
    """An estimate with its standard error, from its other fields."""
    if found.degenerate:
        return replace(found, stderr=0.0)
    constants = model.calibration.get("whole" if found.k is None else "sliced")
    parts = found.noise, found.predicted_error, found.rank_noise, found.effective_samples
    return replace(found, stderr=float(standard_error(constants, *parts, found.beyond_gaussian)))
