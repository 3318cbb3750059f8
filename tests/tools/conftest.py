"""Twelve demonstrations, and a LeRobot data set of them."""

import numpy as np
import pytest

from lerobot_sets import write_lerobot
from regimes import demonstrations


@pytest.fixture(scope="session")
def states():
    return [s.astype(np.float32) for s in demonstrations(count=12, seed=1)[0]]


@pytest.fixture
def folder(states, tmp_path):
    return write_lerobot(tmp_path / "set", states, "v3.0", None, per_file=5)
