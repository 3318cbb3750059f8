"""Slices in canonical form: the engine agrees with slicing.py and canonical.py.

Directions of equal canonical correlation have no unique basis. The engine and LAPACK may choose
different bases, which have to span the same space.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import inputs
from infoatlas_native import Engine
from infoatlas_rt import Estimator
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.estimation import slicing
from infoatlas_rt.estimation.canonical import Canonical, canonicalise, score_table, standardise
from infoatlas_rt.models import model_file
from inputs import REGIMES
from refusals import fails

WIDE = make_backend(model_file.load("wide"), "native", 2)
DIM = 20
CORRELATIONS = 1e-10
NEAR = 1e-5  # difference of correlations below which directions form a group
FORM = 2e-5  # tolerance of canonical samples and of their products


def both(x, y, projections_x=None, projections_y=None, backend=WIDE):
    """Canonical forms by the engine and by Python."""
    sides = (x, projections_x), (y, projections_y)
    slices = max(1 if p is None else len(p) for _, p in sides)
    wanted = canonicalise(
        *(
            np.broadcast_to(side, (slices, *side.shape)) if p is None else slicing.project(side, p)
            for side, p in sides
        ),
        DIM,
    )
    found = backend.canonicalise(x, y, projections_x, projections_y, score_table(len(x)))
    return Canonical(*found), wanted


def compare(found, wanted):
    for name in ("x", "y"):
        values, other = getattr(found, name), getattr(wanted, name)
        assert values.dtype == np.float32 and values.shape == other.shape
    for name in ("rank_x", "rank_y", "saturated"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_allclose(found.correlations, wanted.correlations, atol=CORRELATIONS, rtol=0)
    assert ((np.diff(found.correlations) <= 0) & (found.correlations[:, 1:] >= 0)).all()
    for i, correlations in enumerate(wanted.correlations):
        for side, rank in ((found.x[i], found.rank_x[i]), (found.y[i], found.rank_y[i])):
            np.testing.assert_allclose(side[:, rank:], 0, atol=FORM)
        starts = np.flatnonzero(np.diff(correlations, prepend=np.inf) < -NEAR)
        for group in np.split(np.arange(len(correlations)), starts[1:]):
            compare_group(correlations[group[0]] > NEAR, *(
                side[i][:, group].astype(float)
                for side in (found.x, found.y, wanted.x, wanted.y)
            ))  # fmt: skip


def compare_group(paired, x, y, wanted_x, wanted_y):
    """Compare directions [n, group] up to rotation; a single one has a sign, if defined."""
    if x.shape[1] == 1:
        both, shared = (x**3 + y**3).sum(), (x * y * (x + y)).sum()
        alone = min(abs((side**3).sum()) for side in (x, y))
        if (max(abs(both), abs(shared)) if paired else alone) > 1e-6 * len(x):
            np.testing.assert_allclose(x, wanted_x, atol=FORM)
            np.testing.assert_allclose(y, wanted_y, atol=FORM)
            return
    x, y, wanted_x, wanted_y = (side[:200] for side in (x, y, wanted_x, wanted_y))
    pairs = [(x, x, wanted_x, wanted_x), (y, y, wanted_y, wanted_y)]
    if paired:  # both sides rotate together
        pairs.append((x, y, wanted_x, wanted_y))
    for left, right, wanted_left, wanted_right in pairs:
        np.testing.assert_allclose(left @ right.T, wanted_left @ wanted_right.T, atol=50 * FORM)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("n", [32, 100, 256, 257, 5000])
def test_the_regimes(regime, n):
    for width in (1, 2, 3, 5, 11, 20):
        rng = np.random.default_rng([n, width])
        x = rng.standard_normal((n, width))
        y = REGIMES[regime](rng, x)
        compare(*both(x, y))


@pytest.mark.parametrize("dx", [1, 2, 3, 7, 11, 13, 20])
@pytest.mark.parametrize("dy", [1, 2, 5, 6, 12, 19])
def test_sides_of_different_widths(dx, dy):
    """Correlations do not determine the last directions of the wider side; LAPACK's are used."""
    rng = np.random.default_rng([dx, dy])
    x, noise = rng.standard_normal((200, dx)), rng.standard_normal((200, dy))
    y = noise + x @ rng.standard_normal((dx, dy)) / 3
    found, wanted = both(x, y)
    compare(found, wanted)
    np.testing.assert_allclose(found.x, wanted.x, atol=FORM)
    np.testing.assert_allclose(found.y, wanted.y, atol=FORM)


