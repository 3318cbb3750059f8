"""Trajectories and their rate; other tests of states: test_tables.py and files/test_load.py."""

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import Trajectories
from infoatlas_tools.trajectories import as_trajectories
from refusals import refuses

STATES = np.arange(12.0).reshape(6, 2)
NOW = 1_763_800_000_123_456_789  # nanoseconds since 1970; floats resolve 256 of them


@pytest.mark.parametrize(
    "rate", [20, 20.0, np.int64(20), np.float32(20), np.array(20.0), Fraction(20)]
)
def test_a_rate_is_a_float(rate):
    found = Trajectories(STATES, [3, 3], rate=rate)
    assert found.rate == 20.0 and type(found.rate) is float


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"stride": 0}, "stride is 0"),
        ({"gripper": 99}, "gripper names 99"),
        ({"ignore": ["finger"]}, "ignore names 'finger'"),
        ({"orientation": {0: "turn"}}, "use one of"),
        ({"resolution": -1}, "resolution"),
        ({"names": (0, 1)}, "names are"),
    ],
)
def test_invalid_descriptions_are_named(described, message):
    refuses(message, Trajectories, STATES, [3, 3], **described)


def test_descriptions_stay_as_they_were_checked():
    given = Trajectories(
        [np.ones((2, 5)), np.zeros((1, 5))], names=("a.x", "a.y", "a.z", "hand", "b"),
        orientation={"a": "euler"}, gripper="hand", ignore=["b"], resolution=0.1,
    )  # fmt: skip
    assert given.gripper == (3,) and given.ignore == (4,)
    assert given.orientation == {(0, 1, 2): "euler"} and given.lengths.tolist() == [2, 1]
    again = dataclasses.replace(given, names=())
    assert dataclasses.replace(given, names=np.array(given.names)).names == given.names
    assert vars(again)["orientation"] == given.orientation and again.gripper == (3,)


def test_the_rate_stays_with_the_trajectories():
    given = Trajectories(STATES, [3, 3], ("a", "b"), 12.5)
    assert as_trajectories(given) is given
    for same in (copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        assert same.rate == 12.5
    assert dataclasses.replace(given, lengths=[6]).rate == 12.5


@pytest.mark.parametrize(
    "states",
    [
        [[0, 1], [NOW, 2]],
        [[NOW, 1], [0.5, 2]],
        np.ma.array([[5, 1], [NOW, 2], [0, 3]], mask=[[1, 0], [0, 0], [0, 0]]),
        np.array([[NOW, 2]], np.longdouble),
    ],
    ids=str,
)
def test_integers_that_float64_would_round_are_refused(states):
    if np.dtype(np.longdouble) == np.float64 and not isinstance(states, list):
        pytest.skip("no long doubles")
    with pytest.raises(InputError, match="states, column 0 has numbers that range beyond 2\\^53"):
        Trajectories(states, [len(states)])


def test_notes_name_what_was_subtracted():
    found = Trajectories([[NOW, 0.5], [NOW + 3, 1.5]], [2], ("stamp", "x"), notes=("First.",))
    np.testing.assert_array_equal(found.states, [[0, 0.5], [3, 1.5]])
    assert found.notes[0] == "First." and f"2^53: {NOW} from 'stamp'." in found.notes[1]


def test_trajectories_of_a_list_have_one_origin():
    with pytest.raises(InputError, match=rf"trajectory 1 has the integer {NOW}.* subtract"):
        as_trajectories([[[0.0], [1.0]], [[NOW], [NOW + 1]]])
