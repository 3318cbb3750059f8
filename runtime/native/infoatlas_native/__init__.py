"""The C++ engine of infoatlas-rt: `infoatlas_rt.Estimator(provider="native")` uses it.

It transforms samples to canonical form, and evaluates the model on them.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_native import _engine

__all__ = ["CODE", "INTERFACE", "Engine", "SampleEstimator", "__version__"]

__version__ = version("infoatlas-rt")
# Version of this interface; infoatlas_rt/backends/native.py has the same number.
INTERFACE: int = _engine.INTERFACE
# Digests of the code of the models that the engine supports (infoatlas_export/model_code.py).
CODE: tuple[str, ...] = _engine.CODE


Array = NDArray[np.float32]


def _outputs(x: Array) -> tuple[Array, Array, Array, Array]:
    """Arrays for mi [S], pointwise, influence [S, n] and spread [S] of x [S, n, D]."""
    each, whole = np.shape(x)[:2], np.shape(x)[:1]
    mi, pointwise, influence, spread = (
        np.empty(shape, np.float32) for shape in (whole, each, each, whole)
    )
    return mi, pointwise, influence, spread


class Engine:
    """A model in memory, ready to run. Threads may share it, and it works in a forked process.

    Parameters
    ----------
    model : bytes, str or path
        Content or path of an .onnx model file.
    threads : int
        Number of threads among which a call is divided; they sleep between calls. If the system
        allows fewer, the engine runs with those.
    interface : int
        The interface that the caller expects.

    Attributes
    ----------
    dim : int
        D, inputs of a side.
    target : str
        Instructions in use: "avx512", "avx2", "neon" or "baseline".
    threads : int
        Number of threads among which a call in this process is divided.
    missing_threads : str
        Why there are fewer than requested; empty if there are not.

    Raises
    ------
    RuntimeError
        The interface differs, the model is damaged, or the engine does not support it: its graph
        was changed after its export, or traced from code that is not in `CODE`.
    """

    def __init__(
        self, model: bytes | str | os.PathLike[str], *, threads: int = 1, interface: int = INTERFACE
    ) -> None:
        if interface != INTERFACE:
            raise RuntimeError(
                f"the caller expects interface {interface!r}, and the C++ engine {__version__} "
                f"has {INTERFACE}: install infoatlas-rt again"
            )
        if not isinstance(model, bytes):
            with open(model, "rb") as file:
                model = file.read()
        self._engine = _engine.Engine(model, threads)
        self.dim: int = self._engine.dim
        self.target: str = self._engine.target

    @property
    def threads(self) -> int:
        return self._engine.threads

    @property
    def missing_threads(self) -> str:
        return self._engine.missing_threads

    def run(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        shifts: NDArray[np.int64],
        sequence: NDArray[np.int64],
        out: tuple[NDArray[np.float32], ...] | None = None,
    ) -> tuple[NDArray[np.float32], ...]:
        """Evaluate the model. Other threads of Python run meanwhile.

        Parameters
        ----------
        x, y : [S, n, D] float32
            Shuffled pairs in canonical form.
        shifts : [M] int64
            Each in 1..n-1.
        sequence : [n] int64
            Positions of the pairs in order of time, each in 0..n-1.
        out : tuple of arrays, optional
            Arrays for the results, of the shapes below; new ones unless given.

        Returns
        -------
        mi : [S] float32, nats
        pointwise : [S, n] float32, nats
        influence : [S, n] float32, nats
        spread : [S] float32, nats

        Raises
        ------
        ValueError
            An array has another type or shape, is not contiguous, or has an index that is out of
            range.
        MemoryError
        """
        if out is None:
            out = _outputs(x)
        self._engine.run(x, y, shifts, sequence, *out)
        return out

    def diagnose(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        shifts: NDArray[np.int64],
        sequence: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Diagnostic features of samples, from which the bias correction is computed.

        They are defined in infoatlas_train/model/bias_correction.py. The arguments and the errors
        are those of `run`.

        Returns
        -------
        diagnostics : [S, E] float32
            E is 0 for a model without a bias correction. The first one is the bound, in nats.
        """
        found = np.empty((len(x), self._engine.diagnostics), np.float32)
        self._engine.run(x, y, shifts, sequence, *_outputs(x), found)
        return found

    def canonicalise(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        projections_x: NDArray[np.float64] | None,
        projections_y: NDArray[np.float64] | None,
        score_table: NDArray[np.float64],
    ) -> tuple[NDArray[np.generic], ...]:
        """Slice paired samples, and transform the slices to canonical form, for `run`.

        The result is that of `slicing.project` and `canonical.canonicalise` in
        infoatlas_rt.estimation. Other threads of Python run meanwhile.

        Parameters
        ----------
        x, y : [n, dx], [n, dy] float64, finite
            Standardised if they are projected.
        projections_x, projections_y : [S, k, dx], [S, k, dy] float64, or None
            Rows are orthonormal. A side without them is not sliced; S is 1 if neither is.
        score_table : [2n - 1] float64
            Normal scores of the average ranks 1, 1.5, ..., n.

        Returns
        -------
        x, y : [S, n, D] float32
        correlations : [S, D] float64
            Canonical correlations, descending.
        rank_x, rank_y : [S] int64
            Dimensions that whitening kept.
        saturated : [S] bool
            A correlation reached the bound that n samples can resolve.

        Raises
        ------
        ValueError
            An array has another type or shape, or is not contiguous.
        MemoryError
        """
        sliced = projections_y if projections_x is None else projections_x
        slices, n = 1 if sliced is None else len(sliced), len(x)
        sides = np.empty((2, slices, n, self.dim), np.float32)
        ranks = np.empty((2, slices), np.int64)
        out = *sides, np.empty((slices, self.dim)), *ranks, np.empty(slices, np.bool_)
        self._engine.canonicalise(x, y, projections_x, projections_y, score_table, *out)
        return out

    def estimating(self, **settings: int) -> SampleEstimator:
        """Make an estimator that also prepares the samples.

        Parameters
        ----------
        **settings : int
            n_min, n_max, default_shifts, pairs: of the model's metadata; k, slices, sides (0 to 3:
            auto, both, x, y), shifts, seed: as in `Estimator`, 0 for the default.
        """
        return SampleEstimator(_engine.Estimating(self._engine, **settings))


