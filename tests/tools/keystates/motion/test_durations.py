"""Durations in quick demonstrations."""

from infoatlas_tools.keystates.motion.durations import tempo


def test_durations_are_shorter_in_quick_demonstrations():
    assert [tempo([n] * 3, 20.0) for n in (50, 100, 400)] == [0.5, 1.0, 1.0]
