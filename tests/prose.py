"""Sentences of pages and messages that a reader has to read twice.

    python -m tests.prose                 # the pages and messages that tests/test_prose.py checks
    python -m tests.prose docs/bags.md    # any page or Python file

A finding is a sentence of more than 30 words, or a word of WORDS. Code is left out: fenced blocks
and `spans` of a page; names, docstrings and comments of a Python file. A message is any string with
two words or more: what is raised, logged or printed, and the help of the command line.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("docs/concepts.md", "docs/gradients.md", "docs/command-line.md")
PACKAGES = ("runtime/infoatlas_rt", "train", "export", "ros2_node")
LONGEST = 30  # words of a sentence

# What to write instead.
WORDS = {
    "reading": "estimate",
    "readings": "estimates",
    "gap": "bias correction, hole, distance",
    "gaps": "holes, distances",
    "whole": "unsliced, entire, all",
    "straight": "elliptical, directly",
    "doubt": "predicted error",
    "alike": "similar, autocorrelated, both",
    "limited": "clipped, at most",
    "holds": "is, contains, applies",
    "takes": "needs, lasts, accepts",
    "tells": "reports, indicates",
    "tell": "report, indicate",
    "told": "reported, given",
    "says": "reports, gives, states",
    "said": "reported, given",
    "knows": "is informative about, contains",
    "nobody": "none",
    "wants": "needs",
    "pays": "reduces the error",
    "likes": "prefers",
    "evidence": "diagnostic features, score",
    "has a value": "is",
    "gets a value": "is",
    "what is read": "the estimate",
    "what is seen": "the estimate",
    "what moves": "non-constant coordinates",
    "but for": "except",
    "of which": "(two sentences)",
    "for that is": "because",
    "dealt out": "permuted",
}
ALLOWED = re.compile(r"\bwhole (numbers?|seconds?|steps?)\b|\breading (an?|of) ", re.IGNORECASE)
LISTED = re.compile(rf"\b({'|'.join(map(re.escape, WORDS))})\b", re.IGNORECASE)
WORD = re.compile(r"[^\W_][\w'’.,/-]*")
END = re.compile(r"(?<=[.!?])[)\"”*]*\s+(?=[(\"“*]*(?:[A-Z0-9`]|[a-z_]+[\"”]?: ))")


def findings(text: str) -> Iterator[str]:
    """What is wrong with the sentences of a paragraph, each with the sentence."""
    for sentence in END.split(" ".join(text.split())):
        words = len(WORD.findall(sentence))
        if words > LONGEST:
            yield f"{words} words: {sentence}"
        for match in LISTED.finditer(ALLOWED.sub(" ", sentence)):
            yield f"{match[0]!r} ({WORDS[match[0].lower()]}): {sentence}"


def page(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables of a Markdown page, by line; without code."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = re.sub(r"^( *)```.*?^\1``` *$", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)
    text = re.sub(r"(`+)(?!`).+?\1(?!`)", "X", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    start, lines, heading = 1, list[str](), False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        item = re.match(r"\s*([-*+]|\d+\.|\||#+|>)\s", line) or line.startswith("|")
        if item or heading or not line.strip():
            if lines:
                yield start, " ".join(lines)
            lines = []
        heading = line.startswith("#")
        if line.startswith("|"):
            yield from ((number, cell) for cell in line.split("|") if WORD.search(cell))
        elif line.strip():
            start = start if lines else number
            lines.append(line.strip().lstrip("#>-*+ "))


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Strings of words in a Python file, by line; X in place of what is filled in."""
    tree = ast.parse(source)
    passed = {
        id(node.body[0].value)  # a docstring
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):  # from the outside to the inside
        text = None if id(node) in passed else _text(node)
        if text is None:
            continue
        passed |= {id(part) for part in _parts(node)}
        if len(re.findall(r"(?<!\S)[a-z]+(?!\w)", text)) > 1:  # not a list of names
            found.append((node.lineno, text))
    yield from sorted(found)


def notes(source: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of docstrings and comments of a Python file, by line; X in place of `spans`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            found += _docstring(node.lineno, node.value.value)
    found += _comments(source)
    for line, text in sorted(found):
        yield line, re.sub(r"(`+)(?!`).+?\1(?!`)", "X", text)


def _docstring(start: int, text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items and descriptions of parameters; not formulas, examples and types."""
    lines = [*inspect.cleandoc(text).splitlines(), ""]
    base = number = 0
    paragraph = list[str]()
    for index, line in enumerate(lines):
        title = index + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[index + 1])
        depth = len(line) - len(line.lstrip())
        head = base and depth == 0  # a name with its type
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        if item or title or head or not line.strip():
            if paragraph:
                yield start + number, " ".join(paragraph)
            paragraph = []
        base = 4 if title else base
        code = (not paragraph and depth >= base + 2) or line.lstrip().startswith((">>>", "---"))
        if line.strip() and not (title or head or code):
            number = number if paragraph else index
            paragraph.append(line.strip().lstrip("-* "))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments, those of successive lines that start in the same column as one."""
    start, last, parts = 0, (0, 0), list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"# *(noqa|type:|pragma)", token.string):
            continue
        row, column = token.start
        alone = not token.line[:column].strip()
        if parts and not (alone and (row - 1, column) == last):
            yield start, " ".join(parts)
            parts = []
        start = start if parts else row
        parts.append(token.string.lstrip("#: "))
        last = (row, column)
    if parts:
        yield start, " ".join(parts)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The strings that a string is made of; not those in its fields."""
    yield node
    if isinstance(node, ast.BinOp):
        yield from (*_parts(node.left), *_parts(node.right))
    elif isinstance(node, ast.JoinedStr):
        yield from node.values


def _text(node: ast.AST | None) -> str | None:
    """A string as a reader sees it; None if the node is something else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = _text(node.left), _text(node.right)
        return None if sides == (None, None) else "".join(side or "X" for side in sides)
    return None


def check(file: Path) -> list[str]:
    """Findings of a page or of the messages of a Python file, with file and line."""
    parts = (page if file.suffix == ".md" else messages)(file.read_text(encoding="utf-8"))
    return [f"{file}:{line}: {found}" for line, text in parts for found in findings(text)]


def files() -> list[Path]:
    """All that is checked."""
    code = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [*(ROOT / page for page in PAGES), *code]


if __name__ == "__main__":
    found = [line for file in map(Path, sys.argv[1:] or files()) for line in check(file)]
    print("\n".join(found))
    sys.exit(bool(found))
