"""The folder that a run writes in: an interrupted run of many files goes on where it stopped."""

import glob
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from infoatlas_rt import __version__
from infoatlas_rt.errors import OutputError

BEFORE = "before"  # a folder that is replaced, until the new one has its place

log = logging.getLogger(__name__)


@contextmanager
def run_folder(target: Path, made_of: Any = None) -> Iterator[Path]:
    """A folder beside `target` for what becomes it, removed at the end.

    With `made_of`, whose text is that of all data and options, it stays after an interrupt. The
    next run of the same then has the files that were finished: see `making`.
    """
    start, keep = f".{target.name}.", False
    if made_of is None:
        room = Path(tempfile.mkdtemp(prefix=start, suffix=".part", dir=target.parent))
    else:
        digest = hashlib.sha256(repr((__version__, made_of)).encode()).hexdigest()[:16]
        room = target.parent / f"{start}{digest}.part"
        for other in target.parent.glob(f"{glob.escape(start)}*.part/lock"):
            apart = other.parent != room and not (other.parent / BEFORE).exists()
            if apart and (lock := _locked(other)):
                lock.close()
                shutil.rmtree(other.parent, ignore_errors=True)
                log.warning(f"{target} starts anew: an interrupted run had other data or options.")
        room.mkdir(exist_ok=True)
    lock = _locked(room / "lock")
    if lock is None or (room / BEFORE).exists():
        raise OutputError(f"{target} is written by another run ({room}): wait for it")
    if (room / target.name).exists():
        log.warning(f"{target} goes on from an interrupted run.")
    try:
        yield room
    except KeyboardInterrupt:
        keep = made_of is not None
        raise
    finally:
        lock.close()
        if not keep:
            shutil.rmtree(room, ignore_errors=True)


@contextmanager
def making(target: Path) -> Iterator[Path | None]:
    """A path for a file that becomes `target` when it is complete; None if it is there."""
    part = None if target.is_file() else target.with_name(f"{target.name}.part")
    yield part
    if part:
        part.replace(target)


def stamp(path: Path) -> tuple[int, ...]:
    """Number, newest change and size of the files at a path; () if there is none."""
    inside = (Path(at) / name for at, _, names in os.walk(path) for name in names)
    try:
        found = [file.stat() for file in (inside if path.is_dir() else [path])]
    except OSError:
        return ()
    return len(found), max((s.st_mtime_ns for s in found), default=0), sum(s.st_size for s in found)


def _locked(file: Path) -> IO[str] | None:
    """A file, open and locked; None if another process has it."""
    opened = open(file, "a", encoding="utf-8")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(opened.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        opened.close()
        return None
    return opened
