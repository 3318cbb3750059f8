"""Run the blocks of docs/tutorial.md in order, and put what they print and draw into the page.

    python docs/site/tutorial.py            # rewrites the outputs, and docs/tutorial_*.png
    python docs/site/tutorial.py --check    # exits 1 and shows the outputs that differ

Lines of ```console that begin with "$ " are run; the lines below each are its output, errors
included. What a block ```python prints stands in a block ```text behind it. All blocks share a
temporary folder and this process; Python blocks share their names. Blocks ```sh are not run. A
picture NAME.png that a block makes becomes docs/tutorial_NAME.png.

Outputs agree if their words are the same and their numbers nearly so: a new model, or the rounding
of another processor, changes estimates a little.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(
    r"^```console\n(?P<console>.*?)^```\n|^```python\n(?P<python>.*?)^```\n"
    r"(?P<between>\s*)(?:^```text\n(?P<text>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
NEAR, SHARE = 3.0, 0.15  # numbers may differ by so much, and by this share


@contextmanager
def in_folder(folder: str) -> Iterator[None]:
    """Work in a folder for a while (contextlib.chdir needs Python 3.11)."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_command(line: str) -> None:
    """Run a command of the page in this process."""
    name, *arguments = shlex.split(line)
    if name == "infoatlas-rt":
        from infoatlas_rt.cli.main import main

        main(arguments)
    elif name == "python":
        runpy.run_path(str(ROOT / arguments[0]), run_name="__main__")
    else:
        raise ValueError(f"{line!r}: the page runs infoatlas-rt and python; use ```sh")


def output_of(run: Any, *arguments: Any) -> str:
    """What a call writes to stdout and stderr, without spaces at the ends of lines."""
    written = io.StringIO()
    with redirect_stdout(written), redirect_stderr(written):
        run(*arguments)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def run_page(page: str) -> Iterator[tuple[str, str, str]]:
    """Run all blocks in the present folder.

    Yields
    ------
    tuple of str
        A block as it stands, the block as it should be, and its first line of code.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCK.finditer(page):
        if block["console"] is not None:
            commands = [line for line in block["console"].splitlines() if line.startswith("$ ")]
            new = "".join(f"{c}\n{output_of(run_command, c[2:])}" for c in commands)
            yield block[0], f"```console\n{new}```\n", commands[0]
            continue
        code = compile(block["python"], str(PAGE), "exec")
        printed = output_of(exec, code, names)
        new = f"```python\n{block['python']}```\n"
        if printed:
            new += f"\n```text\n{printed}```\n"
        if block["text"] is None:  # what stands between the code and its output is replaced
            new += block["between"]
        yield block[0], new, block["python"].splitlines()[0]


def agree(shown: str, printed: str) -> bool:
    """Whether two texts have the same words and nearly the same numbers."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (shown, printed)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= NEAR + SHARE * abs(float(a)) for a, b in pairs)


def keep_picture(made: Path, kept: Path) -> None:
    """Copy a picture with 64 colours, which takes a third of the room."""
    from PIL import Image

    with Image.open(made) as picture:
        few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        few.save(kept, optimize=True)


def main(arguments: list[str]) -> int:
    """Rewrite the page, or check it; returns the exit code."""
    check, page, wrong = "--check" in arguments, PAGE.read_text(encoding="utf-8"), 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    written, end = page, 0
    with tempfile.TemporaryDirectory() as folder, in_folder(folder):
        for shown, new, first in run_page(page):
            start = written.index(shown, end)
            end = start + len(new)
            written = written[:start] + new + written[start + len(shown) :]
            if not agree(shown, new):
                wrong += 1
                print(
                    f"{PAGE.name}: {first}\n--- the page shows\n{shown}--- it is\n{new}",
                    file=sys.stderr,
                )
            if not check:  # after each block: what follows may fail
                PAGE.write_text(written, encoding="utf-8")
        for picture in [] if check else Path().glob("*.png"):
            keep_picture(picture, PAGE.with_name(f"tutorial_{picture.name}"))
    return int(check and wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
