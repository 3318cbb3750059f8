"""Flags of samples that mislead an estimate, with the errors and bounds that they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import to_host
from .atoms import LEAST_MI, count_patterns
from .determined import LEAST, MOST, is_determined
from .prepare import Prepared, Samples
from .result import INTERVAL, Estimate
from .unresolved import least_information

MANY = 12  # patterns from which an estimate that does not take them apart is flagged
LEAST_WIDTH = 0.75  # least half-width of a flagged 90% interval, as a share of the estimate
FARTHEST, LEAST_TAILED = 1000.0, 1.0  # interquartile ranges; nats


def with_flags(
    samples: Samples, found: Estimate, prepare: Callable[[Samples], Prepared]
) -> Estimate:
    """The estimate of unsliced samples, flagged where their kind misleads it.

    Flags of atoms and of heavy tails have a larger standard error. Of a linear function, rounding
    in the graph decides the estimate. So a lower bound is added that does not need the graph, from
    what `prepare` makes of the samples.
    """
    if found.k is not None:
        return found
    if found.saturated:
        some = prepare(samples.take(np.arange(0, len(samples), -(-len(samples) // MOST))))
        bound = least_information(some.x, some.y, some.order)
        found = replace(found, at_least=max(bound, 0.0))
    elif found.mi > LEAST:
        in_order = samples.time_series or found.autocorrelated
        found = replace(found, saturated=is_determined(samples, in_order))
    if found.patterns or found.mi < LEAST_MI:
        return found
    sides = [np.asarray(to_host(side)) for side in (samples.x, samples.y)]
    ranked = [np.sort(side, axis=0) for side in sides]
    tied = [side for side, r in zip(sides, ranked, strict=True) if (r[1:] == r[:-1]).any()]
    atoms = max(map(count_patterns, tied), default=0)
    heavy = found.mi > LEAST_TAILED and all(map(_has_heavy_tails, ranked))
    if atoms < MANY and not heavy:
        return found
    stderr = max(found.stderr, LEAST_WIDTH / INTERVAL * found.mi)
    return replace(found, stderr=stderr, atoms=atoms * (atoms >= MANY), heavy_tails=heavy)


def _has_heavy_tails(ranked: NDArray[np.float64]) -> bool:
    """Whether a coordinate, sorted [n, d], has values far beyond its quartiles."""
    n = len(ranked)
    least, low, high, most = ranked[[0, n // 4, (3 * n) // 4, n - 1]] / 2  # differences are finite
    beyond = np.maximum(low - least, most - high)
    return bool(((beyond / FARTHEST > high - low) & (high > low)).any())
