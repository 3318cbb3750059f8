"""Output of the command line: tables and JSON to stdout, progress to stderr.

rich is used if it is installed and the stream is a terminal.
"""

import codecs
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError

LOGGED = 10.0  # seconds between lines of progress where stderr is no terminal
# Replacements of characters that a terminal may lack.
PLAIN = {"±": "+-", "·": "-", "µ": "u", "Δ": "D", "−": "-", "…": "...", "–": "-"}
_SAID = logging.StreamHandler(io.StringIO())  # keeps the warnings of a run for its JSON


def open_output() -> None:
    """Make stdout accept any text, and raise OutputError if it is closed.

    An ASCII locale has no "±", and a path may contain bytes that are no character in any encoding.
    """
    if sys.stdout is None:
        raise OutputError("stdout is closed: redirect it to a file, or to /dev/null")

    def plain(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        text = error.object[error.start : error.end]
        return "".join(PLAIN.get(character, "?") for character in text), error.end

    codecs.register_error("infoatlas", plain)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="infoatlas")
    logging.basicConfig(format="%(message)s")  # warnings go to stderr, too
    _SAID.setStream(io.StringIO())
    logging.getLogger("infoatlas_rt").addHandler(_SAID)


def drop_output() -> None:
    """Discard the buffer of stdout, so that the end of the process does not write it again."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):  # stdout is no file of the system
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_target(path: Path) -> None:
    """Raise InputError if such a file cannot be written."""
    folder = path.absolute().parent
    fault = None
    try:
        if "\0" in str(path):  # for pathlib such a file is only absent
            fault = "embedded null byte"
        elif not folder.is_dir():
            fault = "its folder is missing"
        elif path.is_dir():
            fault = "it is a folder"
        elif not os.access(path if path.exists() else folder, os.W_OK):
            fault = "no permission"
    except (OSError, ValueError) as error:  # the name is too long, or contains a null
        fault = str(error)
    if fault is not None:
        raise InputError(f"{path} cannot be written ({fault}): check the path")


def write_json(target: str | None, value: dict[str, Any]) -> bool:
    """Write the JSON of `--json`, with the warnings; return whether it went to stdout."""
    if target is None:
        return False
    warnings = [*value.get("warnings", ()), *_SAID.stream.getvalue().splitlines()]
    text = json.dumps(value | {"warnings": warnings}, indent=1, allow_nan=False)
    if target == "-":
        print(text)
        return True
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error})") from error
    return False


def table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], empty: str = ""
) -> None:
    """Print a table, with rich if it is installed and the output is a terminal."""
    print(title)
    if not rows:
        print(f"  {empty}")
        return
    if sys.stdout.isatty() and find_spec("rich"):
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, header in enumerate(headers):
            table.add_column(header, justify="left" if i == 0 else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    for row in [headers, *rows]:
        cells = (
            f"{c:<{w}}" if i < 2 else f"{c:>{w}}"
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join(cells).rstrip())


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Progress on stderr: rich's bar if installed, or one line; in a log, a line in 10 seconds."""
    if not sys.stderr.isatty():
        with _in_a_log(what) as advance:
            yield advance
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn
    except ImportError:
        yield lambda share: print(f"\r{what}: {share:4.0%}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return
    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def _in_a_log(what: str) -> Iterator[Callable[[float], None]]:
    done, shares = threading.Event(), [0.0]

    def report() -> None:  # also while one step of the work lasts long
        while not done.wait(LOGGED):
            print(f"{what}: {shares[-1]:.0%}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield lambda share: shares.__setitem__(0, share)
    finally:
        done.set()
        thread.join()
