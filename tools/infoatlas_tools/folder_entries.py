"""Lists the files and folders in a folder, without hidden ones."""

from pathlib import Path


def entries(folder: Path, *patterns: str) -> list[Path]:
    """Files and folders that match one of the patterns ("*" without any), by name.

    Hidden ones are left out: macOS writes a "._x" beside each file x on a disk of another system.
    """
    found = {path for pattern in patterns or ("*",) for path in folder.glob(pattern)}
    return sorted(
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
