"""Conditional information and transfer entropy: closed forms, invariances, test, refusals."""

from dataclasses import replace

import numpy as np
import pandas
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_tools import conditional_mutual_information as conditional, transfer_entropy
from infoatlas_tools.analysis import conditional as module, conditional_test
from infoatlas_tools.analysis.conditional_test import conditional_statistics
from infoatlas_tools.analysis.conditioning import cells, entropy_given, residuals, spread_in_cells
from infoatlas_tools.analysis.independence import compare
from refusals import refuses

LOG2 = np.log(2)


def triple(n=400, rho=0.6, strength=2.0, dz=1, seed=0):
    """x, y [n] with partial correlation rho given z [n, dz]."""
    rng = np.random.default_rng(seed)
    z, x, e = rng.standard_normal((n, dz)), rng.standard_normal(n), rng.standard_normal(n)
    y = rho * x + np.sqrt(1 - rho**2) * e
    common = strength * z.sum(axis=1)
    return x + common, y - common, z


def series(n=500, coupling=0.6, seed=0):
    """White x, and y that follows x one step later, with the transfer entropy in closed form."""
    x, y = np.random.default_rng(seed).standard_normal((2, n))
    for t in range(1, n):
        y[t] += 0.5 * y[t - 1] + coupling * x[t - 1]
    return x, y, 0.5 * np.log(1 + coupling**2)


@pytest.mark.parametrize(("rho", "dz"), [(0.0, 1), (0.6, 1), (0.6, 4), (0.9, 2)])
def test_gaussian(estimator, rho, dz):
    found = conditional(*triple(rho=rho, dz=dz), estimator, permutations=0)
    truth = -0.5 * np.log(1 - rho**2)
    assert abs(found.mi - truth) < min(2.6 * found.stderr, 0.1) and found.stderr < 0.1
    assert np.isnan(found.p_value) and found.pointwise.mean() == pytest.approx(found.mi, abs=1e-6)
    assert "p =" not in str(found)
    for mi, p, said in ((-0.01, 0.01, True), (0.01, 0.01, False), (-0.01, 0.1, False)):
        assert ("the test detects" in str(replace(found, mi=mi, p_value=p))) == said


def test_strong_common_cause(estimator):
    """The chain rule of two estimates has a large error, because each is near its limit."""
    x, y, z = triple(n=400, rho=0.0, strength=15.0)
    found = conditional(x, y, z, estimator, permutations=0)
    pairs = (x[:, None], np.c_[y, z]), (x[:, None], z)  # not raised to the bound of residuals
    joint, single = (estimator.estimate_checked(Samples(*pair)) for pair in pairs)
    assert abs(found.mi) < 0.05 < abs(joint.mi - single.mi)


def test_copies_beyond_the_resolution_of_ranks_are_not_tested(estimator):
    """The error of the ranks of z, which both sides share, would count as dependence."""
    rng = np.random.default_rng(0)
    z, noise = rng.standard_normal(300), rng.standard_normal((2, 300))
    found = conditional(*np.exp(3 * (z + 0.1 * noise)), z, estimator, permutations=9)
    assert found.unresolved and np.isnan(found.p_value) and not len(found.null)
    assert str(found).endswith("[unresolved]") and found.to_dict()["unresolved"]
    for x in (z + 0.1 * noise[0], np.exp(3 * (z + 0.1 * noise[0]))):  # linear: values, not ranks
        found = conditional(x, z + 0.1 * noise[1], z, estimator, permutations=59)
        assert not found.unresolved and found.p_value > 0.05 and abs(found.mi) < 0.1


def test_switches(estimator):
    x, z = np.random.default_rng(0).integers(0, 2, (2, 300))
    synergy = conditional(x, x ^ z, z, estimator, permutations=9)
    assert synergy.mi == pytest.approx(LOG2, abs=0.02) and synergy.p_value == 0.1
    assert estimator.estimate(x, x ^ z).mi == pytest.approx(0, abs=0.02)
    given = (z, z, z), (x, x ^ z, np.c_[x, z])
    for redundant in (conditional(*sides, estimator) for sides in given):
        assert (redundant.mi, redundant.stderr, redundant.p_value) == (0, 0, 1)
        assert redundant.degenerate and "degenerate" in str(redundant)


