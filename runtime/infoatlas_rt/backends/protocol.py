"""The interface of an engine that evaluates the graph."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]


class Backend(Protocol):
    """An engine with the model loaded.

    Attributes
    ----------
    provider : str
        What computes: "cpu", "native", "cuda" or "tensorrt"; never "auto".
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
