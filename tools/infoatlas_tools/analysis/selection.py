"""Selects features step by step, by the information that each adds to the chosen ones."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.redundancy import redundant
from infoatlas_rt.estimation.result import Estimate
from infoatlas_rt.inputs.checks import as_count, as_flag, as_samples

from ..presentation import Content, Rows, Shown, with_count
from .conditional import conditional
from .independence import LEVEL, PERMUTATIONS
from .many_tests import PER_TEST
from .screening import column_labels


@dataclass(frozen=True, eq=False)
class FeatureSelection(Shown):
    """Features in the order of their selection.

    Attributes
    ----------
    names : tuple of m str
        x0, x1, ... if the columns have no names.
    order : [m] int64
        Their columns.
    step : [m] int64
        Step at which a feature was selected; two of one step are a pair.
    mi, stderr : [m] float64
        Nats; information about y that a step added to those before it, and its standard error.
    p_value : [m] float64
        Of the step, multiplied by the number of its candidates (Bonferroni).
    joint : Estimate or None
        Information of all selected features together about y; None if there are none.
    end : str
        Why no more were selected; empty if there are as many as were wanted.
    """

    names: tuple[str, ...]
    order: NDArray[np.int64]
    step: NDArray[np.int64]
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    p_value: NDArray[np.float64]
    joint: Estimate | None
    end: str

    def _content(self) -> Content:
        head = (
            f"{with_count(len(self.names), 'feature')}, by steps with a corrected p up to {LEVEL}"
        )
        rows: Rows = [("", "nats more")]
        for i in np.unique(self.step, return_index=True)[1]:
            own = " with ".join(np.array(self.names)[self.step == self.step[i]])
            rows.append((own, f"{self.mi[i]:.3f} ± {self.stderr[i]:.3f}"))
        together = [f"together: {self.joint}"] if self.joint else []
        return head, rows, [*together, *[self.end] * bool(self.end)]

    def __str__(self) -> str:
        head, rows, notes = self._content()
        return "\n".join([head, *(f"{own}: {nats} nats more" for own, nats in rows[1:]), *notes])


def select_features(
    X: Any,
    y: Any,
    count: int,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    time_series: bool = False,
) -> FeatureSelection:
    """Select at most `count` columns of X [n, d] by their conditional information about y [n, dy].

    Each step adds the column with which the chosen ones are most informative, if the test of
    `conditional_mutual_information` given the chosen ones is significant. If it is not, the step
    adds the best pair of columns, if that is significant, and each of the two given the other one.
    Neither switch of an exclusive or is informative alone. Otherwise the selection ends. Constant
    columns, and copies and sums of chosen ones, are not selected. InputError if `count` is too
    large for the model.
    """
    samples, target = as_samples(X, "X"), as_samples(y, "y")
    estimator, series = as_estimator(estimator), as_flag(time_series, "time_series")
    columns = column_labels(X, samples.shape[1])
    count = min(as_count(count, "count", 1), len(columns))
    dy, dim = target.shape[1], estimator.model_file.dim
    if max(count, count - 1 + dy) > dim:
        raise InputError(
            f"count is {count} and y has {dy} columns: model "
            f"{estimator.model_file.name} accepts {dim} columns unsliced; pass a smaller count, or "
            'the model "wide" (20 columns)'
        )
    chosen: list[int] = []
    found: list[tuple[int, float, float, float]] = []
    end = ""

    def tested(own: Sequence[int], before: list[int], options: int) -> tuple[float, float, float]:
        """(mi, stderr, p) of columns given those before, the best of so many options."""
        given = samples[:, before] if before else np.zeros((len(samples), 1))
        one = conditional(
            samples[:, list(own)], target, given, estimator, "", series, None,
            max(PERMUTATIONS, PER_TEST * options), LEVEL / options,
        )  # fmt: skip
        return one.mi, one.stderr, min(np.nan_to_num(one.p_value, nan=1.0) * options, 1.0)

    def best(size: int) -> tuple[tuple[int, ...], tuple[float, float, float]]:
        """Columns, and (mi, stderr, p), of the best `size` of the others; p is 1 without any."""
        rest = [i for i in np.flatnonzero(np.ptp(samples, axis=0) > 0).tolist() if i not in chosen]
        options = [
            own for own in combinations(rest, size) if not redundant(samples[:, [*chosen, *own]])
        ]
        if not options:
            return (), (0.0, 0.0, 1.0)
        sides = (np.ascontiguousarray(samples[:, [*chosen, *own]]) for own in options)
        values = [estimator.estimate_checked(Samples(side, target, series)).mi for side in sides]
        own = options[int(np.argmax(values))]
        mi, stderr, p = tested(own, chosen, len(options))
        if size == 2 and p <= LEVEL:  # one of them may be informative, and the other one not
            p = max(p, *(tested([i], [*chosen, *{*own} - {i}], 1)[2] for i in own))
        return own, (mi, stderr, p)

    while len(chosen) < count:
        own, values = best(1)
        if values[2] > LEVEL and count - len(chosen) >= 2:
            own, values = best(2)
        if values[2] > LEVEL:
            end = "no other column or pair is significant"
            if count - len(chosen) < 2:
                end = "no other column is significant (a pair needs two more places)"
            break
        found += [(len(chosen), *values)] * len(own)
        chosen += own
    step, mi, stderr, p_value = np.array(found, np.float64).reshape(-1, 4).T
    joint = None
    if chosen:
        joint = estimator.estimate(samples[:, chosen], target, time_series=series)
    names, order = tuple(columns[i] for i in chosen), np.array(chosen, np.int64)
    return FeatureSelection(names, order, step.astype(np.int64), mi, stderr, p_value, joint, end)
