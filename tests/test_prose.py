"""Pages, messages, docstrings and comments have plain sentences; the check detects others."""

from __future__ import annotations

import pytest

import prose


@pytest.mark.parametrize("name", prose.PAGES)
def test_page(name):
    assert prose.check(prose.ROOT / name) == []


@pytest.mark.parametrize("package", prose.PACKAGES)
def test_code(package):
    files = sorted((prose.ROOT / package).rglob("*.py"))
    assert files
    assert [line for file in files for line in prose.check(file)] == []


def found(text):
    return [line.partition(":")[0] for line in prose.findings(text)]


def test_long_sentences():
    assert found(" ".join(["word"] * 30) + ". Next.") == []
    assert found("word " * 31) == ["31 words"]
    assert found("word " * 16 + "3.5 e.g. x. " + "word " * 20) == ["39 words"]
    assert found("auto: " + "word " * 20 + ". phase: " + "word " * 20) == []


@pytest.mark.parametrize("word", prose.WORDS)
def test_words(word):
    (line,) = found(f"Here is {word.capitalize()} again.")
    assert word in line.lower()
    assert found(f"x{word}y") == []


def test_phrases_that_are_allowed():
    assert found("Two whole numbers; the time of reading a file.") == []
    assert len(found("The whole state. A reading.")) == 2


PAGE = """# A gap
Code is `told`, and [a link](told.md)
<!-- told -->

```python
print("told")
```

| told | `told` |
| --- | --- |
- whole
"""


def test_code_of_a_page_is_left_out():
    assert list(prose.page(PAGE)) == [
        (1, "A gap"),
        (2, "Code is X, and a link"),
        (9, " told "),
        (9, " X "),
        (11, "whole"),
    ]


SOURCE = '''"""A docstring was told."""
def f(x):
    """Another one was told."""
    if x == "told":
        raise ValueError(f"value {x:told} of " + name + " was " + f"told {say(f'so it says {x}')}")
    log("it says " "so: %s")
'''


def test_messages_are_found_with_their_parts():
    texts = [text for _, text in prose.messages(SOURCE)]
    assert texts == ["so it says X", "value X of X was told X", "it says so: %s"]


NOTES = '''"""A module.

- an item that
  has two lines
- another one

    formula = of(what) it is

"""
def f(x):
    """One line with `a span`.

    Parameters
    ----------
    x : float, which is no sentence
        Its text.
    y
        Its own text,
        in two lines.

            >>> example
    """
    # A comment
    # of two lines.
    x = 1  # beside code
    # below it
    return x  # noqa: F821 (a reason)
'''


def test_docstrings_and_comments_are_found():
    assert list(prose.notes(NOTES)) == [
        (1, "A module."),
        (3, "an item that has two lines"),
        (5, "another one"),
        (11, "One line with X."),
        (16, "Its text."),
        (18, "Its own text, in two lines."),
        (23, "A comment of two lines."),
        (25, "beside code"),
        (26, "below it"),
    ]
