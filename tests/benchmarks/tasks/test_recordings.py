"""Simulated bodies, their camera images, and texts with the code that they describe."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra 'bench' is not installed")

from benchmarks import motion
from benchmarks.tasks import scenes


@pytest.mark.parametrize("scene", scenes.SCENES)
def test_bodies_are_rigid_and_move(scene):
    recording = scenes.record(scene, frames=60, points=3)
    tracks, bodies = recording.tracks, recording.bodies
    assert tracks.shape == (len(bodies), 60, 3) and len(np.unique(bodies)) >= 6
    reference = tracks[0]
    for track, body in zip(tracks[1:], bodies[1:], strict=True):
        if body == bodies[0]:
            assert motion.constancy(reference, track) == pytest.approx(0, abs=1e-9)
        else:
            assert motion.constancy(reference, track) < -1e-3
    assert np.abs(tracks).max() < 3  # all bodies stay near
    again = scenes.record(scene, frames=60, points=3)
    assert np.array_equal(tracks, again.tracks)


def test_camera():
    ahead = np.array([[[0, 0, 0.15], [0, 0, 0.5], [0.8, -1.1, 0.825]]])  # target, above, half-way
    image = scenes.camera(ahead)[0]
    assert image[0] == pytest.approx([320, 240])
    assert image[1][1] < 240  # the vertical axis points up
    assert image[2] == pytest.approx([320, 240])
