"""Screening of lags, features and pairs: results, corrected p-values, names and refusals."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import independence_test, lag_scan, rank_features
from infoatlas_tools.analysis.conditional import conditional_mutual_information
from infoatlas_tools.analysis.lagged import peaks
from infoatlas_tools.analysis.many_tests import adjust_p_values, null_keys
from infoatlas_tools.analysis.screening import pairwise_mutual_information
from refusals import refuses


@pytest.fixture(scope="module")
def table():
    """y depends on b linearly and on the square of d; other columns are noise."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 5))
    y = values[:, 1] + values[:, 3] ** 2 + 0.5 * rng.standard_normal(200)
    return pandas.DataFrame(values, columns=list("abcde")), y


def test_ranking(estimator, table):
    X, y = table
    calls = []
    found = rank_features(X, y, estimator, permutations=99, progress=lambda *n: calls.append(n))
    assert set(found.names[:2]) == {"b", "d"} and calls[-1] == (5, 5)
    assert [X.columns[i] for i in found.order] == list(found.names)
    assert (np.diff(found.mi) <= 0).all()
    assert (found.p_adjusted[:2] <= 0.05).all() and (found.p_adjusted[2:] > 0.05).all()
    expected = estimator.estimate(X["b"], y)
    at = found.names.index("b")
    assert (found.mi[at], found.stderr[at]) == pytest.approx((expected.mi, expected.stderr))
    assert list(found.to_frame().index) == list(found.names)
    assert str(found).count("\n") == 6  # with the sentence on p


