"""What the tracker promises: recall and false reports that hold on other episodes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from episodes import TASKS
from infoatlas_rt import Task
from infoatlas_rt.live.json_file import plain
from infoatlas_rt.live.timing import Timing
from infoatlas_tools import discover_keystates
from infoatlas_tools.keystates.fits.detector_thresholds import _judge, _space, maxima
from infoatlas_tools.keystates.motion.durations import ONE_EVENT
from task_files import make

TIMING = Timing(1, 20.0, 20.0)
GAP = TIMING.steps(ONE_EVENT)


def scores(rng, count, height):
    """Noise, with a bump of a height at a random step of each episode."""
    steps, made = rng.integers(20, 80, count).astype(float), []
    for step in steps:
        bump = height * np.exp(-0.5 * ((np.arange(100) - step) / 2) ** 2)
        made.append(bump + 0.2 * rng.standard_normal(100))
    return made, steps


def without(made):
    """A single part."""
    return [np.zeros((len(score), 1), np.int64) for score in made]


@pytest.mark.parametrize("count", [5, 20])
@pytest.mark.parametrize("height", [0.5, 1.0])
def test_a_promise_holds_on_other_episodes(count, height):
    rng, found = np.random.default_rng(0), []
    for _ in range(40):
        made, steps = scores(rng, count, height)
        threshold, once, _, recall, _, false = _judge(made, steps, without(made), TIMING, 0.0)
        hits = reports = 0
        for score, step in zip(*scores(rng, 40, height), strict=True):
            peak = maxima(score)
            peak = _space(peak[score[peak] > threshold], GAP)[: 1 if once else None]
            hits += (np.abs(peak - step) <= GAP).any()
            reports += len(peak)
        found.append((recall - hits / 40, (reports - hits) / 40 - false))
    assert (np.mean(found, axis=0) <= 0.05).all()


def test_of_equal_thresholds_the_middle_one_is_taken():
    score = np.zeros(60)
    score[[10, 40]] = 0.3, 0.9
    made = _judge([score] * 4, np.full(4, 40.0), without([score] * 4), TIMING, 0.2)
    threshold, once, _, recall, delay, false = made
    assert once and 0.5 < threshold < 0.7
    assert (recall, false) == (0.9, 0.1)  # one more counts half
    assert delay == pytest.approx(0.2)


def test_the_second_of_two_equal_motions_is_found_by_its_part():
    score = np.zeros(60)
    score[[10, 40]] = 0.9
    parts = np.repeat([[0], [1]], 30, axis=0)
    made = [score] * 10, np.full(10, 40.0)
    once, earliest, recall, _, false = _judge(*made, [parts] * 10, TIMING, 0.2)[1:]
    assert once and earliest.tolist() == [1] and recall > 0.9 and false < 0.1
    false = _judge(*made, without(made[0]), TIMING, 0.2)[-1]
    assert false > 0.9
    # In two demonstrations the sub-task comes too late: the other eight decide.
    late = [np.repeat([[0], [1]], [50, 10], axis=0)] * 2
    once, earliest, recall, _, false = _judge(*made, [parts] * 8 + late, TIMING, 0.2)[1:]
    assert once and earliest.tolist() == [1]
    assert (recall, false) == (8.5 / 11, 0.5 / 11)


def test_reports_after_steps_back_are_counted():
    score = np.zeros(60)
    score[[10, 40]] = 0.9
    parts = np.repeat([[1], [0], [1]], 20, axis=0)
    steps = np.full(10, 10.0)
    back = _judge([score] * 10, steps, [parts] * 10, TIMING, 0.2)
    straight = _judge([score] * 10, steps, [np.ones_like(parts)] * 10, TIMING, 0.2)
    assert back[-1] > 0.9 and straight[-1] < 0.1


def test_rounding_at_rest_is_no_maximum():
    score = np.repeat([0.2, 0.7, 0.4], [5, 200, 5])
    score[5:205] += 1e-16 * np.random.default_rng(0).integers(-3, 4, 200)
    assert len(np.unique(score)) > 3
    np.testing.assert_array_equal(maxima(score), [5])


def test_a_rare_key_state_is_not_followed():
    moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0).cumsum(axis=0) for i in range(6)]
    found = discover_keystates(moves, count=1).found
    assert found.common.all()
    found.steps[:4, 0] = np.ma.masked
    assert found.shared.all() and not found.common.any()


@pytest.mark.parametrize("name", make.FITS)
def test_the_tasks_of_the_tests_are_what_is_fitted(name):
    """Run tests/task_files/make.py after a change of the fit or of the format."""

    def flat(value):
        if isinstance(value, dict):
            return [one for key in value for one in (key, *flat(value[key]))]
        return [one for item in value for one in flat(item)] if isinstance(value, list) else [value]

    tasks = Task.load(TASKS / f"{name}.json"), make.FITS[name]()
    stored, fitted = (flat(json.loads(json.dumps(plain(task)))) for task in tasks)
    assert len(stored) == len(fitted)
    for one, other in zip(stored, fitted, strict=True):
        if isinstance(other, float):  # sums of other lengths or orders, on other processors
            other = pytest.approx(other, rel=1e-4, abs=1e-6)
        assert one == other
