"""Times of a push in C++ and in Python, in a short run."""

from __future__ import annotations

import json

import pytest

from benchmarks import follower


@pytest.mark.skipif(not follower.PREFIX.exists(), reason="make build/native/ready")
def test_both_followers_are_measured(tmp_path):
    follower.main(["--quick", "--out", tmp_path])
    cpp, python = json.loads((tmp_path / "follower.json").read_text())["rows"]
    assert cpp["pushes"] == python["pushes"] == 2000
    for row in (cpp, python):
        assert 0 < row["median"] <= row["p99"] <= row["p99.9"] <= row["largest"]
    assert cpp["median"] < python["median"]
    page = (tmp_path / "follower.md").read_text()
    assert "| libinfoatlas (C++) |" in page and "2,000 times" in page
