"""Key states of demonstrations with known phases, and of real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt import InputError, KeyStates, discover_keystates, load_trajectories
from infoatlas_rt.inputs.trajectories import Trajectories
from infoatlas_rt.keystates.phases import fit_motion
from infoatlas_rt.keystates.segmentation import Segmentation
from regimes import demonstrations

PICKCUBE = Path(__file__).parents[3] / "examples/data/pickcube.npz"


def test_known_phases_are_found_to_within_a_step():
    states, cuts = demonstrations()
    found = discover_keystates(states, k=2)
    assert found.steps.shape == (12, 2)
    assert np.abs(found.steps - cuts).max() <= 2
    assert np.abs(found.steps - cuts).mean() < 0.7
    assert (found.p_value == 0.05).all()


def test_grasps_of_real_demonstrations_are_found_to_within_two_steps():
    trajectories = load_trajectories(PICKCUBE)
    found = discover_keystates(trajectories, k=1)
    with np.load(PICKCUBE) as file:
        grasped = np.split(file["is_grasped"], np.cumsum(file["lengths"])[:-1])
    grasp = np.array([flag.argmax() for flag in grasped])
    assert np.abs(found.steps[:, 0] - grasp).max() <= 2
    assert found.names == trajectories.names


def test_steps_ascend_and_leave_out_the_ends():
    states, _ = demonstrations()
    found = discover_keystates(states, k=5)
    assert (np.diff(found.steps, axis=1) > 0).all()
    assert (found.steps > 0).all()
    assert (found.steps[:, -1] < [len(s) - 1 for s in states]).all()
    assert sorted(found.order) == list(range(5))
    assert (np.diff(found.strength) <= 0).all()


def test_order_is_nested():
    """The first cuts of K = 4 are those of K = 2, so a smaller K keeps the most important ones."""
    states, _ = demonstrations()
    few, many = discover_keystates(states, k=2), discover_keystates(states, k=4)
    np.testing.assert_array_equal(many.steps[:, np.sort(many.order[:2])], few.steps)
    np.testing.assert_array_equal(many.strength[:2], few.strength)


def test_auto_finds_both_events_and_none_in_shuffled_steps():
    states, cuts = demonstrations(count=20)
    found = discover_keystates(states, k="auto")
    assert found.steps.shape[1] == 2
    assert np.abs(found.steps - cuts).mean() < 0.7
    rng = np.random.default_rng(1)
    # The same increments in random order: no order is shared, so no cut is certain.
    shuffled = [np.cumsum(rng.permutation(np.diff(s, axis=0)), axis=0) for s in states]
    nothing = discover_keystates(shuffled, k="auto")
    assert nothing.steps.shape[1] == 1
    assert nothing.p_value[0] > 0.05


def test_p_values_of_stationary_motion_are_seldom_small():
    small = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        states = [np.cumsum(rng.standard_normal((46, 3)), axis=0) for _ in range(8)]
        small += discover_keystates(states, k=1).p_value[0] <= 0.05
    assert small <= 4


def test_importance_is_the_geometric_mean_of_gain_and_contrast():
    states, _ = demonstrations()
    motion, scores = fit_motion(states, 2)
    lengths = np.array([len(s) - motion.reach for s in states])
    segmentation = Segmentation(scores, lengths, window=4)
    segmentation.cut()
    (cut,) = segmentation.cuts
    density = segmentation.fit_phases(motion, [cut]).log_density(scores)
    contrast = 0.0
    for ratio, own in zip(
        np.split(density[:, 0] - density[:, 1], np.cumsum(lengths)[:-1]), cut, strict=True
    ):
        contrast += (ratio[own - 4 : own].sum() - ratio[own : own + 4].sum()) / (8 * len(cut))
    expected = np.sqrt(segmentation.gain[0] * contrast)
    np.testing.assert_allclose(segmentation.strength[0], expected, rtol=1e-4)


def test_increments_below_the_resolution_are_rest():
    states, cuts = demonstrations()
    rng = np.random.default_rng(0)
    jitter = [s + 1e-3 * rng.standard_normal(s.shape) for s in states]
    found = discover_keystates(jitter, k=2, resolution=5e-3)
    assert np.abs(found.steps - cuts).mean() < 1
    assert (found.phases.motion.still >= 5e-3).all()
    with pytest.raises(InputError, match="resolution is -1"):
        discover_keystates(states, resolution=-1)


def test_units_and_constant_coordinates_change_nothing():
    states, _ = demonstrations()
    found = discover_keystates(states, k=3)
    scale = 10.0 ** np.arange(-3, 3)
    other = discover_keystates([np.c_[s * scale + 5, np.full(len(s), 7.0)] for s in states], k=3)
    np.testing.assert_array_equal(found.steps, other.steps)
    np.testing.assert_allclose(found.strength, other.strength, rtol=1e-6)


def test_noise_of_a_third_of_a_percent():
    states, cuts = demonstrations(noise=0.003)
    assert np.abs(discover_keystates(states, k=2).steps - cuts).mean() < 1.5


def test_saved_key_states_are_the_same(tmp_path):
    states, _ = demonstrations()
    found = discover_keystates(states, k=2)
    found.save(tmp_path / "task.json")
    again = KeyStates.load(tmp_path / "task.json")
    assert again.computed_p_value is None
    assert np.isnan(again.p_value).all()
    for name in ("steps", "strength", "order"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
    np.testing.assert_array_equal(found.phases.whitening, again.phases.whitening)
    assert str(again) == str(found)
    assert again.phases.motion.lag == 2
    assert (found.p_value == 0.05).all()
    found.save(tmp_path / "task.json")  # now they are known
    assert (KeyStates.load(tmp_path / "task.json").p_value == 0.05).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda v: v.pop("steps"),
        lambda v: v.update(format=99),
        lambda v: v.update(order=[0, 0]),
        lambda v: v["phases"].update(mean=[[1.0]]),
        lambda v: v["phases"].update(still="x"),
        lambda v: v["phases"].update(steps=[]),
        lambda v: v["phases"].update(lag=-1),
        lambda v: v["phases"].update(columns=[99] * len(v["phases"]["columns"])),
        lambda v: v["phases"].update(width=0),
        lambda v: v["phases"]["whitening"][0][0].__setitem__(0, -1.0),
        lambda v: v["phases"]["knots"][0].reverse(),
        lambda v: v.update(p_value=[0.05]),
        lambda v: v.update(method="maxima"),
        lambda v: v.update(names=["a"]),
        lambda v: v.update(lag=7),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "task.json"
    discover_keystates(demonstrations()[0], k=2).save(path)
    values = json.loads(path.read_text())
    damage(values)
    path.write_text(json.dumps(values))
    with pytest.raises(InputError, match=r"no file of key states.*--save"):
        KeyStates.load(path)


def test_files_that_are_no_json(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        KeyStates.load(tmp_path / "none.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="no file of key states"):
        KeyStates.load(tmp_path / "a.json")
    with pytest.raises(InputError, match="cannot be written"):
        discover_keystates(demonstrations()[0], k=1).save(tmp_path / "missing" / "a.json")


def test_trajectories_object_gives_the_same():
    states, _ = demonstrations()
    lengths = np.array([len(s) for s in states])
    packed = Trajectories(np.concatenate(states), lengths, tuple("abcdef"))
    found = discover_keystates(packed, k=2)
    np.testing.assert_array_equal(found.steps, discover_keystates(states, k=2).steps)
    assert found.names == tuple("abcdef")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": "many"}, "k is 'many'"),
        ({"k": True}, "k is True"),
        ({"lag": 0}, "lag is 0"),
        ({"method": "maxima"}, "method is 'maxima'"),
        ({"method": "pointwise", "k": "auto"}, "k='auto' is for method='phase'"),
        ({"k": 40}, r"trajectory \d+ has \d+ steps, and 40 key states need"),
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
    with pytest.raises(InputError, match="coordinates are constant"):
        discover_keystates([np.ones((50, 3))] * 4)
    broken = states[3].copy()
    broken[4, 2] = np.nan
    with pytest.raises(InputError, match="trajectory 3 has 1 NaN"):
        discover_keystates([*states[:3], broken])


def test_one_trajectory_is_enough_for_its_sharpest_change():
    states, cuts = demonstrations(count=1)
    found = discover_keystates(states, k=1)
    assert np.abs(found.steps - cuts).min() <= 3
