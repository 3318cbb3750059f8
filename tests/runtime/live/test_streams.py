"""The tracker reports what the cases of tests/streams have."""

import pytest

from infoatlas_rt import KeyStateTracker
from stream_cases import CASES, check, read, run


@pytest.mark.parametrize("name", CASES)
def test_a_stream(name, tmp_path):
    case = read(name)
    check(case, run(case, KeyStateTracker(case.save(tmp_path), **case.options)))
