"""Public names: complete, documented, typed, and imported at their first use."""

import ast
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import infoatlas_rt
import infoatlas_tools

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PACKAGES = (infoatlas_rt, infoatlas_tools)
MOST = 16  # public names of a package
# Names of the reference, with the module that they are imported from.
API = (ROOT / "docs/api.md").read_text("utf-8")
REFERENCE = set(re.findall(r"^::: (infoatlas_[\w.]+)\.(\w+)$", API, re.M))


def programs():
    """(where, source) of the Python code of pages and examples."""
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            yield page.name, block
    for example in EXAMPLES:
        yield example.name, example.read_text("utf-8")


def used_names(source):
    """(module, name) of what a program imports from the two packages."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("infoatlas_rt", "infoatlas_tools")
        ):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.startswith("infoatlas_rt."))


def test_pages_and_examples_use_only_names_of_the_reference():
    used = {(where, *name) for where, source in programs() for name in used_names(source)}
    assert {"KeyStateTracker", "Estimator", "OnlineEstimator"} <= {name for *_, name in used}
    generation = "infoatlas_tools.generation"  # documented in its own page
    private = {
        (where, module, name)
        for where, module, name in used
        if (module, name) not in REFERENCE and not module.startswith(generation)
    }
    assert not private


@pytest.mark.parametrize("package", PACKAGES)
def test_there_are_few_public_names_and_all_are_in_the_reference(package):
    """The list is that of the stub, which type checkers read, too."""
    stub = ast.parse(Path(package.__file__ + "i").read_text("utf-8"))
    listed = [a for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names]
    assert all(a.name == a.asname for a in listed)  # re-exported
    assert dir(package) == package.__all__ == sorted(a.name for a in listed)
    assert {(package.__name__, name) for name in package.__all__} <= REFERENCE
    assert len(listed) <= MOST and files(package.__name__).joinpath("py.typed").is_file()


def test_importing_the_packages_imports_nothing():
    code = "import sys, infoatlas_tools; print('numpy' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
