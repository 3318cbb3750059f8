"""Run the blocks of README.md and docs/tutorial.md, and put their outputs into the pages.

    python docs/site/outputs.py            # rewrites the outputs, and docs/tutorial_*.png
    python docs/site/outputs.py --check    # exits 1 and shows the outputs that differ

Lines of ```console that begin with "$ " are run; the lines below each are its output, errors
included. A line "..." stands for the rest of an output. What a block ```python prints stands in a
block ```text behind it, or as comments "# -> " at its end. All blocks of a page share this process
and a temporary folder, with `examples` in it; Python blocks share their names. Blocks ```sh are not
run. A picture NAME.png that a block of the tutorial makes becomes docs/tutorial_NAME.png.

Outputs agree if their words are the same and their numbers nearly so: a new model, or the rounding
of another processor, changes estimates a little. The engine may be another one. If one side of the
data nearly determines the other, rounding decides about the value. Its standard error is then above
a nat on all processors, and the values agree within it.
"""

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
TUTORIALS = ("tutorial.md", "tutorial-ros2.md", "tutorial-statistics.md")
PAGES = (ROOT / "README.md", *(ROOT / "docs" / name for name in TUTORIALS))
BLOCK = re.compile(
    r"^```console\n(?P<console>.*?)^```\n|^```python\n(?P<python>.*?)^```\n"
    r"(?P<between>\s*)(?:^```text\n(?P<text>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ESTIMATE = re.compile(r"(\d+\.\d+) ± (\d+\.\d+)")
ENGINE = re.compile(r"\bon (native|cpu)\b")
INSIDE = "# -> "
REST = "...\n"  # stands for the rest of an output
EXACT = 10  # smaller integers are indices and counts, which agree exactly
UNKNOWN = 1.0  # nats; a larger standard error states that the value is unknown


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
        from infoatlas_rt.cli import console
        from infoatlas_rt.cli.main import main

        console.LOGGED = 1e6  # a terminal does not keep progress
        main(arguments)
    elif name == "python":
        sys.argv = arguments
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
            new, commands = "", re.split(r"^(?=\$ )", block["console"], flags=re.MULTILINE)[1:]
            for text in commands:
                command, _, shown = text.partition("\n")
                printed = output_of(run_command, command[2:])
                if shown.splitlines()[-1:] == [REST.strip()]:
                    kept = len(shown.splitlines()) - 1
                    printed = "".join(printed.splitlines(keepends=True)[:kept]) + REST
                new += f"{command}\n{printed}"
            yield block[0], f"```console\n{new}```\n", commands[0].splitlines()[0]
            continue
        source, inside, _ = block["python"].partition(INSIDE)
        printed = output_of(exec, compile(source, "a block of the page", "exec"), names)
        if inside:
            source += "".join(f"{INSIDE}{line}\n" for line in printed.splitlines())
        new = f"```python\n{source}```\n"
        if printed and not inside:
            new += f"\n```text\n{printed}```\n"
        if block["text"] is None:  # what stands between the code and its output is replaced
            new += block["between"]
        yield block[0], new, block["python"].splitlines()[0]


def agree(shown: str, printed: str) -> bool:
    """Whether two texts have the same words and nearly the same numbers."""
    shown, printed = (ENGINE.sub("on an engine", text) for text in (shown, printed))
    for ours, theirs in zip(ESTIMATE.finditer(shown), ESTIMATE.finditer(printed), strict=False):
        (a, error), (b, other) = (map(float, found.groups()) for found in (ours, theirs))
        if min(error, other) > UNKNOWN and abs(a - b) <= max(error, other):
            printed = printed.replace(theirs[0], ours[0], 1)
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (shown, printed)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(near(a, b) for a, b in pairs)


def near(shown: str, printed: str) -> bool:
    """Whether two numbers differ by rounding, by a step, or by a few percent."""
    a, b = float(shown), float(printed)
    if "." in shown:
        return abs(a - b) <= max(0.05, 0.05 * abs(a))
    return a == b if a < EXACT else abs(a - b) <= max(2, 0.03 * a)


def keep_picture(made: Path, kept: Path) -> None:
    """Copy a picture with 128 colours, which takes half of the room."""
    from PIL import Image

    with Image.open(made) as picture:
        few = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        few.save(kept, optimize=True)


def renew(path: Path, *, check: bool) -> int:
    """Rewrite a page, or only compare; returns how many blocks differ."""
    page, wrong = path.read_text(encoding="utf-8"), 0
    written, end = page, 0
    with tempfile.TemporaryDirectory() as folder, in_folder(folder):
        Path("examples").symlink_to(ROOT / "examples")
        for shown, new, first in run_page(page):
            start = written.index(shown, end)
            end = start + len(new)
            written = written[:start] + new + written[start + len(shown) :]
            if not agree(shown, new):
                wrong += 1
                print(
                    f"{path.name}: {first}\n--- the page shows\n{shown}--- it is\n{new}",
                    file=sys.stderr,
                )
            if not check:  # after each block: what follows may fail
                path.write_text(written, encoding="utf-8")
        if not check and path.stem == "tutorial":
            for picture in Path().glob("*.png"):
                keep_picture(picture, path.with_name(f"tutorial_{picture.name}"))
    return wrong


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or check them; returns the exit code."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    check = "--check" in arguments
    wrong = sum(renew(page, check=check) for page in PAGES)
    return int(check and wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
