"""Pages, messages, docstrings and comments have plain sentences; the check detects others."""

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


def test_hard_sentences_are_found_and_code_is_left_out():
    faults = prose.findings("Two whole numbers. A reading. W" + "ord w" * 30)
    assert [fault[:9] for fault in faults] == ["'reading'", "31 words:"]
    page = "# A gap\nCode is `told`.\n```\ntold\n```\n- x"
    assert list(prose.page(page)) == [(1, "A gap"), (2, "Code is X."), (6, "x")]
    code = '"""It was told."""\nf(f"it {x} is " + "told")  # a note\n'
    assert list(prose.messages(code)) == [(2, "it X is told")]
    assert list(prose.notes(code)) == [(1, "It was told."), (2, "a note")]
