"""Cuts and reference objects of the compared methods."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.generation import arms
from benchmarks.generation.tasks import GRASP, RELEASE
from benchmarks.tasks.episode_files import spans

from .made import TASK, demos


@pytest.fixture(scope="module")
def made():
    return demos()


@pytest.fixture(scope="module")
def found(made):
    return {name: arm(TASK, made, 0) for name, arm in arms.ARMS.items()}


@pytest.mark.parametrize("name", arms.ARMS)
def test_parts_cover_the_demonstrations(found, made, name):
    parts = found[name].parts
    assert (parts[0].start == 0).all() and (parts[-1].end == made.lengths).all()
    for one, next_one in pairwise(parts):
        assert (one.end == next_one.start).all()
        assert one.reference != next_one.reference  # neighbours would be merged


@pytest.mark.parametrize("name", [arms.SUBTASKS, arms.FLAGS, arms.GRIPPER, arms.FIVE, arms.ONE])
def test_right_references(found, name):
    assert TASK.is_right(tuple(part.reference for part in found[name].parts))
    assert found[name].parts[-1].held == "cube"


def test_cuts(found, made):
    grasps = np.array([np.flatnonzero(flag)[0] for flag in made.flags["is_grasped"]])
    first = {name: found[name].parts[0].end for name in found}
    assert (first[arms.FLAGS] == grasps + arms.LATER).all()
    assert (np.abs(first[arms.GRIPPER] - grasps) <= 2).all()  # where the gripper has closed
    assert (first[arms.ONE] == np.rint(made.lengths / 2)).all()
    shares = first[arms.FIVE] / made.lengths
    assert np.ptp(shares) < 0.02
    assert np.ptp(first[arms.RANDOM] / made.lengths) > 0.1


def test_grasps_of_a_flag(made):
    flag = np.zeros(60, bool)
    flag[10:20] = flag[22:30] = flag[40:50] = flag[58] = True  # interruption, short contact
    assert spans(flag, arms.LATER) == [(10, 30), (40, 50)]
    some = replace(made.take([0]), flags={"is_grasped": (flag,)})
    assert arms.flagged(some, GRASP, "cube").tolist() == [10]
    assert arms.flagged(some, RELEASE, "cube").tolist() == [30]
    named = replace(some, flags={**some.flags, "grasped_cube": (np.zeros(60, bool),)})
    assert arms.flagged(named, GRASP, "cube").tolist() == [-1]  # only the flag of this object
    assert arms.flagged(named, GRASP, "other").tolist() == [10]
