"""Explicit slopes equal those of autograd through the model, and values are the same."""

from contextlib import ExitStack

import numpy as np
import pytest
import torch

from infoatlas_train import differentiable, readout
from infoatlas_train.differentiable import _network, mutual_information
from infoatlas_train.model.critic import donsker_varadhan
from infoatlas_train.readout import evaluated

# Of the steps of the solve, the one of the highest objective is kept. Two that differ by one unit
# of its last place, 5e-7 of up to 8 nats, are chosen by rounding. The objective is flat there, so
# that the critics of the two differ by sqrt(2 * 5e-7) = 1e-3. Measured on 80 samples of each model,
# with AVX2 and with SSE alone: the bounds differ by up to 3e-4 and the critics by 4e-3 if the steps
# do, and the bounds by 5e-6 otherwise.
BOUND, CRITIC = 1e-3, 1e-2


def canonical(dim, n=96, slices=2):
    """Samples [slices, n, dim] with decreasing correlation of coordinates, one of them warped."""
    g = torch.Generator().manual_seed(0)
    x, noise = torch.randn(2, slices, n, dim, generator=g)
    share = torch.linspace(0.8, 0.1, dim)
    y = share * x + (1 - share**2).sqrt() * noise
    y[..., 1] = (x[..., 1] ** 2 - 1) / 2**0.5
    return x, y, torch.randperm(n - 1, generator=g)[:7] + 1


@pytest.mark.parametrize("all_pairs", [0, readout.ALL_PAIRS])
@pytest.mark.parametrize("model", ["edge", "base", "wide"])
def test_values_and_slopes_are_those_of_autograd(model, all_pairs, monkeypatch):
    monkeypatch.setattr(readout, "ALL_PAIRS", all_pairs)
    network = _network(model, "cpu")
    x, y, shifts = canonical(network.config.dim)
    x, y = x.requires_grad_(), y.requires_grad_()
    traced = network.critic(x, y, shifts)
    bound, _ = donsker_varadhan(traced.joint, traced.product.flatten(1))
    expected = torch.autograd.grad(bound.sum(), (x, y))
    found, e = evaluated(network, x, y, shifts)
    slopes = torch.autograd.grad(found.sum(), (x, y))
    torch.testing.assert_close(found, bound, atol=BOUND, rtol=0)
    torch.testing.assert_close(e.joint, traced.joint, atol=CRITIC, rtol=0)
    torch.testing.assert_close(e.anchor_product, traced.anchor_product, atol=1e-4, rtol=0)
    for name in ("both", "x", "y"):
        ours, theirs = (getattr(v.counts, name) for v in (e, traced))
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)
    # The solve stops before its optimum, at which the implicit function theorem is exact.
    for ours, theirs in zip(slopes, expected, strict=True):
        assert (ours - theirs).norm() < 0.1 * theirs.norm()


def test_slopes_of_neighbours_are_those_of_finite_differences():
    x, y, shifts = canonical(3, n=24)
    x, y = (v.double().requires_grad_() for v in (x, y))
    everyone = torch.cat([torch.zeros(1, dtype=torch.int64), shifts])
    partner = (torch.arange(24) + everyone[:, None]) % 24

    def features(x, y):
        return readout.Neighbours.apply(x, y, everyone, partner, 16, 2, False)[0]

    torch.autograd.gradcheck(features, (x, y))


def test_slopes_of_pairs_are_those_of_finite_differences():
    everyone = torch.tensor([0, 3, 5])
    partner = (torch.arange(8) + everyone[:, None]) % 8
    g = torch.Generator().manual_seed(0)
    shapes = (2, 8, 4), (2, 8, 4), (2, 5, 4)
    values = [torch.randn(*s, generator=g, dtype=torch.float64).requires_grad_() for s in shapes]
    torch.autograd.gradcheck(lambda *v: readout.Pairs.apply(*v, everyone, partner), values)


def test_chunks_and_threads_change_nothing(monkeypatch):
    """Nor does a call change the number of threads of torch."""
    x, y = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 64, 9)))
    y = (x + y).requires_grad_()
    before = torch.get_num_threads()

    def found(pairs, threads):
        monkeypatch.setitem(differentiable.CHUNK_PAIRS, "cpu", pairs)
        torch.set_num_threads(threads)
        try:
            mi = mutual_information(x, y, slices=4)
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        return mi.detach(), torch.autograd.grad(mi, y)[0]

    together = found(10**6, 1)
    for other in (found(1, 1), found(1, 2)):
        for a, b in zip(together, other, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-3)


def test_overlapping_calls_leave_the_threads_of_torch_as_they_were():
    before, one = torch.get_num_threads(), differentiable.ONE_THREAD
    torch.set_num_threads(3)
    try:
        first, second = ExitStack(), ExitStack()
        first.enter_context(one)
        second.enter_context(one)
        assert torch.get_num_threads() == 1 and one.threads == 3
        first.close()
        assert torch.get_num_threads() == 1
        second.close()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
