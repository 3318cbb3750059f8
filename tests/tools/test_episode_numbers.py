"""Numbers of demonstrations by their names."""

import pytest

from infoatlas_tools.episode_numbers import episode_numbers, find_episode
from refusals import refuses


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["demo_0", "demo_7", "demo_14"], ["0", "7", "14"]),
        (["episode_000001", "episode_000010"], ["1", "10"]),
        (["cam2_take_3", "cam2_take_4"], ["3", "4"]),
        (["1.0", "2.0"], ["1", "2"]),
        (["run1_take1", "run2_take1", "run2_take2"], ["", "", ""]),
        (["demo_1", "demo_01"], ["", ""]),
        (["first_3", "b_4_5", "last"], ["3", "", ""]),
        (["left", "right"], ["", ""]),
        (["demo_5"], ["5"]),
    ],
)
def test_numbers_of_demonstrations_are_those_in_their_names(names, numbers):
    assert episode_numbers(names) == numbers
    for i, (name, number) in enumerate(zip(names, numbers, strict=True)):
        assert find_episode(name, names) == i
        assert not number or find_episode(f"0{number}", names) == i


def test_numbers_that_are_not_there_or_not_clear_are_refused():
    for given, names in (("1", ("demo_0", "demo_2")), ("2", ("run1_take1", "run2_take2"))):
        refuses(f"no demonstration {given}, but {names[0]}, ", find_episode, given, names)
    refuses("several demonstrations 4, but a_4, b_4", find_episode, "4", ("a_4", "b_4", "c_5"))
    assert find_episode("1", ("left", "right")) == 1  # no name has a number
    refuses("no demonstration 2", find_episode, "2", ("left", "right"))
