"""Engines that evaluate the graph, one module each, behind one protocol."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Backend(Protocol):
    """An engine with the model loaded.

    Attributes
    ----------
    provider : str
        Where it computes: "cpu", "cuda" or "tensorrt".
    threads : int
        Among which the slices are shared out, on the CPU.
    """

    provider: str
    threads: int

    def run(
        self, x: NDArray[np.float32], y: NDArray[np.float32], shifts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate the graph.

        Parameters
        ----------
        x, y : [S, n, D] float32
            Shuffled pairs in canonical form.
        shifts : [M] int64
            Distinct, each in 1..n-1.

        Returns
        -------
        mi : [S] float32, nats
        pointwise : [S, n] float32, nats
        influence : [S, n] float32, nats
        """
        ...
