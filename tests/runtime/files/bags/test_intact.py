"""Salvage of damaged MCAP files: messages that can be read, and reports of the rest."""

from __future__ import annotations

import json
from random import Random

import pytest
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader

from fakes import RecordingEstimator
from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError
from infoatlas_rt.files.bags import intact
from infoatlas_rt.files.bags.damage import Damage
from infoatlas_rt.files.bags.intact import copy_intact
from infoatlas_rt.files.bags.storages import HEAD, unpack
from infoatlas_rt.messages.bag_curve import read as play
from infoatlas_rt.messages.bags import Bag
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from mcap_files import FORMS, message, read, write
from player import Player

STEP = 10**7  # ns
TIMES = [*range(STEP, 151 * STEP, STEP)]


def recorded(path, form="zstd", size=100):
    """A file, and the index of its chunks."""
    write(path, TIMES, size=size, chunk_size=2_000, **FORMS[form])
    with path.open("rb") as file:
        return path, make_reader(file).get_summary().chunk_indexes


def put(path, place, other):
    """Overwrite bytes of a file."""
    content = bytearray(path.read_bytes())
    content[place : place + len(other)] = other
    path.write_bytes(content)


def flip(path, place):
    put(path, place, bytes([path.read_bytes()[place] ^ 0x55]))


def without_index(path):
    """Truncate a file after its data."""
    with path.open("rb") as file:
        start = make_reader(file).get_summary() and file.seek(-28, 2)
        start = int.from_bytes(file.read(8), "little")
    path.write_bytes(path.read_bytes()[:start])


def salvage(path):
    """Times of the readable messages, and a description of missing ones."""
    target = path.with_name("intact.mcap")
    damage = copy_intact(path, target)
    return read(target), damage


