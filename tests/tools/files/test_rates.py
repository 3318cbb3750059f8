"""Rates in files, and rates from columns of times."""

import warnings

import numpy as np
import pytest

from infoatlas_tools.files.rates import even_rate, is_time, rate_by, stated_rate, time_unit

TIMES = 100 + 0.02 * np.arange(50)  # 50 Hz


def rate(times, name="time", lengths=None):
    if not is_time(name):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lengths = np.array([len(times)]) if lengths is None else lengths
        return even_rate(times, lengths, time_unit(name))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((20, 20.0), (0.5, 0.5), (None, None), (0, None), (-1, None), ("20", None)),
        *((np.nan, None), (np.inf, None), (True, None), ([20], None), ([[1], 2], None)),
    ],
)
def test_a_stated_rate_is_a_number_above_0_or_nothing(value, expected):
    assert stated_rate(value) == expected


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *((name, 1) for name in ("time", "timestamp", "t", "seconds", "Time", "TIMESTAMP", "T")),
        *((name, 1) for name in ("time_s", "t_sec", "t [s]", "Time (seconds)", "seconds[s]")),
        *((name, 1e-3) for name in ("time_ms", "t[ms]", "Timestamp (ms)", "T_MS")),
        *((name, 1e-6) for name in ("t_us", "time [\u00b5s]", "time [\u03bcs]")),
        *((name, 1e-9) for name in ("timestamp_ns", "t ( ns )")),
    ],
)
def test_names_of_times_and_their_units(name, unit):
    assert rate(TIMES / unit, name) == pytest.approx(50.0, rel=1e-6)


@pytest.mark.parametrize(
    "name",
    ["", "x", "t0", "times", "time_left", "time_step", "t_end", "time [h]", "tool.t", "t.x", "t_"],
)
def test_other_columns_are_no_times(name):
    assert rate(TIMES, name) is None


def test_whole_numbers_without_a_unit_may_be_anything():
    steps = np.arange(50.0)
    assert all(rate(steps * k, name) is None for k in (1, 20, 1e9) for name in ("t", "timestamp"))
    assert rate(steps, "seconds") == rate(steps, "t_s") == 1.0
    assert rate(20 * steps, "t [ms]") == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("jitter", "expected"), [(0.0, 50.0), (0.04, 50.0), (0.2, None), (0.6, None)]
)
def test_steps_have_to_be_even(jitter, expected):
    times = TIMES + 0.02 * jitter * np.random.default_rng(0).choice([-1, 1], 50)
    found = rate(times)
    assert found is None if expected is None else found == pytest.approx(expected, rel=0.1)


def test_a_gap_a_second_row_of_one_time_and_few_rows():
    assert rate(np.delete(TIMES, 20)) is None
    assert rate(np.sort(np.r_[TIMES, TIMES])) is None  # half of the steps are 0
    assert rate(np.full(5, 0.5)) is None and rate(TIMES[:1]) is None
    assert rate(TIMES[::-1]) is None and rate(TIMES[:2]) == pytest.approx(50.0)


@pytest.mark.parametrize("true", [30.0, 60.0, 100.0, 29.97])
@pytest.mark.parametrize("decimals", [3, 4])
def test_the_rate_of_rounded_times(true, decimals):
    lengths = np.array([500, 471, 523])
    times = np.concatenate([0.0123 + np.arange(n) / true for n in lengths]).round(decimals)
    assert rate(times, lengths=lengths) == true and rate(1000 * times, "t_ms", lengths) == true
    steps = np.diff(times[:500])
    pauses = np.r_[steps, steps[:20] + steps[20:40], 3.2, 0.7]  # and lost rows
    assert rate_by(pauses, 1) == pytest.approx(true, rel=5e-4)


def test_the_rate_of_jittered_times_with_lost_rows_and_pauses():
    rng = np.random.default_rng(0)
    times = np.arange(3000) / 60 + rng.normal(0, 0.2 / 60, 3000)
    times = np.delete(times, rng.choice(3000, 60, replace=False))
    times[900:] += 12.3
    assert rate_by(np.diff(times)) == pytest.approx(60, rel=0.01)


@pytest.mark.parametrize("late", [0.2, 0.45])
def test_the_rate_of_times_that_come_late_in_turns(late):
    steps = np.diff((np.arange(400) + late * (np.arange(400) % 2)) / 50)
    assert rate_by(steps) == 50
    assert rate_by(np.r_[steps, steps[0] + steps[1], 9.0]) == pytest.approx(50, rel=2e-3)


def test_steps_between_trajectories_do_not_count():
    times = np.r_[TIMES[:20], TIMES[30:]]
    assert rate(times) is None and rate(times, lengths=np.array([20, 20])) == pytest.approx(50.0)
    assert rate(times, lengths=np.ones(40, int)) is None
    assert rate(np.r_[TIMES, TIMES]) == pytest.approx(50.0)  # the clock restarts


@pytest.mark.parametrize(
    "times", [[0.5, np.inf, np.inf], [-1e308, 1e308], [0.5, np.nan], [0, 5e-324]]
)
def test_times_without_a_rate(times):
    assert rate(np.array(times, float)) is None