class SampleEstimator:
    """Estimates from samples, as infoatlas_rt.estimation does. One thread at a time may use it."""

    def __init__(self, estimating: _engine.Estimating) -> None:
        self._estimating = estimating

    def run(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        time_series: bool = False,
        resolution_x: NDArray[np.float64] | None = None,
        resolution_y: NDArray[np.float64] | None = None,
        redundant_x: tuple[int, ...] | None = None,
        redundant_y: tuple[int, ...] | None = None,
    ) -> tuple[dict[str, Any], dict[str, float]] | None:
        """Estimate from paired samples. Other threads of Python run meanwhile.

        Parameters
        ----------
        x, y : [n, dx], [n, dy] float64, C-contiguous
        time_series : bool
        resolution_x, resolution_y : [dx], [dy] float64, optional
        redundant_x, redundant_y : tuple of int, optional
            Coordinates that slices leave out; they are found unless given.

        Returns
        -------
        tuple or None
            Fields of `Estimate` that do not depend on the calibration, and seconds of the stages
            "slicing", "preprocessing" and "inference". None for samples that cannot be used.

        Raises
        ------
        ValueError
            An array has another type or shape, or is not contiguous.
        MemoryError
        """
        pointwise, influence = (np.empty(len(x)) for _ in range(2))
        given = x, y, time_series, resolution_x, resolution_y, redundant_x, redundant_y
        found = self._estimating.run(*given, pointwise, influence)
        if found is None:
            return None
        found |= {"pointwise": pointwise, "influence": influence}
        found["per_slice"] = np.array(found["per_slice"])
        return found, self._estimating.seconds