@pytest.mark.parametrize("kind", ["byte", "checksum", "head", "zeros", "first", "last"])
@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("form", ["zstd", "lz4", "plain"])
def test_data_after_the_damage_is_read(tmp_path, form, index, kind):
    path, chunks = recorded(tmp_path / "a.mcap", form)
    number = {"first": 0, "last": len(chunks) - 1}.get(kind, len(chunks) // 2)
    broken = chunks[number : number + (2 if kind == "zeros" else 1)]
    if not index:
        without_index(path)
    place, length = broken[0].chunk_start_offset, broken[0].chunk_length
    if kind == "zeros":
        put(path, place - 5, bytes(broken[1].chunk_start_offset + 100 - place))
    else:
        flip(path, place + {"checksum": 33, "head": 3}.get(kind, length - 20))
    found, damage = salvage(path)
    start, end = broken[0].message_start_time, broken[-1].message_end_time
    there = [time for time in TIMES if not start <= time <= end]
    [hole] = damage.holes
    if index:
        assert (hole.start, hole.end, hole.chunks) == (start, end, len(broken))
        assert damage.missing == dict.fromkeys(("/value", "/large"), len(TIMES) - len(there))
    else:  # the messages around the hole are known
        assert damage.missing is None and hole.chunks is None
        assert hole.start == (None if kind == "first" else start - STEP)
        assert hole.end == (None if kind == "last" else end + STEP)
    if kind == "first" and not index:  # it contains the definitions
        assert found == [] and damage.undefined == 2 * len(there)
    else:
        assert found == there and damage.undefined == 0


@pytest.mark.parametrize("form", ["zstd", "plain", "no chunks", "no index"])
def test_a_file_that_was_cut(tmp_path, form):
    path, _ = recorded(tmp_path / "a.mcap", form)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    found, damage = salvage(path)
    assert 40 < len(found) < 100 and found == TIMES[: len(found)]
    [hole] = damage.holes
    assert (hole.start, hole.end, hole.chunks) == (found[-1], None, None)
    assert 0 < hole.bytes < 5_000 and damage.missing is None


def test_zeros_in_a_file_without_chunks(tmp_path):
    path, _ = recorded(tmp_path / "a.mcap", "no chunks")
    put(path, len(path.read_bytes()) // 2, bytes(1_000))
    found, damage = salvage(path)
    [hole] = damage.holes
    assert 1_000 < hole.bytes < 1_500 and len(TIMES) - 8 < len(found) < len(TIMES) - 4
    assert all(hole.start < time < hole.end for time in {*TIMES} - {*found})
    assert damage.missing["/value"] == len(TIMES) - len(found)


def test_messages_without_a_checksum(tmp_path):
    """Only the checksum of the data reveals a wrong byte in one of them."""
    path, _ = recorded(tmp_path / "a.mcap", "no chunks")
    assert salvage(path)[1].unchecked == 0
    flip(path, path.read_bytes().index(message(TIMES[70])) + 6)
    damage = copy_intact(path, tmp_path / "b.mcap")
    assert damage.holes == () and damage.unchecked == 2 * len(TIMES)
    assert "300 messages that are read have no checksum" in damage.notices()[0]


@pytest.mark.parametrize("place", [-100, -30, None])
def test_damage_in_the_index_costs_nothing(tmp_path, place):
    path, _ = recorded(tmp_path / "a.mcap")
    if place is not None:
        flip(path, path.stat().st_size + place)
    found, damage = salvage(path)
    assert found == TIMES and damage.holes == () and damage.bytes == 0
    assert damage.notices() == ["the data of the file is intact: nothing is left out"]


def test_damage_between_chunks_hides_no_message(tmp_path):
    """Damage in the index of the messages of a chunk."""
    path, chunks = recorded(tmp_path / "a.mcap")
    flip(path, chunks[3].chunk_start_offset + chunks[3].chunk_length + 3)
    found, damage = salvage(path)
    assert found == TIMES and damage.missing == {} and damage.gaps() == []
    [hole] = damage.holes
    assert hole.chunks == 0 and 0 < hole.bytes < 500
    assert "no messages" in damage.notices()[0]


def test_any_damage(tmp_path):
    """For any damage, all that is read is correct, and missing messages are in reported holes."""
    random, contents = Random(0), {}
    for form in ("zstd", "plain"):
        path, _ = recorded(tmp_path / f"{form}.mcap", form)
        contents[form] = path.read_bytes()
    path = tmp_path / "a.mcap"
    for _ in range(60):
        content = contents[random.choice(["zstd", "plain"])]
        path.write_bytes(content)
        place = random.randrange(40, len(content))
        put(path, place, random.randbytes(random.choice([1, 8, 700, 4000]))[: len(content) - place])
        found, damage = salvage(path)
        gaps = damage.gaps()
        assert found == sorted(set(found)) and set(found) <= {*TIMES}
        for time in {*TIMES} - {*found} if not damage.undefined else ():
            assert any(start <= time / 1e9 <= end for start, end in gaps), (time, gaps)


@pytest.mark.parametrize("form", ["zstd", "no chunks"])
@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_a_file_behind_another(tmp_path, form, index):
    """Concatenated files: readers stop after the first, and report that more follows."""
    path, _ = recorded(tmp_path / "a.mcap", form)
    content = path.read_bytes()
    if not index:  # without a checksum, the index of the second file is taken for that of the first
        content = content[:-12] + bytes(4) + content[-8:]
    path.write_bytes(content * 2)
    found, damage = salvage(path)
    [hole] = damage.holes
    assert found == TIMES and hole.bytes == len(content) and hole.start == TIMES[-1]
    assert damage.notices()[0].startswith(f"damaged and left out: {len(content)} bytes")


def test_records_between_data_and_index(tmp_path):
    path, _ = recorded(tmp_path / "a.mcap")
    content = path.read_bytes()
    start = int.from_bytes(content[-28:-20], "little")
    footer = content[-37:-28] + (start + 500).to_bytes(8, "little") + bytes(12) + content[-8:]
    path.write_bytes(content[:start] + bytes(500) + content[start:-37] + footer)
    assert [hole.bytes for hole in salvage(path)[1].holes] == [500]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (
            Damage((), 1, {"/a": 5}, 0, 0),
            "missing messages, by the statistics of the file: 5 on /a",
        ),
        (Damage((), 1, None, 7, 0), "left out: 7 messages whose definition is damaged"),
        (Damage((), 1, {}, 0, 0), "the data of the file is intact: nothing is left out"),
    ],
)
def test_missing_records_without_a_hole(damage, line):
    assert damage.notices() == [line]


def private(path, chunks):
    """Insert one and two records of an application between chunks."""
    content = path.read_bytes()
    record = HEAD.pack(0x80, 5) + b"hello"
    one, two = chunks[3].chunk_start_offset, chunks[6].chunk_start_offset
    path.write_bytes(content[:one] + record + content[one:two] + record * 2 + content[two:])


def test_records_of_applications_are_no_damage(tmp_path):
    path, chunks = recorded(tmp_path / "a.mcap")
    without_index(path)
    private(path, chunks)
    found, damage = salvage(path)
    assert found == TIMES and damage.holes == () and damage.undefined == damage.unchecked == 0


