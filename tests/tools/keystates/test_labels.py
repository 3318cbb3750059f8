"""Labels: matched between demonstrations, and carried over to the others."""

from types import SimpleNamespace

import numpy as np
import pytest

from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.cameras.camera import Camera
from infoatlas_tools.keystates.labels import LACKS, as_labels, lie_on_changes
from infoatlas_tools.keystates.summary import how_sure
from refusals import refuses

RECORDED = Trajectories(np.zeros((600, 1)), [200, 200, 200])
RATE = 20.0


def demonstration(seed, attempt=False, rate=RATE):
    """A tool that grasps at a time of its own, some after a failed attempt; the step of the grasp.

    The gripper closes entirely on nothing, and halfway on an object; then the arm lifts.
    """
    rng = np.random.default_rng(seed)
    first, grasp, end = 2.0 + rng.uniform(0, 0.5), 5.0 + rng.uniform(0, 1), 9.0
    t = np.arange(0, end, 1 / rate)
    gripper = 1 - 0.5 * np.clip((t - grasp) / 0.2, 0, 1)
    if attempt:
        gripper -= np.clip((t - first) / 0.2, 0, 1) - np.clip((t - first - 0.8) / 0.2, 0, 1)
    height = np.clip(1 - t / 2, 0, 1) + np.clip((t - grasp - 0.3) / 2, 0, 1)
    side = np.clip(t / 2, 0, 1) + 0.3 * np.clip((t - grasp - 0.3) / 2, 0, 1)
    states = np.column_stack([side, height, gripper]) + rng.normal(size=(len(t), 3)) * 1e-3
    return states, round(grasp * rate)


def found_in(attempts, labels, number=8):
    made = [demonstration(seed, seed in attempts) for seed in range(number)]
    names = ("arm_1", "arm_2", "gripper.pos")
    given = {i: {name: made[i][1] + d for name, d in own.items()} for i, own in labels.items()}
    states = Trajectories([states for states, _ in made], names=names, rate=RATE)
    return discover_keystates(states, labels=given), np.array([step for _, step in made])


@pytest.mark.parametrize("off", [(4, -4), (4, 4), (-4, -4), (3,)])
def test_labels_off_by_four_frames_move_no_grasp_to_a_failed_attempt(off):
    found, truth = found_in((2, 4, 5), {i: {"pick": d} for i, d in enumerate(off)})
    switches = [[e.step for e in row] for row in found.evidence.events]
    assert [len(row) for row in switches] == [1, 1, 3, 1, 3, 3, 1, 1]
    away = found.steps[:, 0] - truth
    assert np.abs(away[len(off) :] - np.median(off)).max() <= 2
    assert away[: len(off)].tolist() == list(off)  # labels are kept exactly
    assert found.name(0) == "pick" and found.warnings == ()
    (sure,) = how_sure(found.found, found.reproduced)
    assert sure == f"labelled in {len(off)}, followed in {8 - len(off)}"


def test_two_kinds_at_one_event_keep_their_delays():
    found, truth = found_in((3,), {0: {"touch": -1, "grip": 4}})
    assert [found.name(j) for j in range(2)] == ["touch", "grip"]
    assert ((found.steps[:, 1] - found.steps[:, 0]) == 5).all()
    assert np.abs(found.steps[:, 1] - truth - 4).max() <= 2


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_any_step_of_a_slow_closing_can_be_labelled(share):
    """A closing of 0.8 s; all are followed, and the trust says what the labels rest on."""
    made, begins = [], [60, 71, 66, 80, 64, 75, 69, 62]
    for seed, begin in enumerate(begins):
        rng, t = np.random.default_rng(seed), np.arange(160)
        path = np.cumsum(rng.normal(size=(160, 2)), axis=0) / 20
        made.append(np.column_stack([path, 1 - 0.5 * np.clip((t - begin) / 16, 0, 1)]))
    states = Trajectories(made, names=("arm_1", "arm_2", "gripper.pos"), rate=RATE)
    labels = {i: {"pick": begins[i] + round(16 * share)} for i in (0, 1)}
    found = discover_keystates(states, labels=labels)
    assert np.abs(found.steps[:, 0] - np.array(begins) - 16 * share).max() <= 2 and found.met == 1


def test_kinds_away_from_events_are_found_by_their_motion():
    found, truth = found_in((), {0: {"up": 46}, 1: {"up": 46}})  # the arm stops 2.3 s later
    assert np.abs(found.steps[:, 0] - truth - 46).max() <= 5


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({0: [20, 90], 2: (30, 80)}, {"label 1": [20, 30], "label 2": [90, 80]}),
        ({0: {"b": 90, "a": 20}, 2: [80, 30]}, {"b": [90, 80], "a": [20, 30]}),
        ({0: [5], 1: {"a": 6}, 2: {"a": 7}}, {"a": [5, 6, 7]}),
        ({0: {"a": 20, "b": 90}, 1: {"b": 80}}, {"a": [20], "b": [90, 80]}),
    ],
)
def test_labels_that_can_be_matched(labels, expected):
    steps, names = as_labels(labels, RECORDED)
    own = {name: row[~np.isnan(row)].tolist() for name, row in zip(names, steps.T, strict=True)}
    assert own == expected


@pytest.mark.parametrize(
    "labels",
    [
        {0: {"grasp": 84, "release": 150}, 1: [159]},
        {0: {"grasp": 84}, 1: {"grip": 80}, 2: {"hold": 81}},
        {0: {"grasp": 84, "release": 150}, 1: {"grasp": 80, "relase": 140}},
        {0: {"a": 20, "b": 90}, 1: {"b": 20, "a": 90}, 2: [30, 80]},
        {0: [3], 1: [4, 5]},
    ],
)
def test_labels_that_cannot_be_matched_are_refused(labels):
    refuses(r"cannot be matched \(0: .*; 1: .*give them names", as_labels, labels, RECORDED)
    refuses(r"cannot be matched \(0: none\)", as_labels, {0: []}, RECORDED)


