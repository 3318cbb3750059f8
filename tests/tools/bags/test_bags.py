"""Bags: recorded demonstrations, written like a robot's and read without ROS."""

import gc
import json
import os
import shutil
import sqlite3
import sys
import tracemalloc

import numpy as np
import pytest
from rosbags import rosbag1
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from command_line import answer, complaint, printed
from episodes import pickcube
from fakes import RecordingEstimator
from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.coupling import CouplingDetector
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.streams.sliding_window import SlidingWindow
from infoatlas_tools.bags import bag_curve
from infoatlas_tools.bags.bag_analysis import analyse_bag
from infoatlas_tools.bags.part_samples import Part
from infoatlas_tools.bags.states import Bag
from pictures import drawn, series, words
from player import Player
from recorded_bags import ARRAY, START, STORE, TYPES, arrays, header, make_bag, played, write_bag
from refusals import refuses

STORAGES = {"mcap": StoragePlugin.MCAP, "db3": StoragePlugin.SQLITE3}


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """Two demonstrations, in both storages."""
    folder = tmp_path_factory.mktemp("bags")
    for name, storage in STORAGES.items():
        make_bag(folder / name, 2, storage)
    return folder


@pytest.fixture(scope="module")
def recorded():
    """Positions and stamps of these demonstrations, from their original file."""
    first, second = pickcube()[0][:2]
    states, pauses = np.r_[first, second], np.repeat([0, 20], [len(first), len(second)])
    nanoseconds = START + 50_000_000 * (1 + np.arange(len(states)) + pauses)
    return states, nanoseconds // 10**9 + 1e-9 * (nanoseconds % 10**9)


@pytest.mark.parametrize("storage", STORAGES)
def test_same_numbers_as_the_estimator_fed_directly(bags, recorded, estimator, storage):
    """Estimates, standard errors and extrema, bit for bit.

    Extrema are those of all estimates, although only every sixth is requested.
    """
    options = {"window": 40, "lag": 2, "lag_seconds": 0.1}
    states, stamps = recorded
    detector = ExtremumDetector(delay=1.0, z=1.5)  # there are few windows without a pause
    dense, online = (OnlineEstimator(estimator, every=n, **options) for n in (1, 6))
    estimates, found = [], []
    for state, stamp in zip(states[:, :3], stamps, strict=True):
        update = dense.push(state, stamp)
        found += [] if update is None else detector.push(update)
        update = online.push(state, stamp)
        estimates += [] if update is None else [update]
    options |= {"every": 6, "detector": ExtremumDetector(delay=1.0, z=1.5)}
    assert len(estimates) > 15

    shares, topic = [], (["/joint_states"], [["position[0:3]"]])
    player, _, curve = played(bags / storage, *topic, estimator, shares.append, **options)
    assert curve.stamp.tolist() == [update.stamp for update in estimates]
    assert curve.mi.tolist() == [update.estimate.mi for update in estimates]
    for name in ("stderr", "noise"):
        assert getattr(curve, name).tolist() == [getattr(r.estimate, name) for r in estimates]
    assert curve.local.tolist() == [update.local for update in estimates]
    assert curve.fill.tolist() == [update.fill for update in estimates]
    assert found and curve.extrema == sorted(found, key=lambda extremum: extremum.stamp)
    assert player.stream.counts == online.counts and online.counts["accepted"] == len(states)
    assert shares[-1] == 1.0 and (np.diff(shares) > 0).all()
    np.testing.assert_array_equal(curve.states[0][1], states[:, :3])
    (topic,) = curve.topics
    assert topic.coordinates == tuple(f"position[joint{i}]" for i in (1, 2, 3))


def test_two_topics_are_the_pairs_of_their_states(bags, recorded):
    topics = ["/cube_pose", "/joint_states"], [["pose.position"], ["position[0:4]"]]
    player, fake, curve = played(bags / "mcap", *topics, window=20, lag=0)
    states, stamps = recorded
    assert curve.stamp.tolist() == stamps[19:].tolist()
    for i, call in enumerate(fake.calls):
        np.testing.assert_array_equal(call.x, states[i : i + 20, 28:31])
        np.testing.assert_array_equal(call.y, states[i : i + 20, :4])
    assert player.stream.counts["paired"] == len(states) and player.stream.counts["unpaired"] == 0


