"""The result of `conditional_mutual_information` and `transfer_entropy`."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.result import FLAGS, INTERVAL, SIMILAR_ROWS

from ..presentation import Shown, axes_of, require_pandas
from .independence import finer_test


@dataclass(frozen=True, eq=False)
class ConditionalEstimate(Shown):
    """An estimate of the conditional mutual information, with its test.

    Attributes
    ----------
    mi : float
        Estimate of I(x; y | z), nats; it may be slightly below zero. If values of a side repeat, it
        is at most an upper bound of the entropy of that side given z.
    stderr : float
        Nats: mi ± 1.645 stderr is about a 90% interval. It combines the noise, the noise of ranks,
        and the predicted errors of all terms, as if these were independent.
    noise : float
        Nats; the part of `stderr` from the samples, by paired influences.
    p_value : float
        P-value of conditional independence; NaN without permutations, or if `unresolved`. It is at
        least 1 / (1 + B), and at least 2 / (1 + B) if `mi` is not positive.
    statistic : float
        The larger of a linear and a general measure of dependence of the residuals, each with mean
        0 and standard deviation 1 over all pairings; NaN without a test. It is not `mi`: a test can
        detect dependence that the estimate is too coarse to show.
    null : [B] float64
        Statistics of the permuted samples: `permutations`, or fewer if the p-value is above 0.05.
    pointwise : [n] float64
        Nats; local conditional information of each sample, in the order of the input; its mean is
        `mi`.
    influence : [n] float64
        Nats; influence of each sample on `mi`.
    question : str
        The estimated quantity, with the names of columns if there are any.
    samples : int
        n.
    effective_samples : float
        Independent samples that would give the same variance.
    seed : int
        Seed of the shuffle, the shifts, the permutations and the features of the test.
    provider, model : str
        What evaluated the model, as "cpu" or "native"; its name and version.
    saturated : bool
        Given z, a linear combination of x determines one of y, as far as n samples can resolve:
        the true value may be much larger.
    atoms, heavy_tails : int, bool
        Flags of `Estimate`, of any of the terms.
    autocorrelated : bool
        Neighbouring rows are similar, and `time_series` was not set.
    degenerate : bool
        z determines x or y: `mi` and `stderr` are exactly 0, `p_value` is 1.
    unresolved : bool
        z determines both x and y nearly as far as n ranks resolve: it leaves less than 10 / n of
        their variance. There is no test then; pass more samples, or more precise ones.
    """

    mi: float
    stderr: float
    noise: float
    p_value: float
    statistic: float
    null: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    influence: NDArray[np.float64]
    question: str
    samples: int
    effective_samples: float
    seed: int
    provider: str
    model: str
    saturated: bool
    atoms: int
    heavy_tails: bool
    autocorrelated: bool
    degenerate: bool
    unresolved: bool

    def __str__(self) -> str:
        """One line."""
        flags = [name for name in (*FLAGS, "degenerate", "unresolved") if getattr(self, name)]
        flags += [SIMILAR_ROWS] * self.autocorrelated + finer_test(self.mi, self.p_value)
        tested = f"p = {self.p_value:.3g}, " if len(self.null) or self.degenerate else ""
        return (
            f"{self.question} = {self.mi:.3f} ± {self.stderr:.3f} nats ({tested}"
            f"noise {self.noise:.3f}, n={self.samples}, {self.model} on {self.provider})"
            + (f" [{', '.join(flags)}]" if flags else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields except the arrays, as JSON-safe values."""
        arrays = ("null", "pointwise", "influence")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in arrays}

    def to_frame(self) -> Any:
        """`to_dict` as a pandas DataFrame with one row; InputError if pandas is not installed."""
        return require_pandas("to_frame()").DataFrame([self.to_dict()])

    def plot(self, ax: Any = None) -> Any:
        """Draw the statistic of the test on a histogram of the permuted samples.

        The title has the estimate with its 90% interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones unless given; InputError without matplotlib.
        """
        ax = axes_of(ax)
        if len(self.null):
            ax.hist(self.null, bins=30, color="0.75", label=f"{len(self.null)} permutations")
            ax.axvline(self.statistic, color="tab:blue", label=f"given, p = {self.p_value:.3g}")
        ax.set_title(f"{self.question} = {self.mi:.3f} ± {INTERVAL * self.stderr:.3f} nats")
        ax.set(xlabel="statistic of the test", ylabel="permutations")
        ax.legend(frameon=False)
        return ax
