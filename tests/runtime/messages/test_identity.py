"""Topics with several bodies: one is chosen by its identity, and two are never mixed."""

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.identity import PassedOver
from infoatlas_rt.messages.receiver import Receiver
from player import Player
from refusals import refuses
from ros_messages import POSE, TF, T, X, alternating, header, point, pose, schema, tf, transform


def joints(frame, names, values, velocities=(), time=0.0):
    arrays = np.array(values, float), np.array(velocities, float), np.zeros(0)
    return T["sensor_msgs/msg/JointState"](header(frame, time), [*names], *arrays)


def test_an_element_is_chosen_by_its_identity():
    extractor = Extractor([X], schema(TF))
    assert extractor.names == (X,) and extractor.dim == 1
    for message in (tf(transform("tool0", 3)), tf(transform("cube", 9), transform("tool0", 3))):
        assert extractor(message).tolist() == [3]
    for message in (tf(transform("cube", 9)), tf()):
        with pytest.raises(PassedOver, match=r"without transforms\[child_frame_id=tool0") as caught:
            extractor(message)
        assert caught.value.fate == "not asked for"
    with pytest.raises(InputError, match="is 2 elements of this message"):
        extractor(tf(transform("tool0", 3), transform("tool0", 4)))
    with pytest.raises(PassedOver, match=r"header.frame_id=base\] is another body than .*=map\]"):
        extractor(tf(transform("tool0", 3, parent="base")))


def test_another_body_has_no_effect_on_steps_and_stamps():
    """As if the other frames were absent: stamps are those of the element."""
    alone = [tf(transform("tool0", i, i / 100)) for i in range(40)]
    fakes = [RecordingEstimator(n_min=8) for _ in range(2)]
    for fake, messages in zip(fakes, (alone, alternating(40)), strict=True):
        player = Player(fake, Extractor([X], schema(TF)), window=14, lag=2, lag_seconds=0.02)
        for i, message in enumerate(messages):
            player.push(message, 5.0 + i)  # the clock of the arrivals is different
    assert player.stream.counts["accepted"] == player.stream.counts["not asked for"] == 40
    assert player.window.newest == pytest.approx(1_700_000_000.39, abs=1e-6)
    assert len(fakes[0].calls) == len(fakes[1].calls) > 20
    for call, expected in zip(fakes[1].calls, fakes[0].calls, strict=True):
        np.testing.assert_array_equal(call.x, expected.x)
        np.testing.assert_array_equal(call.x - call.y, 2)


def test_several_elements_of_one_message():
    extractor = Extractor([X, X.replace("tool0", "cube")], schema(TF))
    assert extractor(tf(transform("cube", 1), transform("tool0", 2))).tolist() == [2, 1]
    with pytest.raises(InputError, match="a state needs all in one message") as caught:
        extractor(tf(transform("tool0", 2)))
    assert not isinstance(caught.value, PassedOver)


@pytest.mark.parametrize(
    ("kind", "fields", "first", "other", "named"),
    [
        (TF, ["transforms[0].transform"], tf(transform("a", 1)), tf(transform("b", 2)),
         "child_fra"),
        (POSE, None, pose("a", 1), pose("b", 2), "[header.frame_id=b]"),
        ("sensor_msgs/msg/JointState", None, joints("a", "pq", [1, 2]), joints("b", "pq", [3, 4]),
         "[header.frame_id=b]"),
        ("lab_msgs/msg/Models", ["place[0]"],
         T["lab_msgs/msg/Models"](["a", "b"], [point(1), point(2)]),
         T["lab_msgs/msg/Models"](["b"], [point(2)]), "place[b]"),
        ("lab_msgs/msg/Markers", ["markers[0].x"],
         T["lab_msgs/msg/Markers"]([T["lab_msgs/msg/Marker"](7, 1.0)]),
         T["lab_msgs/msg/Markers"]([T["lab_msgs/msg/Marker"](8, 2.0)]), "markers[id=8]"),
    ],
)  # fmt: skip
def test_a_body_that_was_not_named_is_that_of_the_first_message(kind, fields, first, other, named):
    """Others are ignored; if most messages are of another body, it is used and reported."""
    receiver = Receiver(Extractor(fields, schema(kind)))
    usual = receiver.receive(first, 0.0).state
    for _ in range(5):  # in turn
        sample = receiver.receive(other, 0.0)
        assert sample.skip == "other bodies" and named in sample.fault
        assert receiver.receive(first, 0.0).state.tolist() == usual.tolist()
    samples = [receiver.receive(other, 0.0) for _ in range(20)]
    taken = [i for i, sample in enumerate(samples) if not sample.skip]
    assert taken == [*range(9, 20)]  # 15 of the last 20 messages
    assert "most messages are of another body" in samples[taken[0]].notice
    assert named in samples[taken[0]].notice and samples[-1].state.tolist() != usual.tolist()


