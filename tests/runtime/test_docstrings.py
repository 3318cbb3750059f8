"""Every public name has a docstring with a text for each parameter and each field."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator

import pytest

import infoatlas_rt

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples")


def members() -> Iterator[tuple[str, object]]:
    """Public names, with the public methods and properties of classes defined in this package."""
    for name in infoatlas_rt.__all__:
        value = getattr(infoatlas_rt, name)
        yield name, value
        if inspect.isclass(value) and not issubclass(value, Exception):
            for kind in reversed(value.__mro__):
                if not kind.__module__.startswith("infoatlas_rt"):
                    continue
                for key, member in vars(kind).items():
                    if key.startswith("_"):
                        continue
                    if isinstance(member, property | classmethod | staticmethod) or callable(
                        member
                    ):
                        yield f"{name}.{key}", getattr(member, "fget", None) or getattr(value, key)


MEMBERS = dict(members())


def sections(text: str) -> dict[str, str]:
    """The sections of a NumPy docstring, by title; the text before them is that of ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """Text of each name of a section; several names of one entry have the same text."""
    found = {}
    for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE)[1:]:
        head, _, body = entry.partition("\n")
        for name in head.split(" : ")[0].split(","):
            found[name.strip().lstrip("*")] = f"{head}\n{' '.join(body.split())}"
    return found


def described(name: str) -> dict[str, str]:
    value = MEMBERS[name]
    return sections(inspect.getdoc(value) or "") if value.__doc__ else {}


@pytest.mark.parametrize("name", MEMBERS)
def test_docstring(name):
    value = MEMBERS[name]
    assert value.__doc__, f"{name} has no docstring"
    parts = sections(value.__doc__)
    texts = {**entries(parts.get("Parameters", "")), **entries(parts.get("Attributes", ""))}
    wanted = set()
    if inspect.isclass(value) and issubclass(value, Exception):
        return
    if dataclasses.is_dataclass(value) or (inspect.isclass(value) and issubclass(value, tuple)):
        fields = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
        wanted = {key for key in fields if not key.startswith("_")}
    elif inspect.isclass(value) or inspect.isroutine(value):
        wanted = set(inspect.signature(value).parameters) - {"self", "cls"}
    missing = {key for key in wanted if not texts.get(key, "\n").partition("\n")[2]}
    assert not missing, f"{name}: no text for {sorted(missing)}"
    for key, text in texts.items():
        assert not re.search(r"\b(As in|As for|[Ss]ee `)", text), f"{name}: {key}: {text}"