def test_two_topics_catch_up_on_a_pair_that_was_not_read(bags):
    fake = RecordingEstimator(n_min=8)
    topics = ["/tool_pose", "/cube_pose"]
    with Bag(bags / "mcap") as bag:
        extractors = [Extractor(None, bag.schema(topic)) for topic in topics]
        player = Player(fake, *extractors, delay=1e9, sync=Synchroniser(0.02), window=8, lag=0)
        stream = player.stream
        samples = [player.receivers[side].receive(m, t) for side, t, m in bag.messages(*topics)]
        assert not any(stream.add(sample) for sample in samples[:40])
        shown = [output.estimate.stamp for output in stream.take(samples[40])]
        assert samples[38].stamp in shown  # half a pair: the one before is estimated
        assert stream.take(samples[40]) == [] and stream.reason.startswith("waiting: no pair")


def test_messages_without_a_header_have_the_time_of_their_arrival(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 3))
    path = write_bag(tmp_path / "bag", arrays(rows))
    _, fake, curve = played(path, ["/array"], [None], window=10)
    assert curve.notices == ["/array has no stamps: times are those of arrival in the bag"]
    assert curve.start == START / 1e9
    np.testing.assert_allclose(curve.stamp - curve.start, np.arange(11, 30) / 100, atol=3e-7)
    np.testing.assert_array_equal(fake.calls[-1].x, rows[20:])


def test_a_bag_that_loops_starts_anew_even_as_another_robot(tmp_path):
    """Stamps jump back and states have another size: window, extrema and sizes are reset."""
    kind, messages = TYPES["sensor_msgs/msg/JointState"], []
    for i in range(60):
        time, d = START + (i % 30) * 10**8, 2 if i < 30 else 3
        message = kind(header(time), [], np.full(d, float(i)), np.zeros(0), np.zeros(0))
        messages.append(("/j", START + i * 10**8, message))
    path = write_bag(tmp_path / "bag", messages)
    player, fake, curve = played(path, ["/j"], [["position"]], window=10, lag=2)
    stream = player.stream
    assert stream.counts["resets"] == 1 and stream.counts["accepted"] == 60
    assert [call.x.shape[1] for call in fake.calls] == [2] * 19 + [3] * 19
    assert (fake.calls[19].x[:, 0] >= 30).all()
    assert stream.detector.count == 19 and len(curve.mi) == 38


def test_a_synchroniser_is_for_two_streams():
    fake = RecordingEstimator()
    for two, sync in ((True, None), (False, Synchroniser(1))):
        window = SlidingWindow(fake.model_file, window=10, two_streams=two)
        with pytest.raises(InputError, match="synchroniser for a window of"):
            Stream(window, fake, ExtremumDetector(delay=1.0), sync=sync)


