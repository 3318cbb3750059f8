"""Mutual information in torch: the value of the runtime, and correct slopes."""

import numpy as np
import pytest
import torch

from infoatlas_rt import Estimator
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_train.differentiable import mutual_information, through_ranks
from refusals import refuses

MODELS = ("edge", "base", "wide")


def mixed(rho, n, d, seed=0):
    """Gaussian sides with correlation rho in each of d coordinates, and the slope of y on rho."""
    x, noise = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, n, d)))
    rest = np.sqrt(1 - rho**2)
    return x, rho * x + rest * noise, x - rho / rest * noise


def awkward(d):
    """Three timesteps [3, 80, d]: a heavy tail; a constant coordinate; flags, ties, an outlier."""
    x = np.random.default_rng(1).standard_normal((3, 80, d))
    x[0] **= 3
    x[1, :, 0] = 2.0
    x[2, :, 1] = x[2, :, 1] > 1
    x[2, 5, 2] = 1e4
    return x


@pytest.mark.parametrize("model", MODELS)
def test_the_value_is_that_of_the_runtime(model):
    x = awkward(12)
    y = awkward(7) + x[..., :7] / 2
    estimator = Estimator(model, k=4, slices=3, seed=2)
    expected = [estimator.estimate(a, b).mi for a, b in zip(x, y, strict=True)]
    found = mutual_information(torch.tensor(x), torch.tensor(y), 4, 3, model, seed=2)
    np.testing.assert_allclose(found.numpy(), expected, atol=0.02)


@pytest.mark.parametrize(("widths", "sides"), [((3, 2), None), ((7, 2), "x"), ((1, 9), "y")])
def test_narrow_sides_are_not_sliced(widths, sides):
    x, y = (awkward(9)[0, :, :d] for d in widths)
    y = y + x[:, :1]
    options = {} if sides is None else {"k": 5, "slices": 3, "sides": sides}
    expected = Estimator(**options).estimate(x, y).mi
    found = mutual_information(torch.tensor(x), torch.tensor(y), slices=3)
    # The unsliced sides determine each other: at 6 nats float32 of torch differs by more.
    rel = 0.02 if sides is None else 0.01
    assert found.shape == () and found.item() == pytest.approx(expected, abs=0.02, rel=rel)


def test_a_batch_is_a_loop_with_slopes():
    def slopes(x, y):
        x, y = (torch.tensor(v, requires_grad=True) for v in (x, y))
        mi = mutual_information(x, y, slices=3)
        return [mi, *torch.autograd.grad(mi.sum(), (x, y))]

    x = awkward(8)
    y = awkward(6) + x[..., :6]
    y[0] = 1.0  # a constant side
    together = [v.detach() for v in slopes(x, y)]
    alone = [torch.stack(v).detach() for v in zip(*map(slopes, x, y), strict=True)]
    for a, b in zip(together, alone, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-2)
    assert together[0][0] == 0 and not together[1][0].any()
    assert (together[1][1:].abs().amax((1, 2)) > 0).all()
    assert not together[1][1, :, 0].any()  # the constant coordinate


@pytest.mark.parametrize(("rho", "d", "tolerance"), [(0.5, 1, 0.15), (0.9, 2, 0.15), (0.6, 4, 0.2)])
def test_the_slope_on_a_correlation_is_the_closed_form(rho, d, tolerance):
    """I = -d log(1 - rho^2) / 2, so dI / drho = d rho / (1 - rho^2): the mean of 24 draws."""
    x, y, moves = zip(*(mixed(rho, 200, d, seed) for seed in range(24)), strict=True)
    x, y, moves = (torch.stack(v) for v in (x, y, moves))
    y = torch.exp(y / 2).requires_grad_()  # monotone: has no effect
    mutual_information(x, y).sum().backward()
    slope = (y.grad * moves * y.detach() / 2).sum((1, 2)).mean().item()
    assert slope == pytest.approx(d * rho / (1 - rho**2), rel=tolerance)


