"""Evaluates the graph; every call of the backend is in this module.

`forward` makes the estimate of one sample, `window_means` evaluates many windows together, and
`pairing_means` one sample with many pairings of its sides. One call of the backend has as many
slices as memory allows (`prepare.batches`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backends.interface import Backend, Preparing
from ..errors import ModelError
from ..inputs.gpu_arrays import array_namespace, beside, contiguous, to_host
from ..models.model_file import ModelFile
from .bounds import clip_to_bounds
from .canonical import Canonical, Side, canonicalise, pair, score_table, whiten
from .parallel import run_jobs
from .prepare import Prepared, batches
from .result import Estimate
from .standard_error import beyond_gaussian, gaussian_part, rank_noise, with_error
from .unresolved import least_information


class Evaluator(Protocol):
    """The part of an `Estimator` that evaluates the graph."""

    model_file: ModelFile
    backend: Backend


def forward(prepared: Prepared, estimator: Evaluator) -> tuple[Estimate, dict[str, float]]:
    """Slice prepared samples, bring the slices to canonical form, and evaluate the graph.

    Samples on a GPU stay there; the result is on the host. If a side is constant, the graph is not
    evaluated: the mutual information is 0. Also returns the wall-clock seconds of the stages
    "slicing", "preprocessing", "inference". An engine that prepares slices projects them within
    "preprocessing".

    Raises
    ------
    ModelError
        An output is not finite, or the engine fails.
    """
    model, backend, plan = estimator.model_file, estimator.backend, prepared.plan
    n, slices, ceiling = len(prepared.order), plan.slices, prepared.ceiling
    per_slice, predicted = np.zeros((2, slices))
    pointwise, influence = np.zeros(n), np.zeros(n)
    gaussian = np.zeros(slices)
    rank_x = rank_y = crowding = 0.0
    saturated = clipped = False
    seconds = {"slicing": 0.0, "preprocessing": 0.0, "inference": 0.0}
    for chunk in batches(slices, prepared.pairs):
        begin = perf_counter()
        if isinstance(backend, Preparing) and isinstance(prepared.x, np.ndarray):
            projected = begin  # projected within "preprocessing"
            px, py = (None if side is None else side[chunk] for side in (plan.x, plan.y))
            table = score_table(n)
            data = Canonical(*backend.canonicalise(prepared.x, prepared.y, px, py, table))
        else:
            sliced = prepared.slices(chunk)
            projected = perf_counter()
            data = canonicalise(*sliced, model.dim)
        x, y = contiguous(data.x), contiguous(data.y)
        canonical = perf_counter()
        if not prepared.degenerate:
            outputs = backend.run(x, y, prepared.shifts, prepared.sequence)
            values, local, effect, predicted[chunk] = outputs
            per_slice[chunk] = clip_to_bounds(values, ceiling)
            change = per_slice[chunk] - values  # nearly always 0
            clipped |= bool(change.any())
            pointwise += local.sum(axis=0, dtype=np.float64) + change.sum()
            influence += effect.sum(axis=0, dtype=np.float64)
        correlations, kept_x, kept_y = map(to_host, (data.correlations, data.rank_x, data.rank_y))
        rank_x += float(kept_x.sum())
        rank_y += float(kept_y.sum())
        gaussian[chunk] = gaussian_part(correlations, kept_x, kept_y, n)
        crowding += float(rank_noise(correlations, n).sum()) / slices
        saturated |= bool(data.saturated.any())
        seconds["slicing"] += projected - begin
        seconds["preprocessing"] += canonical - projected
        seconds["inference"] += perf_counter() - canonical

    # Back to the order of the input: position i of the shuffled samples is sample order[i].
    means = np.empty((2, n))
    means[0, prepared.order] = pointwise / slices
    means[1, prepared.order] = influence / slices
    _check_finite(estimator, per_slice, means, predicted)
    mi, error = float(per_slice.mean()), float(predicted.mean())
    if plan.k is None and not prepared.degenerate:
        error = max(error, least_information(prepared.x, prepared.y, prepared.order) - mi)
    found = Estimate(
        mi=mi,
        stderr=math.nan,
        noise=math.nan,
        predicted_error=error,
        gaussian=float(gaussian.mean()),
        beyond_gaussian=0.0 if prepared.degenerate else beyond_gaussian(per_slice, gaussian),
        rank_noise=crowding,
        per_slice=per_slice,
        pointwise=means[0],
        influence=means[1],
        samples=n,
        effective_samples=math.nan,
        slices=slices,
        k=plan.k,
        seed=prepared.seed,
        provider=backend.provider,
        model=model.name,
        saturated=saturated,
        degenerate=prepared.degenerate,
        clipped=clipped,
        rank_x=rank_x / slices,
        rank_y=rank_y / slices,
        autocorrelated=not prepared.time_series
        and prepared.groups is None
        and prepared.autocorrelated(),
        constant_x=prepared.constant_x,
        constant_y=prepared.constant_y,
        redundant_x=prepared.redundant[0],
        redundant_y=prepared.redundant[1],
        directions=None if plan.k is None else "random",
    )
    return with_error(found, model, prepared.time_series, prepared.groups), seconds


def window_means(windows: Sequence[Prepared], estimator: Evaluator) -> NDArray[np.float32]:
    """Estimates of many windows, means over slices [m], nats; 0 if a side is constant.

    The windows have one length, and one estimator prepared them on the host, without groups. Their
    slices, shifts and orders are equal, so one call of the backend can evaluate several of them.
    """
    means = np.zeros(len(windows), np.float32)
    rows = [row for row, prepared in enumerate(windows) if not prepared.degenerate]
    if not rows:
        return means
    first = windows[rows[0]]
    every = slice(0, first.plan.slices)
    for batch in batches(len(rows), every.stop * first.pairs):
        sliced = [windows[row].slices(every) for row in rows[batch]]
        x, y = _canonical_windows(sliced, estimator.model_file.dim)
        values = estimator.backend.run(x, y, first.shifts, first.sequence)[0]
        for row, own in zip(rows[batch], values.reshape(-1, every.stop), strict=True):
            means[row] = clip_to_bounds(own, windows[row].ceiling).mean()
    return means


def _canonical_windows(
    sliced: Sequence[tuple[Any, Any]], dim: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Canonical form of the slices [S, n, k] of all windows, end to end; those of one k at once."""
    shape = (len(sliced), *sliced[0][0].shape[:2], dim)
    all_x, all_y = np.empty((2, *shape), np.float32)
    widths = [(x.shape[2], y.shape[2]) for x, y in sliced]
    for width in set(widths):
        rows = [row for row, own in enumerate(widths) if own == width]
        x, y = (np.concatenate(side) for side in zip(*(sliced[r] for r in rows), strict=True))
        data = canonicalise(x, y, dim)
        all_x[rows], all_y[rows] = data.x.reshape(-1, *shape[1:]), data.y.reshape(-1, *shape[1:])
    return all_x.reshape(-1, *shape[2:]), all_y.reshape(-1, *shape[2:])


