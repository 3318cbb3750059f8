"""The estimator around the graph: order, chunks, slices, errors and messages.

No test depends on the accuracy of a model; accuracy has separate tests.
"""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from fakes import pairs
from infoatlas_rt import Estimate, Estimator, estimate
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation import cached, prepare
from infoatlas_rt.estimation.standard_error import long_run_variance
from refusals import fails

N = 100


class Echo:
    """A backend that returns its inputs: pointwise is x, influence is y."""

    provider, threads = "cpu", 1

    def __init__(self):
        self.calls = []

    def run(self, x, y, shifts, sequence):
        self.calls.append((x, y, shifts, sequence))
        assert x.dtype == y.dtype == np.float32 and x.flags.c_contiguous and y.flags.c_contiguous
        return x[:, :, 0].mean(axis=1), x[:, :, 0], y[:, :, 0], np.full(len(x), 0.25)


@pytest.fixture
def echo(estimator, monkeypatch):
    backend = Echo()
    monkeypatch.setattr(estimator, "backend", backend)
    return backend


# ---- what the graph is fed, and how its answer is read ------------------------------------------


def monotone(values):
    return abs(np.sign(np.diff(values)).sum()) == len(values) - 1


def test_pairs_are_shuffled_together_and_put_back_in_order(estimator, echo):
    x, y = pairs(dx=1, dy=1, strength=3)
    result = estimator.estimate(x, y)
    fed_x = echo.calls[0][0]
    # The output is a monotone function of x in the input's order, and y with it.
    assert monotone(result.pointwise[np.argsort(x[:, 0])])
    assert monotone(result.influence[np.argsort(y[:, 0])])
    assert not np.array_equal(fed_x[0, :, 0], result.pointwise)
    # Sorted input is shuffled before the graph: otherwise a shift of 1 would pair neighbours.
    estimator.estimate(np.sort(x, axis=0), y)
    ranks = np.argsort(np.argsort(echo.calls[1][0][0, :, 0]))
    assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 0.4


@pytest.mark.parametrize("n", [50, 100, 700])
def test_shifts(estimator, echo, n):
    estimator.estimate(*pairs(n))
    shifts = echo.calls[0][2]
    assert shifts.dtype == np.int64
    assert len(shifts) == estimator.model_file.shift_count(n) == len(set(shifts.tolist()))
    assert shifts.min() >= 1 and shifts.max() <= n - 1


def test_shifts_can_be_chosen(monkeypatch):
    for asked, used in ((4, 4), (30, 30), (10**6, N - 1)):
        estimator = Estimator(threads=1, shifts=asked)
        backend = Echo()
        monkeypatch.setattr(estimator, "backend", backend)
        estimator.estimate(*pairs())
        shifts = backend.calls[0][2].tolist()
        assert len(shifts) == used
    assert sorted(shifts) == list(range(1, N))


def test_slices_reach_the_graph(monkeypatch):
    estimator = Estimator(threads=1, k=3, slices=6, sides="x")
    backend = Echo()
    monkeypatch.setattr(estimator, "backend", backend)
    result = estimator.estimate(*pairs(dx=30, dy=2))
    x, y, *_ = backend.calls[0]
    assert x.shape == y.shape == (6, N, estimator.model_file.dim)
    assert (np.ptp(x, axis=1) > 0).sum(axis=1).tolist() == [3] * 6
    assert (np.ptp(y, axis=1) > 0).sum(axis=1).tolist() == [2] * 6
    assert len(np.unique(x[:, 0, 0])) == 6
    assert (result.slices, result.k, result.rank_x, result.rank_y) == (6, 3, 3, 2)


def test_wide_sides_are_sliced_unasked(estimator, echo):
    dim = estimator.model_file.dim
    result = estimator.estimate(*pairs(n=200, dx=dim + 1, dy=1))
    assert (result.slices, result.k) == (40, dim) and (result.rank_x, result.rank_y) == (dim, 1)
    result = estimator.estimate(*pairs(n=200, dx=dim, dy=1))
    assert (result.slices, result.k, result.rank_x) == (1, None, dim)


