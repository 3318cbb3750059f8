"""Annotations of frames, from hand-made key states and sub-tasks."""

from dataclasses import replace

import numpy as np
import pytest

from annotated import named, without_evidence
from infoatlas_rt import InputError
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.annotations.quality_flags import episode_reasons, missing_parts
from infoatlas_tools.keystates.contacts.event_names import label_kind
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks
from infoatlas_tools.keystates.subtasks.cuts import Cuts
from regimes import demonstrations

LENGTHS = np.array([10, 20, 8])


def keystates(steps, mask=None):
    steps = np.ma.masked_array(steps, mask)
    recorded = Trajectories(np.zeros((len(steps), 1)), np.ones(len(steps), int), rate=10.0)
    names = [f"change {letter}" for letter in "AB"[: steps.shape[1]]]
    return without_evidence(named(steps, names), recorded)


def part(start, end, reference="", tool="tool", held=""):
    return Subtask(tool, np.array(start), np.array(end), reference=reference, held=held)


@pytest.fixture
def one_arm():
    parts = (
        part([0, 0, 0], [4, 5, 8], "cube"),
        part([4, 5, 8], [6, 15, 8], "goal", held="cube"),
        part([6, 15, 8], [10, 20, 8], "world"),
    )
    found = keystates([[4, 6], [5, 15], [3, 0]], [[0, 0], [0, 0], [0, 1]])
    return Annotations(found, Subtasks(parts, LENGTHS, 10.0), ("a", "b", "c"))


def test_labels_and_spans_cover_every_step(one_arm):
    assert one_arm.labels == ("reach cube", "carry cube to goal", "part 3")
    assert one_arm.active(0).tolist() == [0] * 4 + [1] * 2 + [2] * 4
    assert one_arm.spans(1) == [(0, 5, 0), (5, 15, 1), (15, 20, 2)]
    assert one_arm.spans(2) == [(0, 8, 0)]


def test_a_demonstration_that_is_cut_off_does_not_complete_the_last_part():
    cuts = ([4, 5, 3], [6, 15, 0], [8, 18, 0])  # the last demonstration lacks the second and third
    steps = np.ma.masked_equal(np.transpose(cuts), 0)
    spans = Cuts(steps, tuple(map(label_kind, ("close", "open", "close 2"))), LENGTHS).spans()
    parts = tuple(Subtask("", start, end, event) for event, start, end in spans)
    assert Subtasks(parts, LENGTHS, 10.0).completed.tolist() == [3, 2, 2, 2]


def test_progress_is_that_of_sarm(one_arm):
    shares = one_arm.shares()
    # Medians over demonstrations with the part: (0.4, 0.25, 1), (0.2, 0.5), (0.4, 0.25).
    np.testing.assert_allclose(shares, np.array([0.4, 0.35, 0.325]) / 1.075)
    progress = one_arm.progress(0)
    assert progress[0] == 0 and progress[-1] == pytest.approx(1) and (np.diff(progress) > 0).all()
    np.testing.assert_allclose(progress[[2, 4, 5]], [
        shares[0] / 2, shares[0], shares[0] + shares[1] / 2,
    ])  # fmt: skip
    assert one_arm.progress(2).max() == pytest.approx(shares[0])  # it lacks the other parts


def test_parts_in_another_order():
    parts = (
        part([0, 8, 0], [4, 20, 3], "a"),
        part([4, 0, 0], [7, 8, 0], "b"),
        part([7, 0, 3], [10, 0, 8], "c"),
    )
    made = Annotations(keystates(np.full((3, 1), 2)), Subtasks(parts, LENGTHS), ("0", "1", "2"))
    assert made.reordered.tolist() == [False, True, False]
    assert made.spans(1) == [(0, 8, 1), (8, 20, 0)]
    shares, progress = made.shares(), [made.progress(i) for i in range(3)]
    assert progress[1][8] == pytest.approx(shares[1])
    assert progress[1][-1] == pytest.approx(shares[0] + shares[1])  # it lacks the last part
    assert progress[2][3] == pytest.approx(shares[0] + shares[1])
    assert progress[2][-1] == pytest.approx(1) and all((np.diff(own) > 0).all() for own in progress)


