"""90% intervals, judged for each family: how many contain the truth, and how wide they are.

A share over all draws can hide families whose intervals nearly always miss. A family with fewer
than half of its draws inside their intervals is silent: nothing in its estimates indicates that
they are off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .measure import Row, names, ours, pick
from .report import number, table

Z90 = 1.645
SILENT = 0.5  # share of the draws of a family inside their intervals, below which it is silent
HEADERS = ("n", "estimator", "families", "inside", "silent families", "median half-width")
TEXT = (
    "90% intervals: estimate ± 1.645 stderr. Inside: share of all draws whose interval contains "
    "the truth. Silent: families with fewer than half of their draws inside. Half-width: 1.645 "
    "stderr, median over draws."
)


@dataclass(frozen=True)
class Intervals:
    """The 90% intervals of one estimator on several families.

    Attributes
    ----------
    families : int
    inside : float
        Share of all draws whose interval contains the truth.
    silent : tuple of str
        Families with fewer than half of their draws inside, by name.
    half_width : float
        1.645 stderr, median over draws, nats.
    """

    families: int
    inside: float
    silent: tuple[str, ...]
    half_width: float


def inside(estimates: ArrayLike, truth: ArrayLike, stderr: ArrayLike) -> float:
    """Share of draws whose 90% interval contains the truth."""
    error = np.abs(np.subtract(estimates, truth))
    return float((error <= Z90 * np.asarray(stderr)).mean())


def judge(families: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]) -> Intervals:
    """Judge families by name; each has estimates, truth and standard errors of its draws, nats."""
    shares = {name: inside(*values) for name, values in families.items()}
    draws = [np.size(values[0]) for values in families.values()]
    widths = np.concatenate([np.ravel(values[2]) for values in families.values()])
    return Intervals(
        len(families),
        float(np.average(list(shares.values()), weights=draws)),
        tuple(name for name, share in shares.items() if share < SILENT),
        Z90 * float(np.median(widths)),
    )


def cells(found: Intervals) -> list[str]:
    """Cells of a table, as in `HEADERS` from "families" on."""
    silent = f"{len(found.silent)} of {found.families}"
    return [str(found.families), f"{found.inside:.0%}", silent, number(found.half_width)]


def section(rows: Sequence[Row], sizes: Sequence[int], name: Callable[[Row], str]) -> str:
    """Markdown: intervals of all estimators of ours by sample size, and the silent families.

    Parameters
    ----------
    rows : sequence of Row
        One for each family, sample size and estimator.
    sizes : sequence of int
    name : callable
        Name of a row's family.
    """
    lines, silent = [], []
    for n in sizes:
        for estimator in filter(ours, names(rows)):
            own = pick(rows, n=n, estimator=estimator)
            found = judge({name(row): (row.estimates, row.truth, row.stderrs) for row in own})
            lines.append([str(n), estimator, *cells(found)])
            if found.silent:
                silent.append(f"{estimator}, n = {n}: {', '.join(found.silent)}")
    parts = ["## Intervals", TEXT, table(HEADERS, lines)]
    if silent:
        parts.append("Silent: " + "; ".join(silent) + ".")
    return "\n\n".join(parts)
