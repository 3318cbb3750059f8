"""Invalid inputs are refused, unusual ones accepted; all types have the same meaning."""

import warnings

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt import Estimator, InputError, estimate
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation.canonical import clip_outliers
from infoatlas_rt.estimation.prepare import MAX_SAMPLES
from infoatlas_rt.inputs.checks import as_rate, as_resolution, as_samples
from infoatlas_rt.streams.online import OnlineEstimator
from refusals import refuses

N = 100


def pairs(n=N, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, 0.7 * x + rng.standard_normal((n, d))


def assert_sound(result, n=N):
    assert result.samples == n and result.pointwise.shape == result.influence.shape == (n,)
    numbers = [result.mi, result.stderr, result.effective_samples, result.rank_x, result.rank_y]
    for values in (numbers, result.per_slice, result.pointwise, result.influence):
        assert np.isfinite(values).all()
    assert result.stderr >= 0


# ---- refused ------------------------------------------------------------------------------------


def test_not_finite_is_counted():
    x = np.zeros((50, 3))
    x[3, 2] = np.inf
    x[4:6] = np.nan
    refuses(r"6 NaN and 1 infinite.*sample 3, coordinate 2", as_samples, x, "x")


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no long double")
def test_long_double_out_of_range():
    refuses("1 infinite", as_samples, np.array([1, np.finfo(np.longdouble).max]), "x")


@pytest.mark.parametrize(
    ("check", "value", "text"),
    [
        (as_rate, np.array([0, 0.1]), r"rate is \[0.0, 0.1\], but has to be samples per second"),
        (as_rate, np.float64(0), r"rate is 0.0, but .*1e-06 to 1e\+09"),
        (as_rate, 1e-320, "rate is 1e-320, but"),  # its step would be infinite
        (lambda v, n: as_resolution(v, 3, n), np.arange(2.0), r"rate is \[0.0, 1.0\], but has"),
        (as_samples, [], r"rate is empty \(shape \(0,\)\): pass"),
    ],
)
def test_errors_show_what_was_passed(check, value, text):
    refuses(text, check, value, "rate")


def test_too_few(estimator):
    least = estimator.model_file.n_min
    x, y = pairs(least)
    assert_sound(estimator.estimate(x, y), least)
    with pytest.raises(InputError, match=f"{least - 1} samples are fewer than the {least}.*longer"):
        estimator.estimate(x[1:], y[1:])


def test_too_many(estimator):
    with pytest.raises(InputError, match=f"the {MAX_SAMPLES} that fit.*subset"):
        estimator.estimate(np.zeros(MAX_SAMPLES + 1), np.zeros(MAX_SAMPLES + 1))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(N, dtype=complex), "is complex: stack its real and imaginary parts"),
        ([1.0, 2j] * (N // 2), "is complex"),
        (np.array([1, 2j] * (N // 2), object), r"is complex at index \[1\]"),
        (np.array(["1.0"] * N), "contains text, as '1.0': convert it"),
        ("text", "contains text, as 'text'"),
        ([b"1"] * N, "contains text, as b'1'"),
        (np.array([1, "a"] * (N // 2), object), r"contains text, as 'a' at index \[1\]"),
        (np.array([1.0, None] * (N // 2), object), r"contains None at index \[1\]: remove it"),
        (np.zeros(N, dtype="datetime64[s]"), r"contains times \(datetime64\[s\]\): pass seconds"),
        (np.zeros(N, dtype=[("a", float)]), r"has named fields \(a\): stack them"),
        (None, "^x is None: pass an array of real numbers$"),
        ({"a": 1}, "is of the type dict: pass an array"),
        ([{"a": 1}] * N, r"contains no real number at index \[0\] but dict"),
        ([[1.0, 2.0], [1.0]] * (N // 2), "cannot be read|but list"),  # NumPy: from 1.24 on, before
        ([1, "a"] * (N // 2), "contains text, as '1'"),
        ([10**400, 1] * (N // 2), "real numbers end at"),
        (3.0, "is one number, but samples are"),
        ([], "is empty.*at least one sample"),
        (np.zeros((5, N, 2)), r"\[n\] or \[n, d\]"),
        (np.zeros((N, 0)), "is empty.*at least one coordinate"),
    ],
)
def test_types_that_are_no_numbers(estimator, values, message):
    """The message names the value that was passed: None is not a complex number."""
    with pytest.raises(InputError, match=message) as caught:
        estimator.estimate(values, np.zeros(N))
    assert "complex" in message or "complex" not in str(caught.value)


def test_array_that_cannot_be_read():
    class OnDevice:
        def __array__(self, *args, **kwargs):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    refuses(r"OnDevice.*cuda:0", as_samples, OnDevice(), "x")


def test_options_of_the_kept_estimator_are_checked_too():
    """One is kept for k=1, and True equals 1."""
    x, y = pairs()
    assert estimate(x, y, k=1, slices=2).k == 1
    refuses("k is True", estimate, x, y, k=True, slices=2)
    refuses("k is", estimate, x, y, k=[1])
    refuses("time_series is 'no'", estimate, x, y, time_series="no")


def test_engine_errors_are_model_errors(estimator, monkeypatch):
    """For example a lack of memory; the message has one line with advice."""

    class Session:
        def run(self, *_):
            raise RuntimeError("bfc_arena.cc:376 Failed to allocate memory\nmore of the same")

    other = Estimator(threads=1)
    monkeypatch.setattr(other.backend, "_session", Session())
    with pytest.raises(ModelError, match=r"allocate memory\. .*fewer samples, slices") as caught:
        other.estimate(*pairs())
    assert "\n" not in str(caught.value)


# ---- accepted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"k": 2, "slices": 4}])
def test_input_is_left_alone(options):
    x, y = pairs(d=3)
    before = x.copy(), y.copy()
    Estimator(threads=1, **options).estimate(x, y, resolution_x=0.1)
    np.testing.assert_array_equal((x, y), before)


@pytest.mark.parametrize(
    ("d", "options"),
    [(2, {}), (1, {}), (7, {"slices": 4}), (7, {"k": 3, "slices": 4}), (3, {"k": 1})],
)
@pytest.mark.parametrize("resolution", [None, 0.25])
def test_constant_coordinates_change_nothing(d, options, resolution):
    """Bit for bit, at any position, also if the resolution makes them constant."""
    estimator = Estimator(threads=1, **options)
    x, y = pairs(d=d)
    settings = {"time_series": True, "resolution_x": resolution}
    expected = estimator.estimate(x, y, **settings)
    still = np.full(N, 0.1) if resolution is None else 0.1 + 1e-3 * np.sin(np.arange(N))
    for at in (0, d // 2, d):
        wider = np.insert(x, at, still, axis=1)
        for a, b, where in ((wider, y, (at,)), (wider, np.insert(y, at, -7.0, axis=1), (at,))):
            found = estimator.estimate(a, b, **settings)
            assert found.constant_x == where
            for name in ("mi", "stderr", "noise", "rank_x", "rank_y", "autocorrelated"):
                assert getattr(found, name) == getattr(expected, name), name
            for name in ("per_slice", "pointwise", "influence"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("options", [{}, {"k": 2, "slices": 4}])
@pytest.mark.parametrize("sides", ["x", "y", "both"])
def test_all_constant(options, sides):
    x, y = pairs(d=3)
    x = np.full_like(x, -3.5) if sides != "y" else x
    y = np.full_like(y, 1e9) if sides != "x" else y
    result = Estimator(threads=1, **options).estimate(x, y, time_series=True)
    assert_sound(result)
    assert result.degenerate and result.mi == result.stderr == 0
    assert result.constant_x == ((0, 1, 2) if sides != "y" else ())
    assert result.constant_y == ((0, 1, 2) if sides != "x" else ()) and "degenerate" in str(result)
    assert not result.saturated


def test_x_is_y(estimator):
    x, y = pairs(d=3)
    result = estimator.estimate(x, x)
    assert_sound(result)
    assert result.saturated and "saturated" in str(result)
    assert not estimator.estimate(x, y).saturated
    # Slices of the two sides differ, so they are strongly dependent, but not copies.
    assert_sound(Estimator(threads=1, k=2, slices=4).estimate(x, x))
    assert Estimator(threads=1, k=1, slices=4).estimate(x[:, 0], x[:, 0]).saturated


@pytest.fixture(scope="module")
def latent_pairs():
    """Twelve coordinates per side with three common latent ones, and their sliced estimate."""
    rng = np.random.default_rng(8)
    z = rng.standard_normal((N, 3))
    x, y = (z @ rng.standard_normal((3, 12)) + 0.5 * rng.standard_normal((N, 12)) for _ in range(2))
    estimator = Estimator(threads=1, slices=20)
    return estimator, x, y, estimator.estimate(x, y)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e12, 1e100, 1e300])
@pytest.mark.parametrize("which", [slice(None), 4])
def test_one_glitch_does_not_dominate_a_sliced_estimate(latent_pairs, size, which):
    """Without a limit of its deviation, an outlier would make other states nearly equal."""
    estimator, x, y, expected = latent_pairs
    x = x.copy()
    x[17, which] = size * np.random.default_rng(9).choice([-1, 1], 12)[which]
    found = estimator.estimate(x, y)
    assert found.mi == pytest.approx(expected.mi, abs=0.25 * expected.mi)
    x[17, which] *= -1e3
    assert estimator.estimate(x, y).mi == pytest.approx(found.mi, abs=0.25 * expected.mi)


def test_a_glitch_on_either_side_of_a_rare_motion():
    """A joint that moves in three of a hundred steps keeps its motion, also with a glitch."""
    x = np.zeros((100, 1))
    x[[20, 50, 80], 0] = 1.0, -1.0, 0.5
    np.testing.assert_array_equal(clip_outliers(x), x)
    x[60] = 1e12
    clipped = clip_outliers(x)
    assert clipped[60] == 10 and (np.delete(clipped, 60) == np.delete(x, 60)).all()


@pytest.mark.parametrize("n", [32, 100, 5000])
def test_without_outliers_nothing_is_limited(n):
    rng = np.random.default_rng(n)
    levels = rng.integers(0, 3, n)
    flag = np.arange(n) == n // 2
    columns = rng.standard_normal(n), rng.random(n), rng.standard_t(4, n), levels, flag
    x = np.stack(columns, 1).astype(float)
    np.testing.assert_array_equal(clip_outliers(x), x)
    # The order is kept for any numbers.
    wild = rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)
    assert (np.diff(clip_outliers(wild[:, None])[:, 0][np.argsort(wild)]) >= 0).all()


def test_resolution_rounds(estimator):
    # A joint at rest: one step of its encoder, with smaller jitter.
    rng = np.random.default_rng(4)
    x, y = pairs()
    jitter = 1e-4 * rng.standard_normal((N, 2))
    rest = np.array([0.5, -1.25]) + jitter
    assert estimator.estimate(rest, y).rank_x == 2
    rounded = estimator.estimate(rest, y, resolution_x=0.01)
    assert rounded.degenerate and rounded.constant_x == (0, 1)
    assert estimator.estimate(rest, y, resolution_x=[0.01, 0]).constant_x == (0,)
    # 2^-4 is exact in binary, so a multiple of it is rounded to itself.
    grid = np.round(x * 16) / 16
    fine = estimator.estimate(grid + 1e-3 * np.sign(jitter), y, resolution_x=0.0625)
    assert fine.mi == estimator.estimate(grid, y).mi


NOW = 1_763_800_000_123_456_789  # nanoseconds since 1970; floats resolve 256 of them
rng = np.random.default_rng(0)
COUNTS = np.cumsum(rng.integers(1, 4, N))  # neighbours differ by 1 to 3
OTHER = COUNTS + rng.integers(0, 30, N)


def test_distances_of_large_integers_are_kept():
    """Sliced sides are not ranked first, so the shape of their distribution is kept."""
    far = 2**62 + 1000 * COUNTS
    np.testing.assert_array_equal(np.diff(as_samples(far, "x")[:, 0]), 1000 * np.diff(COUNTS))
    sliced = Estimator(k=2, slices=5, threads=1)
    x = np.stack([COUNTS, COUNTS[::-1], OTHER], axis=1)
    assert np.isfinite(sliced.estimate(x, OTHER[:, None] + [[0, 1]] * rng.random((N, 2))).mi)
    moved, still = sliced.estimate(x + NOW, x[:, :2]), sliced.estimate(x, x[:, :2])
    assert moved.mi == pytest.approx(still.mi, abs=1e-3)


def test_a_table_of_stamps_and_floats(estimator):
    """NumPy makes a list of rows one float array, which would round the stamps in it."""
    rows = [[NOW + int(c), c / 7] for c in COUNTS]
    assert len(np.unique(as_samples(rows, "x")[:, 0])) == N
    np.testing.assert_array_equal(as_samples(rows, "x")[:, 1], COUNTS / 7)
    kinds = (np.int64, np.uint64)
    arrays = [np.array([NOW + int(c), 5], kinds[c % 2]) for c in COUNTS]
    assert len(np.unique(as_samples(arrays, "x")[:, 0])) == N


def test_values_that_floats_represent_are_unchanged():
    for values in (np.arange(9) + 2**53 - 9, np.arange(9.0) * 1e300, np.arange(9, dtype=np.uint8)):
        np.testing.assert_array_equal(as_samples(values, "x")[:, 0], values)
    floats = rng.standard_normal((N, 2))
    assert as_samples(floats, "x") is floats


def test_rounding_of_long_doubles_and_infinities_beside_integers():
    thirds = as_samples(np.array([1, 2]) / np.longdouble(3), "x")
    np.testing.assert_array_equal(thirds[:, 0], [1 / 3, 2 / 3])
    refuses("x has 1 NaN", as_samples, [[NOW**20], [np.nan], [NOW**20 + 3]], "x")


@pytest.mark.parametrize("kind", [np.int64, np.uint64, list])
def test_a_large_integer_in_a_window_is_refused(kind):
    online = OnlineEstimator(RecordingEstimator(8), window=10)
    for t in range(12):
        online.push([float(t), 0.0])
    assert online.push([NOW, 0] if kind is list else np.array([NOW, 0], kind)) is None
    reason = "refused: not real numbers, or an integer beyond 2^53: subtract the first"
    assert online.reason == reason and online.counts["dtype"] == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_are_pushed_without_warnings_and_infinities_refused(estimator, dtype):
    states = rng.standard_normal((60, 3)).astype(dtype)
    online, wide = (OnlineEstimator(estimator, window=50) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t, state in enumerate(states):
            if t == 55:
                for bad in (np.inf, -np.inf, np.nan):
                    assert online.push(np.array([bad, 0, 0], dtype)) is None
                    assert online.reason.startswith("refused: NaN, masked, infinite")
                    wide.push(np.array([bad, 0, 0]))
            newest = online.push(state)
            expected = wide.push(state.astype(float))
    assert online.counts["NaN"] == 3 and newest.estimate.mi == expected.estimate.mi