def test_labels_that_do_not_show_the_order_are_named(one_arm):
    recorded = Trajectories(np.zeros((LENGTHS.sum(), 1)), LENGTHS, rate=10.0)
    usual = without_evidence(one_arm.keystates.found, recorded)
    quality = (*usual.quality[:2], replace(usual.quality[2], order="grasp can before grasp cube"))
    parts = replace(one_arm.subtasks, places={"tool": (0,)})
    made = replace(one_arm, subtasks=parts, keystates=replace(usual, quality=quality))
    assert missing_parts(replace(one_arm, keystates=usual), 2) and not missing_parts(made, 2)
    assert episode_reasons(made, 2) == (
        "another order: grasp can before grasp cube (its steps are labelled in the usual order)"
    )
    assert list(made.orders.items())[1] == ("grasp can before grasp cube", ["c"])


def test_key_states_as_events_and_frames(one_arm):
    assert one_arm.events() == [
        *((0, 4, "change A", 0), (0, 6, "change B", 1)),
        *((1, 5, "change A", 0), (1, 15, "change B", 1), (2, 3, "change A", 0)),
    ]
    assert one_arm.events(2) == [(2, 3, "change A", 0)]
    assert one_arm.newest(0).tolist() == [-1] * 4 + [0] * 2 + [1] * 4
    assert one_arm.newest(2).tolist() == [-1] * 3 + [0] * 5 and one_arm.seconds(0)[5] == 0.5


def test_two_arms_share_a_label():
    parts = (
        *(part([0, 0, 0], [4, 5, 2], "cube", "left"), part([4, 5, 2], LENGTHS, "goal", "left")),
        *(part([0, 0, 0], [6, 3, 8], "lid", "right"), part([6, 3, 8], LENGTHS, "world", "right")),
    )
    both = Annotations(keystates(np.full((3, 1), 4)), Subtasks(parts, LENGTHS), ("0", "1", "2"))
    assert both.labels == (
        "left: reach cube; right: reach lid",
        "left: reach goal; right: reach lid",
        "left: reach goal; right: part 2",
        "left: reach cube; right: part 2",
    )
    assert both.spans(0) == [(0, 4, 0), (4, 6, 1), (6, 10, 2)]
    assert both.spans(1) == [(0, 3, 0), (3, 5, 3), (5, 20, 2)]
    np.testing.assert_allclose(both.progress(0)[[0, -1]], [0, 1])
    assert both.shares("right").sum() == pytest.approx(1)


def test_mismatches_are_refused(one_arm):
    with pytest.raises(InputError, match="of 3 demonstrations, sub-tasks of 3 and names of 2"):
        Annotations(one_arm.keystates, one_arm.subtasks, ("a", "b"))
    gap = Subtasks((part([0, 0, 0], [10, 19, 8]),), LENGTHS)
    with pytest.raises(InputError, match="demonstration b: no sub-task of tool at step 19"):
        Annotations(one_arm.keystates, gap, ("a", "b", "c")).spans(0)


@pytest.mark.parametrize("stride", [1, 3])
def test_idle_frames_are_where_nothing_moves(stride):
    states = [np.repeat(s, stride, axis=0) for s in demonstrations(count=8)[0]]
    rest = 30 * stride
    states[2] = np.concatenate([states[2], np.repeat(states[2][-1:], rest, axis=0)])
    found = discover_keystates(Trajectories(states, stride=stride), count=2)
    made = Annotations(found, found.subtasks(), tuple(map(str, range(8))))
    idle = made.idle(2)
    assert len(idle) == len(states[2])
    assert idle[-rest + stride :].all() and idle[: -rest - 2 * stride].mean() < 0.1
    assert made.idle(0).mean() < 0.1
