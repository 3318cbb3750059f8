"""Objects of painted scenes: their places, faces, absences and twins."""

import numpy as np
import pytest

from infoatlas_tools.cameras.camera import as_camera
from infoatlas_tools.cameras.first_image_objects import find_objects
from infoatlas_tools.cameras.scene import read_scene
from painted_scenes import BLUE, DARK_RED, GREEN, RATE, RED, paint, places

COUNT, STEPS = 16, 4


def objects_of(where, colours):
    return objects_in([paint(own, colours, seed=i) for i, own in enumerate(where)])


def objects_in(images):
    """Objects of demonstrations that begin with some images."""
    films = [np.broadcast_to(image, (STEPS, *image.shape)) for image in images]
    found, _ = find_objects(read_scene(as_camera(films, np.full(COUNT, STEPS)), RATE))
    return found


def distance(found, truth):
    return np.nanmedian(np.linalg.norm(found.points - truth, axis=1))


def test_objects_at_their_places():
    where = places(COUNT, 3)
    found = objects_of(where, (RED, GREEN, BLUE))
    for k in range(3):
        own = min(found, key=lambda o, k=k: distance(o, where[:, k]))
        assert distance(own, where[:, k]) < 1.5 and own.seen.all() and not own.twin
        np.testing.assert_allclose(np.median(own.boxes[:, 2:], axis=0), 20, atol=2)


def test_faces_of_an_object_are_joined():
    where = places(COUNT, 2)
    found = objects_of(where, ((RED, DARK_RED), GREEN))
    own = min(found, key=lambda o: distance(o, where[:, 0]))
    assert distance(own, where[:, 0]) < 1.5  # a face alone is 5 pixels away
    assert sum(distance(o, where[:, 0]) < 6 for o in found) == 1


def test_a_rim_is_no_object():
    """Pixels at the edges of the first object, in some images of the second one."""
    where = places(COUNT, 2)
    images = [paint(own, (RED, GREEN), seed=i) for i, own in enumerate(where)]
    for i, image in enumerate(images):
        x, y = where[i, int(i % 8 == 0)].round().astype(int)
        inside = image[y - 10 : y + 10, x - 10 : x + 10].copy()
        image[y - 12 : y + 12, x - 12 : x + 12] = BLUE
        image[y - 10 : y + 10, x - 10 : x + 10] = inside
    found = objects_in(images)
    assert [min(distance(o, where[:, k]) for o in found) < 1.5 for k in range(2)] == [True, True]
    assert len(found) == 2


def test_absent_objects():
    where = places(COUNT, 2)
    where[::4, 1] = np.nan
    found = objects_of(where, (RED, GREEN))
    own = min(found, key=lambda o: distance(o, where[:, 1]))
    np.testing.assert_array_equal(own.seen, np.isfinite(where[:, 1, 0]))
    assert not own.boxes[~own.seen].any()


def test_twins_of_one_colour():
    found = objects_of(places(COUNT, 2), (RED, RED))
    assert found and all(o.twin for o in found)


@pytest.mark.parametrize("colours", [(), (RED,)])
def test_nothing_that_lies_elsewhere(colours):
    assert objects_of(np.full((COUNT, len(colours), 2), 80.0), colours) == []
