"""Key states of demonstrations with known phases, and of recorded ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import discover_keystates, load_trajectories
from infoatlas_tools.trajectories import Trajectories
from regimes import demonstrations

PICKCUBE = Path(__file__).parents[3] / "examples/data/pickcube.npz"


def test_known_phases_are_found_to_within_a_step():
    states, cuts = demonstrations()
    found = discover_keystates(states, count=2)
    assert found.steps.shape == (12, 2)
    assert np.abs(found.steps - cuts).max() <= 2
    assert np.abs(found.steps - cuts).mean() < 0.7
    assert found.reproduced.min() > 0.5 and "found again" in found.trust
    assert np.isnan(found.met) and "show no contact" in found.warnings[0]
    assert [found.sure(j) for j in range(2)] == ["repeats", "repeats"]


def test_grasps_of_real_demonstrations_are_found_to_within_two_steps():
    trajectories = load_trajectories(PICKCUBE)
    found = discover_keystates(trajectories, count=1)
    with np.load(PICKCUBE) as file:
        grasped = np.split(file["is_grasped"], np.cumsum(file["lengths"])[:-1])
    grasp = np.array([flag.argmax() for flag in grasped])
    assert np.abs(found.steps - grasp[:, None]).min(axis=1).max() <= 2
    assert found.trajectories.names == trajectories.names


def test_steps_ascend_and_leave_out_the_ends():
    states, _ = demonstrations()
    found = discover_keystates(states, count=5)
    assert (found.steps.count(axis=1) <= 5).all()
    assert (found.steps > 0).all()
    assert (found.steps.max(axis=1) < [len(s) - 1 for s in states]).all()
    assert sorted(found.order) == list(range(found.steps.shape[1]))
    shared = found.order[found.shared[found.order]]
    assert (np.diff(found.strength[shared]) <= 0).all()
    middle = np.ma.median(found.steps / [[len(s) - 1] for s in states], axis=0)
    assert (np.diff(middle) >= 0).all()


def test_increments_below_the_resolution_are_rest():
    states, cuts = demonstrations()
    rng = np.random.default_rng(0)
    jitter = [s + 1e-3 * rng.standard_normal(s.shape) for s in states]
    found = discover_keystates(Trajectories(jitter, resolution=5e-3), count=2)
    assert np.abs(found.steps - cuts).mean() < 1
    assert (found.recordings.coordinates.rest >= 5e-3).all()
    with pytest.raises(InputError, match="resolution is -1"):
        discover_keystates(Trajectories(states, resolution=-1))


def test_units_and_constant_coordinates_change_nothing():
    states, _ = demonstrations()
    found = discover_keystates(states, count=3)
    scale = 10.0 ** np.arange(-3, 3)
    other = discover_keystates(
        [np.c_[s * scale + 5, np.full(len(s), 7.0)] for s in states], count=3
    )
    np.testing.assert_array_equal(found.steps, other.steps)
    np.testing.assert_allclose(found.strength, other.strength, rtol=1e-6)


def test_noise_of_a_third_of_a_percent():
    states, cuts = demonstrations(noise=0.003)
    assert np.abs(discover_keystates(states, count=2).steps - cuts).mean() < 1.5


def test_trajectories_object_gives_the_same():
    states, _ = demonstrations()
    packed = Trajectories(np.concatenate(states), [len(s) for s in states], tuple("abcdef"))
    found = discover_keystates(packed, count=2)
    np.testing.assert_array_equal(found.steps, discover_keystates(states, count=2).steps)
    assert found.trajectories.names == tuple("abcdef")


@pytest.mark.parametrize("stride", [None, 3])
def test_trajectories_of_a_result_can_be_searched_again(stride):
    timed = [np.c_[s, np.arange(len(s))] for s in demonstrations()[0]]
    given = Trajectories(timed, rate=100, notes=("Read.",), stride=stride)
    found = discover_keystates(given)
    assert found.trajectories.stride == stride and found.trajectories.notes == ("Read.",)
    assert discover_keystates(found.trajectories).to_dict() == found.to_dict()
    assert found.to_dict()["notes"] == ["Read.", "column 6 rises evenly: it is left out"]
    faster = discover_keystates(replace(found.trajectories, rate=200)).recordings.timing
    assert faster == discover_keystates(replace(given, rate=200)).recordings.timing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count is 0"),
        ({"count": "many"}, "count is 'many'"),
        ({"count": True}, "count is True"),
        ({"labels": {99: [3]}}, "a labelled demonstration is 99"),
        ({"labels": {0: [3000]}}, "label 'label 1' of demonstration 0 is 3000"),
        ({"labels": {0: [3], 1: [4, 5]}}, "give them names"),
        ({"labels": {0: 3}}, "pass a list of steps"),
        ({"labels": [3]}, "pass steps by demonstration"),
    ],
)
def test_settings_out_of_range(options, message):
    with pytest.raises(InputError, match=message):
        discover_keystates(demonstrations()[0], **options)


def test_trajectories_that_cannot_be_used():
    states, _ = demonstrations()
    with pytest.raises(InputError, match="no trajectories"):
        discover_keystates([])
    with pytest.raises(InputError, match="load_trajectories"):
        discover_keystates("demos.npz")
    with pytest.raises(InputError, match="trajectory 1 has 2 coordinates"):
        discover_keystates([states[0], states[1][:, :2]])
    with pytest.raises(InputError, match="all 3 coordinates are constant"):
        discover_keystates([np.ones((50, 3))] * 4)
    with pytest.raises(InputError, match=r"no coordinate is left of 2 \(2 rising evenly"):
        discover_keystates([np.linspace(0, 1, 60)[:, None] * [1.0, 2.0]] * 4)
    with pytest.raises(InputError, match=r"of 6 \(6 ignored\): ignore fewer columns"):
        discover_keystates(Trajectories(states, ignore=list(range(6))))
    with pytest.raises(InputError, match=r"has 66 steps.* 900 of them.*smaller stride"):
        discover_keystates(Trajectories(states, stride=900))
    with pytest.raises(InputError, match=r"check the rate \(90000.0\)"):
        discover_keystates(Trajectories(states, rate=9e4))
    broken = states[3].copy()
    broken[4, 2] = np.nan
    with pytest.raises(InputError, match=r"trajectory 3 has 1 NaN.*: cut those steps off"):
        discover_keystates([*states[:3], broken])


def test_one_trajectory_is_enough_for_its_sharpest_change():
    states, cuts = demonstrations(count=1)
    found = discover_keystates(states, count=1)
    assert np.abs(found.steps - cuts).min() <= 3
