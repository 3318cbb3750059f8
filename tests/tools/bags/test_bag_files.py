"""Files of bags by the writers of the formats; messages are arbitrary bytes."""

import sqlite3
import sys
import tracemalloc

import pytest
import zstandard
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from infoatlas_rt.errors import InputError
from infoatlas_tools.bags.any_recording import BAG, kind_of
from infoatlas_tools.bags.bag_files import BagFiles
from infoatlas_tools.bags.states import Bag
from mcap_files import FORMS, KIND, TEXT, message, read, write
from refusals import refuses


def describe(folder, count, **more):
    """Write a metadata.yaml for the files of a folder."""
    files = ", ".join(sorted(path.name for path in folder.glob("bag*")))
    rest = "".join(f"  {key}: {value}\n" for key, value in more.items())
    folder.joinpath("metadata.yaml").write_text(
        f"rosbag2_bagfile_information:\n  relative_file_paths: [{files}]\n{rest}"
        "  topics_with_message_count:\n"
        + "".join(
            f"  - topic_metadata: {{name: {name}, type: {KIND}, serialization_format: cdr}}\n"
            f"    message_count: {n}\n"
            for name, n in (("/value", count), ("/large", count), ("/silent", 0))
        )
    )
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_messages_come_as_they_arrived(tmp_path, form):
    """Chunks overlap in time; without an index, sorting needs unbounded memory."""
    times = [*range(100, 0, -1), *range(200, 100, -1)]
    found = read(write(tmp_path / "a.mcap", times, chunk_size=500, **FORMS[form]))
    assert sorted(found) == [*range(1, 201)]
    if form == "no chunks":
        assert found == times
    elif form != "no index":
        assert found == sorted(times)


def test_files_of_a_split_bag_are_merged(tmp_path):
    for i in range(3):
        write(tmp_path / f"bag_{i}.mcap", range(i, 30, 3))
    bag = describe(tmp_path, 30)
    assert read(bag) == [*range(30)]
    files = BagFiles(bag)
    assert {channel.topic for channel in files.channels} == {"/value", "/large", "/silent"}
    assert files.missing == {}
    files.close()
    path = tmp_path / "bag_1.mcap"
    path.write_bytes(path.read_bytes()[:-100])
    refuses(f"^{path} cannot be read .*mcap recover {path} -o OUT", Bag, bag)
    path.unlink()
    refuses(r"bag_1.mcap does not exist", BagFiles, bag)


def pack(path, end):
    packed = path.with_name(path.name + end)
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()
    return packed


@pytest.mark.parametrize("end", [".zstd", ".zst"])
def test_compressed_files_alone_and_of_a_split_bag(tmp_path, end):
    """Metadata name the files as they are, or as they were before they were compressed."""
    alone = pack(write(tmp_path / "a.mcap", range(5)), end)
    assert read(alone) == [*range(5)] and kind_of(alone) == BAG
    pack(write(tmp_path / "bag_0.mcap", range(0, 30, 2)), end)
    bag = describe(tmp_path, 30)
    write(tmp_path / "bag_1.mcap", range(1, 30, 2))
    text = (bag / "metadata.yaml").read_text()
    for name in (f"bag_0.mcap{end}, bag_1.mcap", f"bag_0.mcap, bag_1.mcap{end}"):
        (bag / "metadata.yaml").write_text(text.replace(f"bag_0.mcap{end}", name))
        assert read(bag) == [*range(30)]


def test_messages_that_the_metadata_count_and_files_lack(tmp_path):
    write(tmp_path / "bag.mcap", range(5))
    files = BagFiles(describe(tmp_path, 7))
    assert files.missing == {"/value": 2, "/large": 2}
    files.close()
    with Bag(tmp_path) as bag, pytest.raises(InputError, match="contains 5 of 7 messages on"):
        [*bag.messages("/value")]


def refused(path, why="", topic="/value"):
    """One error with the file, the reason and the way out."""
    with pytest.raises(InputError, match="cannot be read as a bag") as found:
        read(path, topic)
    text = str(found.value)
    assert text.startswith(str(path)) and why in text and f"`mcap recover {path} -o OUT`" in text


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_refused(tmp_path, form):
    """A wrong byte in the data; with an index, its chunk is found and has another checksum."""
    path = write(tmp_path / "a.mcap", range(100), size=100, chunk_size=2_000, **FORMS[form])
    assert read(path) == [*range(100)]
    content = path.read_bytes()
    for place in (400, 900):
        other = bytes([content[place] ^ 1])
        path.write_bytes(content[:place] + other + content[place + 1 :])
        refused(path, "another checksum than its data" if form == "plain" else "")


