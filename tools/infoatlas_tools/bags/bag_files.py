"""Reads the files of a ROS bag as one: channels, and messages as they were sent."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from operator import itemgetter
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from infoatlas_rt.errors import InputError

from ..files.numbers import check_regular
from .storages import PACKED, BagFile, Channel, Received, open_file


class BagFiles:
    """An open bag: a folder with metadata.yaml, or a .mcap, .db3 or .bag file, also compressed.

    `channels` are those of all files, one after the other. `missing` is the number of messages by
    topic that metadata.yaml counts and the files lack.
    """

    def __init__(self, source: Path) -> None:
        self.channels: list[Channel] = []
        self.missing: dict[str, int] = {}
        self._packed = False
        with ExitStack() as stack:
            paths = [source]
            topics: list[dict[str, Any]] = []
            if source.is_dir():
                paths, topics = self._read_metadata(source)
            self._files: list[tuple[Path, BagFile]] = []
            for path in paths:
                with reading(path):
                    unpacked = _unpack(path, stack) if path.suffix in PACKED else path
                    file = stack.enter_context(closing(open_file(unpacked)))
                self._files.append((path, file))
                self.channels += file.channels.values()
            self._compare(topics)
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()

    def _read_metadata(self, folder: Path) -> tuple[list[Path], list[dict[str, Any]]]:
        """Files of a folder, and the topics in its metadata."""
        from ruamel.yaml import YAML  # a dependency of rosbags, which `BagReader` has found

        check_regular(folder / "metadata.yaml")
        text = (folder / "metadata.yaml").read_text("utf-8")
        stated = YAML(typ="safe").load(text)["rosbag2_bagfile_information"]
        kind = stated.get("compression_format")
        self._packed = str(stated.get("compression_mode")).lower() == "message"
        if self._packed and kind != "zstd":
            raise InputError(
                f"{folder}: its messages are compressed by {kind}: convert it with "
                "`ros2 bag convert`; zstd can be read"
            )
        paths = []
        for name in stated["relative_file_paths"]:
            path = folder / PurePath(name).name
            # Files may be compressed later, and recorders that were killed name what they planned.
            others = [path.with_name(path.name + end) for end in ("", *PACKED)]
            others += [path.with_suffix("")] * (path.suffix in PACKED)
            paths.append(next((file for file in others if file.exists()), path))
            check_regular(paths[-1])
        return paths, stated["topics_with_message_count"]

    def _compare(self, topics: list[dict[str, Any]]) -> None:
        """Complete what the files lack by the metadata: topics, hashes of types, counts."""
        digests, stated, held = {}, Counter[str](), Counter[str]()
        for topic in topics:
            own = topic["topic_metadata"]
            name, kind = own["name"], own["type"]
            digests[name, kind] = own.get("type_description_hash") or ""
            stated[name] += topic["message_count"]
            if not any(each.topic == name for each in self.channels):
                self.channels.append(
                    Channel(name, kind, own["serialization_format"], "", "", "", 0)
                )
        for i, channel in enumerate(self.channels):
            held[channel.topic] += channel.messages
            digest = channel.digest or digests.get((channel.topic, channel.type), "")
            self.channels[i] = channel._replace(digest=digest)
        self.missing = {
            name: stated[name] - held[name] for name in stated if stated[name] != held[name]
        }

    def messages(self, chosen: Collection[int]) -> Iterator[Received]:
        """Messages of the channels with these indices, in the order of their arrival."""
        parts, start = [], 0
        for path, file in self._files:
            places = {number: start + i for i, number in enumerate(file.channels)}
            start += len(places)
            wanted = {number: place for number, place in places.items() if place in chosen}
            if wanted:
                parts.append(self._part(path, file, wanted))
        yield from parts[0] if len(parts) == 1 else heapq.merge(*parts, key=itemgetter(0))

    def _part(self, path: Path, file: BagFile, wanted: dict[int, int]) -> Iterator[Received]:
        unpack = None
        if self._packed:
            from zstandard import ZstdDecompressor

            unpack = ZstdDecompressor().decompress
        with reading(path):
            for time, number, data in file.messages(wanted.keys()):
                yield time, wanted[number], data if unpack is None else unpack(data)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the errors of readers into an InputError with the path, the reason and the way out."""
    try:
        yield
    except InputError:
        raise
    # rosbags, mcap, SQLite, YAML and decompressors raise different errors for damaged bytes.
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        what = " ".join(f"{kind}{error}".split()).removesuffix(":")  # some span lines
        raise InputError(f"{path} cannot be read as a bag ({what}): {way_out(path)}") from error


def way_out(path: Path) -> str:
    """Text: what to do with a damaged bag."""
    ways = {
        ".mcap": f"write what is intact to another file with `mcap recover {path} -o OUT`",
        ".db3": f"mend it with `sqlite3 {path} .recover | sqlite3 NEW.db3`",
        ".bag": f"mend it with `rosbag reindex {path}`",
    }
    other = "if its recorder was killed, try `ros2 bag reindex`, or `mcap recover` for .mcap files"
    return other if path.is_dir() else ways.get(path.suffix, other)


def _unpack(path: Path, stack: ExitStack) -> Path:
    """The content of a compressed file, as a file in a folder that lasts as long as the stack."""
    from zstandard import ZstdDecompressor

    target = Path(stack.enter_context(TemporaryDirectory(prefix="infoatlas-")), path.stem)
    with path.open("rb") as file, target.open("wb") as out:
        ZstdDecompressor().copy_stream(file, out)
    return target