def pairing_means(
    prepared: Prepared,
    pairings: Sequence[NDArray[np.int64]],
    estimator: Evaluator,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Estimates of one sample with many pairings of its sides, means over slices [P], nats.

    Ranks and whitening of a side do not depend on the pairing, so they are computed once.

    Parameters
    ----------
    prepared : Prepared
        Without a constant side.
    pairings : sequence of [n] int64, P of them
        Sample pairing[i] of y belongs to sample i of x, of the shuffled samples.
    estimator : Evaluator
    executor : concurrent.futures.Executor, optional
        Spreads the calls of the backend over its workers; the result has the same bits.
    progress : callable, optional
        Called with (slices done, slices in all), over all pairings.
    """
    values, slices = np.zeros(len(pairings)), prepared.plan.slices
    submitted: list[tuple[slice, int]] = []  # pairings, and slices of each

    def jobs() -> Iterator[tuple[Any, ...]]:
        for part in batches(slices, prepared.pairs):
            x, y = (whiten(side) for side in prepared.slices(part))
            width = part.stop - part.start
            for batch in batches(len(values), width * prepared.pairs):
                submitted.append((batch, width))
                orders = [pairings[i] for i in range(batch.start, batch.stop)]
                yield x, y, orders, prepared.shifts, prepared.sequence

    done = 0
    for number, mi in enumerate(run_jobs(_run_pairings, estimator, jobs(), executor)):
        batch, width = submitted[number]
        ceilings: Any = math.inf
        if prepared.repeats is not None:  # (of slices of one pairing, one after the other)
            each = [prepared.repeats.ceiling(pairings[i]) for i in range(batch.start, batch.stop)]
            ceilings = np.repeat(each, width)
        values[batch] += clip_to_bounds(mi, ceilings).reshape(-1, width).sum(axis=1) / slices
        done += len(mi)
        if progress is not None:
            progress(done, len(values) * slices)
    _check_finite(estimator, values)
    return values


def _run_pairings(
    estimator: Evaluator,
    x: Side,
    y: Side,
    orders: Sequence[NDArray[np.int64]],
    shifts: NDArray[np.int64],
    sequence: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Estimates of some pairings and slices [len(orders) S], nats, before clipping."""
    data = pair(
        _rearrange(x, [slice(None)] * len(orders)),
        _rearrange(y, [beside(order, y.scores) for order in orders]),
        estimator.model_file.dim,
    )
    inputs = contiguous(data.x), contiguous(data.y)
    return estimator.backend.run(*inputs, shifts, sequence)[0]


def _rearrange(side: Side, orders: Iterable[Any]) -> Side:
    """The side [S, ...] once for each order of its samples: [len(orders) S, ...]."""
    xp = array_namespace(side.scores)
    scores = [side.scores[..., order] for order in orders]
    whitener, kept = ([values] * len(scores) for values in (side.whitener, side.kept))
    return Side(*(xp.concat(values) for values in (scores, whitener, kept)))


def _check_finite(estimator: Evaluator, *outputs: NDArray[np.float64]) -> None:
    """Raise ModelError unless all outputs are finite."""
    if not all(np.isfinite(values).all() for values in outputs):
        own = estimator.backend.provider
        other = "" if own == "cpu" else "provider='cpu' or "
        raise ModelError(
            f"model {estimator.model_file.name} gave values that are not finite on {own}: use "
            f"{other}another model, and please report"
        )
