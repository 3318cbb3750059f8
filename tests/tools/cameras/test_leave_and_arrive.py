"""Lasting changes, on small images of a block that an arm carries from place to place."""

import numpy as np
import pytest

from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.cameras.camera import as_camera
from infoatlas_tools.cameras.leave_and_arrive import find_changes

RATE = 10.0
LEAVES, ARRIVES, LENGTH = 15, 30, 45
HEIGHT, WIDTH, BLOCK = 72, 96, 10


def scenes(count=10, blocks=None, shift=0.0, pause=0, fixed=False, stay=0):
    """Images and joints of demonstrations, the steps of events, and the places of blocks.

    The tip of a grey arm goes to the block, carries it to its place, and leaves. `blocks` is the
    number of demonstrations with a block, `shift` moves the camera, in pixels a step, and `pause`
    is a number of steps before the arm moves. The block lies in one place if `fixed`. The arm stays
    at the block's last place for `stay` steps more.
    """
    rng = np.random.default_rng(0)
    table = np.full((3 * HEIGHT, 3 * WIDTH, 3), (150, 120, 90)) + rng.normal(
        0, 20 + 3 * shift, (3 * HEIGHT // 8, 3 * WIDTH // 8, 1)
    ).repeat(8, axis=0).repeat(8, axis=1)
    images, joints, steps, places = [], [], [], []
    for i in range(count):
        delay = pause + int(rng.integers(0, 8))
        pick, place = rng.uniform((8, 40), (50, 55)), rng.uniform((8, 8), (50, 25))
        pick = np.array([20.0, 45.0]) if fixed else pick
        home, end = rng.uniform((20, 70), (50, 80)), rng.uniform((20, 70), (50, 80))
        marks = np.array([0, 5 + delay, LEAVES + delay - 3, LEAVES + delay, ARRIVES + delay])
        marks = [*marks, *np.array([ARRIVES + 3, LENGTH - 3, LENGTH]) + delay + stay]
        ways = np.array([home, home, pick, pick, place, place, end, end])
        tips = np.stack([np.interp(np.arange(marks[-1]), marks, way) for way in ways.T], axis=1)
        film = []
        for step, tip in enumerate(tips):
            camera = np.array([HEIGHT, WIDTH]) + np.round(shift * rng.normal(0, 1, 2))
            y, x = np.clip(camera, 0, (2 * HEIGHT, 2 * WIDTH)).astype(int)
            image = table[y : y + HEIGHT, x : x + WIDTH].copy()
            at = pick if step < LEAVES + delay else place if step >= ARRIVES + delay else tip
            y, x = at.astype(int)
            if blocks is None or i < blocks:
                image[y : y + BLOCK, x : x + BLOCK] = (230, 120, 20)
            y, x = tip.astype(int)
            image[y + 3 : y + 9, x + 5 :] = (60, 60, 70)
            film.append(np.clip(image, 0, 255).astype(np.uint8))
        images.append(np.array(film))
        joints.append(tips)
        steps.append((LEAVES + delay, ARRIVES + delay))
        places.append((pick, place))
    return images, joints, np.array(steps), np.array(places)


def found(images, joints):
    return find_changes(as_camera(images, np.array([len(film) for film in images])), joints, RATE)


def disturbed(images, rng, how):
    """Images with noise of 10 levels, or a brightness that changes by 10%."""
    for film in images:
        values = film.astype(float)
        if how == "noise":
            values += rng.normal(0, 10, film.shape)
        else:
            values *= rng.uniform(0.9, 1.1, (len(film), 1, 1, 1))
        yield np.clip(values, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("how", ["noise", "flicker"])
def test_a_carried_block_leaves_and_arrives_and_the_arm_is_no_object(how):
    images, joints, steps, places = scenes()
    images = [*disturbed(images, np.random.default_rng(1), how)]
    changes, notes = found(images, joints)
    assert "in 10 of 10 demonstrations" in notes[0]
    for row, own, (pick, place) in zip(changes, steps, places, strict=True):
        assert [(c.number, c.leaves) for c in row] == [(1, True), (1, False)]
        assert np.abs([c.step for c in row] - own).max() <= 4  # 0.4 s
        centres = np.array([c.place for c in row])[:, ::-1] * WIDTH
        assert np.abs(centres - [pick + BLOCK / 2, place + BLOCK / 2]).max() < BLOCK / 2
        assert min(c.agreement for c in row) > 0.5


def test_a_hand_that_stays_is_no_object():
    images, joints, steps, _ = scenes(8, stay=20)
    ends = steps[:, 1] + 20
    images, joints = (
        [own[:end] for own, end in zip(each, ends, strict=True)] for each in (images, joints)
    )
    for row, own in zip(found(images, joints)[0], steps, strict=True):
        assert [(c.number, c.leaves) for c in row] == [(1, True), (1, False)]
        assert np.abs([c.step for c in row] - own).max() <= 3


def test_steps_are_recorded_ones():
    images, joints, steps, _ = scenes(8)
    images = [film.repeat(3, axis=0) for film in images]
    camera = as_camera(images, np.array([len(film) for film in images]))
    changes, _ = find_changes(camera, [q.repeat(3, axis=0) for q in joints], 3 * RATE)
    assert np.abs(np.array([[c.step for c in row] for row in changes]) - 3 * steps).max() <= 12


@pytest.mark.parametrize(
    ("count", "options", "why"),
    [
        (10, {"blocks": 4}, "in 0 of 10 demonstrations"),
        (7, {}, "needs 8 demonstrations"),
        (8, {"shift": 20.0}, "moves"),
    ],
)
def test_few_demonstrations_and_moving_cameras_show_no_object(count, options, why):
    changes, notes = found(*scenes(count, **options)[:2])
    assert not any(changes) and why in notes[0]


def test_the_absence_of_an_object_is_no_object():
    images, joints, steps, _ = scenes(8, pause=60, fixed=True)
    for row, (_, arrives) in zip(found(images, joints)[0], steps, strict=True):
        assert all(not c.leaves and abs(c.step - arrives) <= 4 for c in row)


def test_key_states_are_dates_of_the_camera():
    images, joints, steps, _ = scenes(8)
    key_states = discover_keystates(Trajectories(joints, rate=RATE, camera=images), count="auto")
    assert key_states.found.names == ("object leaves its place", "object arrives")
    assert np.abs(key_states.steps - steps).max() <= 4 and not key_states.warnings


@pytest.mark.parametrize(
    ("moved", "shown"),  # steps from the changes to the switches
    [
        ([(0, 0)], []),
        ([(0, 7)] * 5 + [(0, 12)] * 3, ["object arrives"]),  # a lamp, and the hand opens later
        (None, ["object leaves its place", "object arrives"]),
    ],
)
def test_changes_near_switches_are_no_events_of_their_own(moved, shown):
    images, joints, steps, _ = scenes(8)
    switches = np.full_like(steps, 3) if moved is None else steps + moved
    states = [
        np.column_stack([q, (np.arange(len(q)) < a) | ((np.arange(len(q)) >= b) & (a < b))])
        for q, (a, b) in zip(joints, switches, strict=True)
    ]
    demos = Trajectories(states, names=("x", "y", "gripper.pos"), rate=RATE, camera=images)
    found = discover_keystates(demos, count="auto").found
    own = [found.names.index(name) for name in shown]
    assert [found.names[k] for k, by in enumerate(found.source) if by == "contact"] == shown
    if shown:
        assert np.abs(found.steps[:, own] - steps[:, -len(own) :]).max() <= 4
