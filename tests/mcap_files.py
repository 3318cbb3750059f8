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


def write(path, times, *, size=8, topic="/value", metadata=None, **options):
    """An .mcap file with a message at each time, which contains the time, and one large message."""
    with path.open("wb") as file:
        writer = Writer(file, **options)
        writer.start(profile="ros2")
        schema = writer.register_schema(KIND, "ros2msg", TEXT)
        large = writer.register_channel("/large", "cdr", schema)
        small = writer.register_channel(topic, "cdr", schema, metadata or {})
        for time in times:
            writer.add_message(small, time, message(time), time)
            writer.add_message(large, time, Random(time).randbytes(size), time)
        writer.finish()
    return path


def read(source, topic="/value"):
    """Times of the messages of a topic; messages on /value contain their own time."""
    files = BagFiles(source)
    chosen = {i for i, channel in enumerate(files.channels) if channel.topic == topic}
    found = [*files.messages(chosen)]
    files.close()
    assert topic != "/value" or all(message(time) == data for time, _, data in found)
    return [time for time, _, _ in found]
