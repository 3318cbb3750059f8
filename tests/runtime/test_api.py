"""Public names: complete, documented, typed, and imported at their first use."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import infoatlas_rt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def programs():
    """(where, source) of the Python code of pages and examples."""
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            yield page.name, block
    for example in EXAMPLES:
        yield example.name, example.read_text("utf-8")


def used_names(source):
    """Names that a program imports from infoatlas_rt or from one of its modules."""
    tree = ast.parse(source)
    aliases = {"infoatlas_rt"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname for a in node.names if a.name == "infoatlas_rt" and a.asname}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("infoatlas_rt"):
            yield from (alias.name for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in aliases:
                yield node.attr


def test_pages_and_examples_use_only_public_names():
    used = {(where, name) for where, source in programs() for name in used_names(source)}
    assert {"KeyStateTracker", "Estimator", "OnlineEstimator"} <= {name for _, name in used}
    for page in PAGES:
        text = page.read_text("utf-8")
        used |= {(page.name, name) for name in re.findall(r"`infoatlas_rt\.(\w+)", text)}
    private = {(where, name) for where, name in used if name not in infoatlas_rt.__all__}
    assert not private


@pytest.mark.parametrize("name", infoatlas_rt.__all__)
def test_public_names_are_documented(name):
    value = getattr(infoatlas_rt, name)
    # A dataclass without a docstring has its signature as docstring.
    assert value.__doc__ and not value.__doc__.startswith(f"{name}(")
    assert name in dir(infoatlas_rt)


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    found = re.findall(r"^::: infoatlas_rt\.(\w+)$", text, re.MULTILINE)
    assert sorted(found) == infoatlas_rt.__all__


def test_there_are_few_public_names():
    """The list is that of the stub, which type checkers read, too."""
    stub = ast.parse(Path(infoatlas_rt.__file__ + "i").read_text("utf-8"))
    listed = [a for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names]
    assert all(a.name == a.asname for a in listed)  # re-exported
    assert infoatlas_rt.__all__ == sorted(a.name for a in listed)
    assert len(listed) <= 44


def test_importing_the_package_imports_nothing():
    code = "import sys, infoatlas_rt; print('numpy' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_types_are_shipped():
    assert files("infoatlas_rt").joinpath("py.typed").is_file()
