"""Writes files and folders completely or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infoatlas_rt.errors import InfoAtlasError, OutputError


@contextmanager
def replacing(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A path for a new file or folder, which becomes `target` if no error is raised.

    It is on the same disk, beside the target. After an error or an interrupt, the target is
    unchanged, and the new file is removed. `overwrite` replaces an existing target, with the same
    permissions: a file atomically; a folder is moved aside, and back if the new one cannot take its
    place.
    """
    if overwrite:
        target = target.resolve()
    elif target.exists() or target.is_symlink():
        raise OutputError(f"{target} exists: choose a name that does not")
    try:
        room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error}): choose another place") from error
    new = room / target.name
    try:
        yield new
        if overwrite:
            shutil.copymode(target, new)
            _swap(target, new, room / "before")
        elif target.exists():
            raise OutputError(f"{target} appeared in the meantime: choose another name")
        else:
            new.rename(target)
    except InfoAtlasError:
        raise
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error}): choose another place") from error
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _swap(target: Path, new: Path, aside: Path) -> None:
    """Put `new` in the place of a file or folder, which goes `aside` if it is a folder."""
    if not target.is_dir():
        new.replace(target)
        return
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise
