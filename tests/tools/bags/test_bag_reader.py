"""Bags with channels that cannot be decoded, by the writers of the formats."""

import shutil
import sqlite3

import numpy as np
import pytest
from mcap.writer import IndexType
from rosbags.rosbag2 import StoragePlugin, Writer

from infoatlas_rt.messages.fields import Extractor
from infoatlas_tools.bags.states import Bag
from mcap_files import write_channels
from recorded_bags import START, STORE, TYPES, header
from refusals import refuses

KIND = "geometry_msgs/msg/PointStamped"
STEPS = 50
EVENT = "service_msgs/ServiceEventInfo info\nlab_msgs/Add_Request[<=1] request\n"
# Channel -> encoding of messages, type, encoding of the type, definition of the type.
OTHERS = {
    "/json": ("json", "lab.Thing", "jsonschema", b'{"type": "object"}'),
    "/proto": ("protobuf", "foxglove.Log", "protobuf", b"\n\xff\xfe\x80binary"),
    "/flat": ("flatbuffer", "foxglove.Log", "flatbuffer", b"\x00\xff"),
    "/add/_service_event": ("cdr", "lab_msgs/srv/Add_Event", "ros2msg", EVENT.encode()),
    "/idl": ("cdr", "lab_msgs/msg/Odd", "ros2idl", b"module lab { this is none"),
    "/text": ("cdr", "lab_msgs/msg/Bad", "ros2msg", b"float64 2x"),
    "/none": ("json", "", "", b""),
    "/wide": ("cdr", "lab_msgs/msg/Wide", "ros2msg", b"float64 x\nwstring<=5 note\n"),
    "/wide_idl": ("cdr", "lab/msg/W", "ros2idl", b"module lab { struct W { wstring note; }; };"),
    "/empty": ("cdr", "lab_msgs/msg/Nothing", "ros2msg", b""),
}


def points():
    for i in range(STEPS):
        time = START + i * 10**7
        message = TYPES[KIND](header(time), TYPES["geometry_msgs/msg/Point"](float(i), 1.0, 2.0))
        yield time, bytes(STORE.serialize_cdr(message, KIND))


def write_mcap(path, **options):
    text, _ = STORE.generate_msgdef(KIND, ros_version=2)
    others = [
        (topic, kind, data, encoding, form, {})
        for topic, (encoding, kind, form, data) in OTHERS.items()
    ]
    rows = ((time, raw, *[b"{}"] * len(others)) for time, raw in points())
    return write_channels(path, [("/point", KIND, text.encode()), *others], rows, **options)


def check(bag):
    """The points are read, and the other channels are reported with a reason."""
    extractor = Extractor(None, bag.schema("/point"))
    states = [extractor(message).copy() for _, _, message in bag.messages("/point")]
    np.testing.assert_array_equal(states, [[i, 1, 2] for i in range(STEPS)])
    left_out = {name: topic.unreadable for name, topic in bag.topics.items() if topic.unreadable}
    [notice] = bag.notices
    for name, why in left_out.items():
        assert f"{name} (" in notice and why in notice and f"left out: {why}" in bag.listing()
        refuses(f"{name} .*cannot be decoded", bag.schema, name)
    return left_out


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_chunking": False},
        {"use_statistics": False, "repeat_schemas": False, "repeat_channels": False},
        {"index_types": IndexType.NONE},
    ],
    ids=["indexed", "without chunks", "chunks alone in the index", "without an index"],
)
def test_one_channel_blocks_no_other(tmp_path, options):
    with Bag(write_mcap(tmp_path / "a.mcap", **options)) as bag:
        left_out = check(bag)
    assert left_out.keys() == OTHERS.keys()
    assert left_out["/json"] == "json encoding" and left_out["/idl"] == left_out["/text"]
    assert "definition" in left_out["/idl"]
    assert left_out["/add/_service_event"] == "no definition of lab_msgs/srv/Add_Event"
    assert left_out["/wide"] == left_out["/wide_idl"] == "a wstring is not read, a string is"
    assert left_out["/empty"] == "its definition is empty"


@pytest.mark.parametrize("folder", [True, False])
def test_the_sqlite3_twin(tmp_path, folder):
    """JSON beside CDR, and a definition that the recorder did not find ("unknown")."""
    path = tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as bag:
        names = "/point", "/json", "/lost"
        topics = [bag.add_connection(name, KIND, typestore=STORE) for name in names]
        for time, raw in points():
            for topic in topics:
                bag.write(topic, time, raw)
    with sqlite3.connect(path / "bag.db3") as database:
        database.execute("UPDATE topics SET serialization_format = 'json' WHERE name = '/json'")
        database.execute("UPDATE topics SET type = 'lab_msgs/msg/Lost' WHERE name = '/lost'")
        row = "lab_msgs/msg/Lost", "unknown", "", ""
        names = "topic_type, encoding, encoded_message_definition, type_description_hash"
        database.execute(f"INSERT INTO message_definitions ({names}) VALUES (?, ?, ?, ?)", row)
    metadata = path / "metadata.yaml"
    head, _, tail = metadata.read_text().partition("name: /json")
    tail = tail.replace("serialization_format: cdr", "serialization_format: json", 1)
    metadata.write_text(f"{head}name: /json{tail}")
    if not folder:
        path = shutil.move(path / "bag.db3", tmp_path / "a.db3")
    with Bag(path) as bag:
        assert check(bag) == {"/json": "json encoding"}
        refuses("no definition of the messages of /lost", bag.schema, "/lost")


def test_two_definitions_of_a_type(tmp_path):
    """The second one is not used: its messages would be decoded like those of the first."""
    kind, raw = "lab_msgs/msg/Value", b"\x00\x01\x00\x00" + np.float64(7).tobytes()
    channels = ("/a", kind, b"float64 x"), ("/b", kind, b"float32 y\nfloat64 x")
    with Bag(write_channels(tmp_path / "a.mcap", channels, [(1, raw, raw)])) as bag:
        assert [message.x for _, _, message in bag.messages("/a")] == [7.0]
        refuses("two definitions of lab_msgs/msg/Value", bag.schema, "/b")


def write_points(path, *channels):
    """An .mcap with ten points on each channel: topic, type and definition."""
    own = [(topic, kind, text.encode()) for topic, kind, text in channels]
    return write_channels(path, own, [(time, raw, raw) for time, raw in [*points()][:10]])


@pytest.mark.parametrize("text", [STORE.generate_msgdef(KIND)[0].replace("\n", "\r\n"), "", " \n"])
def test_definitions_of_windows_and_empty_ones(tmp_path, text):
    """A standard type without a definition is the one of the distribution, beside others too."""
    other = "/other", "lab_msgs/msg/Value", "float64 x"
    with Bag(write_points(tmp_path / "a.mcap", ("/point", KIND, text), other)) as bag:
        assert [message.point.x for *_, message in bag.messages("/point")] == [*range(10)]
        assert not bag.notices


def test_two_types_on_a_topic_are_named(tmp_path):
    kinds = KIND, "geometry_msgs/msg/PoseStamped"
    channels = [("/a", kind, STORE.generate_msgdef(kind)[0]) for kind in kinds]
    with Bag(write_points(tmp_path / "a.mcap", *channels)) as bag:
        refuses(r"PointStamped and .*PoseStamped\) .*2 types on", bag.schema, "/a")
