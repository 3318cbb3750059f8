"""Prepared samples through the graph, a chunk of slices at a time."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Backend, Preparing
from ..errors import ModelError
from ..inputs.gpu_arrays import contiguous, to_host
from ..models.model_file import ModelFile
from .bounds import bounded
from .canonical import Canonical, canonicalise, score_table
from .prepare import Prepared
from .uncertainty import gaussian_part, rank_noise


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of the graph for all slices, and what preprocessing found on the way.

    Attributes
    ----------
    per_slice : [S] float64
        Estimate of each slice, nats, within the bounds of `bounds.py`.
    pointwise, influence : [n] float64
        Nats, mean over slices, in the order of the input.
    predicted_error : float
        Nats, mean over slices; not calibrated.
    gaussian : float
        Nats, mean over slices; see `uncertainty.gaussian_part`.
    rank_noise : float
        Mean over slices; see `uncertainty.rank_noise`.
    rank_x, rank_y : float
        Dimensions that whitening kept, mean over slices.
    saturated : bool
        A canonical correlation of a slice reached the bound that n samples can resolve.
    clipped : bool
        An output of the graph was outside of the bounds of `bounds.py`.
    seconds : dict of float
        Wall-clock time of the stages "slicing", "preprocessing", "inference". An engine that
        prepares slices projects them within "preprocessing".
    """

    per_slice: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    influence: NDArray[np.float64]
    predicted_error: float
    gaussian: float
    rank_noise: float
    rank_x: float
    rank_y: float
    saturated: bool
    clipped: bool
    seconds: dict[str, float]


def forward(prepared: Prepared, model_file: ModelFile, backend: Backend) -> Outputs:
    """Slice prepared samples, bring the slices to canonical form, and evaluate the graph.

    Samples on a GPU stay there; what is returned is on the host.

    Where a side is constant, the graph is not evaluated: the mutual information is 0.

    Parameters
    ----------
    prepared : Prepared
    model_file : ModelFile
        Of the model that `backend` has loaded.
    backend : Backend

    Returns
    -------
    Outputs

    Raises
    ------
    ModelError
        An output is not finite, or the engine fails.
    """
    n, slices, ceiling = len(prepared.order), prepared.plan.slices, prepared.ceiling
    per_slice, predicted = np.zeros((2, slices))
    pointwise, influence = np.zeros(n), np.zeros(n)
    rank_x = rank_y = gaussian = crowding = 0.0
    saturated = clipped = False
    seconds = {"slicing": 0.0, "preprocessing": 0.0, "inference": 0.0}
    for chunk in prepared.chunks():
        begin = perf_counter()
        if isinstance(backend, Preparing):
            projected = begin  # with all else
            plan = prepared.plan
            px, py = (None if side is None else side[chunk] for side in (plan.x, plan.y))
            table = score_table(n)
            data = Canonical(*backend.canonicalise(prepared.x, prepared.y, px, py, table))
        else:
            sliced = prepared.slices(chunk)
            projected = perf_counter()
            data = canonicalise(*sliced, model_file.dim)
        x, y = contiguous(data.x), contiguous(data.y)
        canonical = perf_counter()
        if not prepared.degenerate:
            found = backend.run(x, y, prepared.shifts, prepared.sequence)
            values, local, effect, predicted[chunk] = found
            per_slice[chunk] = bounded(values, ceiling)
            change = per_slice[chunk] - values  # nearly always 0
            clipped |= bool(change.any())
            pointwise += local.sum(axis=0, dtype=np.float64) + change.sum()
            influence += effect.sum(axis=0, dtype=np.float64)
        correlations, kept_x, kept_y = map(to_host, (data.correlations, data.rank_x, data.rank_y))
        rank_x += float(kept_x.sum())
        rank_y += float(kept_y.sum())
        gaussian += float(gaussian_part(correlations, kept_x, kept_y, n).sum()) / slices
        crowding += float(rank_noise(correlations, n).sum()) / slices
        saturated |= bool(data.saturated.any())
        seconds["slicing"] += projected - begin
        seconds["preprocessing"] += canonical - projected
        seconds["inference"] += perf_counter() - canonical

    # Back to the order of the input: position i of the shuffled samples holds sample order[i].
    means = np.empty((2, n))
    means[0, prepared.order] = pointwise / slices
    means[1, prepared.order] = influence / slices
    if not all(np.isfinite(values).all() for values in (per_slice, means, predicted)):
        raise ModelError(
            f"model {model_file.name} gave values that are not finite on "
            f"{backend.provider}: use provider='cpu' or another model, and please report"
        )
    return Outputs(
        per_slice=per_slice,
        pointwise=means[0],
        influence=means[1],
        predicted_error=float(predicted.mean()),
        gaussian=gaussian,
        rank_noise=crowding,
        rank_x=rank_x / slices,
        rank_y=rank_y / slices,
        saturated=saturated,
        clipped=clipped,
        seconds=seconds,
    )
