"""Docstrings of public names are complete, for the API page and `help()`.

Each parameter and each field has a complete text, instead of "As in `Estimator`".
"""

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

PLACEHOLDER = re.compile(r"^ *As (in |for )?`|\bas (in )?`[A-Z][\w.]*`[.;:,]|\b[Ss]ee (also )?`")


REFERENCE = re.findall(
    r"^::: (infoatlas_[\w.]+)\.(\w+)$",
    (Path(__file__).parents[2] / "docs/api.md").read_text("utf-8"),
    re.MULTILINE,
)


def members() -> Iterator[tuple[str, object]]:
    """Names of the reference, and the methods and properties of its classes."""
    for module, name in REFERENCE:
        value = getattr(import_module(module), name)
        yield name, value
        for key in dir(value) if inspect.isclass(value) else ():
            member = inspect.getattr_static(value, key)
            ours = any(
                key in vars(kind)
                for kind in value.__mro__
                if kind.__module__.startswith(("infoatlas_rt", "infoatlas_tools"))
            )
            if key.startswith("_") or not ours:
                continue
            if isinstance(member, property) or callable(getattr(value, key)):
                member = member if isinstance(member, property) else getattr(value, key)
                yield f"{name}.{key}", member


MEMBERS = dict(members())


def texts(docstring: str) -> dict[str, str]:
    """Texts of the parameters and attributes in a NumPy docstring, without types."""
    found = {}
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    for title, section in zip(parts[1::2], parts[2::2], strict=True):
        if title in ("Parameters", "Attributes"):
            for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE)[1:]:
                head, _, body = entry.partition("\n")
                names = head.partition(" : ")[0].replace("*", "").split(",")
                found |= {name.strip(): body.strip() for name in names}
    return found


def wanted(value: object) -> set[str]:
    """Parameters of a function or class; fields that a data class does not inherit."""
    if isinstance(value, property) or (inspect.isclass(value) and issubclass(value, Exception)):
        return set()
    if dataclasses.is_dataclass(value):
        return {f.name for f in dataclasses.fields(value)} & set(inspect.get_annotations(value))
    return set(inspect.signature(value).parameters) - {"self"}


@pytest.mark.parametrize("name", MEMBERS)
def test_docstring(name):
    value = MEMBERS[name]
    assert value.__doc__, f"{name} has no docstring"
    found = texts(value.__doc__)
    missing = {key for key in wanted(value) | set(found) if not found.get(key)}
    assert not missing, f"{name}: no text for {', '.join(sorted(missing))}"
    if inspect.isfunction(value):
        assert set(found) <= wanted(value), f"{name}: texts of parameters that it does not have"
    lines = [line for line in value.__doc__.splitlines() if PLACEHOLDER.search(line)]
    assert not lines, f"{name}: {lines}"


@pytest.mark.parametrize(
    "name", [n for n, value in MEMBERS.items() if ">>>" in (value.__doc__ or "")]
)
def test_examples(name):
    """The examples of docstrings print what they show."""
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(MEMBERS[name], name):
        assert not runner.run(test).failed
