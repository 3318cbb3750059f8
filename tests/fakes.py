"""Dependent samples, inputs of the graph, and a replacement of the estimator."""

from types import SimpleNamespace

import numpy as np

from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_rt.estimation.result import Estimate


def pairs(n=100, dx=2, dy=2, seed=0, strength=0.7):
    """Normal samples x [n, dx], y [n, dy] whose first coordinates depend on each other."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    d = min(dx, dy)
    y[:, :d] += strength * x[:, :d]
    return x, y


def graph_inputs(slices, n, shifts=5, seed=0):
    """Inputs of the graph: canonical x and y [slices, n, 5], shifts, and an order of samples."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((slices, n, 3))
    found = canonicalise(x, x + rng.standard_normal(x.shape), 5)
    sides = (np.ascontiguousarray(side) for side in (found.x, found.y))
    return *sides, 1 + np.arange(shifts), rng.permutation(n)


class OnDevice:
    """An array in device memory, with the interface of torch and CuPy; the device is the host."""

    def __init__(self, values):
        self.values = values  # keeps the memory alive
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "data": (values.ctypes.data, False),
            "strides": None if values.flags.c_contiguous else values.strides, "version": 3,
        }  # fmt: skip

    def __getitem__(self, part):
        return OnDevice(self.values[part])


class RecordingEstimator:
    """Stores its inputs, and returns the number of samples."""

    def __init__(self, n_min: int = 8, per_slice=(1.0,)) -> None:
        self.model_file = SimpleNamespace(n_min=n_min, dim=5, name="recording")
        self.k = None
        self.backend = SimpleNamespace(threads=1, milliseconds={})
        self.seconds = {"slicing": 1e-4, "preprocessing": 2e-4, "inference": 3e-4, "total": 6e-4}
        self.per_slice = np.array(per_slice)
        self.calls: list[SimpleNamespace] = []

    def estimate_checked(self, samples, live=False):
        return self.estimate(**vars(samples))

    def estimate(self, x, y, **options):
        x, y = np.array(x), np.array(y)
        self.calls.append(SimpleNamespace(x=x, y=y, **options))
        n = len(x)
        return Estimate(
            mi=1.0, stderr=0.1, noise=0.1, predicted_error=0.1, gaussian=1.0, beyond_gaussian=0.0,
            rank_noise=0.0, per_slice=self.per_slice, pointwise=np.arange(n, dtype=float),
            influence=np.linspace(-1, 1, n), samples=n, effective_samples=float(n),
            slices=len(self.per_slice), k=None, seed=0, provider="cpu", model="recording",
            saturated=False, degenerate=False, clipped=False, rank_x=1.0, rank_y=1.0,
            autocorrelated=False, constant_x=(), constant_y=(),
        )  # fmt: skip