def test_messages_of_one_body():
    """With the default fields or others; `*` uses all as one body."""
    extractor = Extractor(["[header.frame_id=b]"], schema(POSE))
    assert extractor.fields == ("[header.frame_id=b]", "pose") and extractor.dim == 7
    with pytest.raises(PassedOver):
        extractor(pose("a", 1))
    assert extractor(pose("b", 2))[0] == 2
    extractor = Extractor(["[header.frame_id=b].pose.position.x"], schema(POSE))
    assert extractor(pose("b", 2)).tolist() == [2]
    extractor = Extractor(["[header.frame_id=*].pose.position.x"], schema(POSE))
    assert [extractor(pose(frame, 2)).tolist() for frame in "ab"] == [[2], [2]]


def test_elements_by_the_name_beside_them():
    extractor = Extractor(["place[b].x"], schema("lab_msgs/msg/Models"))
    models = T["lab_msgs/msg/Models"]
    assert extractor(models(["a", "b"], [point(1), point(2)])).tolist() == [2]
    assert extractor(models(["b"], [point(2)])).tolist() == [2]
    with pytest.raises(PassedOver):
        extractor(models(["a"], [point(1)]))


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        (TF, ["transforms[child=a].transform"], "chooses nothing: write child_frame_id=... or"),
        (TF, ["transforms[transform=a].transform"], "chooses nothing"),
        (TF, ["transforms.transform"], r"as in transforms\[child_frame_id=...\] or"),
        (POSE, ["[header.frame_id=a].pose", "[header.frame_id=b].pose"], "of several messages"),
        ("lab_msgs/msg/Markers", ["markers[id=a].x"], "write id=7"),
        ("std_msgs/msg/Float64MultiArray", ["data[a=b]"], "no names go with it"),
    ],
)
def test_identities_that_cannot_be(kind, fields, why):
    refuses(why, Extractor, fields, schema(kind))


def test_empty_frames_and_joints_with_frames_of_their_own():
    """A gripper with its own frame is not a second body of an arm whose joints are named."""
    receiver = Receiver(Extractor(None, schema(POSE)))
    assert all(not receiver.receive(pose("", i)).fault for i in range(3))
    receiver = Receiver(Extractor(None, schema("sensor_msgs/msg/JointState"), ["p", "q"]))
    for _ in range(5):
        assert receiver.receive(joints("hand", "f", [1])).skip == "not asked for"
        assert receiver.receive(joints("arm", "qp", [2, 1])).state.tolist() == [1, 2]


def test_empty_velocities_with_joints():
    """States with and without names are equal; later velocities are added to the layout."""
    kind = schema("sensor_msgs/msg/JointState")
    for names in ((), ("p", "q")):
        extractor = Extractor(None, kind, names)
        assert extractor(joints("", "pq", [1, 2])).tolist() == [1, 2]
        assert extractor.names == ("position[p]", "position[q]")
        taken = []
        for _ in range(20):
            try:
                taken.append(len(extractor(joints("", "pq", [1, 2], [3, 4]))))
            except InputError:
                taken.append(0)
        assert taken == [0] * 9 + [4] * 11 and "4 coordinates now" in extractor.notice
