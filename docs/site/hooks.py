"""What mkdocs changes in the HTML of a page, so that it can be read at the width of a phone."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

PICTURE = re.compile(r'<p>(<img [^>]*?src="([^":]+\.png)"[^>]*?/?>)</p>')
CELL = re.compile(r"<td(?=[^>]*>(?:<strong>)?([^<]{1,28})(?:</strong>)?</td>)")
CODE = re.compile(r"<code>([^<\n]+)</code>")
NUMBERS = re.compile(r"[^A-Za-z]+")
LONG = 24  # characters: inline code up to this length stays on one line
LARGE = 1000  # pixels: a picture this wide has labels that a phone cannot show at its own width


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Change the HTML of a page; called by mkdocs."""
    folder = Path(page.file.abs_src_path).parent
    html = PICTURE.sub(lambda found: picture(found, folder), html)
    return CODE.sub(code, CELL.sub(cell, html))


def picture(found: re.Match[str], folder: Path) -> str:
    """A large picture in a box of its own, as a link to its file."""
    with (folder / found[2]).open("rb") as file:
        width, _ = struct.unpack(">II", file.read(24)[16:])
    if width < LARGE:
        return found[0]
    return f'<p class="picture"><a href="{found[2]}">{found[1]}</a></p>'


def cell(found: re.Match[str]) -> str:
    """A short cell of a table; numbers are never broken."""
    return f'{found[0]} class="short{" number" if NUMBERS.fullmatch(found[1]) else ""}"'


def code(found: re.Match[str]) -> str:
    """Inline code with places for a break, and types as their docstrings write them."""
    # mkdocstrings takes "array-like [n]" for Python.
    text = re.sub(r"(like|tensor)\[", r"\1 [", found[1].replace("array - like", "array-like"))
    if len(text) <= LONG:
        return f'<code class="short">{text}</code>'
    text = re.sub(r"(?<=[,/=|\]])(?=[\w{\[])|(?<=[a-z\]]\.)(?=[a-z])", "<wbr>", text)
    return f"<code>{text}</code>"