@pytest.mark.parametrize("form", ["zstd", "plain"])
def test_a_chunk_is_no_record_of_an_application(tmp_path, form):
    """One bit of its opcode is wrong."""
    path, chunks = recorded(tmp_path / "a.mcap", form)
    without_index(path)
    put(path, chunks[5].chunk_start_offset, b"\x86")
    found, damage = salvage(path)
    [hole] = damage.holes
    lost = {*TIMES} - {*found}
    assert lost and all(hole.start < time < hole.end for time in lost)


@pytest.mark.parametrize("kind", ["intact", "no header", "first"])
def test_the_copy_is_a_valid_file(tmp_path, kind):
    """Header, definitions, data, its end and the footer, in the order of the specification."""
    path, chunks = recorded(tmp_path / "a.mcap")
    if kind != "intact":
        flip(path, 12 if kind == "no header" else chunks[0].chunk_start_offset + 60)
    copy_intact(path, tmp_path / "b.mcap")
    with (tmp_path / "b.mcap").open("rb") as file:
        assert make_reader(file).get_header().profile == ("" if kind == "no header" else "ros2")
        file.seek(0)
        records = [*StreamReader(file, validate_crcs=True).records]
    names = [type(record).__name__ for record in records]
    assert names[:4] == ["Header", "Schema", "Channel", "Channel"]
    assert names.count("Header") == 1 and names[-2:] == ["DataEnd", "Footer"]


def test_a_head_that_is_damaged(tmp_path):
    """Records are found without the first bytes, which identify an MCAP file."""
    path, _ = recorded(tmp_path / "a.mcap")
    flip(path, 0)
    found, damage = salvage(path)
    assert [*found] == [*TIMES] and [hole.bytes for hole in damage.holes] == [8]
    put(path, 0, bytes(200))
    found, damage = salvage(path)
    assert 100 < len(found) < len(TIMES) and damage.missing
    assert all(time >= damage.holes[-1].end for time in found)


def test_a_chunk_is_decompressed_once(tmp_path, monkeypatch):
    path, _ = damaged(tmp_path)
    seen = []
    monkeypatch.setattr(
        intact, "unpack", lambda data, *more: (seen.append(data), unpack(data, *more))[1]
    )
    copy_intact(path, tmp_path / "b.mcap")
    assert len(seen) == len({*seen}) > 3


def test_nothing_that_is_intact(tmp_path):
    path = tmp_path / "a.mcap"
    for content in (
        b"",
        b"no bag" * 99,
        recorded(path)[0].read_bytes()[:8],
        path.read_bytes()[:20],
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match="has no intact part"):
            copy_intact(path, tmp_path / "b.mcap")


def damaged(tmp_path):
    """A file with a hole from 0.66 s to about 0.8 s after its start."""
    path, chunks = recorded(tmp_path / "a.mcap")
    broken = chunks[len(chunks) // 2]
    flip(path, broken.chunk_start_offset + broken.chunk_length - 20)
    return path, broken


def test_no_pair_across_a_hole(tmp_path):
    path, broken = damaged(tmp_path)
    fake = RecordingEstimator(n_min=8)
    with Bag(path, partial=True) as bag:
        player = Player(fake, Extractor(None, bag.schema("/value")), window=20, lag=2)
        receivers = [Receiver(Extractor(None, bag.schema("/value")))]
        play(bag, ["/value"], receivers, player.stream)
        states = [message.x for _, _, message in bag.messages("/value")]
    pairs = {(x, y) for call in fake.calls for x, y in zip(call.x[:, 0], call.y[:, 0], strict=True)}
    assert {x - y for x, y in pairs} == {2 * STEP}
    assert max(x for x, _ in pairs) == TIMES[-1]
    assert (
        len(states)
        == len(TIMES) - (broken.message_end_time - broken.message_start_time) // STEP - 1
    )


def test_text_and_json(tmp_path, capsys):
    path, broken = damaged(tmp_path)
    command = [
        "bag",
        str(path),
        "--topic",
        "/value",
        "--partial",
        "--window",
        "32",
        "--every",
        "40",
    ]
    assert main(command) == 0
    first = TIMES[0]
    start, end = ((t - first) / 1e9 for t in (broken.message_start_time, broken.message_end_time))
    lost = (broken.message_end_time - broken.message_start_time) // STEP + 1
    text = capsys.readouterr().out
    assert f"bytes (1 chunk): messages between {start:.2f} s and {end:.2f} s" in text
    assert f"by the statistics of the file: {lost} on /value, {lost} on /large" in text
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["damage"]
    [hole] = found["holes"]
    assert hole["start"] == broken.message_start_time / 1e9 and hole["chunks"] == 1
    assert found["missing"] == {"/value": lost, "/large": lost} and found["bytes"] == hole["bytes"]
