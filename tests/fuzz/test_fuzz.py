"""A short run of the fuzzers; `make fuzz` is the long one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import run
from calls import Wrong


@pytest.mark.parametrize(
    ("kind", "count"),
    [("calls", 400), ("pushes", 2000), ("commands", 60), ("models", 12)],
)
def test_nothing_is_wrong_raw_or_warned_of(kind, count):
    found = [(number, what) for number, _, what in run.fuzz(kind, count, seed=1) if what]
    assert found == [], f"python tests/fuzz/run.py --seed 1 --only {kind}:{found[0][0]}"


def test_files_of_each_kind_are_read_right_or_refused():
    outcomes = {writer: set() for writer in run.readers.WRITERS}
    found = []
    for number, own, what in run.fuzz("readers", 80, seed=1):
        outcomes[run.readers.writer_of(number)].update(own)
        found += [f"python tests/fuzz/run.py --seed 1 --only readers:{number}: {what}"] * bool(what)
    assert found == []
    assert all(own == {"ok", "refused"} for own in outcomes.values()), outcomes


def test_faults_are_seen(monkeypatch, tmp_path):
    """Wrong results, other exceptions and warnings are counted as such."""

    def fault(error):
        def case(rng):
            if isinstance(error, Warning):
                import warnings

                warnings.warn(error, stacklevel=1)
                return "ok"
            raise error

        return case

    for error, name in ((Wrong("0"), "wrong"), (TypeError("0"), "raw"), (Warning("0"), "warning")):
        monkeypatch.setattr(run.calls, "CASES", {fault(error): 1})
        outcomes, what = run.one("calls", 0, 0, tmp_path)
        assert outcomes[name] == 1 and what
