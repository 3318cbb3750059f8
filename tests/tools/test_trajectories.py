"""Trajectories and their rate; other tests of states: test_tables.py and files/test_load.py."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import Trajectories
from infoatlas_tools.trajectories import as_trajectories

STATES = np.arange(12.0).reshape(6, 2)


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
    with pytest.raises(InputError, match=message):
        Trajectories(STATES, [3, 3], **described)


def test_descriptions_stay_as_they_were_checked():
    given = Trajectories(
        [np.ones((2, 5)), np.zeros((1, 5))], names=("a.x", "a.y", "a.z", "hand", "b"),
        orientation={"a": "euler"}, gripper="hand", ignore=["b"], resolution=0.1,
    )  # fmt: skip
    assert given.gripper == (3,) and given.ignore == (4,)
    assert given.orientation == {(0, 1, 2): "euler"} and given.lengths.tolist() == [2, 1]
    again = dataclasses.replace(given, names=())
    assert vars(again)["orientation"] == given.orientation and again.gripper == (3,)


def test_the_rate_stays_with_the_trajectories():
    given = Trajectories(STATES, [3, 3], ("a", "b"), 12.5)
    assert as_trajectories(given) is given
    for same in (copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        assert same.rate == 12.5
    assert dataclasses.replace(given, lengths=[6]).rate == 12.5