def test_memory_is_that_of_the_curve(tmp_path, monkeypatch):
    """Messages of 3 MB go through the window one by one; test_bag_files has those of MCAP."""
    monkeypatch.setattr(bag_curve, "KEPT", 10)
    rows = np.random.default_rng(0).standard_normal((1500, 250))
    for count in (50, 1500):  # without imports of the first update
        path = write_bag(tmp_path / str(count), arrays(rows[:count]), STORAGES["db3"])
        gc.collect()
        tracemalloc.start()
        curve = played(path, ["/array"], [None], delay=1e9, window=20, every=count // 3)[-1]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(curve.mi) == 2 and 10 <= len(curve.states[0][0]) <= 20
    assert peak < 2e6  # a third of it: noise at rest of 250 coordinates


def test_a_bag_without_definitions_is_read_by_the_types_that_everybody_has(bags, tmp_path):
    """Like recordings of Humble and older, which contain no message definitions."""
    folder = shutil.copytree(bags / "db3", tmp_path / "old")
    with sqlite3.connect(folder / "db3.db3") as database:
        database.execute("DROP TABLE message_definitions")
        database.execute("UPDATE schema SET schema_version = 3")
    with Bag(folder) as bag:
        assert sum(1 for _ in bag.messages("/joint_states")) == bag.topics["/joint_states"].messages
        assert Extractor(None, bag.schema("/joint_states")).type == "sensor_msgs/msg/JointState"
    with sqlite3.connect(folder / "db3.db3") as database:
        database.execute("UPDATE topics SET type = 'lab_msgs/msg/Grip' WHERE name = '/tool_pose'")
    head, _, tail = (folder / "metadata.yaml").read_text().partition("name: /tool_pose")
    tail = tail.replace("geometry_msgs/msg/PoseStamped", "lab_msgs/msg/Grip", 1)
    (folder / "metadata.yaml").write_text(f"{head}name: /tool_pose{tail}")
    with Bag(folder) as bag, pytest.raises(InputError, match=r"definition of .*lab_msgs/msg/Grip"):
        bag.schema("/tool_pose")


def test_messages_written_by_rclpy(tmp_path):
    """Its serialize_message adds some bytes at the end (`tests/ros2` has real messages)."""
    for surplus in (4, 8):
        messages = arrays([[1.0, 2.0]] * 3)
        path = write_bag(tmp_path / str(surplus), messages, surplus=b"\x7f" * surplus)
        with Bag(path) as bag:
            assert [m.data.tolist() for _, _, m in bag.messages("/array")] == [[1.0, 2.0]] * 3
    path = write_bag(tmp_path / "more", arrays([[1.0, 2.0]]), surplus=b"\x7f" * 16)
    with Bag(path) as bag, pytest.raises(InputError, match="cannot be read as a bag"):
        next(bag.messages("/array"))


def test_a_bag_of_ros_1(tmp_path):
    store = get_typestore(Stores.ROS1_NOETIC)
    kind, path = "geometry_msgs/msg/PointStamped", tmp_path / "one.bag"
    with rosbag1.Writer(path) as bag:
        topic = bag.add_connection("/point", kind, typestore=store)
        for i in range(20):
            time = store.types["builtin_interfaces/msg/Time"](5, i * 10**7)
            head = store.types["std_msgs/msg/Header"](i, time, "")
            message = store.types[kind](head, store.types["geometry_msgs/msg/Point"](i, 1.0, 2.0))
            bag.write(topic, START + i * 10**7, store.serialize_ros1(message, kind))
    _, fake, curve = played(path, ["/point"], [None], window=10)
    assert curve.stamp[-1] == 5 + 1e-9 * 190_000_000
    np.testing.assert_array_equal(fake.calls[-1].x[:, 0], range(10, 20))


QUICK = ("--window", "40", "--every", "4", "--threads", "1")


def test_joints_by_name(bags, capsys):
    options = ("--topic", "/joint_states", "--field", "position", "--joints", "joint5", "joint1")
    [topic] = answer(capsys, "bag", bags / "mcap", *options, *QUICK)["topics"]
    assert topic["coordinates"] == ["position[joint5]", "position[joint1]"]


def test_command(bags, tmp_path, capsys, recorded, estimator, figures):
    picture, target = tmp_path / "a.png", tmp_path / "a.json"
    options = ("--topic", "/joint_states", "--field", "position[0:2]", "--field", "position[4]")
    rest = ("--lag-seconds", "0.1", "--z", "1", "--plot", picture, "--json", target)
    text = printed(capsys, "bag", bags / "mcap", *options, *QUICK, *rest)
    assert ": 3 coordinates (position[joint1], position[joint2], position[joint5])" in text
    assert "accepted" in text and f"Picture: {picture}" in text
    assert picture.read_bytes().startswith(b"\x89PNG")

    result = json.loads(target.read_text())
    online = OnlineEstimator(estimator, window=40, every=4, lag_seconds=0.1)
    estimates = [
        online.push(state, stamp)
        for state, stamp in zip(recorded[0][:, [0, 1, 4]], recorded[1], strict=True)
    ]
    assert result["curve"]["mi"] == [r.estimate.mi for r in estimates if r is not None]
    assert result["topics"][0]["fields"] == ["position[0:2]", "position[4]"]
    assert result["lag"] == 2 and result["counts"]["accepted"] == len(estimates)
    ((main_axes, below),) = (figure.axes for figure in figures)
    assert main_axes.get_ylabel() == "mutual information (nats)"
    # The line connects estimates and extrema. Most extrema are not at shown estimates.
    points = {
        **dict(zip(result["curve"]["stamp"], result["curve"]["mi"], strict=True)),
        **{extremum["stamp"]: extremum["value"] for extremum in result["extrema"]},
    }
    assert len(points) > len(result["curve"]["mi"])
    assert series(main_axes, len(points))[1] == [mi for _, mi in sorted(points.items())]
    assert "_{t-0.1\\,\\mathrm{s}}" in "".join(words(figures[0]))
    assert below.get_ylabel() == "/joint_states" and below.get_xlabel().startswith("seconds")
    states = [drawn(line)[1] for line in below.lines[-3:]]  # the others are restarts
    assert len(states) == 3 and all((min(line), max(line)) == (0, 1) for line in states)


def test_the_function_and_the_command_have_one_result(bags, capsys):
    options = ("--topic", "/cube_pose", "--with-topic", "/tool_pose", *QUICK)
    written = answer(capsys, "bag", bags / "mcap", *options, "--start", 1, "--duration", 3)
    found = analyse_bag(
        bags / "mcap", "/cube_pose", Estimator(threads=1), with_topic="/tool_pose", window=40,
        every=4, part=Part(1.0, 3.0),
    )  # fmt: skip
    del written["warnings"]
    assert written == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the topic to read.*It has /cube_pose .geometry_msgs/msg/PoseStamped, 1"),
        (("--topic", "/x"), "has no topic '/x'. It has .*/joint_states .sensor_msgs/msg/JointS"),
        (("--topic", "/joint_states", "--field", "x"), "there is no 'x'.*position .float64"),
        (("--topic", "/tool_pose", "--with-field", "x"), "give both"),
        (("--topic", "/tool_pose", "--lags", "1"), "--lags compares two topics: give --with-topic"),
        (("--topic", "/tool_pose", "--with-topic", "/tool_pose"), "--with-topic is --topic"),
        (("--topic", "/tool_pose", "--window", "999"), "no estimate .*filling.*shorter window"),
        (
            ("--topic", "/joint_states", "--field", "position[0:99]"),
            "no estimate.*dimension.*The first fault: position has 9 elements, but 99 are needed",
        ),
    ],
)
def test_wrong_usage_is_reported(bags, capsys, arguments, message):
    import re

    error = complaint(capsys, "bag", bags / "mcap", *arguments)
    assert re.search(message, error) and error.count("\n") == 1


