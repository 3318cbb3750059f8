"""Intervals and comparisons of success rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import TypeVar

Row = TypeVar("Row")
Z = NormalDist().inv_cdf(0.975)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of Wilson for a rate."""
    rate, square = successes / trials, Z * Z / trials
    middle = (rate + square / 2) / (1 + square)
    half = Z / (1 + square) * sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return middle - half, middle + half


def p_value(a: int, b: int, n: int, m: int) -> float:
    """Two-sided p of equal rates for a of n and b of m successes (pooled normal test)."""
    pooled = (a + b) / (n + m)
    error = sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return 1.0 if error == 0 else 2 * NormalDist().cdf(-abs(a / n - b / m) / error)


def holm(rows: Sequence[Row], p: Callable[[Row], float]) -> list[Row]:
    """Rows whose p-value is significant by Holm's procedure, at 5% over all of them."""
    found = []
    for rank, row in enumerate(sorted(rows, key=p)):
        if p(row) > 0.05 / (len(rows) - rank):
            break
        found.append(row)
    return found


def episodes(one: float, other: float, power: float = 0.8) -> int | None:
    """Episodes of each arm for a significant difference (5%) with this power; None if equal."""
    if one == other:
        return None
    mean = (one + other) / 2
    under_null = Z * sqrt(2 * mean * (1 - mean))
    otherwise = NormalDist().inv_cdf(power) * sqrt(one * (1 - one) + other * (1 - other))
    return ceil(((under_null + otherwise) / (one - other)) ** 2)
