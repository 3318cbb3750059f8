"""Dropouts of eight and more frames, and what is none: stops, switches, slow sensors."""

import numpy as np
import pytest

from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.coordinates import read_coordinates

EVENTS = [(37 + i % 4, 76 + i % 3) for i in range(12)]  # steps at which the gripper switches


def reaches(noise=1e-4):
    """12 demonstrations at 20 Hz of a tool at x, y, z and a gripper that closes and opens."""
    rng, t, found = np.random.default_rng(0), np.arange(110), []
    for a, b in EVENTS:
        v = np.where(t < a, 1.0, np.where(t < b, -0.8, 0.6))
        place = np.cumsum(np.c_[v * 0.01, v[::-1] * 0.008, v * v * 0.005], axis=0)
        grip = np.where((t >= a) & (t < b), 0.0, 0.04)
        found.append(np.c_[place + 0.4, grip] + rng.normal(0, noise, (len(t), 4)))
    return found


def dropouts(states, **described):
    made, _, paths, outliers = read_coordinates(Trajectories(states, rate=20, **described))
    assert not outliers
    return [(*own[:3], own.value) for own in made.dropouts], paths


@pytest.mark.parametrize("length", [4, 8, 20])
@pytest.mark.parametrize(
    ("value", "which"),
    [(0.0, (3, 8)), (0.0, range(12)), (-9999.0, (3, 8)), ("the last values", (3, 8))],
)
def test_dropouts_of_all_columns_are_replaced(length, value, which):
    states, right = reaches(), reaches()
    for i in which:
        states[i][50 : 50 + length] = states[i][49] if isinstance(value, str) else value
    found, paths = dropouts(states)
    text = value if isinstance(value, str) else f"{value:g}"
    assert found == [(i, 50, 50 + length, text) for i in which]
    for own, path in zip(right, paths, strict=True):
        np.testing.assert_allclose(path, own, atol=0.02)


def test_a_part_of_the_columns_and_the_ends_of_a_recording():
    states = [np.c_[own, own[:, :3] * (1, -1, 2) + 3, np.sin(own[:, :3])] for own in reaches()]
    states[2][60:75, 4:7] = 0.0
    states[5][:9] = states[6][-30:] = 0.0  # before the first message, and after the last one
    found, _ = dropouts(states)
    assert found == [(2, 60, 75, "0"), (5, 0, 9, "0"), (6, 80, 110, "0")]
    assert dropouts(states, ignore=[4])[0] == found[1:]
    places = [own[:, :2] for own in reaches()]
    places[4][30:50] = 0.0
    assert dropouts(places)[0] == [(4, 30, 50, "0")]


def test_what_is_no_dropout():
    rng, t = np.random.default_rng(0), np.arange(200)
    speeds = np.repeat(rng.normal(size=(40, 3)), 5, axis=0)  # commanded, with stops
    speeds[np.repeat(rng.random(40) < 0.3, 5)] = 0.0
    smooth = np.cumsum(np.cumsum(rng.normal(size=(200, 5)), axis=0), axis=0)
    home = np.clip(smooth - smooth[0], 0, None)  # at rest at exactly zero
    slow = smooth[t // 5 * 5]  # states at 40 Hz recorded at 200 Hz
    rest = smooth[np.r_[:80, [80] * 40, 81:161]]
    hand = np.c_[smooth, np.where(t % 50 < 25, 0, 0.04)[:, None] * (1, 1, 1, 1)]
    hand[:, 5:] += rng.normal(0, 1e-4, (200, 4)) * (hand[:, 5:] > 0)  # fingers, closed at zero
    for states in (speeds, home, slow, rest, hand):
        assert dropouts([states, states[::-1], states * 2, states + 0.0])[0] == []


@pytest.mark.parametrize("value", [0.0, "held"])
def test_no_switch_is_dated_on_a_dropout(value):
    """It hides the closing: the demonstration lacks it, and a warning and the quality say why."""
    states = reaches()
    for i in (3, 8):
        first = EVENTS[i][0] - 12
        states[i][first : first + 14] = states[i][first - 1] if value == "held" else value
    names = ["x", "y", "z", "gripper"]
    found = discover_keystates(Trajectories(states, names=names, rate=20), count=2)
    assert found.name(0) == "gripper closes"
    assert np.flatnonzero(found.steps.mask[:, 0]).tolist() == [3, 8]
    off = found.steps[:, :2] - np.array(EVENTS)
    assert np.abs(off).max() <= 2 and not found.steps.mask[:, 1].any()
    (warning,) = found.warnings
    assert warning.startswith("Dropouts: demonstration 3, steps 28 to 41: 4 columns are ")
    assert "demonstration 8, steps 25 to 38" in warning
    for i in (3, 8):
        assert found.quality[i].reasons[0].startswith("dropout, steps ")
    labelled = discover_keystates(
        found.trajectories, labels={3: {"grasp": 40}, 0: {"grasp": 37}, 1: {"grasp": 38}}
    )
    assert labelled.steps[3, 0] == 40
