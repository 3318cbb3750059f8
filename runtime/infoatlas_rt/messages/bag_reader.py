"""A bag as rosbags reads it, without the topics that cannot be decoded.

rosbags refuses a whole recording for one channel of JSON or Protobuf, one service event or one
definition of its own kind. Here such a channel is set aside, with the reason, and the others are
read.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader

IDL_RULE = "=" * 80 + "\n"  # before each definition, in MCAP


def open_reader(source: Path) -> tuple[AnyReader, dict[int, str]]:
    """Open a bag.

    Parameters
    ----------
    source : Path
        A folder with metadata.yaml, or a .mcap, .db3 or .bag file.

    Returns
    -------
    reader : AnyReader
        Open.
    unreadable : dict of str
        By place in `reader.connections`: why messages of a connection cannot be decoded.

    Raises
    ------
    InputError
        rosbags is not installed.
    Exception
        Of many kinds, from rosbags: the bag is damaged.
    """
    try:
        from rosbags.highlevel import AnyReader
    except ImportError as error:
        raise InputError("reading a bag needs rosbags: pip install 'infoatlas-rt[bags]'") from error
    unreadable: dict[int, str] = {}

    class Reader(AnyReader):
        def _open(self) -> None:
            assert self.stack is not None
            for reader in self.readers:
                self.stack.enter_context(reader)
            self.connections = [each for reader in self.readers for each in reader.connections]
            self.typestore = _types(self, unreadable)

    reader = Reader(_sources(source))
    if reader.is2:
        reader.readers = [_storage_reader()(path) for path in reader.paths]
    reader.open()
    return reader, unreadable


def _sources(source: Path) -> list[Path]:
    """The bag; its files, if its metadata name encodings that rosbags refuses a bag for."""
    metadata = source / "metadata.yaml"
    if not metadata.is_file():
        return [source]
    from ruamel.yaml import YAML

    try:
        told = YAML(typ="safe").load(metadata.read_text())["rosbag2_bagfile_information"]
        topics = [topic["topic_metadata"] for topic in told["topics_with_message_count"]]
        files = [source / Path(name).name for name in told["relative_file_paths"]]
        plain = all(topic["serialization_format"] == "cdr" for topic in topics)
    except Exception:  # rosbags says what is wrong with it
        return [source]
    return [source] if plain or told.get("compression_mode") else files


def _types(reader: Any, unreadable: dict[int, str]) -> Any:
    """Types of a bag's definitions, or those of the newest distribution if it has none.

    Recordings of older distributions hold no definitions.
    """
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.typesys import Stores, get_typestore

    found: dict[str, Any] = {}
    for i, connection in enumerate(reader.connections):
        encoding = getattr(connection.ext, "serialization_format", "cdr")
        if encoding != "cdr":
            unreadable[i] = f"{encoding or 'unknown'} encoding"
        elif connection.msgdef.format != MessageDefinitionFormat.NONE:
            try:
                _add(found, _parse(connection), connection, reader.is2)
            except ValueError as error:
                unreadable[i] = str(error)
            except Exception:  # of parsers, which have many of their own
                unreadable[i] = "its definition cannot be read"
    if not found:
        return get_typestore(Stores.LATEST)
    store = get_typestore(Stores.EMPTY)
    store.register(found)
    for i, connection in enumerate(reader.connections):
        defined = connection.msgdef.format != MessageDefinitionFormat.NONE
        if i not in unreadable and defined:
            missing = _undefined(store, connection.msgtype)
            if missing:
                unreadable[i] = f"no definition of {missing}"
    return store


def _parse(connection: Any) -> dict[str, Any]:
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.typesys import get_types_from_idl, get_types_from_msg

    text = connection.msgdef.data
    if connection.msgdef.format == MessageDefinitionFormat.MSG:
        return dict(get_types_from_msg(text, connection.msgtype))
    if not text.startswith(f"{IDL_RULE}IDL: "):
        return dict(get_types_from_idl(text))
    found: dict[str, Any] = {}
    for part in text.split(IDL_RULE)[1:]:
        found |= get_types_from_idl(part.partition("\n")[2])
    return found


def _add(found: dict[str, Any], own: dict[str, Any], connection: Any, ros2: bool) -> None:
    """Add types of one connection, if they agree with those of the others and with its hash."""
    from rosbags.typesys import Stores, get_typestore

    for name, (_, fields) in own.items():
        if name in found and found[name][1] != fields:
            raise ValueError(f"two definitions of {name}")
    if connection.digest:
        store = get_typestore(Stores.EMPTY)
        store.register(found | own)
        kind = connection.msgtype
        digest = store.hash_rihs01(kind) if ros2 else store.generate_msgdef(kind)[1]
        if digest != connection.digest:
            raise ValueError(f"its definition of {kind} is not the one of its hash")
    found |= own


def _undefined(store: Any, kind: str) -> str:
    """A type that a message needs, and that has no definition; empty if there is none."""
    from .schema import Schema

    seen, left = set(), [kind]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in store.fielddefs:
            return name
        fields = Schema.of_typestore(store, name).fields().values()
        left += [field.base for field in fields if "/" in field.base]
    return ""


def _storage_reader() -> Any:
    """rosbags' reader of files and folders, with storages that set unknown definitions aside."""
    from rosbags.rosbag2 import reader

    plugins = {"mcap": _mcap_reader(), "sqlite3": _sqlite3_reader()}
    folder = type("Folder", (reader.DirectoryReader,), {"STORAGE_PLUGINS": plugins})
    files = {"dir": folder, ".mcap": plugins["mcap"], ".db3": plugins["sqlite3"]}
    return type("StorageReader", (reader.Reader,), {"STORAGE_PLUGINS": files})


def _own_copy(name: str) -> ModuleType:
    """A module loaded once more, in which functions can be replaced without harm to others."""
    spec = find_spec(name)
    assert spec is not None and spec.loader is not None
    assert name in sys.modules  # which its dataclasses look up
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _mcap_reader() -> Any:
    from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

    module: Any = _own_copy("rosbags.rosbag2.storage_mcap")
    known = module.get_msgdef

    def get_msgdef(schema: Any) -> Any:
        try:
            return known(schema)
        except KeyError:  # jsonschema, protobuf, flatbuffer, ...
            return MessageDefinition(MessageDefinitionFormat.NONE, "")

    def read_string(file: Any) -> str:
        return str(module.read_bytes(file), errors="replace")  # Protobuf's schemas are binary

    module.get_msgdef, module.read_string = get_msgdef, read_string

    class Reader(module.McapReader):  # type: ignore[misc]
        def read_index(self) -> None:
            super().read_index()
            if not self.channels:  # the index has chunks alone
                self.meta_scan()

    return Reader


def _sqlite3_reader() -> Any:
    module: Any = _own_copy("rosbags.rosbag2.storage_sqlite3")
    apsw = module.apsw
    known = ("ros2msg", "ros2idl")

    class Connection(apsw.Connection):  # type: ignore[misc, name-defined]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.row_trace = _trace

    def _trace(cursor: Any, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Leave out definitions of another kind ("unknown": the recorder had none)."""
        columns = [column[0] for column in cursor.get_description()]
        if "encoded_message_definition" in columns and row[columns.index("encoding")] not in known:
            return None
        return row

    class Own:
        def __getattr__(self, name: str) -> Any:
            return Connection if name == "Connection" else getattr(apsw, name)

    module.apsw = Own()
    return module.Sqlite3Reader
