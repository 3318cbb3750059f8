"""Pooled samples of several trajectories: product pairs, and the standard error."""

import numpy as np
import pytest

from infoatlas_rt.estimation.prepare import check_samples
from infoatlas_rt.estimation.standard_error import clustered_variance
from refusals import refuses


class Positions:
    """Pointwise values are positions in the input, influence is y; it stores the shifts."""

    provider, threads = "cpu", 1

    def run(self, x, y, shifts, sequence):
        self.shifts = shifts
        nothing = np.zeros(len(x))
        positions = np.broadcast_to(np.arange(float(x.shape[1])), x.shape[:2])
        return nothing, positions, y[:, :, 0], nothing


@pytest.mark.parametrize(
    "sizes",
    [
        [30] * 20,
        [7, 90, 3, 60, 44, 1, 80],
        [50, 50, 50],
        [2] * 50,
        [98, 1, 50, 1, 50],  # the largest accepted group of 200: four shifts remain
    ],
)
def test_no_product_pair_within_a_group(estimator, monkeypatch, sizes):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(100 * rng.permutation(len(sizes)) - 7, sizes))
    n = len(groups)
    x, y = rng.standard_normal((2, n, 1))
    backend = Positions()
    monkeypatch.setattr(estimator, "backend", backend)
    position = estimator.estimate(x, y, groups=groups).pointwise.astype(int)
    owner = np.empty(n, int)
    owner[position] = groups
    assert sorted(position) == list(range(n))
    assert len(set(backend.shifts.tolist())) == len(backend.shifts) >= 4
    for shift in backend.shifts:
        assert (owner != np.roll(owner, shift)).all()
        assert (owner != np.roll(owner, -shift)).all()


def test_copies_have_the_error_of_what_was_copied(estimator, monkeypatch):
    """20 groups of 30 identical samples contain as much information as 20 samples."""
    monkeypatch.setattr(estimator, "backend", Positions())
    rng = np.random.default_rng(2)
    few = rng.standard_normal((20, 2))
    x, y = np.repeat(few, 30, axis=0).T
    groups = np.repeat(np.arange(20), 30)
    pooled = estimator.estimate(x, y)
    honest = estimator.estimate(x, y, groups=groups)
    assert pooled.effective_samples == 600
    assert honest.effective_samples == pytest.approx(20, rel=0.1)
    # Normal scores have variance 1: the standard error of the mean of 20 is 1 / sqrt(20).
    assert honest.noise == pytest.approx(20**-0.5, rel=0.1)
    assert pooled.noise == pytest.approx(600**-0.5, rel=0.1)


def test_noise_is_the_spread_over_draws(estimator):
    """With similar pairs within groups, the clustered error is the deviation over draws."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(40), 15)
        # Each group has its own noise level, so influences within a group are similar.
        level = np.exp(1.2 * rng.standard_normal(40))[groups]
        x = rng.standard_normal(600)
        y = x + level * rng.standard_normal(600)
        return [
            (found.mi, found.noise)
            for found in (estimator.estimate(x, y), estimator.estimate(x, y, groups=groups))
        ]

    values = np.array([draw(seed) for seed in range(16)])
    spread = values[:, 1, 0].std(ddof=1)
    assert values[:, 1, 1].mean() == pytest.approx(spread, rel=0.4)
    assert values[:, 1, 1].mean() > 1.3 * values[:, 0, 1].mean()


def test_variance_of_clusters_by_hand():
    values, groups = np.array([1.0, 2.0, 4.0, 9.0]), np.array([0, 0, 1, 1])
    # Sums of deviations from the mean, 4: -5 and 5.
    assert clustered_variance(values, groups) == pytest.approx((25 + 25) / 4 * 2)
    white = np.random.default_rng(0).standard_normal(3000)
    alone = clustered_variance(white, np.arange(3000))
    assert alone == pytest.approx(white.var(ddof=1), rel=1e-9)


def pooled(seed, groups=20, steps=30, shared=False):
    """Two independent coordinates per side, one of each constant within groups."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, groups))
    labels = np.repeat(np.arange(groups), steps)
    x, y = rng.standard_normal((2, groups * steps, 2))
    x[:, 0], y[:, 0] = a[labels], (a if shared else b)[labels]
    return x, y, labels


def test_the_identity_of_groups_is_information_only_without_groups(estimator):
    without = [estimator.estimate(*pooled(seed)[:2]).mi for seed in range(4)]
    x_y_groups = [pooled(seed) for seed in range(4)]
    honest = [estimator.estimate(x, y, groups=groups).mi for x, y, groups in x_y_groups]
    assert min(without) > 1  # the true value is 0
    assert abs(np.mean(honest)) < 0.2


def test_common_coordinates_count_up_to_the_number_of_groups(estimator):
    """Both sides contain the goal: infinite information, with 20 groups about log 20."""
    for seed in range(3):
        x, y, groups = pooled(seed, shared=True)
        found = estimator.estimate(x, y, groups=groups)
        assert 1.5 < found.mi < np.log(20) + 1


def test_labels_are_only_names(estimator):
    x, y, groups = pooled(3)
    first = estimator.estimate(x, y, groups=groups)
    for other in (list(groups - 50), (3 * groups).astype(np.uint8)):
        found = estimator.estimate(x, y, groups=other)
        assert (found.mi, found.stderr) == (first.mi, first.stderr)
        np.testing.assert_array_equal(found.pointwise, first.pointwise)


def test_a_time_series_in_groups(estimator, monkeypatch):
    """The order of time reaches the graph, and the error is clustered."""
    x, y, groups = pooled(4)
    plain = estimator.prepare(check_samples(x, y, "cpu", groups=groups))
    series = estimator.prepare(check_samples(x, y, "cpu", time_series=True, groups=groups))
    np.testing.assert_array_equal(series.order[series.sequence], np.arange(len(x)))
    np.testing.assert_array_equal(series.order, plain.order)
    monkeypatch.setattr(estimator, "backend", Positions())
    errors = {
        estimator.estimate(x, y, time_series=series, groups=groups).noise
        for series in (False, True)
    }
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (np.zeros(100, int), "all 100 samples are of one group"),
        (np.arange(99), r"shape \(99,\)"),
        (np.zeros((100, 1), int), r"shape \(100, 1\)"),
        (np.linspace(0, 1, 100), "float64"),
        (["a", "b"] * 50, "dtype <U1"),
        (np.r_[np.zeros(49, int), np.arange(1, 52)], "49 of 100 samples.*up to 48"),
    ],
)
def test_groups_that_cannot_be_used(estimator, groups, expected):
    x, y = np.random.default_rng(5).standard_normal((2, 100))
    refuses(expected, estimator.estimate, x, y, groups=groups)