def test_large_jobs_run_in_chunks(monkeypatch):
    estimator = Estimator(threads=1, k=2, slices=7)
    x, y = pairs(dx=5, dy=5)
    whole = estimator.estimate(x, y)
    sizes = []
    run = estimator.backend.run
    monkeypatch.setattr(
        estimator.backend, "run", lambda x, *rest: (sizes.append(len(x)), run(x, *rest))[1]
    )
    monkeypatch.setattr(prepare, "CHUNK_PAIRS", 3 * N * estimator.model_file.shift_count(N, 7))
    parts = estimator.estimate(x, y)
    assert sizes == [3, 3, 1] and parts.mi == pytest.approx(whole.mi, abs=1e-5)
    np.testing.assert_allclose(parts.per_slice, whole.per_slice, atol=1e-4)
    np.testing.assert_allclose(parts.influence, whole.influence, atol=1e-3)
    assert (parts.rank_x, parts.saturated) == (whole.rank_x, whole.saturated)


def test_huge_samples_use_fewer_shifts(estimator, echo, monkeypatch):
    monkeypatch.setattr(prepare, "CHUNK_PAIRS", 5 * N)
    estimator.estimate(*pairs())
    assert len(echo.calls[0][2]) == 5
    monkeypatch.setattr(prepare, "CHUNK_PAIRS", N)
    estimator.estimate(*pairs())
    assert len(echo.calls[1][2]) == 4


def test_time_series_enter_with_their_order(estimator, echo):
    x = np.arange(N, dtype=float)
    estimator.estimate(x, x, time_series=True)
    fed, _, _, sequence = echo.calls[0]
    assert monotone(fed[0, sequence, 0])
    estimator.estimate(x, x)
    assert echo.calls[1][3].tolist() == list(range(N))
    assert sequence.dtype == echo.calls[1][3].dtype == np.int64


@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_never_nan_from_a_broken_model(estimator, monkeypatch, which):
    class Broken(Echo):
        def run(self, *inputs):
            outputs = [np.array(o) for o in super().run(*inputs)]
            outputs[which][-1] = np.nan
            return tuple(outputs)

    monkeypatch.setattr(estimator, "backend", Broken())
    fails(ModelError, "not finite", estimator.estimate, *pairs())


# ---- the result ---------------------------------------------------------------------------------


def test_result_is_consistent():
    estimator = Estimator(threads=1, k=3, slices=10, seed=5)
    result = estimator.estimate(*pairs(dx=6, dy=4))
    assert isinstance(result, Estimate) and result.per_slice.shape == (10,)
    assert result.mi == pytest.approx(result.per_slice.mean(), abs=1e-12)
    assert result.mi == pytest.approx(result.pointwise.mean(), abs=1e-4)
    expected = result.influence.var(ddof=1) / N + result.per_slice.var(ddof=1) / 10
    assert result.noise == pytest.approx(math.sqrt(expected), rel=1e-9)
    assert math.isfinite(result.stderr) and result.stderr > 0
    assert (result.samples, result.effective_samples) == (N, N)
    assert (result.slices, result.k, result.seed) == (10, 3, 5)
    assert (result.provider, result.model) == ("cpu", estimator.model_file.name)
    assert not (result.saturated or result.degenerate)
    assert (result.parts, result.directions) == (1, "random")
    assert set(estimator.seconds) == {"slicing", "preprocessing", "inference", "total"}
    parts = sum(v for key, v in estimator.seconds.items() if key != "total")
    assert 0 < parts <= estimator.seconds["total"]


def test_prints_itself_in_one_line():
    result = Estimator(threads=1, k=2, slices=3).estimate(*pairs(dx=3, dy=3))
    name = result.model
    assert str(result) == (
        f"I = {result.mi:.3f} ± {result.stderr:.3f} nats "
        f"(noise {result.noise:.3f}, n=100, 3 slices, k=2, {name} on cpu)"
    )
    x, y = pairs(dx=3)
    x[:, 0] = 1
    end = f"n=100, unsliced, {name} on cpu) [1 constant in x]"
    assert str(Estimator(threads=1).estimate(x, y)).endswith(end)


def test_to_dict_is_json(estimator):
    result = estimator.estimate(*pairs())
    short = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert short["mi"] == result.mi and short["per_slice"] == result.per_slice.tolist()
    assert short["k"] is None and short["constant_x"] == [] and "pointwise" not in short
    full = json.loads(json.dumps(result.to_dict(arrays=True), allow_nan=False))
    assert full["influence"] == result.influence.tolist() and len(full["pointwise"]) == N


