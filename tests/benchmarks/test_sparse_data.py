"""Closed forms of the sparse-data benchmark."""

import numpy as np
import pytest

from benchmarks import sparse_data


def plug_in(x, y):
    """Mutual information of a table of counts minus its bias, for samples with few levels."""
    sides = [np.unique(side, axis=0, return_inverse=True)[1].ravel() for side in (x, y)]
    p = np.zeros([side.max() + 1 for side in sides])
    np.add.at(p, tuple(sides), 1 / len(x))
    information, least = sparse_data.of_table(p)
    bias = ((p > 0).sum() - (p.sum(0) > 0).sum() - (p.sum(1) > 0).sum() + 1) / (2 * len(x))
    return information - bias, least


@pytest.mark.parametrize(
    "kind",
    [
        "rare flag",
        "rare events",
        "independent flags",
        "few levels",
        "copied levels",
        "tied normals",
    ],
)
def test_truths_of_tables(kind):
    for seed in range(2):
        rng = np.random.default_rng([seed, *kind.encode()])
        x, y, truth, least = sparse_data.KINDS[kind](rng, 200_000)
        found = plug_in(x, y)
        assert truth == pytest.approx(found[0], abs=0.01)
        assert least == pytest.approx(found[1], abs=0.02)


def test_truth_of_flag_and_level():
    for seed in range(2):
        x, y, truth, least = sparse_data.flag_and_level(np.random.default_rng(seed), 400_000)
        bins = np.floor(4 * y)  # fine enough: the loss is far below the tolerance
        found = plug_in(x, bins)
        assert truth == pytest.approx(found[0], abs=0.01)
        assert least == pytest.approx(found[1], abs=0.01)
