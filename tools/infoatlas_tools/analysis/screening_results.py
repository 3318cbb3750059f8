"""Results of many estimates: of lags, of features, and of all pairs of columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.result import FLAGS, INTERVAL, SIMILAR_ROWS, value_text
from infoatlas_rt.inputs.checks import as_choice

from ..presentation import Content, Shown, axes_of, require_pandas
from .independence import LEVEL, finer_test

LINEAR = 10.0  # nats by which the estimate of a linear function is preferred
SHOWN = 20  # rows of a result that are printed, at most


@dataclass(frozen=True, eq=False)
class Screening(Shown):
    """Many estimates, each with a test, p-values corrected for their number.

    Attributes
    ----------
    mi, stderr, noise : [m] float64
        Nats; each estimate, its standard error, and the part of this from samples and slices
        alone. Estimates share the model's errors, so compare them by `noise`.
    p_value : [m] float64
        P-value of each test alone; NaN without permutations.
    p_adjusted : [m] float64
        P-values corrected for the number m of tests. Judge by these: of m independent columns, some
        have a `p_value` below 0.05 by chance.
    saturated, atoms, heavy_tails : [m] bool, int64, bool
        Flags of `Estimate`.
    at_least : [m] float64
        Nats; lower bound of `Estimate` where rounding decides `mi`, and is printed; else NaN.
    autocorrelated : bool
        Neighbouring rows are similar, and the tests take them for independent.
    samples : int
        n, the same for all estimates.
    permutations : int
        B, different ones; no p-value is below 1 / (1 + B).
    correction : {"benjamini-hochberg", "holm", "none"}
        How `p_adjusted` is corrected.
    method : {"permutation", "circular shift", "group permutation"}
        How the tests pair the samples: `IndependenceResult.method`.
    how : str
        Estimator and settings, one line.
    """

    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    noise: NDArray[np.float64]
    p_value: NDArray[np.float64]
    p_adjusted: NDArray[np.float64]
    saturated: NDArray[np.bool_]
    atoms: NDArray[np.int64]
    heavy_tails: NDArray[np.bool_]
    at_least: NDArray[np.float64]
    autocorrelated: bool
    samples: int
    permutations: int
    correction: str
    method: str
    how: str

    def _columns(self) -> dict[str, NDArray[Any]]:
        names = ("mi", "stderr", "noise", "p_value", "p_adjusted", *FLAGS, "at_least")
        return {name: getattr(self, name) for name in names}

    def plot(self, ax: Any = None) -> Any:
        """Draw the estimates: intervals of lags, bars of features or a map of pairs.

        Significant ones are filled, coloured or have a dot (a corrected p of at most 0.05).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones unless given; InputError without matplotlib.
        """
        ax = axes_of(ax)
        self._draw(ax)
        return ax

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _row(self, label: str, i: int) -> tuple[str, ...]:
        corrected = self.permutations and self.correction != "none"
        flags = [name for name in FLAGS if getattr(self, name)[i]]
        flags += [] if self.stderr[i] else ["degenerate"]
        flags += finer_test(self.mi[i], self.p_adjusted[i])
        return (
            label,
            value_text(self.mi[i], self.stderr[i], self.at_least[i]),
            f"{self.p_value[i]:.3g}" if self.permutations else "",
            f"{self.p_adjusted[i]:.3g}" if corrected else "",
            ", ".join(flags),
        )

    def __str__(self) -> str:
        """A line for each estimate."""
        head, rows, notes = self._content()
        forms = ("{}", ": {} nats", ", p = {}", ", corrected p = {}", " [{}]")
        lines = [
            "".join(form.format(cell) for form, cell in zip(forms, row, strict=True) if cell)
            for row in rows[1:]
        ]
        return "\n".join([head, *lines, *notes])

    @property
    def least_adjusted(self) -> float:
        """Smallest adjusted p-value that a single dependence among the m tests can have."""
        tests = 1 if self.correction == "none" else len(self.mi)
        return min(1.0, tests / (1 + self.permutations))

    def _table(self, head: str, labels: list[str], order: Any) -> Content:
        rows = [self._row(labels[i], i) for i in order[:SHOWN]]
        more = [f"... and {len(order) - SHOWN} more"] if len(order) > SHOWN else []
        if self.permutations and self.correction != "none":
            more.append(
                f"corrected p: for {len(self.mi)} tests at once ({self.correction}); with "
                f"{self.permutations} {self.method}s, a single dependence has "
                f"{self.least_adjusted:.2g} or more"
            )
        more += [f"{name}: {text}" for name, text in FLAGS.items() if getattr(self, name).any()]
        if self.autocorrelated:
            more.append(SIMILAR_ROWS)
        headers = ("", "nats", "p", "corrected p", "flags")
        return f"{head} (n={self.samples}, {self.how})", [headers, *rows], more


def rank_lags(mi: NDArray[np.float64], at_least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values [m] by which lags are compared.

    Rounding decides the estimate of a linear function, which can be below those beside it.
    """
    return mi + LINEAR * np.isfinite(at_least)


