"""Scores of key states, compared with closed forms."""

import numpy as np
import pytest

from benchmarks.keystates import scoring
from benchmarks.keystates.ours import Ours
from benchmarks.tasks import changed_demonstrations, demonstrations
from infoatlas_tools import discover_keystates

nan = np.nan


def score(found, times, lengths, **options):
    return scoring.score(found, np.array(times, float), lengths, **options)


def test_by_hand():
    """Two trajectories of 101 and 201 steps; 0.05 of them are 5 and 10 steps."""
    result = score([[20, 53, 90], [100]], [[22, 50], [110, nan]], [101, 201], names=("a", "b"))
    # a: 2 of 100 and 10 of 200; b: 3 of 100
    assert result.error == pytest.approx((0.02 + 0.03 + 0.05) / 3)
    assert result.error_steps == pytest.approx((2 + 3 + 10) / 3)
    assert result.recall_2_steps == pytest.approx(1 / 3)
    assert result.recall_5_steps == pytest.approx(2 / 3)
    assert result.recall_se == pytest.approx(0.5)  # recalls of 1 and 0
    assert result.precision_5_steps == pytest.approx(2 / 4)
    assert result.f1_5_steps == pytest.approx(2 * 2 / (4 + 3))
    assert result.recall == 1
    assert result.precision == result.distinct == pytest.approx(3 / 4)
    assert result.found == 2
    for name, error, two, five in (("a", 0.035, 0.5, 0.5), ("b", 0.03, 0, 1)):
        figures = {"error": error, "recall": 1, "recall_2_steps": two, "recall_5_steps": five}
        assert result.events[name] == pytest.approx(figures | {"recall_500_ms": nan}, nan_ok=True)


def test_seconds_need_a_rate():
    """At 20 steps a second 0.1, 0.25 and 0.5 s are 2, 5 and 10 steps."""
    found, times, lengths = [[20, 53, 90], [100]], [[22, 50], [110, nan]], [101, 201]
    without = score(found, times, lengths)
    assert np.isnan([without.recall_100_ms, without.recall_250_ms, without.recall_500_ms]).all()
    at_20 = score(found, times, lengths, names=("a", "b"), rate=20.0)
    assert at_20.recall_100_ms == pytest.approx(1 / 3)
    assert at_20.recall_250_ms == pytest.approx(2 / 3)
    assert at_20.recall_500_ms == 1
    assert at_20.events["a"]["recall_500_ms"] == 1
    at_5 = score(found, times, lengths, rate=5.0)  # 0.5, 1.25 and 2.5 steps
    assert at_5.recall_100_ms == at_5.recall_250_ms == 0
    assert at_5.recall_500_ms == pytest.approx(1 / 3)
    assert at_5.recall_5_steps == at_20.recall_5_steps


def test_the_limits_are_inclusive():
    at = score([[45]], [[50]], [101], rate=10.0)
    assert at.recall == at.recall_5_steps == at.recall_500_ms == 1
    assert at.recall_2_steps == at.recall_250_ms == 0
    below = score([[44]], [[50]], [101], rate=10.0)
    assert below.recall == below.recall_5_steps == below.recall_500_ms == 0
    assert score([[48]], [[50]], [101]).recall_2_steps == 1


def test_nothing_found_is_the_end_and_finds_nothing():
    result = score([[]], [[98]], [101], rate=20.0)
    assert result.error == pytest.approx(0.02)
    assert result.recall == result.recall_2_steps == result.recall_5_steps == result.found == 0
    assert result.recall_500_ms == result.f1_5_steps == 0
    assert np.isnan([result.precision, result.precision_5_steps, result.distinct]).all()


def test_found_steps_may_be_masked_or_of_any_number():
    """As lists of different lengths, with NaN, or as a masked array [N, K]."""
    times, lengths = [[20, 50], [30, nan]], [101, 81]
    masked = np.ma.masked_array([[21, 50], [33, 70]], mask=[[False, False], [False, True]])
    expected = score([[21, 50], [33]], times, lengths, rate=20.0)
    assert expected.found == 1.5 and expected.precision_5_steps == 1
    for found in (masked, list(masked), [np.array([21, nan, 50]), (33,)]):
        assert score(found, times, lengths, rate=20.0) == expected
    nothing = score([np.ma.masked_all(2, int)], [[50]], [101])
    assert nothing.found == nothing.recall == 0


def test_the_end_does_not_count_with_other_key_states():
    assert score([[10]], [[98]], [101]).error == pytest.approx(0.88)


def test_crowding_an_event_is_precise_but_not_distinct():
    result = score([[49, 50, 51]], [[50]], [101])
    assert result.precision == result.recall_5_steps == 1
    assert result.distinct == result.precision_5_steps == pytest.approx(1 / 3)
    assert result.f1_5_steps == pytest.approx(0.5)


def test_one_key_state_between_two_events_lowers_f1():
    result = score([[52]], [[50, 54]], [101])
    assert result.recall_5_steps == result.precision_5_steps == 1
    assert result.f1_5_steps == pytest.approx(2 / 3)


def test_distinct_is_the_largest_matching():
    """The first found step is near both events, the second near one: each event has its own."""
    result = score([[50, 54]], [[52, 47]], [101])
    assert result.distinct == result.precision_5_steps == result.f1_5_steps == 1
    assert score([[50, 54]], [[58, 47]], [101]).distinct == 1
    assert score([[50, 51]], [[50, 90]], [101]).distinct == 0.5


def test_error_of_the_mean_is_over_trajectories():
    result = score([[50], [50], [50], [10]], [[50, 50]] * 4, [101] * 4)
    assert result.recall == result.recall_5_steps == 0.75
    assert result.recall_se == pytest.approx(np.std([1, 1, 1, 0], ddof=1) / 2)


def test_a_dense_guess_lowers_precision():
    dense = score([np.arange(0, 101, 5)], [[52]], [101])
    assert dense.recall == 1 and dense.error <= 0.03
    assert dense.precision == pytest.approx(2 / 21)
    assert dense.precision_5_steps == pytest.approx(1 / 21)
    assert dense.f1_5_steps == pytest.approx(2 / 22)


@pytest.mark.parametrize("found", [[[101]], [[-1]], [[1], [2]]])
def test_impossible_values_are_refused(found):
    with pytest.raises(ValueError):
        score(found, [[50]], [101])


def test_methods_are_those_of_the_package():
    demos = changed_demonstrations.sample(demonstrations.load("push"), 5, 0)
    ours = Ours("edge")
    for find, method in ((ours.auto, "auto"), (ours.phase, "phase")):
        alone = discover_keystates(demos.trajectories, count=2, method=method)
        for row, steps in zip(find(demos, 2), alone.steps, strict=True):
            assert np.array_equal(row, steps.compressed())
