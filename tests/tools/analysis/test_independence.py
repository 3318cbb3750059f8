"""The permutation test: exact under independence, powerful under dependence; the command."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from command_line import answer, complaint, printed
from gpus import needs_gpu
from infoatlas_rt import Estimator, InputError
from infoatlas_rt.estimation import prepare
from infoatlas_rt.estimation.prepare import check_samples
from infoatlas_tools import independence_test
from infoatlas_tools.analysis.independence import Pairings, whole_periods
from pictures import series, words
from refusals import refuses


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1, shifts=4)


def pairs(n=60, dx=2, dy=2, strength=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    y[:, 0] += strength * x[:, 0]
    return x, y


def autoregression(rho, n, rng):
    noise = rng.standard_normal(n + 100)
    for t in range(1, n + 100):
        noise[t] += rho * noise[t - 1]
    return noise[100:]


def p_values(draw, estimator, trials, **options):
    results = (
        independence_test(*draw(np.random.default_rng(i)), estimator, permutations=19, **options)
        for i in range(trials)
    )
    return np.array([result.p_value for result in results])


@pytest.mark.parametrize("kind", ["normal", "ties and a constant"])
def test_level(estimator, kind):
    """5% nominal, 200 trials: 99.9% of binomial draws are within 1 to 10%."""

    def draw(rng):
        if kind == "normal":
            return rng.standard_normal(40), rng.standard_cauchy(40)
        return rng.integers(0, 4, (40, 1)), np.c_[rng.integers(0, 5, 40), np.ones(40)]

    p = p_values(draw, estimator, 200)
    assert 0.01 <= (p <= 0.05).mean() <= 0.10
    assert p.mean() == pytest.approx(0.525, abs=0.07)  # uniform on 0.05, ..., 1


def trajectories(rng, strength=0.0):
    """Twelve of four steps; each has a constant goal, and steps depend on the one before."""
    noise = rng.standard_normal((2, 12, 4, 2))
    noise[..., 0] = noise[..., :1, 0]
    x, y = np.cumsum(noise, axis=2).reshape(2, 48, 2)
    return x, y + strength * x


def test_level_and_power_with_groups(estimator):
    groups = np.random.default_rng(0).permutation(12).repeat(4)
    p = p_values(trajectories, estimator, 40, groups=groups)
    assert (p <= 0.05).mean() <= 0.15 and p.mean() == pytest.approx(0.525, abs=0.15)
    assert (p_values(trajectories, estimator, 10) <= 0.05).mean() > 0.5  # samples are dependent
    found = p_values(lambda rng: trajectories(rng, 1.0), estimator, 10, groups=groups)
    assert (found <= 0.05).mean() > 0.8


def test_groups_are_exchanged_as_a_whole(estimator):
    x, y = trajectories(np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(48)
    groups = np.arange(12).repeat(4)[order]
    prepared = estimator.prepare(check_samples(x[order], y[order], "cpu", groups=groups))
    own = groups[prepared.order]
    pairings = Pairings(prepared, 5, False, 0)
    for pairing in (pairings[number] for number in range(1, 6)):
        assert sorted(pairing) == list(range(48))
        partners = [set(own[pairing][own == group]) for group in range(12)]
        assert all(len(one) == 1 for one in partners) and len(set.union(*partners)) == 12
        for group in range(12):  # by their steps: both sides in the order of the input
            here = np.flatnonzero(own == group)
            here = here[np.argsort(prepared.order[here])]
            assert (np.diff(prepared.order[pairing[here]]) > 0).all()
    result = independence_test(x[order], y[order], estimator, permutations=9, groups=groups)
    assert result.method == "group permutation"
    expected = estimator.estimate(x[order], y[order], groups=groups)
    assert result.mi == pytest.approx(expected.mi, abs=1e-6)
    with pytest.raises(InputError, match="from 3 to 5 samples"):
        independence_test(x, y, estimator, groups=np.repeat(range(12), [3, 5] + [4] * 10))


@pytest.mark.parametrize(("cycles", "turn"), [(8, 240), (8.5, 226), (0.5, 240)])
def test_shifts_continue_after_a_whole_number_of_a_shared_period(cycles, turn):
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * np.arange(240)[:, None] * cycles / 240
    x, y = (np.sin(angles + shift) + 0.3 * rng.standard_normal((240, 1)) for shift in (0, 1))
    assert whole_periods(x, y) == pytest.approx(turn, abs=1)
    assert whole_periods(x, rng.standard_normal((240, 1))) == 240  # it is not shared
    prepared = Estimator(threads=1).prepare(check_samples(x, y, "cpu", True))
    pairings = Pairings(prepared, 9, True, 0)
    for number in range(1, 10):
        step = np.empty(240, int)  # of y, beside each step of x
        step[prepared.order] = prepared.order[pairings[number]]
        jump = np.setdiff1d(np.diff(step), [1])
        assert all(abs(own) == pytest.approx(turn - 1, abs=1) for own in jump) and len(jump) <= 2


def test_groups_of_one_sample_are_no_groups(estimator):
    x, y = pairs()
    y = np.round(y)
    one = independence_test(x, y, estimator, permutations=19)
    other = independence_test(x, y, estimator, permutations=19, groups=np.arange(60) * 3)
    assert one.to_dict() == other.to_dict()


def test_finds_dependence(estimator):
    result = independence_test(*pairs(strength=1.0), estimator, permutations=99)
    assert result.p_value == 0.01 and result.null.shape == (99,) and result.null.max() < result.mi
    assert np.median(result.null) < 0.15 * result.mi


@pytest.mark.parametrize(
    ("options", "widths"), [({}, (2, 3)), ({"k": 2, "slices": 3}, (4, 6)), ({"sides": "x"}, (7, 1))]
)
def test_the_given_pairing_has_the_estimate(options, widths):
    options = options | ({"k": 3, "slices": 2} if "sides" in options else {})
    estimator = Estimator(threads=1, **options)
    x, y = pairs(40, *widths, strength=1.0)
    x[:, 1] = x[:, 1].round()  # ties
    result = independence_test(x, y, estimator, permutations=2)
    assert result.mi == pytest.approx(estimator.estimate(x, y).mi, abs=1e-5)
    assert (result.slices, result.k) == (estimator.slices or 1, estimator.k)
    # Permuting y in advance makes no difference, either.
    again = independence_test(x, y[::-1], estimator, permutations=2)
    assert again.mi == pytest.approx(estimator.estimate(x, y[::-1]).mi, abs=1e-5)


def test_p_value_counts_the_given_pairing(estimator):
    result = independence_test(*pairs(), estimator, permutations=40)
    assert len(np.unique(result.null)) == len(np.unique(result.null_rv)) == 40
    both = (np.r_[result.mi, result.null], np.r_[result.rv, result.null_rv])
    statistic = np.max([(values - values.mean()) / values.std() for values in both], axis=0)
    assert 0 < result.p_value == np.mean(statistic >= statistic[0]) < 1
    assert result.statistic == pytest.approx(statistic[0], abs=1e-8)


@pytest.mark.parametrize("n", [40, 12 * 12])
def test_rv_coefficient(n):
    """By numpy.corrcoef of normal scores, with more coordinates than samples and with fewer."""
    x, y = pairs(n, 50, 12, strength=2.0)
    result = independence_test(x, y, Estimator(threads=1, shifts=4, k=2, slices=1), permutations=1)
    scores = np.hstack([ndtri((rankdata(side, axis=0) - 0.5) / n) for side in (x, y)])
    squares = np.corrcoef(scores.T) ** 2
    own = squares[:50, :50].sum() * squares[50:, 50:].sum()
    assert result.rv == pytest.approx(squares[:50, 50:].sum() / np.sqrt(own), rel=1e-9)
    assert independence_test(x, x, Estimator(k=2, slices=1), permutations=1).rv == pytest.approx(1)


def test_finds_dependence_spread_over_many_coordinates():
    """Each of 64 coordinates depends slightly on all others; few slices have little of it."""
    x, noise = np.random.default_rng(0).standard_normal((2, 600, 64))
    y = x @ np.kron(np.eye(2), np.full((32, 32), 1 / 64)) + noise
    result = independence_test(x, y, Estimator(threads=1, shifts=4, k=5, slices=2), permutations=19)
    assert result.p_value == 0.05 and result.rv > result.null_rv.max()
    assert result.mi <= result.null.max()


def test_finds_dependence_without_correlation(estimator):
    x = np.random.default_rng(0).standard_normal(200)
    result = independence_test(x, x**2, estimator, permutations=19)
    assert result.p_value == 0.05 and result.mi > result.null.max()
    assert result.rv <= result.null_rv.max()


def test_chunks_and_progress_change_nothing(estimator, monkeypatch):
    sliced = Estimator(threads=1, shifts=4, k=2, slices=3)
    x, y = pairs(40, 4, 4, strength=0.5)
    whole = independence_test(x, y, sliced, permutations=6)
    for reads in (2, 7):  # some of the slices; all of them for two pairings
        monkeypatch.setattr(prepare, "CHUNK_PAIRS", reads * 40 * 4)
        reported: list = []
        parts = independence_test(
            x, y, sliced, permutations=6, progress=lambda *share, to=reported: to.append(share)
        )
        np.testing.assert_allclose(parts.null, whole.null, atol=1e-4)
        assert parts.mi == pytest.approx(whole.mi, abs=1e-4)
        assert reported[-1] == (21, 21) and sorted(reported) == reported


def test_a_constant_side(estimator, monkeypatch):
    named = SimpleNamespace(provider="cpu", threads=1)  # no estimate is made
    monkeypatch.setattr(estimator, "backend", named)
    result = independence_test(pairs()[0], np.ones(60), estimator, permutations=9)
    assert (result.mi, result.rv, result.p_value, result.degenerate) == (0, 0, 1, True)
    assert str(result).endswith("[degenerate]")


# ---- time series ---------------------------------------------------------------------------------


def test_series_are_shifted_in_a_circle(estimator):
    """y is x 30 steps earlier: white noise, so only the shift by 30 shows dependence.

    All shifts of 100 samples are used: 1 to 99.
    """
    x = np.random.default_rng(0).standard_normal(100)
    result = independence_test(x, np.roll(x, -30), estimator, time_series=True)
    assert result.method == "circular shift" and len(result.null) == 99
    high = np.sort(result.null)
    assert high[-1] > 2 > 0.5 > high[-2] and result.p_value > 0.05
    few = independence_test(x, x, estimator, time_series=True, permutations=10)
    assert len(few.null) == 10 and few.null.max() < 0.5


def test_the_given_pairing_is_one_among_equals(estimator):
    """If y is shifted in advance, the estimates over all shifts are the same."""
    rng = np.random.default_rng(0)
    x, y = autoregression(0.9, 40, rng), autoregression(0.9, 40, rng)
    estimates = []
    for shift in (0, 1, 13):
        result = independence_test(x, np.roll(y, shift, axis=0), estimator, time_series=True)
        estimates.append(np.sort([result.mi, *result.null]))
    np.testing.assert_allclose(estimates[1], estimates[0], atol=1e-3)
    np.testing.assert_allclose(estimates[2], estimates[0], atol=1e-3)


def test_memory_is_kept_by_shifts_and_not_by_permutations(estimator):
    def draw(rng):
        return autoregression(0.9, 100, rng), autoregression(0.9, 100, rng)

    shifted = p_values(draw, estimator, 40, time_series=True)
    permuted = p_values(draw, estimator, 40)
    assert (shifted <= 0.05).mean() <= 0.15  # 98.6% of a binomial of 0.05
    assert (permuted <= 0.05).mean() >= 0.25


# ---- errors, and the command ---------------------------------------------------------------------


def test_command(capsys, tmp_path, figures):
    x, y = pairs(strength=1.0)
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "y.csv", y, delimiter=",")
    files = [str(tmp_path / "x.npy"), str(tmp_path / "y.csv")]
    picture, target = tmp_path / "null.png", tmp_path / "null.json"
    quick = ["--permutations", "9", "--threads", "1"]
    text = printed(capsys, "test", *files, *quick, "--plot", picture, "--json", target)
    assert "60 samples" in text and "0 of 9" in text and "at most 0.1" in text
    assert "RV coefficient" in text and picture.read_bytes().startswith(b"\x89PNG")
    result = json.loads(target.read_text())
    ((axes,),) = (figure.axes for figure in figures)
    assert axes.get_xlabel() == "mutual information (nats)"
    assert sum(bar.get_height() for bar in axes.patches) == 9  # each permutation is in a bar
    edges = [edge for bar in axes.patches for edge in (bar.get_x(), bar.get_x() + bar.get_width())]
    null = result["null"]
    assert (min(edges), max(edges)) == pytest.approx((min(null), max(null)))
    assert series(axes, 2)[0] == [result["mi"]] * 2  # the given pairing
    assert words(axes) == [f"given pairing: {result['mi']:.3f} nats\np = 0.1"]
    assert result["p_value"] == 0.1 and len(result["null"]) == 9
    expected = independence_test(x, y, Estimator(threads=1), permutations=9)
    assert {key: result[key] for key in expected.to_dict()} == expected.to_dict()
    assert str(expected).startswith(f"I = {expected.mi:.3f} nats, p = 0.1 (9 permutations, n=60")

    result = answer(capsys, "test", *files, "--permutations", "500", "--time-series")
    assert result["method"] == "circular shift" and len(result["null"]) == 59

    assert "permutations is 0" in complaint(capsys, "test", *files, "--permutations", "0")


def test_canonical_directions_are_refused_for_wide_sides():
    x, y = np.random.default_rng(0).standard_normal((2, 200, 12))
    canonical = Estimator(threads=1, directions="canonical")
    refuses("use an Estimator with random directions", independence_test, x, y, canonical)
    refuses("x has 200 samples and y has 199", independence_test, x, y[1:], canonical)
    assert independence_test(x[:, :2], y[:, :2], canonical, permutations=9).k is None


@needs_gpu[0]
@needs_gpu[1]
def test_samples_of_a_gpu_give_the_result_of_the_host():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    x, y = pairs(60, 6, 6)
    estimator = Estimator(provider="cuda")
    there = [torch.tensor(side, device="cuda:0") for side in (x, y)]
    found = independence_test(*there, estimator, permutations=19)
    wanted = independence_test(x, y, estimator, permutations=19)
    np.testing.assert_allclose(found.null, wanted.null, atol=0.01)  # nats, as for all providers
    np.testing.assert_allclose(found.null_rv, wanted.null_rv, atol=1e-9)
