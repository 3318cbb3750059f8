"""Run all estimators on the same samples, and collect their estimates in rows.

Models are read through the public interface of the library alone.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress

from .peers import PEERS, Score
from .report import number, table
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
    total, done = sum(case.n * case.draws for case in cases), 0
    with progress(what) as advance:
        for case in cases:
            values: dict[str, list[float]] = {name: [] for name in names}
            seconds: dict[str, list[float]] = {name: [] for name in names}
            stderrs: dict[str, list[float]] = {name: [] for name in names}
            for i in range(case.draws):
                x, y = (np.asarray(side, np.float64) for side in case.draw(i))
                for name in names:
                    if i >= most[name]:
                        continue
                    start = perf_counter()
                    if name in estimators:
                        estimate = estimators[name].estimate(x, y, time_series=case.time_series)
                        value = estimate.mi
                        stderrs[name].append(estimate.stderr)
                    else:
                        value = peers[name](x, y)
                    seconds[name].append(perf_counter() - start)
                    values[name].append(value)
                done += case.n
                advance(done / total)
            for name in names:
                rows.append(
                    Row(
                        case.label,
                        case.n,
                        case.truth,
                        name,
                        tuple(values[name]),
                        float(np.median(seconds[name])),
                        tuple(stderrs[name]),
                    )
                )
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


def mean_seconds(rows: Iterable[Row]) -> float:
    return float(np.mean([row.seconds for row in rows]))


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
    lines = []
    for name, best in nearest(rows, by).items():
        own = pick(rows, **{by: name})
        cells = (f"{number(row.mean)} ± {number(row.spread)}" for row in own)
        bold = (f"**{c}**" if row is best else c for row, c in zip(own, cells, strict=True))
        lines.append([name, number(best.truth), *bold])
    return table([by, "truth", *names(rows)], lines)


def pick(rows: Iterable[AnyRow], **wanted: Any) -> list[AnyRow]:
    """Rows with these values as labels, attributes or entries of a dict."""

    def value(row: AnyRow, key: str) -> Any:
        if isinstance(row, dict):
            return row.get(key)
        return row.label.get(key, getattr(row, key, None))

    return [row for row in rows if all(value(row, key) == v for key, v in wanted.items())]


def one(rows: Iterable[AnyRow], **wanted: Any) -> AnyRow | None:
    """The first row with these values; None if there is none."""
    return next(iter(pick(rows, **wanted)), None)


def mean_absolute_bias(rows: Sequence[Row]) -> float:
    return float(np.mean([abs(row.bias) for row in rows]))
