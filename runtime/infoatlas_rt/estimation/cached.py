"""An estimate with an estimator that is made once and kept."""

import os
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
    model: str | os.PathLike[str] = "edge",
    provider: str = "auto",
    threads: int | None = None,
    k: int | None = None,
    slices: int | None = None,
    sides: str = "auto",
    directions: str = "random",
    shifts: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate I(x; y) in nats, with an estimator that is made once and kept.

    `Estimator` explains the arguments from `model` on. The estimators of the last four combinations
    of them are kept.

    Parameters
    ----------
    x, y : array-like [n] or [n, d]
        Paired samples of any real type; row i of x belongs to row i of y.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours: the standard error
        uses a long-run variance.
    resolution_x, resolution_y : float or [d], optional
        Smallest difference that has a meaning, in the units of the data: values are rounded to
        multiples of it before they are ranked.
    groups : array-like [n] of int, optional
        Trajectory, episode or subject of each sample. The product of marginals then pairs samples
        of different groups only, and the standard error is clustered by group. Each group has
        fewer than half of the samples.
    model : str or path
        A shipped model ("edge", "base", "wide"), an .onnx file or an .engine file.
    provider : str
        What evaluates the model: "native", "cpu", "cuda", "tensorrt" or "tensorrt-rtx"; "auto"
        chooses.
    threads : int, optional
        CPU threads; two unless given, or one on a single core.
    k : int, optional
        Dimensions of a slice; the model's D unless given.
    slices : int, optional
        Number of slices if a side is sliced; 40 unless given.
    sides : {"auto", "both", "x", "y"}
        Which sides are sliced. "auto": both if `k` is given, else those wider than D.
    directions : {"random", "canonical"}
        How a side wider than D is reduced: to slices, or to directions found in half the samples.
    shifts : int, optional
        Number of cyclic shifts, whose pairs are samples of the product of marginals.
    seed : int
        Seed of projections, shuffle and shifts.

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

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import estimate
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> found = estimate(x, x + noise / 2)  # the true value is ln(5) / 2 = 0.80
    >>> print(f"{found.mi:.2f} ± {found.stderr:.2f} nats")
    0.78 ± 0.04 nats
    """
    options: dict[str, Any] = {
        "model": model,
        "provider": provider,
        "threads": threads,
        "k": k,
        "slices": slices,
        "sides": sides,
        "directions": directions,
        "shifts": shifts,
        "seed": seed,
    }
    try:
        estimator = _estimator(**options)
    except TypeError:  # an unhashable option: let Estimator name it
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