def ar1(rho, n, rng, runs=1):
    noise = rng.standard_normal((runs, n + 200))
    for t in range(1, n + 200):
        noise[:, t] += rho * noise[:, t - 1]
    return noise[:, 200:]


@pytest.mark.parametrize(("rho", "least"), [(0.0, 0.8), (0.5, 0.75), (0.9, 0.6)])
def test_long_run_variance_of_an_autoregression(rho, least):
    # The true value with innovations of unit variance is 1 / (1 - rho)^2. HAC estimates are too low
    # for strong dependence; the plain variance would be 0.33 of it for 0.5, and 0.05 for 0.9.
    series = ar1(rho, 1000, np.random.default_rng(0), runs=40)
    ratio = np.mean([long_run_variance(s) for s in series]) * (1 - rho) ** 2
    assert least < ratio < 1.1


def test_long_run_variance_by_hand():
    # Four samples: bandwidth floor(max(4 (0.04)^(2/9), ...)), weights 1 - l / (L + 1).
    values = np.array([1.0, 2.0, 4.0, 1.0])
    d = values - 2
    variance, first = d @ d / 3, d[1:] @ d[:-1] / 3
    rho = first / variance
    alpha = 4 * rho**2 / (1 - rho**2) ** 2
    lags = int(max(4 * 0.04 ** (2 / 9), 1.1447 * (4 * alpha) ** (1 / 3)))
    expected = variance + sum(
        2 * (1 - lag / (lags + 1)) * (d[lag:] @ d[:-lag]) / 3 for lag in range(1, lags + 1)
    )
    assert lags == 1 and long_run_variance(values) == pytest.approx(expected, rel=1e-12)
    assert long_run_variance(np.full(50, 3.0)) == 0


def test_time_series_widens_the_error(estimator, echo):
    rng = np.random.default_rng(1)
    x = ar1(0.9, 1000, rng)[0]
    independent = estimator.estimate(x, x)
    series = estimator.estimate(x, x, time_series=True)
    assert series.mi == independent.mi
    widened = (series.noise / independent.noise) ** 2
    assert 6 < widened < 30  # 19 in theory: (1 + 0.9) / (1 - 0.9)
    assert series.effective_samples == pytest.approx(1000 / widened)
    assert "effective samples" in str(series)
    # In shuffled order there is no autocorrelation: the influence is white noise.
    white = estimator.estimate(*[rng.permutation(x)] * 2, time_series=True)
    assert 0.6 < white.effective_samples / 1000 <= 1


def test_a_series_that_was_not_announced_is_reported(estimator, echo):
    rng = np.random.default_rng(3)
    x, y = (ar1(0.9, 300, rng)[0] for _ in range(2))
    found = estimator.estimate(x, y)
    assert found.autocorrelated and "time_series=True" in str(found)
    assert not estimator.estimate(x, y, time_series=True).autocorrelated
    assert not estimator.estimate(rng.permutation(x), y).autocorrelated
    constant = np.column_stack([x, np.ones((300, 4))])  # without an effect on neighbours
    assert estimator.estimate(constant, y).autocorrelated
    assert not estimator.estimate(np.ones(300), y).autocorrelated
    assert not estimator.estimate(rng.permutation(x) * 1e300, y).autocorrelated


def test_alternating_series_do_not_gain(estimator, echo):
    x = ar1(-0.8, 500, np.random.default_rng(2))[0]
    assert estimator.estimate(x, x, time_series=True).effective_samples == 500


# ---- the package --------------------------------------------------------------------------------


def test_estimate_keeps_its_estimator():
    x, y = pairs(dx=3, dy=3)
    cached._estimator.cache_clear()
    assert estimate(x, y, threads=1).mi == Estimator(threads=1).estimate(x, y).mi
    assert estimate(x, y, threads=1, k=2, slices=3).slices == 3
    assert estimate(x, y, threads=1, time_series=True).samples == N
    assert cached._estimator.cache_info().misses == 2


def test_imports():
    code = (
        "import sys, infoatlas_rt\n"
        "assert 'numpy' not in sys.modules\n"
        "from infoatlas_rt import estimate\n"
        "import numpy as np\n"
        "estimate(np.arange(100.) % 7, np.arange(100.) % 5, threads=1)\n"
        "from infoatlas_rt.messages import fields, stream\n"
        "heavy = 'torch scipy matplotlib rich onnx numpy.f2py rosbags rclpy'.split()\n"
        "print(sorted({*heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
