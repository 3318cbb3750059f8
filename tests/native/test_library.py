"""libinfoatlas gives the estimates of Python's `Estimator` and `SlidingWindow`."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.estimation.estimator import Estimator as Plain
from infoatlas_rt.models.model_file import MODELS
from infoatlas_rt.streams.sliding_window import SlidingWindow
from library import Library
from random_samples import any_samples

TOLERANCE = 1e-6  # nats
# Numbers of coordinates and directions are exact.
OTHERS = {"rank_noise", "effective_samples", "rank_x", "rank_y"}


@pytest.fixture(scope="module")
def library():
    return Library(LIBRARY)


def check(ours, wanted):
    """The fields of both estimates are equal."""
    for name, value in ours.items():
        if name.startswith("constant_"):
            assert value == len(getattr(wanted, name)), name
        elif name == "k":
            assert value == (wanted.k or 0)
        else:
            expected = np.asarray(getattr(wanted, name), np.float64)
            worst = np.abs(value - expected).max() / max(1.0, np.abs(expected).max())
            assert worst <= TOLERANCE, (name, value, expected)
