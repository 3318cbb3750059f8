"""Channels that change together: shapes, and labels by nearest neighbours and closed forms."""

import math

import pytest
import torch

from infoatlas_train.data import regimes, scales
from infoatlas_train.fit_correction import GENERATORS
from infoatlas_train.model.neighbour_features import from_distances

KINDS = ["regimes", "failures", "delays", "growing"]
TIED = ["dropouts", "partial"]  # and labels that hold with ties


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
    own, flat = torch.eye(x.shape[1], dtype=torch.bool), [v[..., 0].contiguous() for v in (x, y)]
    kx, ky = (
        torch.where(own, -torch.inf, -(r[:, :, None] - r[:, None]).abs())
        for r in (torch.searchsorted(v.sort(1).values, v).double() for v in flat)
    )
    return from_distances(kx, ky, x.shape[1]).mean(1)


@pytest.mark.parametrize("kind", [*KINDS, "channels", "sensors", "clusters", "simplex", *TIED])
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
        clear = d.mi < 3  # nearest neighbours resolve no more
        if kind not in TIED:
            clear &= ~tied[0] & ~tied[1]
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


@pytest.mark.parametrize(
    ("spread", "level", "truth"), [(0.8, 0.1, 2.111), (1.5, 1.0, 0.958), (3.0, 10.0, 0.797)]
)
def test_information_over_decades(spread, level, truth):
    """The truths are from integrals over both values on fine grids."""
    torch.manual_seed(0)
    found = scales.of_decades(torch.tensor([spread]), torch.tensor([level]), 4096)
    assert float(found) == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize(("a", "positive"), [(0.5, True), (0.8, True), (1.5, False), (1.0, False)])
def test_steps_of_walks_are_stable(a, positive):
    """The log of the transform is a power of its argument."""
    torch.manual_seed(0)
    step = scales.stable(torch.tensor([[[a]]]), positive, (1, 200_000, 1)).double()
    at = (torch.exp(-k * step) if positive else torch.cos(k * step) for k in (0.5, 1.0))
    half, one = (float(v.mean().log()) for v in at)
    assert one / half == pytest.approx(2**a, rel=0.02)
