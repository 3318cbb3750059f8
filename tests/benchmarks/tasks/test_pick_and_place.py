"""Generated pick-and-place recordings: events, rates and noise."""

import numpy as np
import pytest

from benchmarks.tasks import changed_demonstrations as variants
from benchmarks.tasks.recordings import HALF_WIDTH, recordings

FINE = 200.0


@pytest.fixture(scope="module")
def exact():
    return recordings(40, rate=FINE, noise=0)


def columns(demos, *names):
    return [demos.names.index(name) for name in names]


def position(demos, body):
    return columns(demos, *(f"{body}.{axis}" for axis in "xyz"))


def test_events_are_the_first_and_last_contact(exact):
    finger = columns(exact, "finger1.position")
    for states, (grasp, release) in zip(exact.trajectories, exact.times, strict=True):
        held = states[:, finger].ravel() <= HALF_WIDTH + 1e-12
        inside = slice(int(np.ceil(grasp)), int(release) + 1)
        assert held[inside].all()
        assert not held[inside.start - 1] and not held[inside.stop]


def test_the_object_moves_with_the_tool_while_it_is_held(exact):
    tool, thing = position(exact, "tool"), position(exact, "object")
    for states, (grasp, release) in zip(exact.trajectories, exact.times, strict=True):
        before, after = states[: int(grasp) + 1, thing], states[int(release) + 1 :, thing]
        assert np.allclose(before, before[0]) and np.allclose(after, after[0])
        assert np.linalg.norm(after[0, :2] - before[0, :2]) > 0.08
        assert after[0, 2] == pytest.approx(before[0, 2], abs=2e-3)  # on the table again
        held = states[int(np.ceil(grasp)) : int(release)]
        assert np.ptp(np.linalg.norm(held[:, thing] - held[:, tool], axis=1)) < 1e-9


@pytest.mark.parametrize("rate", [5, 10, 100])
def test_a_rate_samples_the_same_motion(exact, rate):
    coarse = recordings(3, rate=rate, noise=0)
    assert coarse.rate == rate and exact.rate == FINE
    assert coarse.times / rate == pytest.approx(exact.times[:3] / FINE)
    for few, many in zip(coarse.trajectories, exact.trajectories, strict=False):
        assert few == pytest.approx(many[:: int(FINE / rate)], abs=1e-9)


def test_an_outlier_is_one_frame():
    demos = recordings(3)
    frames = [(s == -9999).all(axis=1) for s in variants.with_outlier(demos).trajectories]
    assert sum(map(np.count_nonzero, frames)) == 1
    assert not any((s == -9999).any() for s in demos.trajectories)


def test_flipped_signs_are_the_same_rotation():
    demos = recordings(3)
    flipped = variants.with_sign_flips(demos)
    for old, new in zip(demos.trajectories, flipped.trajectories, strict=True):
        for body in ("tool", "object"):
            which = columns(demos, *(f"{body}.q{axis}" for axis in "wxyz"))
            ratio = new[:, which] / old[:, which]
            assert (np.abs(ratio) == 1).all() and (np.ptp(ratio, axis=1) == 0).all()
            assert np.count_nonzero(np.diff(ratio[:, 0])) > 3
        assert np.array_equal(
            np.delete(new, np.flatnonzero(["q" in n for n in demos.names]), axis=1),
            np.delete(old, np.flatnonzero(["q" in n for n in demos.names]), axis=1),
        )