def test_the_slope_is_that_of_finite_differences():
    """For the sliced estimate, which changes in steps, so the difference is wide."""

    def estimate(rho):
        draws = zip(*(mixed(rho, 120, 9, seed) for seed in range(3)), strict=True)
        x, y, move = (torch.stack(v) for v in draws)
        y.requires_grad_()
        mi = mutual_information(x, y, slices=6).sum()
        return mi.item(), (torch.autograd.grad(mi, y)[0] * move).sum().item()

    below, (_, slope), above = estimate(0.65), estimate(0.75), estimate(0.85)
    assert slope == pytest.approx((above[0] - below[0]) / 0.2, rel=0.2)


def test_a_dependence_without_correlation_has_slopes():
    """Only the neighbour features find it, so their slopes are needed."""
    rng = np.random.default_rng(0)
    x, noise = torch.from_numpy(rng.standard_normal((2, 4, 200, 1)))
    y = (torch.sin(3 * x) + 0.3 * noise).requires_grad_()
    mutual_information(x, y).sum().backward()
    assert (y.grad * noise).sum().item() / 4 < -0.8  # the true value is -2.3 nats


def test_ranks_have_the_slope_of_a_smooth_map():
    """For exp(z) with standard normal z, the map to scores has the slope exp(-z)."""
    z = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 400)))
    x = torch.exp(z)
    on_scores = torch.sign(torch.arange(400) % 2 - 0.5)[None].double()  # not a function of z
    ratio = through_ranks(on_scores, x) / on_scores * x
    middle = (z > -1.5) & (z < 1.5)
    assert 0.7 < ratio[middle].min() and ratio[middle].max() < 1.4
    # Warping a coordinate does not change the information.
    assert through_ranks(z, x).abs().mean() < 0.15 * through_ranks(on_scores, x).abs().mean()
    assert through_ranks(on_scores, torch.zeros_like(x)).isfinite().all()


def test_device_and_dtype_are_those_of_the_samples():
    x, y, _ = mixed(0.7, 64, 2)
    x, y = x.float().requires_grad_(), y.float()
    found = mutual_information(x, y, seed=1)
    found.backward()
    assert (found.dtype, found.device) == (x.dtype, x.device)
    assert x.grad.dtype == torch.float32 and x.grad.any()
    assert found.item() == mutual_information(x, y, seed=1).item()
    with torch.no_grad():
        assert not mutual_information(x, y).requires_grad


@pytest.mark.gpu
def test_gpu():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x, y = torch.tensor(awkward(8)), torch.tensor(awkward(6))
    y = y + x[..., :6]
    at = x.cuda().requires_grad_()
    found = mutual_information(at, y.cuda(), slices=3)
    found.sum().backward()
    assert found.device.type == "cuda" and at.grad.isfinite().all()
    expected = mutual_information(x, y, slices=3)
    torch.testing.assert_close(found.cpu().detach(), expected, atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((64, 2))}, "pass a tensor of floats"),
        ({"x": torch.zeros(64, 2, dtype=torch.int64)}, "pass a tensor of floats"),
        ({"x": torch.zeros(1, 2, 64, 2)}, r"x has shape \[1, 2, 64, 2\]"),
        ({"x": torch.full((64, 2), torch.nan)}, "NaN or infinite"),
        ({"x": torch.zeros(63, 2)}, "as many samples of each"),
        ({"x": torch.zeros(8, 2), "y": torch.zeros(8, 2)}, "8 samples are fewer than the 32"),
        ({"k": 6}, "k is 6, but has to be an integer from 1 to 5"),
        ({"slices": 0}, "slices is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_input_is_named(change, message):
    given = {"x": torch.zeros(64, 2), "y": torch.zeros(64, 2)} | change
    refuses(message, mutual_information, **given)


def test_a_missing_checkpoint_is_named():
    with pytest.raises(ModelError, match=r"nowhere.*pass one of base, edge, wide"):
        mutual_information(torch.zeros(64, 2), torch.zeros(64, 2), model="nowhere")


@pytest.mark.parametrize("ties", [False, True])
def test_torch_gives_the_canonical_form_of_numpy(ties):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 200, 4)), rng.standard_normal((4, 200, 2))
    y += 0.7 * x[..., :2]
    if ties:
        x[..., 1] = x[..., 1].round()
    a, b = canonicalise(x, y, 5), canonicalise(torch.tensor(x), torch.tensor(y), 5)
    np.testing.assert_allclose(a.x, b.x.numpy(), atol=1e-5)
    np.testing.assert_allclose(a.y, b.y.numpy(), atol=1e-5)