@pytest.mark.parametrize("n", [400, 2000])
def test_at_most_the_entropy_given_z(estimator, n):
    """A register of 256 values, each held for 8 steps, and one that copies it 4 steps later."""
    given = np.repeat(np.random.default_rng(n).integers(0, 256, n // 8), 8)
    copy = np.r_[np.zeros(4, int), given[:-4]]
    found = transfer_entropy(given, copy, lag=4, estimator=estimator, permutations=0)
    truth = np.log(255) / 8 - np.log(1 / 8) / 8 - np.log(7 / 8) * 7 / 8
    assert found.mi == pytest.approx(truth, abs=0.2) and not found.saturated
    assert found.pointwise.mean() == pytest.approx(found.mi, abs=1e-5)


def test_entropy_given():
    rng = np.random.default_rng(0)
    z, counts, value = rng.integers(0, 50, 2000), rng.poisson(20, 2000), rng.standard_normal(2000)
    for side, given, truth in (
        (z, value, np.log(50)),
        (z % 2, z, 0.0),
        (counts, z, 2.917),
        (counts + z, z, 2.917),
    ):
        sides = (s.reshape(-1, 1).astype(float) for s in (side, given))
        assert truth - 0.05 < entropy_given(*sides) < truth + 0.2
    assert entropy_given(value[:, None], z[:, None]) == np.inf


def test_sides_are_exchangeable(estimator):
    x, y, z = triple()
    found = conditional(x, y, z, estimator, permutations=0)
    assert conditional(y, x, z, estimator, permutations=0).mi == pytest.approx(found.mi, abs=1e-6)
    scaled = conditional(3 * x + 1, -y, 0.1 * z, estimator, permutations=0)
    assert scaled.mi == pytest.approx(found.mi, abs=1e-3)
    warped = conditional(np.exp(x), y**3, np.sinh(z), estimator, permutations=0)  # ranks are used
    assert warped.mi == pytest.approx(found.mi, abs=0.05)


def test_noise_is_that_of_paired_influences(estimator):
    found = [conditional(*triple(n=100, seed=i), estimator, permutations=0) for i in range(10)]
    spread = np.std([one.mi for one in found], ddof=1)
    assert np.mean([one.noise for one in found]) == pytest.approx(spread, rel=0.6)
    for one in found:
        assert one.noise == pytest.approx(one.influence.std(ddof=1) / np.sqrt(100))


def p_value(x, y, z, trajectory=None, seed=0):
    sides = (np.reshape(side, (len(side), -1)).astype(float) for side in (x, y, z))
    return compare(*conditional_statistics(*sides, trajectory, 19, seed, 0.05))[1]


def smooth(n, rng):
    return np.convolve(rng.standard_normal(n + 14), np.hanning(17)[1:-1], "valid")


def curved(rng):
    """The curved effects of z on x and y are correlated."""
    z = rng.standard_normal((200, 2))
    x, y = 0.5 * rng.standard_normal((2, 200)) + np.sin(2 * z[:, 0])
    return x, y + z[:, 1] ** 2, z


def past_of_smooth_series(rng):
    x, y = smooth(241, rng), smooth(241, rng)
    return x[:-1], y[1:], y[:-1], np.zeros(240, int)


def classes(rng):
    z = rng.integers(0, 3, 120)
    return *rng.binomial(2, (1 + z) / 4, (2, 120)), z


def regimes(rng):
    z = rng.standard_normal(200)
    return *(rng.standard_normal((2, 200)) + 2 * np.sign(z)), z


@pytest.mark.parametrize("draw", [curved, past_of_smooth_series, classes, regimes])
def test_level(draw):
    p = [p_value(*draw(np.random.default_rng(i)), seed=i) for i in range(60)]
    assert np.mean(np.array(p) <= 0.1) <= 0.2  # (0.1 with a deviation of 0.04)
    assert np.mean(p) == pytest.approx(0.525, abs=0.12)


def test_power(estimator):
    found = conditional(*triple(n=100, rho=0.6), estimator, permutations=19)
    assert found.p_value == 0.05 and found.null.shape == (19,)
    assert found.statistic > found.null.max() and abs(found.null.mean()) < 0.5
    rng = np.random.default_rng(0)
    z, x, noise = rng.standard_normal((3, 300))
    for y in (x**2, np.sign(z) * x):  # neither is correlated with x
        assert p_value(x + z, y + z + 0.5 * noise, z) == 0.05
    a, b = rng.standard_normal((2, 300))  # x has two coordinates, and y is like their product
    assert p_value(np.c_[a + z, b - z], a * b + z + 0.5 * noise, z) == 0.05


def test_trajectories_are_shifted_one_by_one():
    trajectory = np.repeat([0, 1, 2], [5, 8, 3])
    orders = conditional_test._orders(np.zeros((16, 1)), trajectory, 9, np.random.default_rng(0))
    for order in orders:
        assert sorted(order) == list(range(16)) and (trajectory[order] == trajectory).all()
        assert set(np.diff(order[5:13])) <= {1, -7}


def test_an_estimate_that_is_not_positive_never_has_the_smallest_p(estimator, monkeypatch):
    largest = np.r_[9.0, np.zeros(19)]
    monkeypatch.setattr(module, "conditional_statistics", lambda *_: (largest, largest))
    found = [conditional(*triple(100, 0.0, seed=i), estimator, permutations=19) for i in range(6)]
    assert {one.p_value for one in found if one.mi <= 0} == {0.1}
    assert {one.p_value for one in found if one.mi > 0} == {0.05}


def test_transfer_entropy(estimator):
    x, y, truth = series()
    forward = transfer_entropy(x, y, estimator=estimator, permutations=9)
    back = transfer_entropy(y, x, estimator=estimator, permutations=9)
    assert forward.mi == pytest.approx(truth, abs=1.645 * forward.stderr)
    assert abs(back.mi) < 0.03 and forward.p_value == 0.1 < back.p_value
    assert forward.samples == len(x) - 1
    late = transfer_entropy(x, y, lag=2, history=2, estimator=estimator, permutations=0)
    assert late.samples == len(x) - 3
    # y_(t-1) and y_(t-2) determine the state two steps ago, so no information is left.
    assert abs(late.mi) < 0.03


def test_trajectories_are_not_joined(estimator):
    """Pieces of a series lose only their first steps; a jump between pieces is not a pair."""
    x, y, _ = series(240)
    offsets = 1e6 * np.arange(12)
    pieces = [np.split(side, 12) for side in (x, y)]
    moved = [[part + jump for part, jump in zip(side, offsets, strict=True)] for side in pieces]
    assert transfer_entropy(*pieces, estimator=estimator, permutations=0).samples == 240 - 12
    past = np.concatenate([part[:-1] for part in moved[0]])
    now, own = (np.concatenate([part[s] for part in moved[1]]) for s in (np.s_[1:], np.s_[:-1]))
    expected = conditional(past, now, own, estimator, time_series=True, permutations=0)
    again = transfer_entropy(*moved, estimator=estimator, permutations=0)
    assert again.mi == pytest.approx(expected.mi, abs=1e-9)
    assert again.noise >= expected.noise  # clustered by trajectory if that is larger


def test_names_and_views(estimator):
    x, y, z = triple(n=100)
    table = pandas.DataFrame({"torque": x, "slip": y, "load": z[:, 0]})
    sides = table["torque"], table[["slip"]], table["load"]
    found = conditional(*sides, estimator, permutations=5)
    assert str(found).startswith("I(torque; slip | load) = ")
    again = conditional(x, y, z, estimator, permutations=5)
    assert (again.p_value, again.mi) == (found.p_value, found.mi)
    frame = found.to_frame()
    assert frame["mi"][0] == found.mi and frame["question"][0] == found.question
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    assert found.plot(axes) is axes and "torque" in axes.get_title()
    named = transfer_entropy(table["torque"], table["slip"], estimator=estimator, permutations=0)
    assert str(named).startswith("T(torque -> slip, lag 1, history 1) = ")


def test_refusals(estimator):
    x, y, z = triple(n=60)
    wide = np.random.default_rng(0).standard_normal((60, 5))
    with pytest.raises(InputError, match=r'6 coordinates together with z.*pass the model "wide"'):
        conditional(x, y, wide, estimator)
    refuses("reduce z to a few features", conditional, x, y, np.tile(wide, 4), estimator)
    refuses("the estimator slices", conditional, x, y, z, Estimator(threads=1, k=1))
    refuses("x has 60 samples, y has 60 and z has 59", conditional, x, y, z[1:], estimator)
    refuses("y has 2: pass as many of each", transfer_entropy, [x], [y, y])
    refuses("of trajectory 1 has 60 steps and y", transfer_entropy, [x, x], [y, y[1:]])
    refuses("pass two lists, or two series", transfer_entropy, [x], y)
    with pytest.raises(InputError, match="need more than 60 steps, and the longest series has 60"):
        transfer_entropy(x, y, lag=60)


def test_residuals():
    x, _, z = triple(n=200)
    flag = (z[:, 0] > 0).astype(float)
    sides = np.c_[x, z[:, 0] ** 3, flag, np.ones(200)]
    found, unexplained, spread = residuals(sides, z, np.random.default_rng(0))
    assert not spread  # a flag is discrete
    assert abs(np.corrcoef(found[:, 0], z[:, 0])[0, 1]) < 0.1 and unexplained[0] < 0.5
    assert (found[:, 1] == 0).all()  # a monotone map of z
    assert (found[:, 2] == flag).all()  # discrete
    assert (found[:, 3] == 0).all()


def test_rounded_values_are_spread_within_their_cells():
    rng = np.random.default_rng(0)
    z = np.linspace(-1, 1, 300)[:, None]
    x = np.round(20 * z + rng.standard_normal((300, 1)))
    found = spread_in_cells(x[:, 0], rng)
    assert (np.diff(x[np.argsort(found), 0]) >= 0).all() and len(np.unique(found)) == 300
    assert residuals(x, z, rng).spread and not residuals(x, rng.random((300, 1)), rng).spread


@pytest.mark.parametrize("truth, rho", [(0.18, 0.6), (0.0, 0.0)])
def test_rounded_values_that_z_nearly_determines(estimator, truth, rho):
    """Both grids of residuals are shifted by z: the estimate was 0.9 nats, its error 1.2."""
    z, x, e = np.random.default_rng(0).standard_normal((3, 600))
    y = np.round(10 * z + rho * x + np.sqrt(1 - rho**2) * e)
    found = conditional(np.round(10 * z + x), y, z, estimator, permutations=0)
    assert abs(found.mi - truth) < 1.645 * found.stderr < 0.2


def test_rounded_values_that_are_independent_given_z(estimator):
    """With a step of three deviations, 15 of 16 such samples had the smallest p-value."""
    p = []
    for seed in range(6):
        z, x, y = np.random.default_rng(seed).standard_normal((3, 600))
        sides = (3 * np.round((30 * z + side) / 3) for side in (x, y))
        p.append(conditional(*sides, z, estimator, permutations=39).p_value)
    assert np.mean(np.array(p) <= 0.05) < 0.4


def test_cells():
    rng = np.random.default_rng(0)
    z = np.c_[rng.integers(0, 3, 300), rng.standard_normal(300)]
    cell = cells(z)
    sizes = np.bincount(cell)
    assert np.median(sizes) >= 8 and sizes.max() < 40  # (a class may be smaller than 8)
    for number in range(sizes.size):
        assert len(set(z[cell == number, 0])) == 1
    assert sorted(np.bincount(cells(z[:, :1]))) == sorted(np.bincount(z[:, 0].astype(int)))


def test_no_more_surrogates_than_are_needed(estimator):
    x, y, z = np.random.default_rng(1).standard_normal((3, 100))
    found = conditional(x, y, z, estimator, permutations=99)
    assert found.p_value > 0.2 and len(found.null) == 59
    assert len(conditional(x, x + y, z, estimator, permutations=99).null) == 99
