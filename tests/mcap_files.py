"""MCAP files by the writer of the format; the bytes of a message contain its time."""

import struct
from random import Random

from mcap.writer import CompressionType, IndexType, Writer

from infoatlas_tools.bags.bag_files import BagFiles

KIND, TEXT = "lab_msgs/msg/Value", b"uint64 x"


FORMS = {
    "zstd": {"compression": CompressionType.ZSTD},
    "lz4": {"compression": CompressionType.LZ4},
    "plain": {"compression": CompressionType.NONE},
    "no chunks": {"use_chunking": False, "enable_data_crcs": True},
    "no index": {"index_types": IndexType.NONE, "use_statistics": False},
    "no message index": {"index_types": IndexType.CHUNK},
}


def message(time):
    return b"\x00\x01\x00\x00" + struct.pack("<Q", time)


def write_channels(path, channels, rows, **options):
    """An .mcap file of channels: topic, type, definition, and other arguments of the writer.

    `rows` are times, each with a message for every channel, or None.
    """
    with path.open("wb") as file:
        writer = Writer(file, **options)
        writer.start(profile="ros2")
        numbers = []
        for topic, kind, text, *more in channels:
            encoding, form, metadata = more or ("cdr", "ros2msg", {})
            schema = writer.register_schema(kind, form, text) if kind else 0
            numbers.append(writer.register_channel(topic, encoding, schema, metadata))
        for time, *messages in rows:
            for number, content in zip(numbers, messages, strict=True):
                if content is not None:
                    writer.add_message(number, time, content, time)
        writer.finish()
    return path


def write(path, times, *, size=8, topic="/value", metadata=None, **options):
    """An .mcap file with a message at each time, which contains the time, and one large message."""
    channels = ((topic, KIND, TEXT, "cdr", "ros2msg", metadata or {}), ("/large", KIND, TEXT))
    rows = ((time, message(time), Random(time).randbytes(size)) for time in times)
    return write_channels(path, channels, rows, **options)


def read(source, topic="/value"):
    """Times of the messages of a topic; messages on /value contain their own time."""
    files = BagFiles(source)
    chosen = {i for i, channel in enumerate(files.channels) if channel.topic == topic}
    found = [*files.messages(chosen)]
    files.close()
    assert topic != "/value" or all(message(time) == data for time, _, data in found)
    return [time for time, _, _ in found]
