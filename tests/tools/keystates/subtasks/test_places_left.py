"""What leaves its place in a film is what was taken, whatever its colour and its information."""

import numpy as np
import pytest

from infoatlas_tools.cameras.camera import as_camera
from infoatlas_tools.cameras.first_image_objects import ImageObject
from infoatlas_tools.keystates.contacts.event_names import EventKind, What
from infoatlas_tools.keystates.subtasks.camera_subtasks import camera_subtasks
from infoatlas_tools.keystates.subtasks.cuts import make_cuts
from infoatlas_tools.keystates.subtasks.places_left import Moved, agree, shares_below, windows
from painted_scenes import BLUE, DARK_RED, GREEN, RATE, RED, demonstrations, paint, places

COUNT = 10
SWITCHES = tuple(EventKind(what, gripper="gripper") for what in (What.CLOSES, What.OPENS))


def film(where, colours, steps, length, taken, grey, seed):
    """Images [T, h, w, 3]: the object of this index leaves at the first of the steps, and lies
    beside the second object from the second step on."""
    images = []
    for place in (where[taken], (np.nan, np.nan), where[1] + (24, 0)):
        own = where.copy()
        own[taken] = place
        images.append(paint(own, colours, seed=seed))
    found = np.array(images)[np.searchsorted(steps, np.arange(length), side="right")]
    return np.repeat(found[..., :1] // 2 + found[..., 1:2] // 2, 3, axis=-1) if grey else found


def find(colours, taken=0, grey=False, shuffled=False):
    where = places(COUNT, 3)
    where[:, 1] = np.minimum(where[:, 1], (200, 999))
    states, steps = demonstrations(where)
    films = [
        film(own, colours, cuts, len(s), taken, grey, i)
        for i, (own, s, cuts) in enumerate(zip(where, states, steps, strict=True))
    ]
    lengths = np.array([len(own) for own in states])
    if shuffled:
        states = [np.random.default_rng(i).normal(size=own.shape) for i, own in enumerate(states)]
    cuts = make_cuts(np.ma.array(steps), SWITCHES, lengths, 0.0)
    return where, camera_subtasks(as_camera(films, lengths), states, range(4), cuts, RATE, {})


@pytest.mark.parametrize(
    "colours, grey, shuffled",
    [
        ((RED, GREEN, BLUE), False, True),  # without any information
        (((RED, DARK_RED), (RED, DARK_RED), BLUE), False, False),  # two of the same colours
        (((235, 240, 235), GREEN, BLUE), True, False),  # a grey camera
    ],
)
def test_what_left_its_place_was_taken(colours, grey, shuffled):
    where, found = find(colours, grey=grey, shuffled=shuffled)
    seen, part = found.seen, found.parts[0]
    o = seen.names.index(seen.references[0])
    middle = seen.boxes[:, o, :2] + seen.boxes[:, o, 2:] / 2
    assert np.median(np.linalg.norm(middle - where[:, 0], axis=1)) < 4
    rows = seen.boxes[..., :2] + seen.boxes[..., 2:] / 2
    near = np.median(np.linalg.norm(rows - where[:, 1:2], axis=-1), axis=0) < 6
    assert grey or near.sum() == 1  # the faces of the second object are one row
    assert seen.left[0, o] == part.left == 1
    assert part.reference == found.parts[1].held == seen.references[0] and part.certain
    assert np.delete(seen.left[0], o).max(initial=0) == 0
    assert np.abs(seen.after.astype(int) - seen.images).max() > 40


def test_what_leaves_and_what_informs_have_to_be_one_object():
    _, found = find((RED, GREEN, BLUE), taken=2)
    assert found.seen.references[0] == "world"
    assert "place of" in found.notes[-1] and "the joints depend on" in found.notes[-1]


def test_several_places_that_change_are_not_decided():
    names = ("cup", "tray", "mat")
    assert agree(np.array([0.9, 0.1, 0]), names, "world", "") == ("cup", "")
    assert agree(np.array([0.9, 0.1, 0]), names, "cup", "") == ("cup", "")
    assert agree(np.array([0.7, 0, 0]), names, "world", "why") == ("world", "why")
    assert agree(np.array([0.9, 0.5, 0]), names, "tray", "") == ("tray", "")
    both = agree(np.array([0.9, 0.5, 0]), names, "world", "")
    assert both == ("world", "the places of cup and tray change together.")
    other = agree(np.array([0.9, 0, 0]), names, "mat", "")
    assert other[0] == "world" and "cup changes (90% of the demonstrations)" in other[1]


def test_things_are_taken_until_they_are_put():
    steps, lengths = np.array([[10, 12], [30, -1], [50, 60]]), np.array([80, 90])
    (first, last), put, _ = windows(steps, (1, -1, 1), lengths, 5)
    assert first.tolist() == [5, 7] and last.tolist() == [35, 95]
    assert put[0].tolist() == [25, -1] and put[1][0] == 55
    thing = Moved(True, np.array([34, -1]), np.zeros((2, 2)), np.ones((2, 4), np.int64))
    assert thing.within(first, last) == 1
    assert thing.within(*put) == 1 and thing.within(first, first) == 0


@pytest.mark.parametrize("gone, shares", [((), [1, 0]), ((0,), [0, 0])])
def test_what_is_put_lies_on_what_is_below_its_lower_edge(gone, shares):
    boxes = np.repeat([[[40, 60, 20, 20]], [[120, 60, 20, 20]]], 8, axis=1)
    below = [ImageObject(b[:, :2] + 10.0, b, b[:, 2] * 20, (), False) for b in boxes]
    above = Moved(False, np.full(8, 30), np.full((8, 2), (50.0, 49.0)), boxes[0] - (0, 21, 0, 0))
    steps = np.full(8, 20)
    assert shares_below(below, [above], steps, steps + 20, gone).tolist() == shares
