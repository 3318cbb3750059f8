"""90% intervals of each family: coverage and width.

Coverage over all draws can hide families whose intervals nearly always miss the truth. A family is
called silent if fewer than half of its intervals contain the truth: nothing in its estimates
indicates their error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .measure import Row, names, ours, pick
from .report import number, table

Z90 = 1.645
SILENT = 0.5  # a family with a lower coverage is silent
HEADERS = ("n", "estimator", "families", "coverage", "silent families", "median half-width")
TEXT = (
    "A 90% interval is estimate ± 1.645 stderr. Coverage is the share of all draws whose interval "
    "contains the truth. A family is silent if its own coverage is below 50%. The half-width of an "
    "interval is 1.645 stderr."
)


@dataclass(frozen=True)
class Intervals:
    """The 90% intervals of one estimator on several families."""

    families: int
    inside: float  # share of all draws whose interval contains the truth
    silent: tuple[str, ...]  # those with fewer than half of their draws inside
    half_width: float  # 1.645 stderr, median over draws, nats


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
    """Cells of a table row: the columns of `HEADERS` from "families" on."""
    silent = f"{len(found.silent)} of {found.families}"
    return [str(found.families), f"{found.inside:.0%}", silent, number(found.half_width)]


def section(rows: Sequence[Row], sizes: Sequence[int], name: Callable[[Row], str]) -> str:
    """Markdown: intervals of our estimators by sample size, and the silent families.

    There is a row for each family, sample size and estimator; `name` is that of a row's family.
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
