"""Data sets of the Hugging Face Hub by their ids, as `lerobot/pusht`.

The package `huggingface-hub` downloads them into its cache, once for each revision, and reads the
cache without a network. The id of a dataset is that of its page.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from infoatlas_rt.errors import InputError

from ..presentation import require

ID = re.compile(r"(hf://(?:datasets/)?)?([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
PARTS = ("*.json", "*.jsonl", "meta/*", "data/*")  # of a LeRobot data set, without its videos


def hub_id(path: str | os.PathLike[str]) -> tuple[str, str | None] | None:
    """Id and revision of `owner/name`, `hf://owner/name` or `hf://owner/name@revision`; or None.

    Without `hf://`, it is a path if its folder exists.
    """
    text = os.fspath(path)
    found = ID.fullmatch(text)
    here = os.path.exists(text) or os.path.isdir(os.path.dirname(text))
    return None if found is None or (here and not found[1]) else (found[2], found[3])


def name_of(path: Path) -> str:
    """Name of a data set: that of its file or folder, or that of its id in the cache."""
    cached = path.parent.name == "snapshots"
    return path.parents[1].name.rpartition("--")[2] if cached else path.name


def local_path(path: str | os.PathLike[str], cameras: Sequence[str] = ()) -> str | os.PathLike[str]:
    """The path, or the folder of a data set of the Hub, downloaded unless it is in the cache.

    Of the videos, those of `cameras` are downloaded, and no others. InputError if the package is
    not installed, the Hub has no such data set, or it cannot be reached and the cache is empty.
    """
    named = hub_id(path)
    if named is None:
        return path
    name, revision = named
    what = f"{path} does not exist. For data sets of the Hugging Face Hub, huggingface-hub"
    hub = require("huggingface_hub", what, "hub")
    patterns = [*PARTS, *(f"video*{camera}/*" for camera in cameras)]
    about = {"repo_type": "dataset", "revision": revision, "allow_patterns": patterns}
    try:
        return str(hub.snapshot_download(name, **about))
    except Exception as error:  # those of its HTTP client differ between versions
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"{path} does not exist, and as a data set of the Hugging Face Hub it was not read "
            f"({reason}): check the id and the network"
        ) from error
