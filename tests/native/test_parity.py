"""Outputs of the native engine equal those of ONNX Runtime for the same file."""

from __future__ import annotations

import numpy as np
import pytest

import inputs
from infoatlas_rt import Estimator

SIZES = {  # n: slices, shifts
    32: (1000, 5),  # (base and wide: 60, because ONNX Runtime is slow)
    33: (1, 32),
    40: (2, 39),
    100: (40, 5),
    257: (13, 62),
    1000: (4, 16),
    5000: (1, 5),
    20_000: (1, 5),
}
MI = 1e-3  # nats
# single samples, nats and relative: impossible pairs can have hundreds of nats
POINTWISE = INFLUENCE = 5e-3
LARGE = 2e-3
# Refinement amplifies float32 rounding. On single samples of base, ONNX Runtime with AVX-512
# differs from float64 by up to 0.023 nats, and the engine by 1e-3.
LARGE_REFINED = 1e-2
SPREAD = 0.01  # relative


def compare(found, wanted, relative=LARGE):
    for value in found:
        assert value.dtype == np.float32 and np.isfinite(value).all()
    np.testing.assert_allclose(found[0], wanted[0], atol=MI, rtol=0)
    np.testing.assert_allclose(found[1], wanted[1], atol=POINTWISE, rtol=relative)
    np.testing.assert_allclose(found[2], wanted[2], atol=INFLUENCE, rtol=relative)
    np.testing.assert_allclose(found[3], wanted[3], rtol=SPREAD)


@pytest.mark.parametrize("n", SIZES)
def test_the_outputs_are_those_of_onnxruntime(name, backends, n):
    cpu, native = backends
    slices, shifts = SIZES[n]
    if name != "edge":
        slices = min(slices, 60)
    if name == "wide":  # at 20,000 the last bit of a sum decides about a step of the solve
        n = min(n, 16_000)
    given = inputs.canonical(native._engine.dim, n, slices, shifts)
    relative = LARGE_REFINED if name == "base" else LARGE
    compare(native.run(*given), cpu.run(*given), relative)


@pytest.mark.parametrize("strength", [0.0, 0.99])
def test_the_third_neighbour_is_the_last_diagnostic(engine, strength):
    """If it exceeds the bound it supports the prediction; for independent sides it does not."""
    x, noise = np.random.default_rng(0).standard_normal((2, 1, 500, engine.dim)).astype(np.float32)
    y = np.float32(strength) * x + np.float32(np.sqrt(1 - strength**2)) * noise
    diagnostics = engine.diagnose(x, y, np.arange(1, 9), np.arange(500))[0]
    assert (diagnostics[-1] > 1) == (strength > 0)


def test_estimates(name):
    """A complete update: a window of states of a robot, sliced."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.standard_normal((100, 41)), axis=0)
    y = x + rng.standard_normal(x.shape)
    found, wanted = (
        Estimator(name, provider=p, slices=8).estimate(x, y, time_series=True)
        for p in ("native", "cpu")
    )
    assert found.provider == "native"
    assert found.mi == pytest.approx(wanted.mi, abs=MI)
    for field in ("stderr", "noise", "predicted_error"):
        assert getattr(found, field) == pytest.approx(getattr(wanted, field), rel=SPREAD)
