"""Events for Foxglove, read back by rosbags and by the package mcap."""

import sys

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin

from annotated import annotations
from hdf5_sets import LENGTHS, NAMES, subtasks
from infoatlas_rt import InputError
from infoatlas_tools.annotations.foxglove import EVENT, TOPIC, write_foxglove
from mcap_files import write_channels
from recorded_bags import TYPES, write_bag

BEGIN = 1_790_000_000_123_456_789  # too precise for a float64 of seconds or nanoseconds
BAGS = ("run 1", "run_2", "run_3.mcap")


def clock(i):
    """Uneven times of the steps of a demonstration, ns."""
    steps = np.random.default_rng(i).integers(40_000_000, 60_000_001, LENGTHS[i])
    return BEGIN + i * 10**12 + np.cumsum(steps)


def write_bags(folder, plugin=StoragePlugin.MCAP):
    """A bag per demonstration: states, and a topic of another rate."""
    for i, name in enumerate(BAGS):
        messages = []
        for step, time in enumerate(clock(i).tolist()):
            message = TYPES["std_msgs/msg/Float64"](float(step))
            messages.append(("/state", time, message))
            if step % 5 == 0:
                messages.append(("/slow", time + 1, message))
        write_bag(folder / "bag", messages, plugin)
        if name.endswith(".mcap"):
            next((folder / "bag").glob("*.mcap")).rename(folder / name)
            (folder / "bag" / "metadata.yaml").unlink()
            (folder / "bag").rmdir()
        else:
            (folder / "bag").rename(folder / name)
    return folder


def own_annotations(cuts=None, episodes=BAGS, rate=20.0):
    return annotations(subtasks(cuts=cuts, rate=rate), episodes)


def expected(found, i, times):
    """Events in order of time: (start, end, metadata)."""
    events = []
    for part, name in zip(found.subtasks.parts, found.subtasks.names, strict=True):
        start, end = int(part.start[i]), int(part.end[i])
        if end > start:
            span = (times[start], times[min(end, len(times) - 1)])
            events.append((*span, "subtask", name))
            if part.reference != "world":
                events.append((times[end - 1], times[end - 1], "key_state", ""))
    return sorted((int(a), int(b), kind, name) for a, b, kind, name in events)


def read_rosbags(file):
    found = []
    with AnyReader([file]) as reader:
        (connection,) = reader.connections
        assert (connection.topic, connection.msgtype) == (TOPIC, EVENT)
        for _, time, raw in reader.messages():
            found.append((time, reader.deserialize(raw, EVENT)))
    return found


def read_mcap(file):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with file.open("rb") as opened:
        reader = make_reader(opened, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == "ros2"
        found = []
        for schema, channel, message, event in reader.iter_decoded_messages():
            assert (schema.name, schema.encoding) == (EVENT, "ros2msg")
            assert (channel.topic, channel.message_encoding) == (TOPIC, "cdr")
            found.append((message.log_time, event))
    return found


def as_rows(messages):
    rows = []
    for time, event in messages:
        start, end = (m.sec * 10**9 + m.nanosec for m in (event.start_time, event.end_time))
        assert time == start
        metadata = {pair.key: pair.value for pair in event.metadata}
        assert len(metadata) == len(event.metadata)  # keys are unique
        rows.append((start, end, metadata))
    return rows


@pytest.fixture(params=["rosbags", "mcap"])
def read(request):
    if request.param == "mcap":
        pytest.importorskip("mcap_ros2", reason="mcap and mcap-ros2-support are not installed")
        return read_mcap
    return read_rosbags


@pytest.mark.parametrize("plugin", list(StoragePlugin))
def test_events_in_the_clock_of_the_bags(tmp_path, read, plugin, monkeypatch):
    folder, out = tmp_path / "bags", tmp_path / "events"
    folder.mkdir()
    if plugin is StoragePlugin.SQLITE3:
        monkeypatch.setattr(sys.modules[__name__], "BAGS", ("run 1", "run_2", "run_3"))
    write_bags(folder, plugin=plugin)
    found = own_annotations([[10, 25], [8, 8], [20, 41]], BAGS)
    assert write_foxglove(found, folder, out, topic="/state") == ()
    names = ["run_1.events.mcap", "run_2.events.mcap", "run_3.events.mcap"]
    assert sorted(file.name for file in out.iterdir()) == names
    for i, name in enumerate(names):
        rows = as_rows(read(out / name))
        assert rows == sorted(rows, key=lambda row: row[0])
        shown = [
            (start, end, own["kind"], own["name"] if own["kind"] == "subtask" else "")
            for start, end, own in rows
        ]
        assert sorted(shown) == expected(found, i, clock(i))
    (reach,) = [own for _, _, own in rows if own.get("name") == "reach cubeA"]
    assert reach["reference"] == "cubeA" and reach["tool"] == "tool" and "held" not in reach
    (carry,) = [own for _, _, own in rows if own.get("held")]
    assert (carry["held"], carry["start_step"], carry["end_step"]) == ("cubeA", "20", "41")
    (grasp,) = [own for _, _, own in rows if own["name"] == "grasp"]
    assert grasp == {"kind": "key_state", "name": "grasp", "step": "19"}


def test_a_channel_that_cannot_be_decoded_does_not_matter(tmp_path):
    channels = (
        ("/state", "std_msgs/msg/Float64", b"float64 data"),
        ("/json", "lab.Thing", b"{}", "json", "jsonschema", {}),
    )
    times = enumerate(clock(0)[: LENGTHS[0]].tolist())
    rows = [(time, b"{}", b"{}" if step < 3 else None) for step, time in times]
    write_channels(tmp_path / "run.mcap", channels, rows)
    found = annotations(subtasks(cuts=[[10, 25]], lengths=LENGTHS[:1]), ("run",))
    write_foxglove(found, tmp_path, tmp_path / "events", topic="/state")
    rows = as_rows(read_rosbags(tmp_path / "events" / "run.events.mcap"))
    assert {row[:2] for row in rows} == {row[:2] for row in expected(found, 0, clock(0))}


def test_other_data_sets_begin_at_zero(tmp_path, read):
    write_foxglove(own_annotations(episodes=NAMES), tmp_path / "demo.hdf5", tmp_path / "events")
    rows = as_rows(read(tmp_path / "events" / "demo_2.events.mcap"))
    assert [(a, b) for a, b, own in rows if own["kind"] == "subtask"] == [
        (0, 400_000_000),
        (400_000_000, 1_000_000_000),
        (1_000_000_000, 1_450_000_000),
    ]
    with pytest.raises(InputError, match="no times and no rate"):
        write_foxglove(own_annotations(None, NAMES, None), tmp_path / "demo.hdf5", tmp_path / "e")


def test_the_topic_has_to_fit(tmp_path):
    folder = write_bags(tmp_path)
    found = own_annotations()
    write_foxglove(found, folder, tmp_path / "events", topic="/state")
    with pytest.raises(InputError, match="run 1 has 8 messages on /slow, and its demonstration 40"):
        write_foxglove(found, folder, tmp_path / "e", topic="/slow")
    with pytest.raises(InputError, match="run 1 has 0 messages on /other"):
        write_foxglove(found, folder, tmp_path / "e", topic="/other")
    with pytest.raises(InputError, match="has no bag run_4"):
        write_foxglove(own_annotations(None, ("run 1", "run_2", "run_4")), folder, tmp_path / "e")
    content = (folder / "run_3.mcap").read_bytes()
    (folder / "run_3.mcap").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"run_3.mcap cannot be read as a bag"):
        write_foxglove(found, folder, tmp_path / "e", topic="/state")