@pytest.mark.parametrize("rank", [1, 3, 4])
@pytest.mark.parametrize("dy", [1, 2, 6])
def test_dropped_directions_come_last(rank, dy):
    """They are not before kept directions without correlation."""
    rng = np.random.default_rng([rank, dy])
    levels = rng.integers(0, 3, (300, rank))
    x = np.concatenate([levels, levels, levels[:, :1]], axis=1).astype(float)
    found, wanted = both(x, x[:, :1] + rng.standard_normal((300, dy)))
    assert found.rank_x[0] == rank
    compare(found, wanted)


@pytest.mark.parametrize("slices", [1, 2, 40, 200])
@pytest.mark.parametrize("sides", ["both", "x", "y"])
def test_slices(slices, sides):
    rng = np.random.default_rng(slices)
    dx, dy = (41 if sides in ("both", side) else 4 for side in "xy")
    x = rng.standard_normal((100, dx))
    y = x[:, :dy] if dx >= dy else np.concatenate([x] * 11, axis=1)[:, :dy]
    y = y + rng.standard_normal(y.shape)
    plan = slicing.plan(dx, dy, DIM, k=4, slices=slices, sides=sides)
    x, y = (
        side if projections is None else standardise(side)
        for side, projections in ((x, plan.x), (y, plan.y))
    )
    found, wanted = both(x, y, plan.x, plan.y)
    compare(found, wanted)
    np.testing.assert_allclose(found.x, wanted.x, atol=FORM)
    assert len(found.x) == slices


def test_equal_samples_stay_equal_in_all_slices():
    """Equal samples are equal after rounding, wherever they are."""
    rng = np.random.default_rng(0)
    few = rng.standard_normal((7, 41))
    rows = rng.integers(0, 7, 203)
    x = standardise(few[rows])
    plan = slicing.plan(41, 41, DIM, k=5, slices=30)
    found, wanted = both(x, x, plan.x, plan.y)
    compare(found, wanted)
    for row in range(7):
        assert (np.ptp(found.x[:, rows == row], axis=1) == 0).all()


EXTREME = {
    "denormal": lambda v: v * 1e-310,
    "huge": lambda v: v * 1e307,
    "beyond float32": lambda v: v * 1e200,
    "alike in float32": lambda v: 1 + v * 1e-12,
    "signed zeros": lambda v: np.where(np.abs(v) < 0.7, np.copysign(0.0, v), v),
    "two values": np.signbit,
    "constant": np.ones_like,
}


@pytest.mark.parametrize("case", EXTREME)
@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("threads", [1, 3])
def test_ranks_of_any_values(case, n, threads):
    backend = make_backend(model_file.load("wide"), "native", threads)
    rng = np.random.default_rng(n)
    x = EXTREME[case](rng.standard_normal((n, 1))).astype(float)
    compare(*both(x, x + 0 * x, backend=backend))
    compare(*both(np.concatenate([x, rng.standard_normal((n, 3))], axis=1), x, backend=backend))


