"""Find sentences of pages, messages, docstrings and comments that are hard to read.

    python -m tests.prose                 # all texts that tests/test_prose.py checks
    python -m tests.prose docs/bags.md    # any page or Python file

A finding is a sentence of more than 30 words, or a word of WORDS. Code is left out: names, fenced
blocks, examples, formulas and `spans`. A message is any string of two words or more, such as an
error, a log, an output, or the help of the command line. Docstrings and comments are checked in
DOCUMENTED.
"""

import ast
import inspect
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "runtime/native/DESIGN.md"),
    *("benchmarks/results/README.md", "examples/README.md", "examples/data/README.md"),
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
    *sorted(f"examples/{page.name}" for page in (ROOT / "examples").glob("*.ipynb")),
)
DOCUMENTED = ("runtime/infoatlas_rt", "runtime/native/infoatlas_native", "tools/infoatlas_tools")
PACKAGES = (*DOCUMENTED, "train", "export", "ros2_node", "benchmarks", "examples")
LONGEST = 30  # words of a sentence

# Words to avoid, with replacements.
LISTED_WORDS = """
    reading: estimate; readings: estimates; gap: bias correction, hole, distance;
    gaps: holes, distances; whole: unsliced, entire, all; straight: elliptical, directly;
    doubt: predicted error; alike: similar, autocorrelated, both; limited: clipped, at most;
    holds: is, contains, applies; takes: needs, lasts, accepts; tells: reports, indicates;
    tell: report, indicate; told: reported, given; says: reports, gives, states;
    said: reported, given; knows: is informative about, contains; nobody: none; wants: needs;
    pays: reduces the error; likes: prefers; evidence: diagnostic features, score;
    has a value: is; gets a value: is; what is read: the estimate; what is seen: the estimate;
    what moves: non-constant coordinates; but for: except; of which: (two sentences);
    for that is: because; dealt out: permuted
"""
WORDS = dict(entry.split(": ") for entry in re.split(r";\s+", LISTED_WORDS.strip()))
ALLOWED = re.compile(r"\bwhole (numbers?|seconds?|steps?)\b|\breading (an?|of) ", re.IGNORECASE)
LISTED = re.compile(rf"\b({'|'.join(map(re.escape, WORDS))})\b", re.IGNORECASE)
WORD = re.compile(r"[^\W_][\w'’.,/-]*")
END = re.compile(r"(?<=[.!?])[)\"”*]*\s+(?=[(\"“*]*(?:[A-Z0-9`]|[a-z_]+[\"”]?: ))")


def findings(text: str) -> Iterator[str]:
    """Faults of the sentences of a paragraph, each with its sentence."""
    for sentence in END.split(" ".join(text.split())):
        words = len(WORD.findall(sentence))
        if words > LONGEST:
            yield f"{words} words: {sentence}"
        for match in LISTED.finditer(ALLOWED.sub(" ", sentence)):
            yield f"{match[0]!r} ({WORDS[match[0].lower()]}): {sentence}"


def page(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and table cells of a Markdown page by line, without code."""

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
    """Strings of words in a Python file by line, with X in place of inserted values."""
    tree = ast.parse(source)
    passed = {
        id(node.body[0].value)  # a docstring
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):  # outer nodes first
        text = None if id(node) in passed else _text(node)
        if text is None:
            continue
        passed |= {id(part) for part in _parts(node)}
        if len(re.findall(r"(?<!\S)[a-z]+(?!\w)", text)) > 1:  # not a list of names
            found.append((node.lineno, text))
    yield from sorted(found)


def notes(source: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of docstrings and comments of a Python file, by line; X in place of `spans`."""
    found = _comments(source)
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found += _paragraphs(node.lineno, value.value)
    for line, text in sorted(found):
        yield line, re.sub(r"(`+)(?!`).+?\1(?!`)", "X", text)


def _paragraphs(start: int, docstring: str) -> list[tuple[int, str]]:
    """Paragraphs, items and descriptions; not titles, types, formulas and examples."""
    lines = [*inspect.cleandoc(docstring).splitlines(), ""]
    found, paragraph, indent = [], list[str](), 0
    for number, line in enumerate(lines, start):
        depth = len(line) - len(line.lstrip())
        title = re.match("-{3,}$", lines[min(number - start + 1, len(lines) - 1)])
        entry = indent and depth == 0  # the name of a parameter, with its type
        if title or entry or not line.strip() or re.match(r"\s*(-|\d+\.) ", line):
            if paragraph:
                found.append((number - len(paragraph), " ".join(paragraph)))
            paragraph = []
        indent = 4 if title else indent
        code = (not paragraph and depth > indent) or re.match(r"\s*(>>>|---)", line)
        if line.strip() and not (title or entry or code):
            paragraph.append(line.strip().lstrip("- "))
    return found


def _comments(source: str) -> list[tuple[int, str]]:
    """Comments; lines that follow each other in one column are one comment."""
    found = list[tuple[int, str]]()
    last = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match("# *(noqa|type:|fmt:)", token.string):
            continue
        (row, column), text = token.start, token.string.lstrip("#: ")
        if (row - 1, column) == last and not token.line[:column].strip():
            found[-1] = found[-1][0], f"{found[-1][1]} {text}"
        else:
            found.append((row, text))
        last = row, column
    return found


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The strings that form a string, without those in its fields."""
    yield node
    if isinstance(node, ast.BinOp):
        yield from (*_parts(node.left), *_parts(node.right))
    elif isinstance(node, ast.JoinedStr):
        yield from node.values


def _text(node: ast.AST | None) -> str | None:
    """A string with X in place of its fields; None if the node is not a string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = _text(node.left), _text(node.right)
        return None if sides == (None, None) else "".join(side or "X" for side in sides)
    return None


def check(file: Path) -> list[str]:
    """Findings of a page or a Python file, with file and line."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    parts = [*page(text)] if file.suffix in (".md", ".ipynb") else []
    for line, message in messages(text) if file.suffix == ".py" else ():
        # A program may write pages, with lists and tables, and scenes in XML, without sentences.
        pages = () if message.lstrip().startswith("<") else page(inspect.cleandoc(message))
        parts += [(line + start - 1, part) for start, part in pages]
    if any(file.resolve().is_relative_to(ROOT / package) for package in DOCUMENTED):
        parts += notes(text)
    return [f"{file}:{line}: {found}" for line, part in parts for found in findings(part)]


def files() -> list[Path]:
    """All checked files."""
    code = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [*(ROOT / page for page in PAGES), *code]


if __name__ == "__main__":
    found = [line for file in map(Path, sys.argv[1:] or files()) for line in check(file)]
    print("\n".join(found))
    sys.exit(bool(found))
