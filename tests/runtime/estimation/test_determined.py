"""The flag of a side that is a smooth function of the other."""

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.estimation.determined import is_determined
from infoatlas_rt.estimation.prepare import Samples

rng = np.random.default_rng(0)
logits = rng.standard_normal((400, 3))
odds = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("swapped", [False, True])
def test_softmax_is_flagged(swapped):
    sides = (odds, logits) if swapped else (logits, odds)
    estimator = Estimator(threads=1)
    samples = Samples(*sides, time_series=True)
    for found in (estimator.estimate(*sides), estimator.estimate_checked(samples)):  # as a point
        assert found.saturated and "saturated" in str(found) and found.at_least is None
    assert not estimator.estimate_checked(samples, live=True).saturated


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_linear_function_is_printed_as_a_bound(noise):
    """The graph's rounding decides the estimate, and no engine's value is printed."""
    y = logits[:, 1:] + noise * rng.standard_normal((400, 2))
    found = Estimator(threads=1).estimate(logits, y)
    assert found.saturated == (found.at_least is not None) == (noise == 0)
    if found.saturated:
        assert 0 <= found.at_least < found.mi + found.stderr
        live = Estimator(threads=1).estimate_checked(Samples(logits, y), live=True)
        assert live.saturated and live.at_least is None
        assert str(found).startswith(f"I above {np.floor(10 * found.at_least) / 10} nats (n=400")


@pytest.mark.parametrize(
    "y",
    [
        odds + 0.05 * rng.standard_normal(odds.shape),
        logits[:, ::-1] + 0.1 * rng.standard_normal(odds.shape),
        np.where(logits[:, :1] > 0, 1.0, odds[:, :1]),  # half of it is one value
        np.round(odds, 1),
        rng.standard_normal(odds.shape),
    ],
)
def test_noise_and_repeated_values_are_not(y):
    assert not is_determined(Samples(logits, y), time_series=False)


def test_a_slow_series_determines_no_other():
    series = np.cumsum(rng.standard_normal((4, 800)), axis=1)
    x, y = np.split(np.array([np.convolve(s, np.hanning(60), "valid") for s in series]).T, [3], 1)
    assert is_determined(Samples(x, y), time_series=False)
    assert not is_determined(Samples(x, y), time_series=True)
    groups = np.repeat(np.arange(8), len(x) // 8 + 1)[: len(x)]
    assert not is_determined(Samples(x, y, groups=groups), time_series=False)


def test_every_sample_of_many_need_not_be_compared():
    x = rng.standard_normal((12_000, 2))
    assert is_determined(Samples(x, np.sin(3 * x)), time_series=False)
    assert not is_determined(Samples(x, np.sin(3 * x), resolution_x=np.ones(2)), time_series=False)
