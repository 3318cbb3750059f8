"""Run all estimators on the same samples, and collect their estimates in rows.

Models are read through the public interface of the library alone.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from infoatlas_rt import Estimator

from .peers import PEERS, Array, Score
from .report import duration, number, table, tracked
from .tasks import Case

OURS = "infoatlas-rt"


@dataclass(frozen=True)
class Row:
    """Estimates of one estimator on all draws of one case, nats; `seconds` is the median time.

    `stderrs` are the standard errors of the estimates; peers report none.
    """

    label: dict[str, Any]
    n: int
    truth: float
    estimator: str
    estimates: tuple[float, ...]
    seconds: float
    stderrs: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        return float(np.mean(self.estimates))

    @property
    def bias(self) -> float:
        return self.mean - self.truth

    @property
    def stderr(self) -> float | None:
        """Mean over draws; None if the estimator reports none."""
        return float(np.mean(self.stderrs)) if self.stderrs else None

    @property
    def spread(self) -> float:
        """Standard deviation over draws; zero for a single one."""
        return float(np.std(self.estimates, ddof=1)) if len(self.estimates) > 1 else 0.0


AnyRow = TypeVar("AnyRow", Row, dict[str, Any])
Series = dict[tuple[Any, ...], list[tuple[float, float]]]  # values and seconds by label


def load_models(models: Sequence[str]) -> dict[str, Estimator]:
    """Estimators by their name in tables, which contains the model if there are several."""
    if len(models) == 1:
        return {OURS: Estimator(models[0], provider="auto")}
    return {f"{OURS} {Path(model).stem}": Estimator(model, provider="auto") for model in models}


def measure(
    what: str,
    cases: Sequence[Case],
    estimators: Mapping[str, Estimator],
    peers: Mapping[str, Score] = PEERS,
    draws: Mapping[str, int] | None = None,
) -> list[Row]:
    """Run all estimators on the same draws in this process, and time each of them.

    `draws` is the number of draws of slow peers by name; they get the first ones.
    """
    rows = []
    names = [*estimators, *peers]
    most = {name: (draws or {}).get(name, sys.maxsize) for name in names}
    for case in tracked(what, cases):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
        for i in range(case.draws):
            x, y = (np.asarray(side, np.float64) for side in case.draw(i))
            for name in names:
                if i >= most[name]:
                    continue
                start, stderr = perf_counter(), np.nan
                if name in estimators:
                    estimate = estimators[name].estimate(x, y, time_series=case.time_series)
                    value, stderr = estimate.mi, estimate.stderr
                else:
                    value = peers[name](x, y)
                found[name].append((value, stderr, perf_counter() - start))
        for name, own in found.items():
            values, stderrs, seconds = zip(*own, strict=True)
            errors = stderrs if name in estimators else ()
            time = float(np.median(seconds))
            rows.append(Row(case.label, case.n, case.truth, name, values, time, errors))
    return rows


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON-safe values."""
    return [
        {
            **row.label,
            "n": row.n,
            "truth": row.truth,
            "estimator": row.estimator,
            "mean": row.mean,
            "spread": row.spread,
            "bias": row.bias,
            "seconds": row.seconds,
            **({} if row.stderr is None else {"mean_stderr": row.stderr}),
            "estimates": row.estimates,
            **({"stderrs": row.stderrs} if row.stderrs else {}),
        }
        for row in rows
    ]


def names(rows: Iterable[Row]) -> list[str]:
    """The estimators, ours first."""
    return list(dict.fromkeys(row.estimator for row in rows))


def ours(name: str) -> bool:
    return name.startswith(OURS)


def mean_time(rows: Iterable[Row]) -> str:
    """Mean over cases of the time of one estimate."""
    return duration(float(np.mean([row.seconds for row in rows])))


def mean_and_spread(rows: Sequence[Row], digits: int = 3) -> str:
    """Mean ± spread of a single row."""
    (row,) = rows
    return f"{number(row.mean, digits)} ± {number(row.spread, digits)}"


