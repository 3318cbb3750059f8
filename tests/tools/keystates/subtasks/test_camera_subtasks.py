"""References by a camera, on painted scenes whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.cameras import leave_and_arrive, scene
from infoatlas_tools.cameras.camera import Camera, as_camera
from infoatlas_tools.keystates.contacts.event_names import EventKind, What
from infoatlas_tools.keystates.subtasks.camera_subtasks import Measured, _choose, camera_subtasks
from infoatlas_tools.keystates.subtasks.cuts import make_cuts
from painted_scenes import BLUE, GREEN, JOINTS, RATE, RED, demonstrations, films, paint, places
from refusals import refuses

COUNT = 20
SWITCHES = tuple(EventKind(what, gripper="gripper") for what in (What.CLOSES, What.OPENS))
COLOURS = (RED, GREEN, BLUE)  # the blue square is never used


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    """Films of one image have the same background in few images, and no changes at any rate."""
    monkeypatch.setattr(scene, "EACH", 3)
    monkeypatch.setattr(leave_and_arrive, "RATE", 2.0)


def camera_of(images, states):
    """It keeps what it shows of the same states."""
    return as_camera(films(images, states), np.array([len(own) for own in states]))


def find(camera, states, steps, names=None, events=SWITCHES):
    camera = camera if isinstance(camera, Camera) else camera_of(camera, states)
    cuts = make_cuts(np.ma.masked_less(steps, 0), events, camera.lengths, 0.0)
    return camera_subtasks(camera, states, range(4), cuts, RATE, names or {})


def painted(where, colours=COLOURS):
    return [paint(own, colours, seed=i) for i, own in enumerate(where)]


@pytest.fixture(scope="module")
def where():
    return places(COUNT, 3)


@pytest.fixture(scope="module")
def demos(where):
    return demonstrations(where)


@pytest.fixture(scope="module")
def camera(where, demos):
    return camera_of(painted(where), demos[0])


def nearest(seen, truth):
    """Name of the object whose boxes are nearest to true places."""
    middle = seen.boxes[..., :2] + seen.boxes[..., 2:] / 2 - 0.5
    off = np.median(np.linalg.norm(middle - truth[:, None], axis=-1), axis=0)
    assert off.min() < 2
    return seen.names[off.argmin()]


def test_right_references(where, demos, camera):
    found = find(camera, *demos)
    first, second = (nearest(found.seen, where[:, k]) for k in range(2))
    assert found.seen.references == (first, second)
    assert {found.seen.names[o] for o in found.seen.informative} == {first, second}
    assert found.names == (f"reach {first}", f"carry {first} to {second}", "until end")
    assert found.keystate_names == dict(
        zip(
            ("gripper closes", "gripper opens"), (f"grasp {first}", f"release {first}"), strict=True
        )
    )
    assert all(part.certain for part in found.parts[:2])
    assert found.parts[1].runner_up_information < 0.2 < 1 < found.parts[1].information
    assert found.notes == ()


def test_what_lies_below_an_object_is_no_place_for_the_next_one(monkeypatch, where, demos, camera):
    """The first object is put on the second. So at another opening, neither lies open."""
    asked = []

    def shares(objects, things, first, last, gone):
        asked.append({*gone})
        return np.zeros(len(objects))

    monkeypatch.setitem(camera_subtasks.__globals__, "shares_below", shares)
    states, steps = demos
    again = replace(SWITCHES[1], occurrence=2)
    three = np.column_stack([steps, [len(own) - 2 for own in states]])
    found = find(camera, states, three, events=(*SWITCHES, again))
    held, on = (found.seen.names.index(name) for name in found.seen.references[:2])
    assert asked == [{held}, {held, on}]


def test_from_demonstrations_to_references(where, demos):
    states, steps = demos
    own = Trajectories(states, rate=RATE, names=JOINTS, camera=films(painted(where), states))
    keystates = discover_keystates(own)
    columns = [keystates.name(j).startswith("gripper") for j in range(keystates.steps.shape[1])]
    assert np.abs(keystates.steps[:, columns] - steps).max() <= 2
    found = keystates.subtasks(object_names={1: "red", 2: "green"})
    assert {"reach red", "carry red to green"} <= {*found.names} or {
        "reach green", "carry green to red"
    } <= {*found.names}  # fmt: skip
    assert set(found.keystate_names.values()) in (
        {"grasp red", "release red"}, {"grasp green", "release green"}
    )  # fmt: skip
    assert found.seen.names[:2] == ("red", "green")


def test_numbers_do_not_depend_on_the_cuts(demos, camera):
    """Places of each number, with both cuts and with one of them."""
    states, steps = demos
    both = find(camera, states, steps).seen
    for c in (0, 1):
        seen = find(camera, states, steps[:, [c]], events=SWITCHES[c : c + 1]).seen
        assert seen.numbers == both.numbers == tuple(range(1, len(both.names) + 1))
        assert np.array_equal(seen.boxes, both.boxes)


def test_shuffled_demonstrations_have_no_reference(where, demos):
    states, steps = demos
    order = np.random.default_rng(0).permutation(COUNT)
    found = find(painted(where), [states[i] for i in order], steps[order])
    assert found.seen.references == ("world", "world") and found.keystate_names == {}


def test_a_demonstration_with_another_object_is_named(where):
    other = where.copy()
    other[4, :2] = where[4, 1::-1]
    found = find(painted(where), *demonstrations(other))
    assert found.seen.references == ("world", "world") and len(found.notes) == 2
    assert all("it is clear without demonstration 4" in note for note in found.notes)


@pytest.mark.parametrize("nats", [(2.3, 2.2), (2.2, 2.3)])
def test_a_tower_and_a_tray_are_not_told_apart(nats):
    row = [Measured(value, 0.2, np.zeros(99)) for value in nats]
    found = _choose(row, (False, False), ("cup", "tray"), {"cup": "tray"}, ())
    assert found == ("world", "cup lies on tray: it is not clear which of them is meant.")
    clear = [row[0]._replace(nats=0.2), row[1]]
    assert _choose(clear, (False, False), ("cup", "tray"), {"cup": "tray"}, ()) == ("tray", "")


def test_objects_at_one_place(demos):
    states, steps = demos
    found = find(painted(np.broadcast_to(places(1, 3), (COUNT, 3, 2))), states, steps)
    assert found.seen is None and "nothing that lies at different places" in found.notes[0]


def test_grey_and_moving_cameras(where, demos):
    grey = [np.repeat(image.mean(axis=-1, keepdims=True), 3, axis=-1) for image in painted(where)]
    patches = np.random.default_rng(0).integers(0, 255, (COUNT, 6, 8, 3), np.uint8)
    moving = [*patches.repeat(24, axis=1).repeat(24, axis=2)]
    for images, said in (
        ([image.astype(np.uint8) for image in grey], "is grey"),
        (moving, "another scene in every demonstration"),
    ):
        found = find(images, *demos)
        assert found.seen is None and said in found.notes[0]
        assert [part.reference for part in found.parts] == ["", "", ""]
        assert found.names == ("until gripper closes", "until gripper opens", "until end")


def test_few_demonstrations(where, demos):
    states, steps = demos
    few = find(painted(where[:7]), states[:7], steps[:7])
    assert few.seen is None and "7 demonstrations are too few" in few.notes[0]
    assert "12 demonstrations" in find(painted(where[:12]), states[:12], steps[:12]).notes[0]


def test_two_of_one_colour_are_not_told_apart(where, demos):
    assert find(painted(where, (RED, RED, BLUE)), *demos).seen.references == ("world", "world")


def test_the_robot_is_no_object(where):
    states, steps = demonstrations(where, home=0.5)
    robot = np.array([(96, 20) + own[0, :2] * (30, 8) for own in states])
    images = painted(np.concatenate([where, robot[:, None]], axis=1), (*COLOURS, (240, 170, 20)))
    found = find(images, states, steps)
    middle = found.seen.boxes[..., :2] + found.seen.boxes[..., 2:] / 2
    assert (np.abs(middle - robot[:, None]).max(axis=-1).mean(axis=0) > 10).all()
    for k, reference in enumerate(found.seen.references):  # a face may be an object of its own
        own = middle[:, found.seen.names.index(reference)] - where[:, k]
        assert np.median(np.linalg.norm(own, axis=1)) < 5

    alone = find(painted(robot[:, None], ((240, 170, 20),)), states, steps)
    if alone.seen is None:
        assert "no object but the robot" in alone.notes[0]
    else:  # a part of its edge is seen now and then
        assert set(alone.seen.references) == {"world"}


def test_an_absent_object_is_still_a_reference(where, demos):
    states, steps = demos
    absent = where.copy()
    absent[::4, 1] = np.nan
    found = find(painted(absent), states, steps)
    second = nearest(found.seen, np.where(np.isfinite(absent[:, 1]), absent[:, 1], where[:, 1]))
    assert found.seen.references[1] == second


def test_names_of_objects_are_checked(where, demos):
    given = camera_of(painted(where[:8]), demos[0][:8]), demos[0][:8], demos[1][:8]
    refuses("object_names has 9: the objects have the numbers 1, 2", find, *given, {9: "x"})
    for names in ({1: "cup", 2: "cup"}, {1: "object 2"}, {1: "world"}, {1: ""}):
        refuses("give each object a name of its own", find, *given, names)
    blind = discover_keystates(Trajectories(given[1], rate=RATE, names=JOINTS))
    refuses("it names objects of a camera", blind.subtasks, object_names={1: "cup"})
    refuses(r"is \['cup'\]: pass names by numbers", blind.subtasks, object_names=["cup"])


def test_an_object_that_is_pulled_is_not_put_on_itself(where):
    """Its end depends on where it was; the next closing depends on it as much as on another one."""
    states, steps = demonstrations(where[:, :1])
    turn = np.random.default_rng(1).normal(size=(2, 4)) / 80
    noise = np.random.default_rng(2).normal(0, 0.01, (COUNT, 4))
    states = [
        np.r_[own, np.tile(np.r_[(place[0] + place[1]) @ turn + random, 0.03], (9, 1))]
        for own, place, random in zip(states, where, noise, strict=True)
    ]
    last = [len(own) - 5 for own in states]
    events = (*SWITCHES, replace(SWITCHES[0], occurrence=2))
    found = find(painted(where), states, np.c_[steps, last], events=events)
    red = nearest(found.seen, where[:, 0])
    assert found.seen.references == (red, red, "world")
    assert "cannot be distinguished" in found.notes[-1]
