"""Quaternions of any name, and columns that wrap in any unit, are read as the motion they are."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import chosen, fuzzed, seeds
from infoatlas_rt.live.quaternions import QUATERNION, Group, quaternions
from infoatlas_tools import Trajectories
from infoatlas_tools.keystates.coordinates import read_coordinates

pytestmark = pytest.mark.filterwarnings("error")
NAMES = (
    *("q{}", "q_{}", "Q_RS_{}", "ori_{}", "tool.quat.{}", "orientation[{}]"),
    *("Rotation {}", "rot.q{}"),
)
ENDINGS = ("", " []", "()", " [1]", "[-]", " (quat)", "_ref", ".state", " [unit quaternion]")
RANGES = (1.0, 2 * np.pi, 100.0, 200.0, 360.0, 777.7, 1024.0, 4096.0, 16384.0)
OPENINGS = (0.08, 1.0, 100.0, 255.0, 4095.0)  # a jump by a full turn would be a wrap


@fuzzed(40)
@given(seeds, chosen(NAMES), chosen(ENDINGS), st.permutations("wxyz"), st.booleans())
def test_signs_of_quaternions_are_no_motion(rng, name, ending, order, upper):
    turns = np.cumsum(rng.normal(0, 0.05, (120, 3)), axis=0)
    angle = np.linalg.norm(turns, axis=1, keepdims=True)
    q = np.c_[np.cos(angle / 2), np.sin(angle / 2) / angle * turns]
    columns = ["wxyz".index(letter) for letter in order]
    names = [name.format(letter.upper() if upper else letter) + ending for letter in order]
    signs = rng.choice([-1, 1], (120, 1))
    paths = []
    for own in (q, q * signs):
        states = np.c_[rng.random(120) * 0 + np.arange(120) % 7, own[:, columns]]
        made, _, (path,), _ = read_coordinates(Trajectories([states], names=("x", *names)))
        assert made.kinds[1:] == (QUATERNION,) * 3, made.notes
        paths.append(path)
    np.testing.assert_allclose(*paths, atol=1e-9)
    assert np.abs(quaternions(Group(QUATERNION, (0, 1, 2, 3)), q) - q).max() < 1e-9


@fuzzed(60)
@given(
    seeds, chosen(RANGES), st.floats(0.004, 0.05), st.integers(1, 6), st.booleans(),
    chosen((1.0, -1.0)), st.floats(-2.0, 2.0), st.booleans(),
)  # fmt: skip
def test_wraps_in_any_unit(rng, size, speed, number, whole, sign, low, interpolated):
    """Motion through the seam, at speeds of a slow to a fast wrist; an interpolated wrap, too."""
    t, paths, states = np.arange(120), [], []
    for _ in range(number):
        turns = rng.random() + sign * np.cumsum(speed * (1 + 0.3 * np.sin(t / 9 + rng.random())))
        turns += rng.normal(0, 0.02 * speed, 120)
        ticks = np.rint(turns * 2**13) / 2**13 if whole else turns
        own = (ticks % 1 + low) * size
        wraps = 1 + np.flatnonzero(np.abs(np.diff(own[1:])) > size / 2)
        if interpolated and len(wraps) and wraps[0] > 6 and (np.diff(wraps) > 9).all():
            own[wraps[0]] = (own[wraps[0] - 1] + own[wraps[0] + 1]) / 2
            turns[wraps[0]] = (turns[wraps[0] - 1] + turns[wraps[0] + 1]) / 2
        paths.append(turns * size)
        states.append(np.c_[own, rng.normal(0, 1, 120)])
    made, _, found, _ = read_coordinates(Trajectories(states))
    rows = [np.flatnonzero(np.abs(np.diff(own[:, 0])) > size / 2) for own in states]
    if not all(len(own) and own[0] > 10 and own[-1] < 108 for own in rows):
        return  # too close to an end to be seen
    assert made.kinds[0] == "angle", rows
    for path, true in zip(found, paths, strict=True):
        np.testing.assert_allclose(np.diff(path[:, 0]), np.diff(true), atol=0.02 * size)


@fuzzed(40)
@given(
    seeds, chosen(RANGES), st.floats(1e-4, 0.01), st.integers(1, 6), st.booleans(),
    st.integers(10, 60), st.floats(-2.0, 2.0),
)  # fmt: skip
def test_a_rest_at_the_seam_is_no_jump(rng, size, noise, number, away, rest, low):
    """It is read as one place, or a note names the column or the frames beyond the seam."""
    turns, states = [], []
    for _ in range(number):
        path = np.interp(np.arange(120), [0, rest, 119], [0.0, 0.0, rng.uniform(0.2, 0.8)])
        turns.append((path if away else -path[::-1]) + rng.normal(0, noise, 120))
        states.append(np.c_[(turns[-1] % 1 + low) * size, rng.normal(0, 1, 120)])
    made, _, found, _ = read_coordinates(Trajectories(states))
    if made.kinds[0] != "angle":
        assert 0 in made.wrapping or "far out" in made.notes[0]
        return
    for path, true in zip(found, turns, strict=True):
        np.testing.assert_allclose(np.diff(path[:, 0]) / size, np.diff(true), atol=0.02)


@fuzzed(40)
@given(seeds, st.floats(0.0, 0.02), st.integers(1, 6), st.booleans(), chosen(OPENINGS))
def test_grippers_and_switches_do_not_wrap(rng, noise, number, slow, size):
    """A gripper rests at both ends; it may open slowly and close at once."""
    states = []
    for _ in range(number):
        at = np.sort(rng.integers(5, 115, 4))
        own = np.where(np.searchsorted(at, np.arange(120)) % 2, 0.0, 1.0)
        if slow:
            last = min(at[1] + 25, 120)
            own[at[1] : last] = np.linspace(0, 1, 25)[: last - at[1]]
        states.append(np.c_[size * (own + rng.normal(0, noise, 120)), rng.normal(0, 1, 120)])
    made, *_ = read_coordinates(Trajectories(states))
    assert "angle" not in made.kinds
