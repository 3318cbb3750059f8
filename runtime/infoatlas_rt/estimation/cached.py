"""An estimate with an estimator that is made once and kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .estimator import Estimator
from .result import Estimate


def estimate(
    x: Any,
    y: Any,
    *,
    time_series: bool = False,
    resolution_x: Any = None,
    resolution_y: Any = None,
    groups: Any = None,
    **options: Any,
) -> Estimate:
    """Estimate I(x; y) with an estimator that is made once and kept.

    Parameters
    ----------
    x, y : array-like [n] or [n, d]
        Paired samples of any real type; row i of x belongs to row i of y.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours: the standard error
        uses a long-run variance. False unless given.
    resolution_x, resolution_y : float or [d], optional
        Smallest difference that has a meaning, in the units of the data: values are rounded to
        multiples of it before they are ranked.
    groups : array-like [n] of int, optional
        Trajectory, episode or subject of each sample. The product of marginals then pairs samples
        of different groups only, and the standard error is clustered by group. Each group has
        fewer than half of the samples.
    **options
        Arguments of `Estimator` by name: model, provider, threads, k, slices, sides, directions,
        shifts and seed. The estimators of the last four combinations are kept.

    Returns
    -------
    Estimate
        Its `mi` and `stderr` are in nats.

    Raises
    ------
    InputError
        The samples cannot be used (type, shape, NaN, fewer than the model's n_min, ...) or do not
        fit `k` and `sides`. One of `groups` is too large, or an argument is out of range.
    ModelError
        The model file cannot be used, or its output is not finite.
    ProviderError
        The provider is not available.
    """
    try:
        estimator = _estimator(**options)
    except TypeError:  # an unknown or unhashable option: let Estimator name it
        estimator = Estimator(**options)
    return estimator.estimate(
        x,
        y,
        time_series=time_series,
        resolution_x=resolution_x,
        resolution_y=resolution_y,
        groups=groups,
    )


@lru_cache(maxsize=4, typed=True)
def _estimator(**options: Any) -> Estimator:
    return Estimator(**options)
