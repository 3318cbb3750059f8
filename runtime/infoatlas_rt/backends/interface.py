"""The interface of an engine that evaluates the graph."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]


class Backend(Protocol):
    """An engine with the model loaded."""

    # What evaluates the graph: "cpu", "native", "cuda", "tensorrt" or "tensorrt-rtx"; never "auto".
    provider: str
    threads: int  # on the CPU, among which the slices are divided
    # On a GPU, the times of the last call: "copy_in", "compute", "copy_out"; empty on the CPU.
    milliseconds: dict[str, float]

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph.

        Parameters
        ----------
        x, y : [S, n, D] float32
            Shuffled pairs in canonical form; on the backend's GPU or on the host, contiguous.
        shifts : [M] int64
            Distinct, each in 1..n-1.
        sequence : [n] int64
            Positions of the pairs in order of time; 0..n-1 if they have no order.

        Returns
        -------
        mi : [S] float32, nats
        pointwise : [S, n] float32, nats
        influence : [S, n] float32, nats
        spread : [S] float32, nats
            Predicted error of `mi`: one standard error.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """An engine that also prepares its inputs; for others, NumPy does so."""

    def canonicalise(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        projections_x: NDArray[np.float64] | None,
        projections_y: NDArray[np.float64] | None,
        score_table: NDArray[np.float64],
    ) -> tuple[NDArray[Any], ...]:
        """Slice samples, and bring the slices to canonical form.

        Parameters
        ----------
        x, y : [n, dx], [n, dy] float64
            `x` and `y` of `Prepared`.
        projections_x, projections_y : [S, dx, k], [S, dy, k] float64, or None
            `x` and `y` of `Slicing`.
        score_table : [2n - 1] float64
            Result of `canonical.score_table`.

        Returns
        -------
        tuple of arrays
            The fields of `Canonical`, as from `canonical.canonicalise` for the slices.
        """
        ...


@runtime_checkable
class SampleEstimator(Protocol):
    """An engine that also makes complete estimates, with its own preparation of samples."""

    def estimate(
        self, settings: Mapping[str, int], *samples: Any
    ) -> tuple[dict[str, Any], dict[str, float]] | None:
        """Estimate from samples on the host.

        Parameters
        ----------
        settings : mapping of int
            n_min, n_max, default_shifts and pairs of the model; k, slices, sides (index in
            `slicing.SIDES`), shifts and seed of the estimator, 0 for the default.
        *samples
            x, y, time_series, resolution_x and resolution_y of `prepare.Samples`, and the two of
            its `redundant`, or None twice.

        Returns
        -------
        tuple or None
            Fields of `Estimate` that do not depend on the calibration, and seconds of the stages.
            None for samples or settings that cannot be used; Python's preparation gives the reason.
        """
        ...
