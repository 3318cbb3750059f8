"""First images: displaced cameras and other light are undone."""

import numpy as np
import pytest

from infoatlas_tools.cameras.camera import as_camera
from infoatlas_tools.cameras.scene import read_between, read_scene
from painted_scenes import GREEN, RATE, RED, paint, places

COUNT, STEPS = 12, 6


def scene_of(images):
    films = [np.broadcast_to(image, (STEPS, *image.shape)) for image in images]
    return read_scene(as_camera(films, np.full(len(images), STEPS)), RATE)


@pytest.fixture(scope="module")
def images():
    return [paint(own, (RED, GREEN), seed=i) for i, own in enumerate(places(COUNT, 2))]


def test_shifts_are_undone(images):
    moved = list(images)
    shifts = {2: (5, -3), 7: (-4, 6), 9: (0, 8)}
    for i, (x, y) in shifts.items():
        moved[i] = np.roll(images[i], (y, x), axis=(0, 1))
    found, still = scene_of(moved), scene_of(images)
    assert not still.shift.any()
    assert {i: tuple(s) for i, s in enumerate(found.shift.tolist()) if any(s)} == shifts
    inner = np.s_[:, 10:-10, 10:-10]
    np.testing.assert_allclose(found.first[inner], still.first[inner], atol=2)
    np.testing.assert_array_equal(found.images[inner], still.images[inner])


def test_an_arm_in_other_postures_is_no_displaced_camera():
    """On an even table with three small things, most edges are those of the arm."""
    films, rng = [], np.random.default_rng(0)
    for _ in range(COUNT):
        x, y = rng.integers(40, 48), rng.integers(20, 32)
        for t in range(STEPS):
            image = np.full((96, 128, 3), 120, np.uint8)
            for row, column in ((8, 8), (80, 110), (84, 20)):
                image[row : row + 5, column : column + 5] = (90, 90, 150)
            image[: y + 20, x + 6 * t : x + 6 * t + 14] = (230, 230, 230)
            image[y + 14 : y + 20, x + 6 * t - 10 : x + 6 * t + 24] = (40, 40, 40)
            films.append(image)
    images = np.array(films).reshape(COUNT, STEPS, 96, 128, 3)
    images = (images + rng.normal(0, 2, images.shape)).clip(0, 255).astype(np.uint8)
    assert not read_scene(as_camera(list(images), np.full(COUNT, STEPS)), RATE).shift.any()


def test_light_is_undone(images):
    warm = [
        image if i % 3 else np.clip(image * (1.1, 1.0, 0.9), 0, 255).astype(np.uint8)
        for i, image in enumerate(images)
    ]
    found = scene_of(warm)
    assert np.linalg.norm(found.colour[::3], axis=1).min() > 3
    off = np.median(np.linalg.norm(found.first - found.usual, axis=-1), axis=(1, 2))
    assert off.max() < 2


def test_what_moves_is_not_between_two_steps(images):
    films = []
    for image in images:
        film = np.repeat(image[None], 20, axis=0)
        for t in range(20):
            film[t, 70:90, 9 * t : 9 * t + 16] = 20  # an arm that passes
        films.append(film)
    camera = as_camera(films, np.full(COUNT, 20))
    found = read_scene(camera, RATE)
    begin, end = np.full((2, COUNT), 2)
    end[:], begin[3], end[3] = 19, -1, -1
    later = read_between(camera, found, begin, end)
    np.testing.assert_array_equal(later[3], found.first[3])
    still = scene_of(images).first
    others = np.arange(COUNT) != 3
    assert (np.abs(later - still)[others].max(axis=-1) > 8).mean() < 0.001
