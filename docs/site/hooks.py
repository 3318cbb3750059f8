"""The list of measurements, and HTML of pages that can be read at the width of a phone."""

import re
import struct
from pathlib import Path
from typing import Any

PICTURE = re.compile(r'<p>(<img [^>]*?src="([^":]+\.png)"[^>]*?/?>)</p>')
CELL = re.compile(r"<td(?=[^>]*>(.*?)</td>)", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
CODE = re.compile(r"<code>([^<\n]+)</code>")
NUMBERS = re.compile(r"[^A-Za-z]+")
SHORT = 28  # characters of a cell that may stay on one line
LONG = 24  # characters: a word of inline code up to this length stays on one line
TRY = {"README.md": "label.html", "docs/label.md": "../label.html"}  # links to the page of demo.py
LARGE = 800  # pixels: a picture this wide has labels that a phone cannot show at its own width


def on_config(config: Any) -> Any:
    """List the pages of measurements in the navigation; called by mkdocs."""
    folder = Path(config.docs_dir)
    pages = [str(page.relative_to(folder)) for page in folder.glob("benchmarks/results/**/*.md")]
    pages.sort(key=lambda page: (not page.endswith("results/README.md"), page))
    for section in config.nav:
        for entry in next(iter(section.values())):
            if "Measurements" in entry:
                entry["Measurements"] = pages
    return config


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Change the HTML of a page; called by mkdocs."""
    folder = Path(page.file.abs_src_path).parent
    html = PICTURE.sub(lambda found: picture(found, folder), html)
    if target := TRY.get(page.file.src_uri):
        html = html.replace('<p class="picture">', f'{invitation(target)}<p class="picture">', 1)
    return CODE.sub(code, CELL.sub(cell, html))


def invitation(target: str) -> str:
    return (
        f'<p><a class="md-button" href="{target}">Try the page that marks key states</a> '
        "It has the 20 recordings of this page, and saves nothing.</p>"
    )


def picture(found: re.Match[str], folder: Path) -> str:
    """A large picture in a box of its own, as a link to its file."""
    with (folder / found[2]).open("rb") as file:
        width, _ = struct.unpack(">II", file.read(24)[16:])
    if width < LARGE:
        return found[0]
    return f'<p class="picture"><a href="{found[2]}">{found[1]}</a></p>'


def cell(found: re.Match[str]) -> str:
    """A cell of a table with a class by the length of its text."""
    text = TAG.sub("", found[1])
    kind = "long" if len(text) > SHORT else "short"
    return f'<td class="{kind}{" number" if NUMBERS.fullmatch(text) else ""}"'


def code(found: re.Match[str]) -> str:
    """Inline code with places for a break, and types as their docstrings write them."""
    # mkdocstrings takes "array-like [n]" for Python.
    text = re.sub(r"(like|tensor)\[", r"\1 [", found[1].replace("array - like", "array-like"))
    if len(text) <= LONG:
        return f'<code class="short">{text}</code>'
    return f"<code>{re.sub(r'[^ ]+', word, text)}</code>"


def word(found: re.Match[str]) -> str:
    """A word of inline code: a long one may be broken behind its separators."""
    if len(found[0]) <= LONG:
        return f'<span class="short">{found[0]}</span>'
    return re.sub(r"(?<=[,/=|\]])(?=[\w{\[])|(?<=[a-z\]]\.)(?=[a-z])", "<wbr>", found[0])