KINDS = ("grasp red", "place red", "grasp blue", "place blue")


def two_objects(seed, spoiled=""):
    """States of a tool that places a wide red and a narrow blue object, and the true steps.

    `spoiled` recordings are "cut" before the second grasp, have the objects "swapped", or drop the
    first one ("dropped"): the gripper closes further, opens, and grasps it again. With one object
    ("alone"), the arm moves on, and the gripper does not.
    """
    rng, t = np.random.default_rng(seed), np.arange(0, 24, 1 / RATE)
    grasps, places = 4 + rng.uniform(0, 1), 8 + rng.uniform(0, 1)
    late = 4.0 if spoiled == "dropped" else 0.0
    times = np.array([grasps, places + late, grasps + late + 9, places + late + 9])
    width = (0.3, 0.5) if spoiled == "swapped" else (0.5, 0.3)
    gripper, goal = np.ones(len(t)), np.zeros((len(t), 3))

    def turn(at, to):  # 0.2 s
        gripper[:] += np.clip((t - at) / 0.2, 0, 1) * (to - gripper[-1])

    spots = rng.uniform(-1, 1, size=(4, 3)) * 0.3 + [[1, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1]]
    for at, spot, before in zip(times, spots, (2.0, 1.5, 2.0, 1.5), strict=True):
        goal += (spot - goal[-1]) * np.clip((t - at + before) / (before - 0.3), 0, 1)[:, None]
    turn(times[0], width[0])
    if spoiled == "dropped":
        turn(times[0] + 2, 0.0)
        turn(times[0] + 2.4, 1.0)
        times[0] += 4.0
        turn(times[0], width[0])
    for at, to in list(zip(times[1:], (1.0, width[1], 1.0), strict=True))[
        : spoiled == "alone" or 3
    ]:
        turn(at, to)
    states = np.column_stack([goal, gripper]) + rng.normal(size=(len(t), 4)) * 2e-3
    steps = times * RATE + [4, 0, 4, 0]  # the end of a closing, the begin of an opening
    if spoiled == "alone":
        return states, np.r_[steps[:2], np.nan, np.nan]
    if spoiled == "cut":
        return states[: round((times[2] - 1.5) * RATE)], np.r_[steps[:2], np.nan, np.nan]
    return states, steps[[2, 3, 0, 1]] if spoiled == "swapped" else steps


def follow_two_objects(spoiled, labelled):
    """Steps and certainty where the others follow, the true steps, and all episodes."""
    made = [two_objects(seed, kind) for seed, kind in enumerate(spoiled)]
    names = ("arm_1", "arm_2", "arm_3", "gripper.pos")
    truth = np.array([steps for _, steps in made])
    labels = {
        i: {
            kind: None if np.isnan(step) else round(step)
            for kind, step in zip(KINDS, truth[i].tolist(), strict=True)
        }
        for i in labelled
    }
    states = Trajectories([states for states, _ in made], names=names, rate=RATE)
    found = discover_keystates(states, labels=labels)
    return found.steps.astype(float).filled(np.nan), found.found.certainty, truth


@pytest.mark.parametrize(("step", "lies"), [(204, True), (150, False)])
def test_few_images_show_whether_a_label_lies_on_a_change(monkeypatch, step, lies):
    where, rows = lie_on_changes.__globals__, [[SimpleNamespace(step=200)]] * 13
    monkeypatch.setitem(where, "correct_clock", lambda *_: [])
    monkeypatch.setitem(
        where, "find_changes", lambda own, *_: (rows * (own.episodes[3] == "8"), [])
    )
    labels = np.full((40, 2), np.nan)
    labels[8] = step, LACKS
    camera = Camera("top", np.full(40, 300), range(40))
    assert lie_on_changes(labels, camera, range(40), (), RATE) == lies


def away(steps, truth):
    return np.abs(np.nan_to_num(steps, nan=-9e9) - np.nan_to_num(truth, nan=-9e9))


@pytest.mark.parametrize("labelled", [(0,), (0, 1), (0, 1, 11)])
def test_an_episode_with_fewer_switches_lacks_the_later_kinds(labelled):
    """Also if one of the labelled episodes has another order."""
    spoiled = [*[""] * 8, "cut", "cut", "cut", "swapped"]
    steps, sure, truth = follow_two_objects(spoiled, labelled)
    assert away(steps, truth)[:11].max() <= 3
    assert np.isnan(steps[8:11, 2:]).all() and (steps[8:11, :2] > 0).all()
    assert (1 - sure[2:8]).sum() < 1  # of 24 proposals, none is off: those of two closings


@pytest.mark.parametrize("labelled", [(0,), (0, 1), (0, 6)])
def test_an_episode_that_goes_on_without_switches_lacks_them(labelled):
    steps, _, truth = follow_two_objects([*[""] * 6, *["alone"] * 6], labelled)
    assert away(steps, truth).max() <= 3


def test_exchanged_objects_are_followed_without_certainty():
    steps, sure, truth = follow_two_objects([*[""] * 8, "swapped", "swapped"], (0, 1))
    assert not (away(steps, truth) > 5)[:8].any() and (sure[8:] < 0.8).all()


def test_what_is_dropped_is_grasped_where_it_is_carried_from():
    steps, _, truth = follow_two_objects([*[""] * 6, "dropped", "dropped"], (0, 1))
    assert away(steps, truth).max() <= 5
