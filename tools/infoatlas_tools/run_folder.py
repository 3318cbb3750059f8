"""The folder that a run writes in: an interrupted run of many files goes on where it stopped."""

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from infoatlas_rt import __version__
from infoatlas_rt.errors import OutputError

BEFORE = ".before"  # a folder that is replaced, until the new one has its place

log = logging.getLogger(__name__)


@contextmanager
def run_folder(target: Path, resume: bool = False) -> Iterator[Path]:
    """A folder beside `target` for what becomes it, removed at the end.

    With `resume`, it stays if the run is interrupted or killed, and the next run of the same target
    has it: see `keep_finished`. Windows, and disks without locks, give each run its own folder.
    """
    room, lock, keep = target.parent / f".{target.name}.part", None, False
    if resume:
        room.mkdir(exist_ok=True)
        lock = _locked(room / ".lock", target)
        if lock is None:
            shutil.rmtree(room, ignore_errors=True)
    if lock is None:
        room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    if (room / BEFORE).exists():
        raise OutputError(
            f"{room / BEFORE} is left of a run that was killed while it replaced {target}, and may "
            "have its former content: move or delete it"
        )
    try:
        yield room
    except KeyboardInterrupt:
        if keep := lock is not None:
            log.warning(f"{room} has the finished files: run the same again, or delete it.")
        raise
    finally:
        if not keep:  # while it is locked, as the next run may wait for it
            shutil.rmtree(room, ignore_errors=True)
        if lock:
            lock.close()


def keep_finished(folder: Path, made_of: Any) -> None:
    """Keep the finished files of an interrupted run if it was made of the same; else remove them.

    `folder` is inside a `run_folder`. `made_of` is what decides the content of the files: a tree
    for JSON, with arrays.
    """
    text = json.dumps([__version__, made_of], default=lambda v: sha256(v.tobytes()).hexdigest())
    digest, file = sha256(text.encode()).hexdigest(), folder.parent / ".made_of"
    if folder.exists():
        if file.is_file() and file.read_text(encoding="utf-8") == digest:
            log.warning(f"{folder.name} goes on from an interrupted run.")
        else:
            log.warning(f"{folder.name} starts anew: an interrupted run had other data or options.")
            shutil.rmtree(folder)
    file.write_text(digest, encoding="utf-8")


@contextmanager
def making(target: Path) -> Iterator[Path | None]:
    """A path for a file that becomes `target` when it is complete; None if it is there."""
    part = None if target.is_file() else target.with_name(f"{target.name}.part")
    yield part
    if part:
        part.replace(target)


def stamp(path: Path) -> str:
    """Digest of the names, sizes and times of the files at a path; "" if there is none."""
    inside = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
    files = sorted(inside) if path.is_dir() else [str(path)] * path.is_file()
    found = [(f, os.stat(f) if os.path.exists(f) else os.lstat(f)) for f in files]
    text = repr([(f, own.st_size, own.st_mtime_ns) for f, own in found])
    return sha256(text.encode()).hexdigest() if files else ""


def _locked(file: Path, target: Path) -> IO[str] | None:
    """A file, open and locked; None without locks. OutputError if another run has it."""
    try:
        import fcntl
    except ImportError:
        return None
    opened = open(file, "a", encoding="utf-8")
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        raise OutputError(f"{target} is written by another run: wait for it") from None
    except OSError:
        opened.close()
        return None
    return opened