def test_a_rank_beside_the_tolerance():
    """Directions of little variance are kept or dropped as in Python."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((300, 1))
    for scale in (1e-1, 1e-2, 3e-3, 1e-3, 1e-5):
        x = common + scale * rng.standard_normal((300, 6))
        found, wanted = both(x, common + rng.standard_normal((300, 2)))
        np.testing.assert_array_equal(found.rank_x, wanted.rank_x)
        np.testing.assert_allclose(found.correlations, wanted.correlations, atol=1e-9)


@pytest.mark.parametrize("threads", [1, 3])
def test_same_bits_whatever_the_threads_and_the_other_slices(threads):
    rng = np.random.default_rng(0)
    x, y = (standardise(rng.standard_normal((300, 30))) for _ in "xy")
    plan = slicing.plan(30, 30, DIM, k=7, slices=9)
    wanted = WIDE.canonicalise(x, y, plan.x, plan.y, score_table(300))
    backend = make_backend(model_file.load("wide"), "native", threads)
    for part in (slice(0, 9), slice(3, 4), slice(5, 9)):
        found = backend.canonicalise(x, y, plan.x[part], plan.y[part], score_table(300))
        for values, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(values, other[part])


def test_the_gil_is_released():
    """Another Python thread counts while slices are prepared."""
    rng = np.random.default_rng(0)
    x, projections = rng.standard_normal((5000, 41)), rng.standard_normal((60, 5, 41))
    table = np.linspace(-2, 2, 9999)
    given = x, x, projections, projections, table
    assert inputs.counted_meanwhile(lambda: ENGINE.canonicalise(*given)) > 20


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("model", ["edge", "wide"])
@pytest.mark.parametrize("n", [60, 100, 1000])
def test_estimates(regime, model, n):
    """The complete engine compared with its model on samples that Python prepares.

    Several directions of a copy have the correlation 1 up to rounding, so the model gets another
    basis, as in Python with another seed. The estimates, which are bounds, differ within `stderr`.
    """
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 3 if model == "edge" else 12))
    y = REGIMES[regime](rng, x)
    estimator = Estimator(model, provider="native")
    found = estimator.estimate(x, y)
    backend, estimator.backend = estimator.backend, Unprepared(estimator.backend)
    wanted = estimator.estimate(x, y)
    assert backend.provider == "native"
    assert (found.rank_x, found.saturated) == (wanted.rank_x, wanted.saturated)
    assert found.gaussian == pytest.approx(wanted.gaussian, abs=1e-6)
    assert (found.at_least is None) == (wanted.at_least is None)
    if found.at_least is not None:  # the estimate is a bound, because rounding decides it
        assert found.mi == pytest.approx(wanted.mi, abs=wanted.stderr)
        return
    assert found.mi == pytest.approx(wanted.mi, abs=1e-3)
    assert found.stderr == pytest.approx(wanted.stderr, rel=0.01)
    np.testing.assert_allclose(found.influence, wanted.influence, atol=5e-3, rtol=2e-3)


class Unprepared:
    """The model of the engine without preparation."""

    provider, threads = "cpu", 1

    def __init__(self, backend):
        self.run = backend.run


ENGINE = Engine(inputs.content("edge"))
N, D = 40, 6
GIVEN = {
    "x": np.random.default_rng(0).standard_normal((N, D)),
    "y": np.random.default_rng(1).standard_normal((N, D)),
    "projections_x": np.ones((3, 2, D)),
    "projections_y": np.ones((3, 2, D)),
    "score_table": np.linspace(-2, 2, 2 * N - 1),
}
REFUSED = {
    "type": ({"x": GIVEN["x"].astype(np.float32)}, "x is not an array of float64"),
    "samples": ({"y": GIVEN["y"][1:].copy()}, r"y has shape \[39, 6\] instead of \[40, any"),
    "one sample": ({"x": GIVEN["x"][:1], "score_table": np.zeros(1)}, "fewer than 2"),
    "no coordinates": ({"x": np.zeros((N, 0)), "projections_x": np.zeros((3, 2, 0))}, "x has sli"),
    "no dimensions": ({"projections_x": np.zeros((3, 0, D))}, r"x has slices of 0 coordinates"),
    "too wide": ({"projections_y": np.ones((3, 6, D))}, r"y has slices of 6 .* in 1\.\.5"),
    "unsliced too wide": ({"projections_x": None}, "x has slices of 6"),
    "other widths": ({"projections_x": np.ones((3, 2, D + 1))}, r"projections of x has shape"),
    "other slices": ({"projections_y": np.ones((4, 2, D))}, r"projections of y has shape"),
    "table": ({"score_table": np.zeros(2 * N)}, r"score_table has shape \[80\] instead of \[79\]"),
    "not contiguous": ({"x": np.asfortranarray(GIVEN["x"])}, "x is not contiguous"),
    "one dimension": ({"x": np.zeros(N)}, "x has shape"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_arrays(case):
    change, message = REFUSED[case]
    fails(ValueError, message, ENGINE.canonicalise, **GIVEN | change)


@given(st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_values_are_taken(data):
    """Invalid values give arrays of the right shape, and the next call is unaffected."""
    wanted = ENGINE.canonicalise(**GIVEN)
    n, d = data.draw(st.sampled_from([2, 3, 40, 300])), data.draw(st.integers(1, 5))
    values = st.floats(width=64)
    special = data.draw(st.lists(values, min_size=1, max_size=20))
    rng = np.random.default_rng(data.draw(st.integers(0, 5)))
    x, y = rng.choice(special, (2, n, d))
    found = ENGINE.canonicalise(x, y, None, None, np.linspace(-2, 2, 2 * n - 1))
    assert found[0].shape == (1, n, 5)
    for value, other in zip(ENGINE.canonicalise(**GIVEN), wanted, strict=True):
        np.testing.assert_array_equal(value, other)
