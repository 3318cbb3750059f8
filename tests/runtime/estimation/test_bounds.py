"""Sides with repeated values: known entropies, and estimates within these bounds."""

import math
from itertools import product

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.estimation import forward
from infoatlas_rt.estimation.bounds import FLOOR, clip_to_bounds, entropy, repeats
from infoatlas_rt.models import model_file


def counts(values):
    return np.unique(values, return_counts=True)[1]


def table(p):
    """Mutual information of joint probabilities [K, L]."""
    p = np.asarray(p)
    ratio = np.where(p > 0, p / (p.sum(0) * p.sum(1)[:, None]), 1.0)
    return float((p * np.log(ratio)).sum())


def test_entropy_of_known_distributions():
    rng = np.random.default_rng(0)
    for levels, n in ((2, 100), (16, 1000), (500, 1000)):
        found = [entropy(counts(rng.integers(0, levels, n))) for _ in range(50)]
        assert np.mean(found) == pytest.approx(math.log(levels), rel=0.02) and np.std(found) < 0.1
    expected = -0.99 * math.log(0.99) - 0.01 * math.log(0.01)
    assert entropy(np.array([495, 5])) == pytest.approx(expected, abs=0.01)
    assert entropy(np.ones(50, int)) == math.inf and entropy(np.array([50])) == 0


def test_rows_are_equal_in_all_coordinates():
    x = np.random.default_rng(1).integers(0, 2, (400, 2)).astype(float)
    x[::2][x[::2] == 0] = -0.0
    found = repeats(x[:, [0, 1, 0, 1]], x[:, :1])
    assert len(np.unique(found.x)) == 4 and len(np.unique(found.y)) == 2
    for i, j in ((0, 1), (5, 9)):
        assert (found.x[i] == found.x[j]) == (x[i] == x[j]).all()


def test_continuous_sides_have_no_ceiling():
    x, y = np.random.default_rng(2).standard_normal((2, 300, 3))
    assert repeats(x, y) is None
    x[:, 1] = 0
    assert repeats(x, y) is None
    x[7] = x[8]  # one tie among 300
    assert repeats(x, x).ceiling() > math.log(300) + 3
    # The entropy of one side bounds the mutual information with the other.
    assert 0.4 < repeats((x[:, :1] > 1).astype(float), y).ceiling() < 0.5


def test_the_ceiling_is_above_the_information_of_a_table():
    """On average over draws, and not far above if there are enough samples."""
    rng = np.random.default_rng(3)
    for cells in ([[0.9, 0.0], [0.0, 0.1]], [[0.3, 0.1], [0.1, 0.5]], np.full((4, 4), 1 / 16)):
        p = np.array(cells)
        for n, far in ((50, 0.15), (1000, 0.03)):
            found = []
            for _ in range(200):
                drawn = rng.choice(p.size, n, p=p.ravel())
                x, y = drawn // len(p) * 1.0, drawn % len(p) * 1.0
                found.append(repeats(x[:, None], y[:, None]).ceiling())
            assert -0.01 < np.mean(found) - table(p) < far


def test_the_ceiling_of_another_pairing():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, (200, 1)).astype(float)
    order = rng.permutation(200)
    same = repeats(x, x)
    assert same.ceiling(order) == repeats(x, x[order]).ceiling() < 0.1 < same.ceiling()


def test_copies_of_rows_are_reported(estimator, caplog):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200, 2))
    few = rng.permutation(np.r_[np.arange(200), np.arange(60)])
    twice = np.tile(np.arange(200), 2)  # the standard error exceeds the estimate
    for rows in (few, twice):
        estimator.estimate(x[rows], y[rows])
        assert f"{len(rows) - 200} of {len(rows)} rows are exact copies of others" in caplog.text
        caplog.clear()
    classes = rng.integers(0, 4, 200)
    for one, other in ((x, y), (classes, y), (classes, classes // 2), (np.round(x), np.round(y))):
        estimator.estimate(one, other)
    estimator.estimate(x[few], y[few], groups=few)
    estimator.estimate(np.repeat(x, 2, axis=0), np.repeat(y, 2, axis=0), time_series=True)
    assert caplog.text == ""


def test_bounded():
    limited = clip_to_bounds(np.float32([-2, -0.0625, 0.3]), 0.2)
    np.testing.assert_array_equal(limited, [FLOOR, -0.0625, 0.2])
    x = np.float32([-0.05, 1e-3, 7.1])
    np.testing.assert_array_equal(clip_to_bounds(x, math.inf), x)


@pytest.fixture(scope="module", params=model_file.available())
def estimator(request):
    return Estimator(request.param, threads=1)


@pytest.mark.parametrize(("ones", "n"), [(2, 100), (3, 100), (5, 500), (1, 100)])
def test_a_rare_flag_and_its_copy(estimator, ones, n):
    """The anchor alone would give tens of nats below zero, because few product pairs dominate."""
    share = ones / n
    truth = -share * math.log(share) - (1 - share) * math.log(1 - share)
    for seed in range(3):
        x = np.zeros(n)
        x[np.random.default_rng(seed).choice(n, ones, replace=False)] = 1
        found = estimator.estimate(x, x)
        assert found.mi == pytest.approx(truth, abs=0.05)
        assert found.pointwise.mean() == pytest.approx(found.mi, abs=1e-4)


def test_a_limit_is_reported(estimator):
    x = np.random.default_rng(0).integers(16, size=300).astype(float)  # a copy exceeds it
    found = estimator.estimate(x, x)
    assert found.clipped and found.to_dict()["clipped"]
    assert found.mi == pytest.approx(repeats(x[:, None], x[:, None]).ceiling())
    z = np.random.default_rng(3).standard_normal((100, 2))
    assert not estimator.estimate(z, z[:, :1] + 0.5).clipped


def test_the_bound_of_classes_is_no_alarm(estimator, monkeypatch):
    """24 tables of two noisy columns of classes: the bound is nearer to the truth than the model.

    So the text of an estimate does not mention it.
    """
    unbounded = []

    def spy(values, ceiling):
        unbounded.append(float(values.mean()))
        return clip_to_bounds(values, ceiling)

    monkeypatch.setattr(forward, "clip_to_bounds", spy)
    errors = []
    for number, (levels, kept, n) in enumerate(product((2, 4), (0, 0.3, 0.6, 1), (300, 700, 1500))):
        rng = np.random.default_rng(number)
        x = rng.integers(levels, size=n).astype(float)
        y = np.where(rng.random(n) < kept, x, rng.integers(levels, size=n))
        found = estimator.estimate(x, y)
        truth = table((kept * np.eye(levels) + (1 - kept) / levels) / levels)
        assert "clipped" not in str(found)
        if found.clipped:
            assert abs(found.mi - truth) < 1.645 * found.stderr
            errors.append((found.mi - truth, unbounded[-1] - truth))
    assert len(errors) >= 3
    bound, model = np.sqrt(np.mean(np.square(errors), axis=0))
    assert bound < model
