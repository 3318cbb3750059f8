"""Draws of the families more, unseen and blind: shapes, finite values, reproducible by seed."""

import numpy as np
import pytest

from benchmarks.tasks.blind import BLIND
from benchmarks.tasks.more_families import MORE
from benchmarks.tasks.unseen import UNSEEN

# Widths of x and y.
WIDTHS = (
    "11 12 44 11 21 32 22 13 22 11 42 11 55 15 33 11 11 32 11 51 "
    "32 22 11 13 13 21 22 22 23 32 45 22 33 14 21 11 55 22 "
    "11 23 32 12 21 31 23 21 14 24 23 44 22 31 22 11 51 42 21 55"
)
ALL = [*MORE.families, *UNSEEN.families, *BLIND.families]
FAMILIES = [
    pytest.param(family, widths, id=family.name)
    for family, widths in zip(ALL, WIDTHS.split(), strict=True)
]


@pytest.mark.parametrize(("family", "widths"), FAMILIES)
def test_draws(family, widths):
    first, again, other = (family.draw(50, seed) for seed in (1, 1, 2))
    for side, width, same, different in zip(first, widths, again, other, strict=True):
        assert side.shape == (50, int(width))
        assert np.isfinite(side).all()
        assert (side == same).all()
        assert (side != different).any()
