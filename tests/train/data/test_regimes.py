"""Channels that change together: shapes, and labels by nearest neighbours and closed forms."""

import math

import pytest
import torch

from infoatlas_train.data import regimes
from infoatlas_train.fit_correction import GENERATORS
from infoatlas_train.model.neighbour_features import from_distances

KINDS = ["regimes", "failures", "delays", "growing"]


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("dim", [1, 5, 20])
def test_shapes_and_ranges(kind, dim):
    truths = []
    for seed in range(2):
        torch.manual_seed(seed)
        d = GENERATORS[kind](8, max(32, 3 * dim), 64, dim)
        assert d.x.shape == d.y.shape == (8, max(32, 3 * dim), dim)
        assert d.x.isfinite().all() and d.y.isfinite().all()
        assert (d.mi >= -0.5).all() and d.mi.isfinite().all() and (d.family == -1).all()
        truths.append(d.mi)
    assert torch.cat(truths).max() > 0.5


def by_neighbours(x, y):
    """Mutual information [B] of the ranks of two coordinates, by the third neighbour."""
    own = torch.eye(x.shape[1], dtype=torch.bool)
    kx, ky = (
        torch.where(own, -torch.inf, -(r[:, :, None] - r[:, None]).abs())
        for r in (v[..., 0].argsort(1).argsort(1).double() for v in (x, y))
    )
    return from_distances(kx, ky, x.shape[1]).mean(1)


@pytest.mark.parametrize("kind", [*KINDS, "channels", "sensors", "clusters"])
def test_labels_agree_with_neighbours(kind):
    torch.manual_seed(1)
    dim = 2 if kind == "delays" else 1
    d = GENERATORS[kind](32, 800, 256, dim)
    if kind == "delays":  # the side with one coordinate, and each coordinate of the other side
        one = d.y.square().mean(1)[:, 1] == 0
        x, y = d.x[one], d.y[one][..., :1]
        found = torch.stack([by_neighbours(x[..., i : i + 1], y) for i in range(2)])
        assert len(x) > 8 and (found.amax(0) < d.mi[one] + 0.2).all()
    else:
        tied = [side[..., 0].sort(1).values.diff(dim=1).eq(0).any(1) for side in (d.x, d.y)]
        clear = (d.mi < 3) & ~tied[0] & ~tied[1]  # nearest neighbours resolve no more
        error = (by_neighbours(d.x, d.y) - d.mi)[clear]
        assert len(error) > 12 and error.abs().median() < 0.07 and error.abs().max() < 0.4


def test_information_with_recognisable_failures():
    """A stuck value is recognisable: the other samples are those of a Gaussian channel."""
    for seed in range(50):
        torch.manual_seed(seed)
        d = regimes.failures(6, 4000, 64, 1)
        if any(len(v.unique()) < 3000 for side in (d.x, d.y) for v in side):
            break
    for x, y, mi in zip(d.x[..., 0], d.y[..., 0], d.mi, strict=True):
        side = x if len(x.unique()) < len(x) else y
        value, count = side.unique(return_counts=True)
        stuck = side == value[count.argmax()]
        share = 1 - float(stuck.float().mean())
        ranks = [v[~stuck].argsort().argsort().double() + 0.5 for v in (x, y)]
        a, b = (torch.special.ndtri(r / len(r)) for r in ranks)
        rho = float((a @ b) / (a.norm() * b.norm()))
        assert abs(-share * 0.5 * math.log(1 - rho**2) - float(mi)) < 0.06
