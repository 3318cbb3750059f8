"""What mkdocs changes in the HTML of each page: large pictures, and types in the API reference."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

PICTURE = re.compile(r'<p>(<img [^>]*?src="([^":]+\.png)"[^>]*?/?>)</p>')
TYPE = re.compile(r"(?<=<code>)[^<]*\barray\b[^<]*(?=</code>)")
LARGE = 1000  # pixels: a picture this wide has labels that a phone cannot show at its own width


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Change the HTML of a page; called by mkdocs."""
    folder = Path(page.file.abs_src_path).parent

    def picture(found: re.Match[str]) -> str:
        with (folder / found[2]).open("rb") as file:
            width, _ = struct.unpack(">II", file.read(24)[16:])
        if width < LARGE:
            return found[0]
        return f'<p class="picture"><a href="{found[2]}">{found[1]}</a></p>'

    return TYPE.sub(lambda found: plain(found[0]), PICTURE.sub(picture, html))


def plain(text: str) -> str:
    """A type as its docstring writes it: mkdocstrings takes `array-like [n]` for Python."""
    return re.sub(r"(like|tensor)\[", r"\1 [", text.replace("array - like", "array-like"))