def nearest(rows: Iterable[Row], by: str) -> dict[str, Row]:
    """By a label, the row with the smallest absolute bias."""
    best: dict[str, Row] = {}
    for row in rows:
        name = row.label[by]
        if name not in best or abs(row.bias) < abs(best[name].bias):
            best[name] = row
    return best


def by_label(rows: Sequence[Row], by: str) -> str:
    """Table of truth and mean ± spread for each label; the smallest absolute bias is bold."""
    best = [id(row) for row in nearest(rows, by).values()]

    def cell(own: list[Row]) -> str:
        text = mean_and_spread(own)
        return f"**{text}**" if id(own[0]) in best else text

    return grid(rows, [by], "estimator", cell, first={"truth": lambda own: number(own[0].truth)})


def ahead(rows: Sequence[Row], by: str) -> Callable[[list[Row]], str]:
    """For how many labels the rows have the smallest absolute bias of their n, as a text."""
    best = [
        id(row) for n in {row.n for row in rows} for row in nearest(pick(rows, n=n), by).values()
    ]
    return lambda own: f"{sum(id(row) in best for row in own)} of {len(own)}"


def mean_spread(rows: Sequence[Row]) -> str:
    return number(float(np.mean([row.spread for row in rows])))


def _value(row: Row | dict[str, Any], key: str) -> Any:
    if isinstance(row, dict):
        return row.get(key)
    return row.label.get(key, getattr(row, key, None))


def pick(rows: Iterable[AnyRow], **wanted: Any) -> list[AnyRow]:
    """Rows with these values as labels, attributes or entries of a dict."""
    return [row for row in rows if all(_value(row, key) == v for key, v in wanted.items())]


def one(rows: Iterable[AnyRow], **wanted: Any) -> AnyRow | None:
    """The first row with these values; None if there is none."""
    return next(iter(pick(rows, **wanted)), None)


def mean(rows: Iterable[dict[str, Any]], key: str) -> float:
    """Mean of an entry over rows."""
    return float(np.mean([row[key] for row in rows]))


def figures(
    rows: Sequence[AnyRow],
    lines: Sequence[str],
    columns: Mapping[str, Callable[[list[AnyRow]], str]],
) -> str:
    """A Markdown table with a line for each combination of the labels `lines`, in their order.

    `columns` make texts of the rows of a line, by heading.
    """

    def text(label: Any) -> str:
        return f"{label:g}" if isinstance(label, float) else str(label)

    body = []
    for names in dict.fromkeys(tuple(_value(row, name) for name in lines) for row in rows):
        own = pick(rows, **dict(zip(lines, names, strict=True)))
        body.append([*map(text, names), *(make(own) for make in columns.values())])
    return table([*lines, *columns], body)


def grid(
    rows: Sequence[AnyRow],
    lines: Sequence[str],
    column: str,
    cell: Callable[[list[AnyRow]], str],
    head: str = "{}",
    first: Mapping[str, Callable[[list[AnyRow]], str]] | None = None,
    last: Mapping[str, Callable[[list[AnyRow]], str]] | None = None,
) -> str:
    """The table of `figures` with a column for each value of the label `column`.

    `cell` makes a text of the rows of a cell, and `head` a heading of the value. `first` and `last`
    are columns before and after these.
    """
    cells = {
        head.format(value): lambda own, value=value: cell(pick(own, **{column: value}))
        for value in dict.fromkeys(_value(row, column) for row in rows)
    }
    return figures(rows, lines, {**(first or {}), **cells, **(last or {})})


def timed(scores: Mapping[str, Score], x: Array, y: Array, into: Series, *label: Any) -> None:
    """Append the value and the seconds of each score of x, y to those of its label and name."""
    for name, score in scores.items():
        start = perf_counter()
        value = score(x, y)
        into.setdefault((*label, name), []).append((value, perf_counter() - start))


def mean_absolute_bias(rows: Sequence[Row]) -> float:
    return float(np.mean([abs(row.bias) for row in rows]))
