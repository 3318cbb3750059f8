"""Outputs of the native engine equal those of ONNX Runtime for the same file."""

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
# Largest difference of two kernel values of equal distances, from rounding (neighbour_features.py).
EQUAL = 2e-6


def kernel_values(x, context):
    """Kernel values [n, context] of samples [n, dim], in float64; 0 for a sample itself."""
    squares = sum((column[:, None] - column[:context]) ** 2 for column in x.T)
    values = np.exp(-np.minimum(squares / 2, 43))
    np.fill_diagonal(values, 0)
    return values


def undetermined(x, y):
    """Range of the local information of samples [n, dim] that float32 leaves open: [n], nats.

    The information from distances counts the neighbours that are as near as the third one: those
    whose kernel values are at most `EQUAL` below its value. The difference of two float32 values
    has an error of up to `EQUAL`. Neighbours that are less than twice `EQUAL` farther than the
    third one are therefore counted by one engine, and not by another.
    """
    n, dim = x.shape
    context = min(n, 1024, 1 + 5_120_000 // n)
    used = sum((side.astype(float) ** 2).mean(0) > 0.5 for side in (x, y)).sum()
    # In the second metric of the bias correction, where directions count less and less.
    scale = np.exp(np.maximum(-0.7 * np.arange(dim), -3)) * n ** (1 / (used + 4)) / 2
    kx, ky = (kernel_values(side * scale, context) for side in (x, y))
    both = np.minimum(kx, ky)
    third = np.partition(both, -3)[:, -3:-2]
    exact = 1e-9  # far above the rounding of float64
    (near, in_x, in_y), (more, more_x, more_y) = (
        [(k >= third - within).sum(1) for k in (both, kx, ky)] for within in (exact, 2 * EQUAL)
    )
    return np.log((more - 0.5) / (in_x * in_y)) - np.log((near - 0.5) / (more_x * more_y))


def compare(found, wanted, relative, each):
    """Compare the outputs of two engines; `each` [slices, n] are `undetermined` nats.

    The slope of an estimate on the mean of the local information is a share below 1.
    """
    for value in found:
        assert value.dtype == np.float32 and np.isfinite(value).all()
    mean = each.mean(1, keepdims=True)
    assert (abs(found[0] - wanted[0]) <= MI + mean[:, 0]).all()
    for ours, theirs, limit in zip(
        found[1:3], wanted[1:3], (POINTWISE + mean, INFLUENCE + each), strict=True
    ):
        off = abs(ours - theirs) - relative * abs(theirs)
        assert (off <= limit).all(), f"{np.argwhere(off > limit)}: {off[off > limit]}"
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
    each = np.array([undetermined(*sides) for sides in zip(*given[:2], strict=True)])
    assert (each > 0).mean() < 0.02
    compare(native.run(*given), cpu.run(*given), relative, each)


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
