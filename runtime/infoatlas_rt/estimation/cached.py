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
    x, y, time_series, resolution_x, resolution_y, groups
        As in `Estimator.estimate`.
    **options
        As in `Estimator`.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError, ModelError, ProviderError
        As `Estimator` and `Estimator.estimate`.
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
