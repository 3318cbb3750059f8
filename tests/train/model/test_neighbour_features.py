"""Neighbour features: sums over neighbours as defined, and their information."""

import math

import numpy as np
import pytest
import torch
from scipy.special import digamma

from infoatlas_train.model import neighbour_features
from infoatlas_train.model.critic import donsker_varadhan, shift_index
from infoatlas_train.model.neighbour_features import (
    PSEUDO_COUNT,
    Kernels,
    context_size,
    counts,
    counts_and_distances,
    default_width,
    from_distances,
)

B, N, D, METRICS, WIDTHS = 2, 30, 3, 2, 3


def drawn(n=N, d=D, seed=0):
    torch.manual_seed(seed)
    return torch.randn(B, n, d), torch.randn(B, n, d), 0.3 * torch.randn(B, METRICS, 2, d)


def by_hand(x, y, metric, width, pair, context, b, i=None, j=None):
    """The feature of a pair of points in dataset b, by a loop without i in x and j in y."""
    used = (torch.cat([x, y], -1)[b].square().mean(0) > 0.5).sum()
    scale = metric[b].exp() * x.shape[1] ** (1 / (used + 4.0)) * 2**width
    both = near_x = near_y = 0.0
    for k in range(context):
        kx = torch.exp(-0.5 * (scale[0] * (pair[0] - x[b, k])).square().sum()) * (k != i)
        ky = torch.exp(-0.5 * (scale[1] * (pair[1] - y[b, k])).square().sum()) * (k != j)
        both, near_x, near_y = both + kx * ky, near_x + kx, near_y + ky
    return torch.log((both + PSEUDO_COUNT) / (near_x * near_y / context + PSEUDO_COUNT))


@pytest.mark.parametrize("context", [N, 11])
def test_features_are_the_sums_over_neighbours(context):
    x, y, metric = drawn()
    partner = shift_index(torch.tensor([0, 4, 9]), N)
    got = Kernels.of(x, y, metric, WIDTHS, context).inside(partner)[0]
    assert got.shape == (B, 3, N, METRICS * WIDTHS)
    for b, m, i, h, w in ((0, 0, 3, 0, 0), (1, 1, 28, 1, 2), (0, 2, 10, 0, 1), (1, 0, 5, 1, 1)):
        j = int(partner[m, i])
        expected = by_hand(x, y, metric[:, h], w, (x[b, i], y[b, j]), context, b, i, j)
        torch.testing.assert_close(got[b, m, i, h * WIDTHS + w], expected, atol=1e-5, rtol=1e-4)


def test_pairs_outside_leave_out_nothing():
    x, y, metric = drawn()
    xq, yq, _ = drawn(seed=3)
    got = Kernels.of(x, y, metric, WIDTHS).outside(xq, yq)
    assert got.shape == (B, N, METRICS * WIDTHS)
    for b, q, h, w in ((0, 3, 0, 0), (1, 28, 1, 2), (0, 10, 0, 1)):
        expected = by_hand(x, y, metric[:, h], w, (xq[b, q], yq[b, q]), N, b)
        torch.testing.assert_close(got[b, q, h * WIDTHS + w], expected, atol=1e-5, rtol=1e-4)


def test_independent_sides_and_a_ring():
    torch.manual_seed(1)
    angle = 6.2832 * torch.rand(1, 1000, 1)
    radius = 1 + 0.1 * torch.randn(1, 1000, 1)
    ring = radius * torch.cos(angle), radius * torch.sin(angle)
    noise = torch.randn(1, 1000, 1), torch.randn(1, 1000, 1)
    partner = shift_index(torch.arange(9), 1000)
    for (x, y), low, high in ((ring, 0.5, 1.6), (noise, -0.05, 0.05)):
        x, y = (side / side.std() for side in (x, y))
        features = Kernels.of(x, y, torch.zeros(1, 1, 2, 1), 2).inside(partner)[0]
        mi, _ = donsker_varadhan(features[:, 0, :, 1], features[:, 1:, :, 1].flatten(1))
        assert low < float(mi) < high


def test_metrics_learn_from_pairs_outside_alone():
    x, y, metric = drawn()
    metric.requires_grad_()
    k = Kernels.of(x, y, metric, WIDTHS)
    assert not k.inside(torch.arange(N)[None])[0].requires_grad
    k.outside(*drawn(seed=5)[:2]).sum().backward()
    assert metric.grad.abs().min() > 0


def test_context_is_bounded_and_memory_grows_with_n_alone():
    assert [context_size(n) for n in (17, 1024, 5000)] == [17, 1024, 1024]
    assert all(
        n * context_size(n) <= neighbour_features.BUDGET + n for n in (10_000, 100_000, 1_000_000)
    )


def test_coordinates_that_a_side_lacks_do_not_narrow_the_kernels():
    x, *_ = drawn(n=200)
    x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
    padded = torch.cat([x, torch.zeros(B, 200, 2)], -1)
    torch.testing.assert_close(default_width(padded, padded), default_width(x, x))
    assert default_width(x, x).unique() == pytest.approx(200 ** (-1 / 10))


def test_no_kernel_value_or_product_is_denormal():
    """Arithmetic with numbers below 1.2e-38 is many times slower."""
    far = torch.linspace(0, 100, 50)[None, :, None]
    k = neighbour_features.gaussian(far, far)
    least = k.min()
    for _ in range(3):
        k = neighbour_features.fourth_power(k)
        least = torch.minimum(least, k.min())
    assert least * least >= torch.finfo(torch.float32).tiny


def test_information_from_distances_by_hand():
    """Kraskov's estimator with the maximum norm, if nothing is tied; exact if everything is."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 1))
    y = 0.8 * x + 0.6 * rng.standard_normal((600, 1))
    distance = [np.abs(v - v.T) for v in (x, y)]
    both = np.maximum(*distance) + np.diag(np.full(600, np.inf))
    third = np.sort(both, 1)[:, 2:3]
    near = [(d < third).sum(1) - 1 for d in distance]  # without itself
    expected = digamma(3) + digamma(600) - np.mean(digamma(near[0] + 1) + digamma(near[1] + 1))
    kernels = (torch.tensor(np.exp(-(d**2) / 50))[None] for d in distance)
    kx, ky = (k * (1 - torch.eye(600)) for k in kernels)
    assert float(from_distances(kx, ky, 600).mean()) == pytest.approx(expected, abs=0.02)
    flags = torch.tensor(rng.integers(0, 2, 600)).double()
    k = (torch.exp(-(flags[:, None] - flags).square()) * (1 - torch.eye(600)))[None]
    assert float(from_distances(k, k, 600).mean()) == pytest.approx(math.log(2), abs=0.01)


def test_counts_and_distances_are_of_one_metric():
    torch.manual_seed(0)
    x, y = torch.randn(2, 2, 60, 3)
    scale = torch.ones(2, 1, 3)
    found, local = counts_and_distances(x, y, scale)
    for value, wanted in zip(
        (found.both, found.x, found.y), vars(counts(x, y, scale)).values(), strict=False
    ):
        assert torch.equal(value, wanted)
    assert local.shape == (2, 60)
