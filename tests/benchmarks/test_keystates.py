"""Scores of key states, compared with closed forms."""

import numpy as np
import pytest

from benchmarks.keystates import ours, scoring
from benchmarks.tasks import changed_demonstrations, demonstrations
from infoatlas_tools import Trajectories, discover_keystates

nan = np.nan


def score(found, times, lengths, **options):
    return scoring.score(found, np.array(times, float), lengths, **options)


def test_by_hand():
    """Two trajectories of 101 and 201 steps; 0.05 of them are 5 and 10 steps."""
    result = score([[20, 53, 90], [100]], [[22, 50], [110, nan]], [101, 201], names=("a", "b"))
    # a: 2 of 100 and 10 of 200; b: 3 of 100
    assert result.error == pytest.approx((0.02 + 0.03 + 0.05) / 3)
    assert result.recall_2_steps == pytest.approx(1 / 3)
    assert result.recall_5_steps == pytest.approx(2 / 3)
    assert result.recall_se == pytest.approx(0.5)  # recalls of 1 and 0
    assert result.precision_5_steps == pytest.approx(2 / 4)
    assert result.recall == 1
    assert result.found == 2
    for name, two, five in (("a", 0.5, 0.5), ("b", 0, 1)):
        figures = {"recall": 1, "recall_2_steps": two, "recall_5_steps": five}
        assert result.events[name] == pytest.approx(figures | {"recall_250_ms": nan}, nan_ok=True)


def test_seconds_need_a_rate():
    """At 20 steps a second 0.1, 0.25 and 0.5 s are 2, 5 and 10 steps."""
    found, times, lengths = [[20, 53, 90], [100]], [[22, 50], [110, nan]], [101, 201]
    without = score(found, times, lengths)
    needing = ("recall_100_ms", "recall_250_ms", "recall_500_ms", "recall_1000_ms", "purity")
    assert all(np.isnan(getattr(without, name)) for name in (*needing, "completeness"))
    at_20 = score(found, times, lengths, names=("a", "b"), rate=20.0)
    assert at_20.recall_100_ms == pytest.approx(1 / 3)
    assert at_20.recall_250_ms == pytest.approx(2 / 3)
    assert at_20.recall_500_ms == 1
    assert at_20.events["b"]["recall_250_ms"] == 1
    at_5 = score(found, times, lengths, rate=5.0)  # 0.5, 1.25, 2.5 and 5 steps
    assert at_5.recall_100_ms == at_5.recall_250_ms == 0
    assert at_5.recall_500_ms == pytest.approx(1 / 3)
    assert at_5.recall_1000_ms == pytest.approx(2 / 3)
    assert at_5.recall_5_steps == at_20.recall_5_steps


def test_nothing_found_is_the_end_and_finds_nothing():
    result = score([[]], [[98]], [101], rate=20.0)
    assert result.error == pytest.approx(0.02)
    assert result.recall == result.recall_2_steps == result.recall_5_steps == result.found == 0
    assert result.recall_500_ms == 0
    assert np.isnan([result.precision_5_steps, result.purity, result.completeness]).all()
    # One segment of 101 steps, against one of 98 and one of 3.
    assert result.f1_50 == result.f1_10 == pytest.approx(2 / 3)
    assert result.edit == 0.5 and result.accuracy == pytest.approx(98 / 101)


def test_found_steps_may_be_masked_or_of_any_number():
    """As lists of different lengths, with NaN, or as a masked array [N, K]."""
    times, lengths = [[20, 50], [30, nan]], [101, 81]
    masked = np.ma.masked_array([[21, 50], [33, 70]], mask=[[False, False], [False, True]])
    expected = score([[21, 50], [33]], times, lengths, rate=20.0)
    assert expected.found == 1.5 and expected.precision_5_steps == 1
    for found in (masked, list(masked), [np.array([21, nan, 50]), (33,)]):
        assert score(found, times, lengths, rate=20.0) == expected
    kinds = [[0, 1, 1], [0]]  # of the step that is NaN too
    assert score([[21, nan, 50], [33]], times, lengths, rate=20.0, kinds=kinds) == expected
    nothing = score([np.ma.masked_all(2, int)], [[50]], [101])
    assert nothing.found == nothing.recall == 0


@pytest.mark.parametrize(
    ("found", "times", "figures"),
    [
        # Limits are inclusive; at 10 steps a second 0.25 s are 2.5 steps.
        ([45], [50], {"recall": 1, "recall_5_steps": 1, "recall_500_ms": 1}),
        ([45], [50], {"recall_2_steps": 0, "recall_250_ms": 0}),
        ([44], [50], {"recall": 0, "recall_5_steps": 0, "recall_500_ms": 0}),
        ([40], [50], {"recall_1000_ms": 1}),
        ([48], [50], {"recall_2_steps": 1}),
        # The end does not count with other key states.
        ([10], [98], {"error": 0.88}),
        # Crowding an event is not precise.
        ([49, 50, 51], [50], {"recall_5_steps": 1, "precision_5_steps": 1 / 3}),
        # The largest matching: the first step is near both events, the second near one.
        ([50, 54], [52, 47], {"precision_5_steps": 1}),
        # A dense guess.
        (range(0, 101, 5), [52], {"recall": 1, "error": 0.02, "precision_5_steps": 1 / 21}),
    ],
)
def test_figures_of_one_trajectory(found, times, figures):
    result = score([[*found]], [times], [101], rate=10.0)
    for name, value in figures.items():
        assert getattr(result, name) == pytest.approx(value), name


