"""Flows are bijections of one side, and do not change unused coordinates."""

import pytest
import torch

from infoatlas_train.data import flows

MASK = (torch.arange(5) < torch.tensor([[1], [2], [3], [5]])).float()


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(4, 400, 5) * MASK[:, None]


@pytest.mark.parametrize("layer", [flows.rotate, flows.couple, flows.swirl, flows.warp])
def test_layers_keep_points_apart_and_padding_zero(layer, x):
    for _ in range(5):
        y = layer(x, MASK) * MASK[:, None]
        assert torch.isfinite(y).all() and (y[0, :, 1:] == 0).all()
        near = torch.cdist(y.double(), y.double()) + 10 * torch.eye(400)
        assert near.min() > 0


def test_rotations_keep_the_norm(x):
    for layer in (flows.rotate, flows.swirl):
        torch.testing.assert_close(
            layer(x, MASK).norm(dim=-1), x.norm(dim=-1), rtol=1e-4, atol=1e-4
        )


def test_bend_is_monotone(x):
    for _ in range(5):
        order = x[3].argsort(0)
        warped = torch.take_along_dim(flows.warp(x, MASK)[3], order, 0)
        assert (warped.diff(dim=0) > -1e-6).all()


@pytest.mark.parametrize("layer", [flows.couple, flows.swirl, flows.warp])
def test_layers_do_what_no_linear_map_does(layer, x):
    y = standard(torch.cat([layer(x[3:], MASK[3:])[0] for _ in range(5)], 1))
    z = torch.cat([x[3], torch.ones(400, 1)], 1)
    rest = y - z @ torch.linalg.lstsq(z, y).solution
    assert rest.square().mean() > 0.02


def standard(y):
    return (y - y.mean(0)) / y.std(0)


def test_coupling_moves_one_half_given_the_other(x):
    y = flows.couple(x, MASK)
    same = (y == x).all(1)
    assert (same | (MASK == 1)).all() and not same[3].all() and same[3].any()


def test_coupling_moves_each_coordinate_upwards_with_itself_alone(x):
    """Given the unchanged half, each other coordinate is mapped by an increasing function."""
    for seed in range(5):
        torch.manual_seed(seed)
        before = flows.couple(x, MASK)
        moved = (before != x).any(1).float()
        torch.manual_seed(seed)
        # For one point: functions are standardised over the points, which has to stay the same.
        other = x.clone()
        other[:, 7] += 0.5 * moved
        after = flows.couple(other, MASK)
        assert torch.equal(after[:, :7], before[:, :7]) and torch.equal(after[:, 8:], before[:, 8:])
        rise = after[:, 7] - before[:, 7]
        assert (rise[moved > 0] > 0.5 * torch.e**-1).all() and (rise[moved == 0] == 0).all()


def test_flow_keeps_shape_and_padding(x):
    for seed in range(10):
        torch.manual_seed(seed)
        y = flows.random_flow(x, MASK)
        assert torch.isfinite(y).all() and (y * (1 - MASK[:, None])).abs().max() == 0
