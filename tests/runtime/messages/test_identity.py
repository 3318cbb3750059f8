"""Topics with several bodies: one is chosen by its identity, and two are never mixed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from fakes import RecordingEstimator
from infoatlas_rt.cli import main
from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.identity import PassedOver
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_tools.bags.bag_curve import survey
from infoatlas_tools.bags.bag_reader import schema_of
from infoatlas_tools.bags.states import Bag
from player import Player

STORE = get_typestore(Stores.ROS2_JAZZY)
for kind, text in {
    "lab_msgs/msg/Models": "string[] name\ngeometry_msgs/Point[] place",
    "lab_msgs/msg/Marker": "int32 id\nfloat64 x",
    "lab_msgs/msg/Markers": "lab_msgs/Marker[] markers",
}.items():
    STORE.register(get_types_from_msg(text, kind))
T = STORE.types
START = 1_700_000_000
TF, POSE = "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PoseStamped"
X = "transforms[child_frame_id=tool0].transform.translation.x"


def schema(name):
    return schema_of(STORE, name)


def header(frame="", time=0.0):
    nanoseconds = round(1e9 * time)
    stamp = T["builtin_interfaces/msg/Time"](START + nanoseconds // 10**9, nanoseconds % 10**9)
    return T["std_msgs/msg/Header"](stamp, frame)


def point(x):
    return T["geometry_msgs/msg/Point"](float(x), 0.0, 0.0)


TURN = T["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)


def transform(child, x, time=0.0, parent="map"):
    move = T["geometry_msgs/msg/Transform"](
        T["geometry_msgs/msg/Vector3"](float(x), 0.0, 0.0), TURN
    )
    return T["geometry_msgs/msg/TransformStamped"](header(parent, time), child, move)


def tf(*transforms):
    return T[TF]([*transforms])


def pose(frame, x, time=0.0):
    return T[POSE](header(frame, time), T["geometry_msgs/msg/Pose"](point(x), TURN))


def joints(frame, names, values, velocities=(), time=0.0):
    arrays = np.array(values, float), np.array(velocities, float), np.zeros(0)
    return T["sensor_msgs/msg/JointState"](header(frame, time), [*names], *arrays)


def write(path, kind, messages, topic="/t", step=0.01):
    with Writer(path, version=9) as bag:
        connection = bag.add_connection(topic, kind, typestore=STORE)
        for i, message in enumerate(messages):
            time = START * 10**9 + round(1e9 * step * i)
            bag.write(connection, time, STORE.serialize_cdr(message, kind))
    return path


def alternating(count, children=("cube", "tool0")):
    """The second child moves by 1 per message, the others stay at 100."""
    return [
        tf(transform(child, i if child == children[1] else 100, i / 100))
        for i in range(count)
        for child in children
    ]


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
    assert player.window.newest == pytest.approx(START + 0.39)
    assert len(fakes[0].calls) == len(fakes[1].calls) > 20
    for call, expected in zip(fakes[1].calls, fakes[0].calls, strict=True):
        np.testing.assert_array_equal(call.x, expected.x)
        np.testing.assert_array_equal(call.x - call.y, 2)


def test_several_elements_of_one_message():
    cube = X.replace("tool0", "cube")
    extractor = Extractor([X, cube], schema(TF))
    assert extractor(tf(transform("cube", 1), transform("tool0", 2))).tolist() == [2, 1]
    with pytest.raises(InputError, match="a state needs all in one message") as caught:
        extractor(tf(transform("tool0", 2)))
    assert not isinstance(caught.value, PassedOver)


@pytest.mark.parametrize(
    ("kind", "fields", "first", "other", "named"),
    [
        (
            TF,
            ["transforms[0].transform"],
            tf(transform("a", 1)),
            tf(transform("b", 2)),
            "child_fra",
        ),
        (POSE, None, pose("a", 1), pose("b", 2), "[header.frame_id=b]"),
        (
            "sensor_msgs/msg/JointState",
            None,
            joints("a", "pq", [1, 2]),
            joints("b", "pq", [3, 4]),
            "[header.frame_id=b]",
        ),
        (
            "lab_msgs/msg/Models",
            ["place[0]"],
            T["lab_msgs/msg/Models"](["a", "b"], [point(1), point(2)]),
            T["lab_msgs/msg/Models"](["b"], [point(2)]),
            "place[b]",
        ),
        (
            "lab_msgs/msg/Markers",
            ["markers[0].x"],
            T["lab_msgs/msg/Markers"]([T["lab_msgs/msg/Marker"](7, 1.0)]),
            T["lab_msgs/msg/Markers"]([T["lab_msgs/msg/Marker"](8, 2.0)]),
            "markers[id=8]",
        ),
    ],
)
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
    fields = ["[header.frame_id=b]"]
    extractor = Extractor(fields, schema(POSE))
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
    with pytest.raises(InputError, match=why):
        Extractor(fields, schema(kind))


def test_empty_frames_and_joints_with_frames_of_their_own():
    """A gripper with its own frame is not a second body of an arm whose joints are named."""
    receiver = Receiver(Extractor(None, schema(POSE)))
    assert all(not receiver.receive(pose("", i)).fault for i in range(3))
    receiver = Receiver(Extractor(None, schema("sensor_msgs/msg/JointState"), ["p", "q"]))
    for _ in range(5):
        assert receiver.receive(joints("hand", "f", [1])).skip == "not asked for"
        assert receiver.receive(joints("arm", "qp", [2, 1])).state.tolist() == [1, 2]


def run(capsys, path, *options):
    code = main.main(["bag", str(path), "--topic", "/t", *options, "--threads", "1"])
    return code, capsys.readouterr()


def test_a_bag_of_several_bodies_is_refused_with_their_names(tmp_path, capsys):
    path = write(tmp_path / "tf", TF, alternating(60, ("cube", "tool0", "map")))
    holds = ".*".join(
        re.escape(f"transforms[child_frame_id={name}] (60)") for name in ("cube", "tool0", "map")
    )
    for field, why in {
        "transforms[0].transform": "has several bodies, and a state is of one",
        "transforms.transform": "take one of transforms",
        "transforms[child_frame_id=tool].transform": "no message on /t is one of transforms",
    }.items():
        code, (out, error) = run(capsys, path, "--field", field)
        assert code == 2 and out == "" and error.count("\n") == 1
        assert re.search(f"{why}.*It has {holds}", error), error
    code, (out, _) = run(
        capsys, path, "--field", X, *"--window 40 --every 9 --slices 1 --json".split()
    )
    counts = json.loads(out)["counts"]
    assert code == 0 and counts["accepted"] == 60 and counts["not asked for"] == 120


def test_two_bodies_of_one_topic_are_a_pair(tmp_path, capsys):
    """Each message is used for both, so couplings of frames of one /tf can be detected."""
    path = write(tmp_path / "tf", TF, alternating(60, ("cube", "tool0", "map")))
    fields = [X, X.replace("tool0", "cube")]
    few = "--window 40 --every 9 --slices 1 --json".split()
    code, (out, error) = run(
        capsys, path, "--field", fields[0], "--with-topic", "/t", "--with-field", fields[1], *few
    )
    assert code == 0, error
    found = json.loads(out)
    assert [topic["coordinates"] for topic in found["topics"]] == [[field] for field in fields]
    assert found["counts"]["paired"] == 60
    code, (_, error) = run(
        capsys, path, "--field", X, "--with-topic", "/t", "--with-field", X, *few
    )
    assert code == 2 and "with the same fields" in error


def test_the_interval_is_that_of_the_body_that_is_read(tmp_path):
    path = write(tmp_path / "tf", TF, alternating(60, ("cube", "tool0", "map")))
    with Bag(path) as bag:
        step, states = survey(bag, "/t", bag.extractor("/t", [X]))
        assert states == pytest.approx(60)
        assert step == pytest.approx(0.01, rel=1e-4)
    path = write(tmp_path / "pose", POSE, [pose("ab"[i % 2], i, i / 100) for i in range(100)])
    with Bag(path) as bag:
        every = survey(bag, "/t", bag.extractor("/t", ["[header.frame_id=*]"]))
        one = survey(bag, "/t", bag.extractor("/t", ["[header.frame_id=a]"]))
        assert (every[1], one[1]) == (100, 50)
        assert one[0] == pytest.approx(2 * every[0], rel=1e-4)


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