@pytest.mark.parametrize(
    ("found", "times", "figures"),
    [
        ([[40, 70]], [[40, 70]], {"f1_10": 1, "f1_50": 1, "edit": 1, "accuracy": 1}),
        # Segments of 20, 50, 30 steps against 40, 30, 30: overlaps of 20/40, 30/50, 30/30.
        ([[20, 70]], [[40, 70]], {"f1_50": 1, "edit": 1, "accuracy": 0.8}),
        # 19, 51, 30: 19/40 is less than a half.
        ([[19, 70]], [[40, 70]], {"f1_25": 1, "f1_50": 2 / 3, "accuracy": 0.79}),
        # 5, 65, 30: 5/40 is above 0.1.
        ([[5, 70]], [[40, 70]], {"f1_10": 1, "f1_25": 2 / 3, "accuracy": 0.65}),
        # Cut once too often: 40, 20, 40 against 40, 60, with one segment that has no partner.
        ([[40, 60]], [[40]], {"f1_50": 2 * 2 / 5, "edit": 2 / 3, "accuracy": 0.8}),
        # A fractional event begins at the next step.
        ([[40]], [[39.5]], {"accuracy": 1}),
        # Two demonstrations, of which one has nothing: 40 of its steps are right.
        ([[40], []], [[40], [40]], {"f1_50": 2 * 2 / 7, "edit": 0.75, "accuracy": 0.7}),
    ],
)
def test_segments_by_hand(found, times, figures):
    """100 steps in each demonstration, and ordinal classes."""
    result = score(found, times, [100] * len(found))
    for name, value in figures.items():
        assert getattr(result, name) == pytest.approx(value), name


def test_classes_are_matched_over_all_demonstrations():
    """Events a and b in either order: kinds follow them, ordinal classes do not."""
    found, times, lengths = [[20, 60], [20, 60]], [[20, 60], [60, 20]], [100, 100]
    kinds = score(found, times, lengths, names=("a", "b"), rate=10.0, kinds=[[7, 3], [3, 7]])
    assert kinds.f1_50 == kinds.edit == kinds.accuracy == kinds.purity == kinds.completeness == 1
    # Start 20 + 20; 40 steps of "a" in the first or of "b" in the second, then the other.
    ordinal = score(found, times, lengths, names=("a", "b"), rate=10.0)
    assert ordinal.accuracy == pytest.approx((20 + 20 + 40 + 40) / 200)
    assert ordinal.f1_50 == pytest.approx(2 * 4 / 12) and ordinal.edit == pytest.approx(2 / 3)
    assert ordinal.purity == ordinal.completeness == 0.5


def test_an_event_that_occurs_twice_is_of_one_kind():
    """Two columns of one kind; the second grasp is a class of its own among segments."""
    names = ("grasp#1", "open#1", "grasp#2")
    given = dict(names=names, rate=10.0)
    result = score([[20, 40, 60]], [[20, 40, 60]], [100], kinds=[[0, 1, 0]], **given)
    assert result.purity == result.completeness == result.f1_50 == result.accuracy == 1
    ordinal = score([[20, 40, 60]], [[20, 40, 60]], [100], **given)
    assert ordinal.purity == 1 and ordinal.completeness == pytest.approx(2 / 3)
    # Kind 0 hits two grasps and an opening within 0.5 s; the last step hits nothing.
    mixed = score([[20, 45, 60, 90]], [[20, 40, 60]], [100], kinds=[[0, 0, 0, 1]], **given)
    assert mixed.purity == pytest.approx(2 / 3) and mixed.completeness == 1
    # Two kinds near one event: the nearest one is the event's.
    crowd = score([[18, 20, 40]] * 2, [[20, 40, 90]] * 2, [100] * 2, kinds=[[2, 0, 1]] * 2, **given)
    assert crowd.purity == crowd.completeness == 1


@pytest.mark.parametrize("found", [[[101]], [[-1]], [[1], [2]]])
def test_impossible_values_are_refused(found):
    with pytest.raises(ValueError):
        score(found, [[50]], [101])


def test_our_method_is_that_of_the_package():
    """With names and rate; a kind for each step."""
    demos = changed_demonstrations.sample(demonstrations.load("push"), 5, 0)
    given = Trajectories(demos.trajectories, names=demos.names, rate=20.0)
    alone = discover_keystates(given, count=2)
    for row, kinds, steps in zip(*ours.find_kinds(demos, 2), alone.steps, strict=True):
        assert np.array_equal(row, steps.compressed())
        assert np.array_equal(kinds, alone.kind[~np.ma.getmaskarray(steps)])
