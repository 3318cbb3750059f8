"""The page of wrong calls: its pictures, and a row for each of its cells."""

import numpy as np
import pytest

from benchmarks import pitfalls, report
from infoatlas_rt import Estimator


def test_motions_have_the_stated_memory():
    for memory in (0.9, 0.98):
        x = pitfalls.motion(memory, 20_000, np.random.default_rng(0))
        own = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in x.T]
        assert np.mean(own) == pytest.approx(memory, abs=0.01)
        assert x.std() == pytest.approx(1 / np.sqrt(1 - memory**2), rel=0.1)


def test_every_cell_of_the_page_has_its_row(monkeypatch):
    monkeypatch.setattr(pitfalls, "WINDOWS", (50,))
    monkeypatch.setattr(pitfalls, "SIZES", (50,))
    estimator = Estimator(threads=1)
    rows = pitfalls.windows("edge", estimator, 2) + pitfalls.attitudes("edge", estimator, 2)
    text = pitfalls.page(report.provenance("test", estimator), rows)
    for row in rows:
        assert f"{report.number(row['mean'], 2)} ± {report.number(row['spread'], 2)}" in text
    assert "The truth is 1.894" in text