def test_motion_below_the_resolution_is_rest(bags, capsys):
    options = ("--topic", "/tool_pose", "--window", "60", "--resolution", "1e6")
    assert set(answer(capsys, "bag", bags / "mcap", *options, *QUICK)["curve"]["mi"]) == {0.0}


def test_folders_that_are_no_bags(bags, tmp_path, capsys):
    assert "nor one with a ROS bag" in complaint(capsys, "bag", tmp_path, "--topic", "/x")
    folder = shutil.copytree(bags / "mcap", tmp_path / "bag")
    (folder / "metadata.yaml").unlink()
    assert f"pass {folder / 'mcap.mcap'}" in complaint(capsys, "bag", folder, "--topic", "/x")
    error = complaint(capsys, "bag", tmp_path / "nowhere", "--topic", "/x")
    assert "nowhere does not exist" in error


def test_empty_bags(tmp_path, capsys):
    with Writer(tmp_path / "bag", version=9) as bag:
        bag.add_connection("/array", ARRAY, typestore=STORE)
    error = complaint(capsys, "bag", tmp_path / "bag", "--topic", "/array")
    assert "has no messages on /array" in error
    with Writer(tmp_path / "none", version=9):
        pass
    assert "It is empty" in complaint(capsys, "bag", tmp_path / "none", "--topic", "/array")


