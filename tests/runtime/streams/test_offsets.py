"""Offsets between series with known ones, and what is not known."""

import numpy as np
import pytest

from infoatlas_rt.streams.offsets import find_offset

RATE, STEPS = 30.0, 300


def pairs(count, shifts, noise=1.0, seed=0, stretch=0.0):
    """Smooth series, and the same `shifts` steps later with noise, as from a camera."""
    rng, firsts, seconds = np.random.default_rng(seed), [], []
    kernel = np.hanning(24)[1:-1]
    for shift in np.broadcast_to(shifts, count):
        raw = np.convolve(rng.normal(size=STEPS + 140), kernel, "valid")
        raw /= raw.std()
        at = np.arange(STEPS) + 50.0
        firsts.append(np.interp(at, np.arange(len(raw)), raw))
        later = np.interp(at - shift - stretch * np.arange(STEPS), np.arange(len(raw)), raw)
        rough = np.convolve(rng.normal(size=STEPS + 8), np.hanning(11)[1:-1], "valid")
        seconds.append(later + noise * rough / rough.std())
    return firsts, seconds


@pytest.mark.parametrize("count", [1, 10])
def test_intervals_contain_the_offset(count):
    inside, widths = [], []
    for seed, shift in enumerate(np.linspace(-10, 10, 40)):
        found = find_offset(*pairs(count, shift, 0.1 * count, seed), RATE)
        if found.why:
            continue
        inside.append(found.interval[0] <= shift <= found.interval[1])
        widths.append(np.ptp(found.interval) / 2)
    assert len(inside) >= 30
    assert np.mean(inside) >= 0.8  # 90%, less two standard errors
    assert np.median(widths) < (3 if count == 1 else 1)


def test_unrelated_series_have_no_offset():
    one, other = ([pairs(8, 0, seed=seed)[0] for seed in range(n, n + 20)] for n in (0, 100))
    found = [find_offset(*own, RATE) for own in zip(one, other, strict=True)]
    assert all(np.isnan(one.steps) for one in found) and "hardly move together" in found[0].why


def test_episodes_that_differ_and_drift():
    found = find_offset(*pairs(10, [2.0] * 8 + [15.0, -9.0], noise=0.3), RATE)
    assert found.others == (8, 9) and abs(found.own[8] - 15) < 1
    assert find_offset(*pairs(6, [-12, -4, 0, 5, 9, 14], noise=0.3), RATE).why
    drifts = find_offset(*pairs(10, 0.0, noise=0.3, stretch=0.01), RATE)
    assert 1 < drifts.drift < 2  # a hundredth of half of an episode is 1.5 steps
    assert find_offset(*pairs(10, 0.0, noise=0.3), RATE).drift == 0


def test_short_and_far():
    assert "too short" in find_offset([np.arange(5.0)], [np.arange(5.0)], RATE).why
    assert find_offset(*pairs(8, 60, noise=0.1), RATE).why