@pytest.mark.parametrize("form", FORMS)
def test_a_truncated_file_is_refused(tmp_path, form):
    path = write(tmp_path / "a.mcap", range(100), size=100, chunk_size=2_000, **FORMS[form])
    content = path.read_bytes()
    for rest in (len(content) - 1, len(content) // 2, 9):
        path.write_bytes(content[:rest])
        refused(path, "(its end is missing)")
    for other in (b"", content[:-2000] + content[-1000:], content[:200] + content[300:]):
        path.write_bytes(other)
        refused(path)


def test_a_damaged_index_is_refused(tmp_path):
    """It contains the definitions of the messages."""
    path = write(tmp_path / "a.mcap", range(100))
    content = path.read_bytes()
    at = content.rindex(TEXT)
    path.write_bytes(content[:at] + b"u" + b"I" + content[at + 2 :])
    refused(path, "its summary has another checksum than its data")


@pytest.mark.parametrize("form", ["zstd", "plain", "no chunks", "no index"])
def test_memory_is_that_of_a_chunk(tmp_path, form):
    """Large messages of other topics are not kept, with or without an index."""
    path = write(tmp_path / "a.mcap", range(200), size=100_000, chunk_size=500_000, **FORMS[form])
    read(path)  # imports
    tracemalloc.start()
    assert len(read(path)) == 200
    assert tracemalloc.get_traced_memory()[1] < 3e6  # of 20 MB
    tracemalloc.stop()


def base(path):
    """An open .db3 file of three messages, as written by a recorder."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE topics (id INTEGER, name, type, serialization_format)")
    connection.execute("CREATE TABLE messages (id INTEGER, topic_id, timestamp, data BLOB)")
    connection.execute(f"INSERT INTO topics VALUES (1, '/value', '{KIND}', 'cdr')")
    for i, time in enumerate((3, 1, 2)):
        row = i, 1, time, message(time)
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", row)
    connection.commit()
    return connection


def test_messages_that_are_in_the_log_of_sqlite3_only(tmp_path):
    """A recorder that was killed leaves messages there."""
    connection = base(tmp_path / "a.db3")
    assert (tmp_path / "a.db3-wal").stat().st_size and read(tmp_path / "a.db3") == [1, 2, 3]
    connection.close()
    assert not (tmp_path / "a.db3-wal").exists() and read(tmp_path / "a.db3") == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.db3", "a.mcap"])
def test_a_bag_is_closed_before_its_end(tmp_path, name, monkeypatch):
    """By a command that stops at an error, without a second error."""
    if name == "a.db3":
        base(tmp_path / name).close()
    else:
        write(tmp_path / name, range(5), use_chunking=False)
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    files = BagFiles(tmp_path / name)
    messages = files.messages(range(len(files.channels)))
    next(messages)
    files.close()
    del messages
    assert not unraisable


def test_the_hash_of_a_type(tmp_path):
    """A different hash in the file means that the messages have another type."""
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(TEXT.decode(), KIND))
    own, other = store.hash_rihs01(KIND), f"RIHS01_{'0' * 64}"
    for digest, why in ((own, ""), (other, f"its definition of {KIND} is not the one of its hash")):
        with Bag(write(tmp_path / "a.mcap", range(5), metadata={"topic_type_hash": digest})) as bag:
            assert bag.topics["/value"].unreadable == why


def test_files_of_another_kind(tmp_path):
    refuses(r"a.txt is no bag: bags are .mcap, .db3, .bag files", BagFiles, tmp_path / "a.txt")
    write(tmp_path / "bag.mcap", range(5))
    packed = {"compression_mode": "MESSAGE", "compression_format": "lz4"}
    refuses("messages are compressed by lz4: convert it", BagFiles, describe(tmp_path, 5, **packed))


def test_mcap_missing(tmp_path, monkeypatch):
    path = write(tmp_path / "a.mcap", range(5))
    monkeypatch.setitem(sys.modules, "mcap.reader", None)
    refuses(r"needs mcap: pip install 'infoatlas-rt\[bags\]'", BagFiles, path)