def test_rosbags_missing(bags, monkeypatch, capsys):
    for name in ("rosbags", "rosbags.highlevel", "rosbags.typesys"):
        monkeypatch.setitem(sys.modules, name, None)
    error = complaint(capsys, "bag", bags / "mcap", "--topic", "/x")
    assert "pip install 'infoatlas-rt[bags]'" in error


def test_two_topics_report_when_they_move_together(bags, recorded, estimator, capsys, figures):
    """Equal to the detector on the same states, and in JSON, table and picture of the command."""
    states, stamps = recorded
    detector, expected = CouplingDetector(estimator), []
    for state, stamp in zip(states, stamps, strict=True):
        expected += detector.push(state[18:21], state[28:31], stamp)
    assert expected and expected[0].kind == "coupled"

    fields = "--topic /tool_pose --field pose.position --with-topic /cube_pose"
    options = f"{fields} --with-field pose.position --window 40 --every 5 --threads 1"
    target = bags / "coupling.json"
    outputs = ("--plot", bags / "coupling.png", "--json", target)
    text = printed(capsys, "bag", bags / "mcap", *options.split(), *outputs)
    result = json.loads(target.read_text())
    assert result["events"] == [event.to_dict() for event in expected]
    assert result["motions"]["stamp"] == stamps[32:].tolist()
    found = [side.tolist() for side in detector.resolution]
    assert result["coupling_resolution"] == {"estimated": True, "values": found}
    assert f"{expected[0].stamp - stamps[0]:.2f}" in text
    motions, begun = result["motions"], expected[0].stamp
    assert [e.kind for e in expected[:2]] == ["coupled", "decoupled"]
    while_coupled = [
        mi
        for stamp, mi in zip(motions["stamp"], motions["mi"], strict=True)
        if begun <= stamp <= expected[1].stamp
    ]
    assert f"{np.mean(while_coupled):.2f} on average" in text
    main_axes, *below = figures[-1].axes
    assert [axes.get_ylabel() for axes in below] == ["$a$: /tool_pose", "$b$: /cube_pose"]
    begins = [f"{event.stamp - stamps[0]:.1f}" for event in expected]
    assert [text for text in words(main_axes) if text in begins] == begins
    (legend,) = figures[-1].legends
    assert "coupled: they move together" in {text.get_text() for text in legend.texts}
    (motions,) = [line for line in main_axes.lines if line.get_label() == "of the motions"]
    assert drawn(motions)[1] == result["motions"]["mi"]


def test_pipes_are_no_bags(tmp_path):
    """Opening a pipe would block."""
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "metadata.yaml").write_text("")
    for pipe in (tmp_path / "a.mcap", tmp_path / "bag" / "a.db3"):
        os.mkfifo(pipe)
    for path in (tmp_path / "a.mcap", tmp_path / "bag"):
        refuses(r"a\.(mcap|db3) is a pipe or a device", Bag, path)


def test_stamps_of_another_field(bags):
    """They are in the given unit; a wrong unit is reported."""
    with Bag(bags / "mcap") as bag:
        schema = bag.schema("/tool_pose")
        _, _, message = next(bag.messages("/tool_pose"))
    for unit, scale in {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}.items():
        extractor = Extractor(None, schema, (), f"header.stamp.sec {unit}")
        assert extractor.stamp(message) == message.header.stamp.sec * scale
    message.pose.position.x = 1.7e18
    extractor = Extractor(None, schema, (), "pose.position.x us")
    player = Player(RecordingEstimator(), extractor, window=10)
    assert player.push(message, 1.0) == [] and player.window.counts["bad stamp"] == 1
    assert "is it the unit?" in player.stream.reason
    message.pose.position.x = 5e6
    player.push(message, 1.0)
    assert player.window.newest == 5.0
    for field, why in {
        "header.stamp.sec": "write a field and its unit",
        "header.stamp.sec days": "write a field and its unit",
        "pose.position us": "more than one number",
        "nowhere us": "there is no 'nowhere'",
    }.items():
        refuses(why, Extractor, None, schema, (), field)
