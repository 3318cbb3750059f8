"""Properties for any data and weights; copies in other processes; groups of pooled samples."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from fakes import pairs
from infoatlas_rt import Estimator
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation.prepare import Samples, check_samples
from infoatlas_rt.estimation.standard_error import clustered_variance
from infoatlas_rt.models import model_file
from infoatlas_rt.streams.online import OnlineEstimator
from refusals import fails, refuses

N = 100
QUICK = settings(
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("options", [{}, {"k": 2, "slices": 5}])
def test_checked_arrays_have_the_same_estimate(options):
    x, y = pairs(dx=4, dy=3)
    estimator = Estimator(threads=1, **options)
    steps, groups = np.array([0.1, 0.0, 0.2, 0.3]), np.arange(N) % 10
    for passed in ({}, {"time_series": True}, {"resolution_x": steps, "groups": groups}):
        checked = estimator.estimate_checked(Samples(x, y, **passed))
        assert set(estimator.seconds) == {"slicing", "preprocessing", "inference", "total"}
        assert estimator.estimate(x, y, **passed).to_dict(True) == checked.to_dict(True)


def test_the_seed_matters():
    x, y = pairs(dx=4, dy=4)
    assert Estimator(threads=1).estimate(x, y).mi != Estimator(threads=1, seed=1).estimate(x, y).mi


MAPS = (
    lambda v: 1e-3 * v - 50, lambda v: v**3 + 1e-3 * v, lambda v: np.exp(4 * v), np.arctan,
    lambda v: np.sinh(20 * v), lambda v: v + 1e6 * (v > 0.1), np.cbrt,
    lambda v: np.unique(v, return_inverse=True)[1],
)  # fmt: skip


@QUICK
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(50, 130),
    maps=st.lists(st.sampled_from(MAPS), min_size=4, max_size=4),
    grid=st.sampled_from([None, 4.0]),
)
def test_increasing_maps_change_nothing(estimator, seed, n, maps, grid):
    x, y = pairs(n, seed=seed)
    if grid:  # with ties
        x = np.round(x * grid) / grid
    columns = np.hstack([x, y]).T
    mapped = np.column_stack([change(own) for change, own in zip(maps, columns, strict=True)])
    for before, after in zip(columns, mapped.T, strict=True):
        assume(len(np.unique(before)) == len(np.unique(after)))  # strictly monotone, also in floats
    before, after = estimator.estimate(x, y), estimator.estimate(mapped[:, :2], mapped[:, 2:])
    assert after.mi == pytest.approx(before.mi, abs=1e-6)
    np.testing.assert_allclose(after.pointwise, before.pointwise, atol=1e-5)


@QUICK
@given(seed=st.integers(0, 10**6), flips=st.lists(st.booleans(), min_size=4, max_size=4))
def test_decreasing_maps_change_little(estimator, seed, flips):
    x, y = pairs(seed=seed)
    signs = np.where(flips, -1.0, 1.0)
    before = estimator.estimate(x, y).mi
    assert estimator.estimate(x * signs[:2], y * signs[2:]).mi == pytest.approx(before, abs=0.02)


# Tolerance of a trained model in nats, with all n-1 shifts, n = 100 and about 0.4 nats.
TOLERANCE = 0.15
trained = pytest.mark.skipif(model_file.load().steps == 0, reason="the shipped model is untrained")


@trained
@QUICK
@given(seed=st.integers(0, 10**6))
def test_order_of_samples(all_shifts, seed):
    x, y = pairs(seed=seed)
    order = np.random.default_rng(seed).permutation(N)
    one, other = all_shifts.estimate(x, y), all_shifts.estimate(x[order], y[order])
    assert other.mi == pytest.approx(one.mi, abs=TOLERANCE)


@trained
@QUICK
@given(seed=st.integers(0, 10**6), dx=st.integers(1, 3), dy=st.integers(1, 3))
def test_swapping_the_sides(all_shifts, seed, dx, dy):
    x, y = pairs(dx=dx, dy=dy, seed=seed)
    one, other = all_shifts.estimate(x, y), all_shifts.estimate(y, x)
    assert other.mi == pytest.approx(one.mi, abs=TOLERANCE)


@pytest.fixture(scope="module")
def all_shifts():
    return Estimator(threads=1, shifts=N - 1)


rng = np.random.default_rng(0)


def sliced():
    return Estimator(k=3, slices=8, threads=2)


def answer(estimator, queue):
    x = np.random.default_rng(1).standard_normal((N, 6))
    queue.put(estimator.estimate(x, x[:, ::-1] + 1).per_slice)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_process_estimates_like_its_parent():
    context = multiprocessing.get_context("fork")
    estimator, queue = sliced(), context.SimpleQueue()
    answer(estimator, queue)  # starts the threads, which the child lacks
    child = context.Process(target=answer, args=(estimator, queue), daemon=True)
    child.start()
    child.join(60)
    hangs = child.is_alive()
    child.kill()
    assert not hangs
    np.testing.assert_array_equal(queue.get(), queue.get())


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_estimators_are_copied_by_model_and_settings(way, tmp_path):
    path = tmp_path / "my.onnx"
    path.write_bytes(Estimator().model_file.bytes)
    x = rng.standard_normal((N, 6))
    for model in ("edge", path):
        one = Estimator(model, k=2, slices=3, sides="x", shifts=9, seed=4, threads=1)
        other = way(one)
        assert other.backend is not one.backend and other.backend.threads == 1
        assert other.model_file == one.model_file
        assert other.estimate(x, x[:, :2]).to_dict(True) == one.estimate(x, x[:, :2]).to_dict(True)


def test_a_pickle_is_small_and_names_its_model(tmp_path):
    path = tmp_path / "my.onnx"
    path.write_bytes(Estimator("edge").model_file.bytes)
    stored = pickle.dumps(Estimator(path))
    assert len(stored) < 1000
    path.write_bytes(Estimator("base").model_file.bytes)
    fails(ModelError, "not the file that this estimator was pickled with", pickle.loads, stored)
    path.unlink()
    fails(ModelError, r"my\.onnx", pickle.loads, stored)


def test_a_stream_goes_on_where_it_was_pickled():
    estimator = Estimator(threads=1)
    states = rng.standard_normal((90, 3))
    online = OnlineEstimator(estimator, window=50, resolution=0.01)
    for state in states[:70]:
        online.push(state)
    again = pickle.loads(pickle.dumps(online))
    for state in states[70:]:
        one, other = online.push(state), again.push(state)
        assert one.estimate.mi == other.estimate.mi
    assert again.counts == online.counts


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
        assert (owner != np.roll(owner, shift)).all() and (owner != np.roll(owner, -shift)).all()


def test_copies_have_the_error_of_what_was_copied(estimator, monkeypatch):
    """20 groups of 30 identical samples contain as much information as 20 samples."""
    monkeypatch.setattr(estimator, "backend", Positions())
    x, y = np.repeat(np.random.default_rng(2).standard_normal((20, 2)), 30, axis=0).T
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
    assert clustered_variance(white, np.arange(3000)) == pytest.approx(white.var(ddof=1), rel=1e-9)


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
        assert 1.5 < estimator.estimate(x, y, groups=groups).mi < np.log(20) + 1


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
    results = (estimator.estimate(x, y, time_series=own, groups=groups) for own in (False, True))
    assert len({result.noise for result in results}) == 1


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