@dataclass(frozen=True, eq=False)
class LagScan(Screening):
    """I(x_(t-lag); y_t) over lags, a `Screening`.

    Attributes
    ----------
    lags : [m] int64
        Steps, ascending; negative where y is ahead of x.
    best : float
        Lag with the largest mutual information, in steps. It is between the tops of a parabola and
        of two lines through the squared correlations 1 - exp(-2 mi / d) of the largest estimate and
        its neighbours. At the ends of the lags, and between uneven lags, it is the lag of that
        estimate. That of a linear function (`at_least`) counts as larger than others.
    interval : (float, float)
        90% interval of `best`, by a block bootstrap; it contains both tops. At the ends of the
        lags, and between uneven lags, it reaches half-way to the neighbours at least.
    question : str
        What was estimated, with the names of the series.
    """

    lags: NDArray[np.int64]
    best: float
    interval: tuple[float, float]
    question: str

    @property
    def top(self) -> int:
        """Position of the largest estimate in `lags`."""
        return int(rank_lags(self.mi, self.at_least).argmax())

    def _content(self) -> Content:
        """The best lag if one is significant, and a row for each."""
        labels = [f"lag {lag}" for lag in self.lags]
        low, high = self.interval
        found = not self.permutations or bool((self.p_adjusted <= LEVEL).any())
        head = (
            f"{self.question}: {'' if found else 'no lag is significant; '}largest at lag "
            f"{self.best:.3g} (90% interval {low:.3g} to {high:.3g})"
        )
        head, rows, notes = self._table(head, labels, np.arange(len(labels)))
        ends = len(labels) > 1 and self.best in self.lags[[0, -1]]
        return head, rows, [*notes, *["The largest value is at an end: try more lags"] * ends]

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each lag; InputError if pandas is not installed."""
        return require_pandas("to_frame()").DataFrame({"lag": self.lags} | self._columns())

    def _draw(self, ax: Any) -> None:
        low, high = (np.maximum(self.mi + side * INTERVAL * self.stderr, 0) for side in (-1, 1))
        ax.fill_between(self.lags, low, high, color="tab:blue", alpha=0.2, lw=0, label="90%")
        ax.plot(self.lags, self.mi, color="tab:blue")
        found = self.p_adjusted <= LEVEL
        ax.plot(self.lags[found], self.mi[found], "o", color="tab:blue", label=f"p ≤ {LEVEL}")
        ax.plot(self.lags[~found], self.mi[~found], "o", color="tab:blue", mfc="white")
        ax.axvspan(*self.interval, color="0.9", zorder=0)
        ax.axvline(self.best, color="0.7", zorder=0, label=f"largest at {self.best:.3g}")
        ax.set(xlabel="lag, steps", ylabel=f"{self.question}, nats")
        ax.legend(frameon=False)


@dataclass(frozen=True, eq=False)
class FeatureRanking(Screening):
    """Features in order of their information about y, a `Screening` in that order.

    Attributes
    ----------
    names : tuple of m str
        Names of the features, the most informative first; x0, x1, ... if the columns have no names.
    order : [m] int64
        Positions of the features in the input.
    """

    names: tuple[str, ...]
    order: NDArray[np.int64]

    def _content(self) -> Content:
        head = f"{len(self.names)} feature{'s' * (len(self.names) != 1)}"
        return self._table(head, list(self.names), np.arange(len(self.names)))

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each feature; InputError if pandas is not installed."""
        pandas = require_pandas("to_frame()")
        index = pandas.Index(self.names, name="feature")
        return pandas.DataFrame(self._columns(), index=index)

    def _draw(self, ax: Any) -> None:
        rows = np.arange(len(self.names))
        colours = ["tab:blue" if p <= LEVEL else "0.75" for p in self.p_adjusted]
        ax.barh(rows, self.mi, xerr=INTERVAL * self.stderr, color=colours, ecolor="0.4", capsize=2)
        ax.set_yticks(rows, self.names)
        ax.invert_yaxis()
        ax.set_xlabel(f"nats; blue: corrected p ≤ {LEVEL}")


@dataclass(frozen=True, eq=False)
class PairwiseInformation(Screening):
    """Mutual information of all pairs of columns, a `Screening`.

    Attributes
    ----------
    names : tuple of d str
        Names of the columns; x0, x1, ... if they have none.
    pairs : [m, 2] int64
        Columns of each pair, the smaller one first.
    """

    names: tuple[str, ...]
    pairs: NDArray[np.int64]

    def matrix(self, value: str = "mi") -> NDArray[np.float64]:
        """A value of all pairs as a symmetric matrix [d, d] float64, with NaN on the diagonal.

        Parameters
        ----------
        value : str
            Field of each pair to show, as "p_adjusted"; "mi" (nats) unless given. InputError if
            there is no such value.
        """
        columns = self._columns()
        as_choice(value, "value", columns)
        found = np.full((len(self.names), len(self.names)), np.nan)
        first, second = self.pairs.T
        found[first, second] = found[second, first] = columns[value]
        return found

    def _content(self) -> Content:
        """A row for each pair, the most dependent one first."""
        labels = [f"{self.names[i]}, {self.names[j]}" for i, j in self.pairs]
        order = np.argsort(-self.mi, kind="stable")
        return self._table(f"{len(labels)} pairs of {len(self.names)} columns", labels, order)

    def to_frame(self) -> Any:
        """`matrix()` as a pandas DataFrame [d, d]; InputError if pandas is not installed."""
        pandas, names = require_pandas("to_frame()"), list(self.names)
        return pandas.DataFrame(self.matrix(), index=names, columns=names)

    def _draw(self, ax: Any) -> None:
        shown = ax.imshow(np.maximum(self.matrix(), 0), cmap="viridis", vmin=0)
        ticks = range(len(self.names))
        ax.set_xticks(ticks, self.names, rotation=90)
        ax.set_yticks(ticks, self.names)
        found = np.argwhere(self.matrix("p_adjusted") <= LEVEL)
        ax.plot(found[:, 1], found[:, 0], ".", color="white")
        ax.figure.colorbar(shown, ax=ax, label=f"nats; dot: corrected p ≤ {LEVEL}")
