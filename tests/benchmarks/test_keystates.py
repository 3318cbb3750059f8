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


THIRD = 1 / 3


@pytest.mark.parametrize(
    ("found", "times", "figures"),
    [
        # Limits are inclusive; at 10 steps a second 0.25 s are 2.5 steps.
        ([45], [50], {"recall": 1, "recall_5_steps": 1, "recall_500_ms": 1}),
        ([45], [50], {"recall_2_steps": 0, "recall_250_ms": 0}),
        ([44], [50], {"recall": 0, "recall_5_steps": 0, "recall_500_ms": 0}),
        ([48], [50], {"recall_2_steps": 1}),
        # The end does not count with other key states.
        ([10], [98], {"error": 0.88}),
        # Crowding an event is precise but not distinct.
        ([49, 50, 51], [50], {"precision": 1, "recall_5_steps": 1, "f1_5_steps": 0.5}),
        ([49, 50, 51], [50], {"distinct": THIRD, "precision_5_steps": THIRD}),
        # One key state between two events lowers F1.
        ([52], [50, 54], {"recall_5_steps": 1, "precision_5_steps": 1, "f1_5_steps": 2 / 3}),
        # The largest matching: the first step is near both events, the second near one.
        ([50, 54], [52, 47], {"distinct": 1, "precision_5_steps": 1, "f1_5_steps": 1}),
        ([50, 54], [58, 47], {"distinct": 1}),
        ([50, 51], [50, 90], {"distinct": 0.5}),
        # A dense guess.
        (range(0, 101, 5), [52], {"recall": 1, "error": 0.02, "precision": 2 / 21}),
        (range(0, 101, 5), [52], {"precision_5_steps": 1 / 21, "f1_5_steps": 2 / 22}),
    ],
)
def test_figures_of_one_trajectory(found, times, figures):
    result = score([[*found]], [times], [101], rate=10.0)
    for name, value in figures.items():
        assert getattr(result, name) == pytest.approx(value), name


def test_error_of_the_mean_is_over_trajectories():
    result = score([[50], [50], [50], [10]], [[50, 50]] * 4, [101] * 4)
    assert result.recall == result.recall_5_steps == 0.75
    assert result.recall_se == pytest.approx(np.std([1, 1, 1, 0], ddof=1) / 2)


@pytest.mark.parametrize("found", [[[101]], [[-1]], [[1], [2]]])
def test_impossible_values_are_refused(found):
    with pytest.raises(ValueError):
        score(found, [[50]], [101])


def test_our_method_is_that_of_the_package():
    demos = changed_demonstrations.sample(demonstrations.load("push"), 5, 0)
    alone = discover_keystates(demos.trajectories, count=2)
    for row, steps in zip(Ours("edge").auto(demos, 2), alone.steps, strict=True):
        assert np.array_equal(row, steps.compressed())
