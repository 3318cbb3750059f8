"""Scores of key states in closed form, and the demonstrations that they are scored on."""

import numpy as np
import pytest
from benchmarks.keystates import scoring, tasks

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
    """The first find is near both events, the second near one: both can be used, if told right."""
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


def test_when():
    flag = np.array([0, 0, 1, 0, 1, 0], bool)
    assert tasks.when(tasks.GRASP, flag) == 2
    assert tasks.when(tasks.RELEASE, flag) == 4
    assert np.isnan(tasks.when(tasks.GRASP, np.zeros(5, bool)))
    assert np.isnan(tasks.when(tasks.RELEASE, np.ones(5, bool)))  # held to the end


@pytest.mark.parametrize("task", tasks.TASKS)
def test_demonstrations(task):
    """Real motion, events in every trajectory, in their order, and no flag among the states."""
    demos = tasks.load(task)
    n = len(demos.trajectories)
    assert n >= 30 and len(set(demos.seeds.tolist())) == n
    assert demos.times.shape == (n, len(demos.events))
    assert not np.isnan(demos.times).any()
    assert (np.diff(demos.times, axis=1) > 0).all()
    assert (demos.times > 0).all() and (demos.times < demos.lengths[:, None] - 1).all()
    states = np.concatenate(demos.trajectories)
    assert states.shape[1] == len(demos.names) == len(set(demos.names))
    assert np.isfinite(states).all()
    for name, column in zip(demos.names, states.T, strict=True):
        # "Grasped" takes two values; so would any other flag.
        assert len(np.unique(column)) > 2 or np.ptp(column) == 0, name


def test_subset_and_columns_keep_what_belongs_together():
    demos = tasks.load("push", number=5)
    part = demos.subset(np.array([3, 1]))
    assert np.array_equal(part.trajectories[0], demos.trajectories[3])
    assert np.array_equal(part.times, demos.times[[3, 1]])
    assert part.lengths.tolist() == demos.lengths[[3, 1]].tolist()
    few = demos.columns(np.array([0, 18]))
    assert few.names == (demos.names[0], demos.names[18])
    assert np.array_equal(few.trajectories[4], demos.trajectories[4][:, [0, 18]])
