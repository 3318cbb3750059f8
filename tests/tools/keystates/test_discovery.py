"""Key states of demonstrations with known phases, and of recorded ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import discover_keystates, load_trajectories
from infoatlas_tools.keystates.segmentation import Segmentation, motion_scores, ranked_cuts
from infoatlas_tools.trajectories import Trajectories
from regimes import demonstrations

PICKCUBE = Path(__file__).parents[3] / "examples/data/pickcube.npz"


def test_known_phases_are_found_to_within_a_step():
    states, cuts = demonstrations()
    found = discover_keystates(states, count=2)
    assert found.steps.shape == (12, 2)
    assert np.abs(found.steps - cuts).max() <= 2
    assert np.abs(found.steps - cuts).mean() < 0.7
    assert found.evident
    assert found.reproduced > 0.9
    assert found.warnings == ()


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


def test_phases_are_nested():
    """The first cuts of K = 4 are those of K = 2, so a smaller K has the most important ones."""
    states, _ = demonstrations()
    (few, strength), (many, more) = (ranked_cuts(states, 2, np.zeros(6), k) for k in (2, 4))
    np.testing.assert_array_equal(many[:, :2], few)
    np.testing.assert_array_equal(more[:2], strength)


def test_motion_below_the_resolution_has_no_phases():
    states, _ = demonstrations()
    boundaries, strength = ranked_cuts(states, 2, np.full(6, 1e3), 3)
    assert boundaries.shape == (12, 0) and not len(strength)
    discover_keystates(Trajectories(states, resolution=1e3), 3)  # continues without them


@pytest.mark.parametrize("kind", ["white", "walk", "smooth"])
def test_no_key_state_in_motion_without_events(kind):
    """White noise, random walks and a single smooth motion, 25 draws each."""
    said = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((6, 100, 4))
        if kind == "walk":
            noise = noise.cumsum(axis=1)
        if kind == "smooth":
            u = np.linspace(0, 1, 100)[:, None]
            noise = (10 * u**3 - 15 * u**4 + 6 * u**5) * rng.standard_normal((6, 1, 4)) + 0.001 * (
                noise
            )
        said += discover_keystates(list(noise), count="auto").steps.shape[1] > 0
    assert said == 0


def test_auto_finds_both_events():
    states, cuts = demonstrations(count=20)
    found = discover_keystates(states, count="auto")
    away = np.abs(found.steps.filled(-99)[:, :, None] - cuts[:, None, :]).min(axis=1)
    assert away.mean() < 1


def test_strength_is_the_geometric_mean_of_gain_and_contrast():
    states, _ = demonstrations()
    scores = motion_scores(states, 2, np.zeros(6))
    lengths = np.array([len(s) - 6 for s in states])
    segmentation = Segmentation(scores, lengths, window=4)
    segmentation.cut()
    (cut,) = segmentation.cuts
    after = np.concatenate([np.arange(n) >= c for n, c in zip(lengths, cut, strict=True)])
    pooled = np.cov(scores.T, bias=True)
    density = []
    for part in (scores[~after], scores[after]):
        covariance = 0.98 * np.cov(part.T, bias=True) + 0.02 * pooled + 0.02 * np.eye(len(pooled))
        away = scores - part.mean(axis=0)
        squares = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
        density.append(-0.5 * squares - 0.5 * np.linalg.slogdet(covariance)[1])
    contrast = 0.0
    for ratio, own in zip(
        np.split(density[0] - density[1], np.cumsum(lengths)[:-1]), cut, strict=True
    ):
        contrast += (ratio[own - 4 : own].sum() - ratio[own : own + 4].sum()) / (8 * len(cut))
    expected = np.sqrt(segmentation.gain[0] * contrast)
    np.testing.assert_allclose(segmentation.strength[0], expected, rtol=1e-3)


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
