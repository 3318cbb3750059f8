"""The mutations change existing code, and name existing tests."""

import pytest

from mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation[0])
def test_mutated_code_exists(mutation):
    _, file, text, other, tests, _ = mutation
    assert text in (ROOT / file).read_text("utf-8") and text != other
    assert (ROOT / "tests" / tests).is_file()
