"""The motions of the page of wrong calls."""

import numpy as np
import pytest

from benchmarks import pitfalls


def test_motions_have_the_stated_memory():
    for memory in (0.9, 0.98):
        x = pitfalls.motion(memory, 20_000, np.random.default_rng(0))
        own = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in x.T]
        assert np.mean(own) == pytest.approx(memory, abs=0.01)
        assert x.std() == pytest.approx(1 / np.sqrt(1 - memory**2), rel=0.1)
