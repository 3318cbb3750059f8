"""Where this package was installed from, and the command that installs it again."""

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit


def install_again(options: str = "") -> str:
    """The command of pip, with the folder or the wheel of the installation if it is still there."""
    try:
        record = json.loads(distribution("infoatlas-rt").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        record = {}
    url = urlsplit(record.get("url", ""))
    path = Path(unquote(url.path))
    what = ". (in a clone of the repository; or the path of a wheel)"
    if url.scheme == "file" and path.exists():
        editable = "-e " * record.get("dir_info", {}).get("editable", False)
        what = editable + shlex.quote(str(path))
    return " ".join(filter(None, ("pip install --force-reinstall", options, what)))
