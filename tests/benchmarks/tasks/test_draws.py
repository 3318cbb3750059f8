"""Draws of all families except the hand-made ones: shapes, finite values, reproducible by seed."""

import numpy as np
import pytest

from benchmarks.tasks.blind import BLIND
from benchmarks.tasks.blind_second import BLIND_SECOND
from benchmarks.tasks.more_families import MORE
from benchmarks.tasks.unseen import UNSEEN
from infoatlas_rt.estimation.determined import is_determined
from infoatlas_rt.estimation.prepare import Samples

# Widths of x and y.
WIDTHS = (
    "11 12 44 11 21 32 22 13 22 11 42 11 55 15 33 11 11 32 11 51 "
    "32 22 11 13 13 21 22 22 23 32 45 22 33 14 21 11 55 22 "
    "11 23 32 12 21 31 23 21 14 24 23 44 22 31 22 11 51 42 21 55 "
    "11 55 32 11 22 14 14 44 51 32 23 11"
)
# Means of the arctangents of 50 samples of both sides, in thousandths: the families are frozen.
MEANS = (
    "1379 1447 16 -28 347 738 457 448 -35 522 440 1479 551 266 627 424 778 268 547 802 "
    "462 -1 1204 438 744 820 366 1419 210 917 -73 454 311 632 71 778 1168 45 "
    "-136 248 244 352 476 -20 -60 535 509 134 610 241 925 929 961 807 558 24 218 12 "
    "745 14 1341 -101 674 503 125 -29 -64 173 164 948"
)
MEASURED = [*MORE.families, *UNSEEN.families, *BLIND.families]
ALL = [*MEASURED, *BLIND_SECOND.families]
FAMILIES = [
    pytest.param(family, widths, float(mean), id=family.name)
    for family, widths, mean in zip(ALL, WIDTHS.split(), MEANS.split(), strict=True)
]


@pytest.mark.parametrize(("family", "widths", "mean"), FAMILIES)
def test_draws(family, widths, mean):
    first, again, other = (family.draw(50, seed) for seed in (1, 1, 2))
    angles = np.arctan(np.concatenate(first, axis=None))
    assert 1000 * angles.mean() == pytest.approx(mean, abs=0.6)
    for side, width, same, different in zip(first, widths, again, other, strict=True):
        assert side.shape == (50, int(width))
        assert np.isfinite(side).all()
        assert (side == same).all()
        assert (side != different).any()


# The package must first see the second blind families when results on them are made.
@pytest.mark.parametrize("family", MEASURED, ids=lambda family: family.name)
def test_no_family_is_taken_for_a_function(family):
    x, y = (np.ascontiguousarray(side, np.float64) for side in family.draw(500, 3))
    assert not is_determined(Samples(x, y), family.kind == "process")
