"""The interface of an engine that evaluates the graph."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]


class Backend(Protocol):
    """An engine with the model loaded.

    Attributes
    ----------
    provider : str
        What computes: "cpu", "native", "cuda", "tensorrt" or "tensorrt-rtx"; never "auto".
    threads : int
        Among which the slices are shared out, on the CPU.
    milliseconds : dict of float
        On a GPU, where the time of the last call went: "copy_in", "compute", "copy_out".
    """

    provider: str
    threads: int
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
            Positions of the pairs in order of time; 0..n-1 where they have none.

        Returns
        -------
        mi : [S] float32, nats
        pointwise : [S, n] float32, nats
        influence : [S, n] float32, nats
        spread : [S] float32, nats
            How far `mi` is off, as the model knows it: one standard error.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """An engine that also prepares its inputs; for others it is done in Python."""

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
            As those of `Prepared`.
        projections_x, projections_y : [S, dx, k], [S, dy, k] float64, or None
            As those of `Slicing`.
        score_table : [2n - 1] float64
            `preprocess.score_table`.

        Returns
        -------
        tuple of arrays
            The fields of the `Canonical` that `preprocess.canonicalise` gives of the slices.
        """
        ...
