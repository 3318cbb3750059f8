"""Intervals of families: shares of covered draws, and families that are mostly missed."""

import pytest

from benchmarks import intervals
from benchmarks.measure import OURS, Row


def row(family, estimates, stderrs, estimator=OURS, n=100):
    return Row({"family": family}, n, 1.0, estimator, estimates, 0.1, stderrs)


def test_a_family_that_misses_is_silent_though_most_draws_are_inside():
    rows = [
        row("good", (1.0, 1.1, 0.9, 1.05), (0.1,) * 4),
        row("missed", (0.5, 0.6, 1.4, 1.0), (0.2, 0.2, 0.2, 0.3)),
        row("good", (1.0,), (), "peer"),
    ]
    text = intervals.section(rows, [100], lambda r: r.label["family"])
    assert f"| 100 | {OURS} | 2 | 62% | 1 of 2 |" in text
    assert f"Silent: {OURS}, n = 100: missed." in text
    assert "peer" not in text


def test_half_inside_is_not_silent():
    found = intervals.judge({"half": ((1.0, 3.0), 1.0, (0.1, 0.3))})
    assert (found.inside, found.silent) == (0.5, ())
    assert found.half_width == pytest.approx(1.645 * 0.2)