def test_ranking_given_other_columns(estimator, table):
    X, y = table
    found = rank_features(X[["a", "d"]], y, estimator, given=X["b"], permutations=19)
    expected = conditional_mutual_information(X["d"], y, X["b"], estimator, permutations=19)
    assert found.names == ("d", "a") and found.p_adjusted[0] <= 0.1 < found.p_adjusted[1]
    assert (found.mi[0], found.p_value[0]) == (expected.mi, expected.p_value)
    with pytest.raises(InputError, match="groups cannot be used with given"):
        rank_features(X, y, estimator, given=X["b"], groups=np.arange(200) // 10)


def test_p_values_are_uniform_under_independence(estimator):
    """Columns of different distributions, with and without ties."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(4):
        X = np.c_[rng.standard_cauchy((50, 5)), rng.integers(0, 3, (50, 5)), rng.random((50, 5))]
        p.append(rank_features(X, rng.random(50), estimator, permutations=19).p_value)
    assert np.mean(p) == pytest.approx(0.525, abs=0.15) and np.mean(np.array(p) <= 0.1) <= 0.25


def test_groups_of_columns(estimator, table):
    X, y = table
    groups = {"both": ["b", 3], "rest": [0, 2, 4]}
    found = rank_features(X, y, estimator, features=groups, permutations=0)
    assert found.names == ("both", "rest") and found.mi[0] > 0.6
    assert np.isnan(found.p_value).all() and "p =" not in str(found)


def test_trajectories(estimator):
    """The noise is that of `estimate`, and the pairings are those of `independence_test`."""
    X = np.cumsum(np.random.default_rng(3).standard_normal((12, 4, 3)), axis=1).reshape(48, 3)
    groups = np.arange(12).repeat(4)
    options = {"permutations": 19, "groups": groups}
    for found, i, j in (
        (rank_features(X[:, :2], X[:, 2], estimator, **options), None, 2),
        (pairwise_mutual_information(X, estimator, **options), 0, None),
    ):
        order = found.order if i is None else found.pairs[:, 1]
        for place, column in enumerate(order):
            x, y = X[:, column if i is None else i], X[:, column if j is None else j]
            if i == 0 and found.pairs[place, 0]:
                continue
            single = estimator.estimate(x, y, groups=groups)
            assert (found.mi[place], found.noise[place]) == (single.mi, single.noise)
            alone = independence_test(x, y, estimator, **options).p_value
            assert found.p_value[place] == pytest.approx(alone, abs=0.4)


def test_pairs(estimator, table):
    X, y = table
    found = pairwise_mutual_information(X[["a", "b"]].assign(y=y), estimator, permutations=39)
    matrix = found.to_frame()
    assert list(matrix.columns) == list(matrix.index) == ["a", "b", "y"]
    assert matrix.loc["b", "y"] == matrix.loc["y", "b"] == estimator.estimate(X["b"], y).mi
    assert np.isnan(np.diag(matrix)).all() and found.matrix("p_value")[1, 2] == 1 / 40
    assert "\nb, y: " in str(found) and str(found).index("b, y") < str(found).index("a, b")
    refuses("value is 'rho': use one of mi, stderr", found.matrix, "rho")


def test_lags(estimator):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200)
    y = np.roll(x, 3) + 0.7 * rng.standard_normal(200)
    found = lag_scan(x, y, range(-1, 4), estimator, permutations=119)
    assert found.best == 3 and found.samples == 200 - 3
    assert list(found.lags[found.p_adjusted <= 0.05]) == [3]
    rows = np.arange(2, 199)
    expected = estimator.estimate(x[rows - 2], y[rows + 1], time_series=True)
    assert found.mi[4] == expected.mi and found.to_frame()["lag"].tolist() == list(range(-1, 4))
    assert "largest at lag 3 (90% interval 2.5 to 3)" in str(found)  # 3 is the last lag
    assert "lag 3: " in str(found) and ", p = 0.00833, corrected p = 0.0417" in str(found)
    assert "corrected p: for 5 tests at once (benjamini-hochberg)" in str(found)
    assert str(found).endswith("The largest value is at an end: try more lags")
    again = lag_scan(y, x, range(-3, 2), estimator, permutations=0)
    assert again.best == -3 and again.mi[::-1] == pytest.approx(found.mi, abs=0.03)


def test_no_lag_is_significant(estimator):
    """Independent autoregressive series."""
    noise = np.random.default_rng(0).standard_normal((2, 240))
    x, y = (np.convolve(side, 0.7 ** np.arange(20), "valid") for side in noise)
    found = lag_scan(x, y, range(0, 12, 3), estimator)
    assert (found.p_adjusted > 0.05).all()
    assert str(found).startswith("I(x(t-lag); y(t)): no lag is significant; largest at lag ")
    ends = replace(found, best=9.0), replace(found, best=4.0)
    assert ["at an end: try more lags" in str(each) for each in ends] == [True, False]


def test_a_saturated_lag_is_the_best(estimator):
    """y is a copy of x: the estimates at the lags beside it can be as large as a saturated one."""
    x = smooth_pair(0, 0.0)[0]
    x = np.c_[x, np.gradient(x[:, 0])]
    found = lag_scan(x[2:], x[:-2], range(-4, 5), estimator, permutations=0)
    assert list(found.lags[found.saturated]) == [2] and found.best == pytest.approx(2, abs=0.1)
    bound = np.floor(10 * found.at_least[found.top]) / 10
    assert f"lag 2: above {bound} nats [saturated]\n" in str(found)
    assert str(found).count("above") == 1 and "saturated: one side determines" in str(found)


def test_kinds_of_data_are_flagged_in_tables(estimator):
    """Lost values in many patterns, and sides of many magnitudes."""
    x, noise, drawn = np.random.default_rng(0).standard_normal((3, 300, 4))
    y = np.where(drawn < -0.5, -1.0, x + 0.25 * noise)
    found = rank_features(x, y, estimator, features={"all": range(4)}, permutations=0)
    assert found.atoms[0] >= 12 and "[atoms]\natoms: many samples share" in str(found)
    assert rank_features(x[:, 3], y, estimator, given=x[:, 2], permutations=0).atoms[0] >= 12
    wild = np.exp(9 * np.c_[x[:, 0], x[:, 0] + 0.1 * noise[:, 0]])
    found = pairwise_mutual_information(wild, estimator, permutations=0)
    assert found.heavy_tails.all() and "heavy_tails: both sides spread" in str(found)


def smooth_pair(seed, lag, noise=0.5, dims=1, steps=300):
    """y follows a smooth x after `lag` steps, a twelfth of a step being the finest."""
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((12 * steps + 1000, dims))
    path = np.stack([np.convolve(side, np.hanning(86), "same") for side in raw.T], axis=1)
    at = 12 * np.arange(20, steps)
    x, y = path[at], path[at - round(12 * lag)]
    return x, y + noise * y.std(axis=0) * rng.standard_normal(y.shape)


def test_the_best_lag_at_fractions_of_a_step(estimator):
    """Intervals of lags 5 and 6 overlap, and that of the best lag is a fraction of a step."""
    for lag in (5.0, 5.5):
        found = lag_scan(*smooth_pair(0, lag), range(12), estimator, permutations=0)
        low, high = found.interval
        assert low <= lag <= high and abs(found.best - lag) < 0.2 and high - low < 0.6
    assert abs(found.mi[5] - found.mi[6]) < found.stderr[5]
    x, y = smooth_pair(1, 3.0)
    rng = np.random.default_rng(1)
    low, high = lag_scan(x, rng.permutation(y), range(12), estimator, permutations=0).interval
    assert high - low > 5  # there is no best lag


@pytest.mark.parametrize("dims", [1, 3])
def test_the_best_lag_of_series_with_little_noise(estimator, dims):
    """The estimates have a cusp at the true lag: a parabola through them misses it."""
    for lag in (5 + 1 / 6, 5 + 1 / 3, 5 + 2 / 3):
        inside = 0
        for seed in range(5):
            x, y = smooth_pair(seed, lag, 0.03, dims)
            found = lag_scan(x, y, range(3, 9), estimator, permutations=0)
            low, high = found.interval
            inside += low <= lag <= high
            assert abs(found.best - lag) < 0.1 and high - low < 0.4
        assert inside >= 4


def test_tops_of_curves():
    """rho² is a parabola or two lines; of two coordinates, the information is twice as much."""
    lags = np.array([0, 2, 4])
    parabola, lines = 0.9 - 0.1 * (lags - 2.5) ** 2, 0.9 - 0.1 * abs(lags - 2.5)
    mi = -0.5 * np.log1p(-np.stack([parabola, lines, lags / 5, 0.8 - lags / 5, 0 * lags]))
    for dims in (1, 2):
        low, best, high = peaks(lags, dims * mi, dims).T
        assert low[0] == pytest.approx(2.5) and high[1] == pytest.approx(2.5)
        np.testing.assert_allclose(best[:2], (low + high)[:2] / 2)
        np.testing.assert_allclose(best[2:], [4, 0, 0], atol=1e-9)
        np.testing.assert_allclose([low[2:], high[2:]], [[3, 0, 0], [4, 1, 1]], atol=1e-9)
    np.testing.assert_allclose(peaks(np.array([0, 1, 4]), mi[:1], 1), [[0.5, 1, 2.5]])
    np.testing.assert_allclose(peaks(lags[:1], mi[:, :1], 1), np.zeros((5, 3)))


def test_lags_of_trajectories(estimator):
    rng = np.random.default_rng(2)
    x = [rng.standard_normal(n) for n in (80, 40, 3, 60)]
    found = lag_scan(x, [np.roll(side, 1) for side in x], [0, 1, 4], estimator, permutations=0)
    assert found.best == pytest.approx(1, abs=0.1) and found.samples == 80 + 40 + 60 - 3 * 4


def test_a_motion_that_all_trajectories_share_is_no_dependence(estimator):
    """Complete trajectories are exchanged, also of different lengths; few have no small p."""
    rng = np.random.default_rng(0)
    paths = [np.linspace(0, 3, n) for n in rng.integers(30, 50, 8)]
    x, y = (
        [shape(u) + 0.5 * rng.standard_normal(len(u)) for u in paths] for shape in (np.sin,) * 2
    )
    found, shifted = (
        lag_scan(x, y, [0], estimator, permutations=39, repeated=repeated)
        for repeated in (True, False)
    )
    assert found.p_adjusted.min() > 0.05 > shifted.p_adjusted.min()
    assert "39 group permutations" in str(found) and "39 circular shifts" in str(shifted)
    own = [b + 2 * (a - np.sin(u)) for a, b, u in zip(x, y, paths, strict=True)]
    assert lag_scan(x, own, [0], estimator, permutations=39).p_adjusted[0] <= 0.05
    few = lag_scan(x[:3], y[:3], [0, 1], estimator, permutations=39)
    assert few.permutations == 5 and few.least_adjusted == pytest.approx(2 / 6)


def test_executor_and_pictures(estimator, table):
    X, y = table
    Figure = pytest.importorskip("matplotlib.figure").Figure
    with ThreadPoolExecutor(2) as executor:
        options = {"permutations": 19, "executor": executor}
        ranked = rank_features(X, y, estimator, **options)
        results = [ranked, pairwise_mutual_information(X[["a", "b", "c"]], estimator, **options)]
        results.append(lag_scan(X["a"], y, [0, 1], estimator, **options))
    again = rank_features(X, y, estimator, permutations=19)
    assert (again.p_value == ranked.p_value).all() and (again.mi == ranked.mi).all()
    for result in results:
        axes = Figure().subplots()
        assert result.plot(axes) is axes


def test_corrections():
    """The second p-value of Benjamini and Hochberg is bounded by the third."""
    p = np.array([0.01, 0.04, 0.03, 0.5])
    corrected = adjust_p_values(p, "benjamini-hochberg")
    assert corrected == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert adjust_p_values(p, "holm") == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert adjust_p_values(p, "none") is p


def test_a_constant_feature_is_degenerate(estimator):
    x = np.random.default_rng(0).standard_normal((200, 2))
    found = rank_features(np.c_[x, np.ones(200)], x[:, 0], estimator, permutations=0)
    assert [line for line in str(found).splitlines() if "degenerate" in line] == [
        "x2: 0.000 ± 0.000 nats [degenerate]"
    ]


def test_refusals(estimator, table):
    X, y = table
    wide = pandas.DataFrame(np.random.default_rng(0).standard_normal((200, 7)))
    with pytest.raises(InputError, match=r"feature 'all' would be sliced.* accepts 5 .*'?wide"):
        rank_features(wide, y, estimator, features={"all": range(6), "one": [6]})
    with pytest.raises(InputError, match="feature 'f' has the column 'q', and X has none"):
        rank_features(X, y, estimator, features={"f": ["q"]})
    refuses("feature 'f' has no columns", rank_features, X, y, estimator, features={"f": []})
    with pytest.raises(InputError, match="features is of type list: pass sets of columns"):
        rank_features(X, y, estimator, features=["a"])
    with pytest.raises(InputError, match="a column of feature 'f' is None, but has to be an"):
        rank_features(X, y, estimator, features={"f": None})
    refuses("there are no features", rank_features, X, y, estimator, features={})
    with pytest.raises(InputError, match="correction is 'bh': use one of benjamini-hochberg"):
        rank_features(X, y, estimator, correction="bh")
    refuses("X has one column", pairwise_mutual_information, y, estimator)
    refuses("there are no lags", lag_scan, y, y, [], estimator)
    refuses(r"pass a sequence of int, as range\(20\)", lag_scan, y, y, 20, estimator)


def test_columns_without_ties_share_one_null_distribution():
    rng = np.random.default_rng(0)
    columns = [rng.standard_normal((100, 1)), rng.random((100, 1)), rng.standard_cauchy((100, 1))]
    flags = [rng.permutation(np.repeat([0.0, 1.0], 50))[:, None] for _ in range(2)]
    y = rng.standard_normal((100, 1))
    keys = null_keys([(side, y) for side in (*columns, *flags)], alone=False)
    assert len(set(keys[:3])) == 1 and keys[3] == keys[4] != keys[0]
    assert len(set(null_keys([(side, y) for side in columns], alone=True))) == 3


def test_a_constant_lag_gives_no_null_distribution_to_the_others(estimator):
    """x moves only in the first steps, so it is constant at the smallest lag."""
    rng = np.random.default_rng(0)
    x, y = np.zeros(200), rng.standard_normal(200)
    x[:5] = rng.standard_normal(5)
    found = lag_scan(x, y, [0, 10], estimator, permutations=39)
    assert found.p_value[0] == 1 and found.p_value[1] > 0.1


def test_repeated_and_reordered_names_are_refused(estimator):
    rng = np.random.default_rng(0)
    twice = pandas.DataFrame(rng.standard_normal((80, 3)), columns=["a", "b", "a"])
    with pytest.raises(InputError, match="several columns named a: rename"):
        rank_features(twice, rng.standard_normal(80), estimator)
    one = pandas.DataFrame(rng.standard_normal((80, 2)), columns=["a", "b"])
    series = [one, one[["b", "a"]]]
    with pytest.raises(InputError, match=r"x of trajectory 1 has the columns b, a, and that of"):
        lag_scan(series, [np.arange(80.0)] * 2, [1], estimator)


def test_noise_of_a_lag_is_clustered_by_trajectory(estimator):
    """Each trajectory has its own offset, so the effective samples are the trajectories."""
    rng = np.random.default_rng(0)
    offsets = rng.standard_normal((12, 1, 2))
    x, y = np.moveaxis(offsets + 0.3 * rng.standard_normal((12, 30, 2)), 2, 0)
    found = lag_scan(list(x), list(y), [0], estimator, permutations=0)
    one = estimator.estimate(x.ravel(), y.ravel(), time_series=True)
    assert found.noise[0] > 1.5 * one.noise
    assert found.stderr[0] > one.stderr and found.mi[0] == pytest.approx(one.mi)


def test_too_few_permutations_are_reported(estimator):
    rng = np.random.default_rng(0)
    found = rank_features(rng.random((60, 4)), rng.random(60), estimator, permutations=19)
    assert found.least_adjusted == pytest.approx(4 / 20)
    assert "with 19 permutations, a single dependence has 0.2 or more" in str(found)


def test_walks_are_not_taken_for_independent_rows_without_a_word(estimator):
    walks = np.random.default_rng(1).standard_normal((300, 3)).cumsum(axis=0)
    x, y, z = walks.T
    tests = [
        lambda **how: rank_features(walks[:, :2], z, estimator, permutations=19, **how),
        lambda **how: pairwise_mutual_information(walks, estimator, permutations=19, **how),
        lambda **how: conditional_mutual_information(x, y, z, estimator, permutations=19, **how),
        lambda **how: independence_test(x, y, estimator, permutations=19, **how),
    ]
    for test in tests:
        found, series = test(), test(time_series=True)
        assert found.autocorrelated and "neighbouring rows are similar" in str(found)
        assert not series.autocorrelated and "neighbouring" not in str(series)
    groups = np.repeat(np.arange(6), 50)
    assert not rank_features(walks[:, :2], z, estimator, groups=groups).autocorrelated
