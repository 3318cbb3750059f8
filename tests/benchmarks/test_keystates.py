"""Scores of key states in closed form."""

import numpy as np
import pytest

from benchmarks.keystates import scoring
from benchmarks.keystates.ours import Ours
from benchmarks.tasks import changed_demonstrations, demonstrations
from infoatlas_rt import discover_keystates

nan = np.nan


def score(found, times, lengths, **options):
    return scoring.score(found, np.array(times, float), lengths, **options)


def test_by_hand():
    """Two trajectories of 101 and 201 steps; 0.05 of them are 5 and 10 steps."""
    result = score([[20, 53, 90], [100]], [[22, 50], [110, nan]], [101, 201], names=("a", "b"))
    # a: 2 of 100 and 10 of 200; b: 3 of 100
    assert result.error == pytest.approx((0.02 + 0.03 + 0.05) / 3)
    assert result.error_steps == pytest.approx((2 + 3 + 10) / 3)
    assert result.recall == 1
    assert result.recall_steps == pytest.approx(1 / 3)
    assert result.recall_se == 0
    assert result.precision == result.distinct == pytest.approx(3 / 4)
    assert result.precision_steps == pytest.approx(1 / 4)
    assert result.found == 2
    assert result.events["a"] == pytest.approx({"error": 0.035, "recall": 1, "recall_steps": 0.5})
    assert result.events["b"] == pytest.approx({"error": 0.03, "recall": 1, "recall_steps": 0})


def test_the_limits_are_inclusive():
    at = score([[45]], [[50]], [101])
    assert at.recall == 1 and at.recall_steps == 0
    assert score([[44]], [[50]], [101]).recall == 0
    assert score([[48]], [[50]], [101]).recall_steps == 1


def test_nothing_found_is_the_end_and_finds_nothing():
    result = score([[]], [[98]], [101])
    assert result.error == pytest.approx(0.02)
    assert result.recall == result.recall_steps == result.found == 0
    assert np.isnan(result.precision) and np.isnan(result.distinct)


def test_the_end_helps_nobody_who_found_something():
    assert score([[10]], [[98]], [101]).error == pytest.approx(0.88)


def test_crowding_an_event_is_precise_but_not_distinct():
    result = score([[49, 50, 51]], [[50]], [101])
    assert result.precision == result.precision_steps == 1
    assert result.distinct == pytest.approx(1 / 3)


def test_distinct_is_the_largest_matching():
    """The first find is near both events, the second near one: each event has one of its own."""
    result = score([[50, 54]], [[52, 47]], [101])
    assert result.distinct == 1
    assert score([[50, 54]], [[58, 47]], [101]).distinct == 1
    assert score([[50, 51]], [[50, 90]], [101]).distinct == 0.5


def test_error_of_the_mean_is_over_trajectories():
    result = score([[50], [50], [50], [10]], [[50, 50]] * 4, [101] * 4)
    assert result.recall == 0.75
    assert result.recall_se == pytest.approx(np.std([1, 1, 1, 0], ddof=1) / 2)


def test_a_dense_guess_pays_in_precision():
    dense = score([np.arange(0, 101, 5)], [[52]], [101])
    assert dense.recall == 1 and dense.error <= 0.03
    assert dense.precision == pytest.approx(2 / 21)


@pytest.mark.parametrize("found", [[[101]], [[-1]], [[1], [2]]])
def test_what_cannot_be(found):
    with pytest.raises(ValueError):
        score(found, [[50]], [101])


def test_fewer_phases_are_the_most_important_of_five():
    """What the benchmark takes from one call is what calls for each K would give."""
    demos = changed_demonstrations.sample(demonstrations.load("push"), 5, 0)
    ours = Ours("edge")
    for k in (5, 2):
        alone = discover_keystates(demos.trajectories, k=k)
        assert np.array_equal(np.array(ours.phase(demos, k)), alone.steps)
