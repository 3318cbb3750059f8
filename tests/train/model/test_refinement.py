"""Refinement: slopes equal those of autograd, and moving along them raises the objective."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import gelu

from infoatlas_train.config import PRESETS
from infoatlas_train.model.critic import Theta, affine, donsker_varadhan, shift_index, side
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.model.refinement import (
    gelu_slope,
    moved,
    pair_slopes,
    pairs_of_round,
    side_slope,
)

B, N, D, H, F = 2, 20, 11, 4, 8
SHIFTS = torch.tensor([0, 3, 7])  # the joint pairs, and two shifts


def weights():
    shapes = [(D + 1, H), (H + 1, H), (H + D, F)] * 2 + [(1, F), (F + 1, F)]
    return [(0.5 * torch.randn(B, *s, dtype=torch.float64)).requires_grad_() for s in shapes]


def critic_of(w, a, x, y):
    """T [B, M, n], and the values from which the slopes are computed."""
    theta = Theta(torch.zeros(B, 5), w[:3], w[3:6], w[6], w[7], torch.ones(B, F))
    partner = shift_index(SHIFTS, N)
    sy = side(theta.side_y, y).index_select(1, partner.flatten()).unflatten(1, partner.shape)
    s = (side(theta.side_x, x) + theta.bias)[:, None] + sy
    h = gelu(s)
    p = affine(h.flatten(1, 2), theta.mix).unflatten(1, partner.shape)
    return theta, s, h, p, ((h + gelu(p)) @ a[:, None, :, None])[..., 0]


def objective(t):
    return donsker_varadhan(t[:, 0], t[:, 1:].flatten(1))[0]


def slopes_of(w, a, x, y):
    theta, s, h, p, t = critic_of(w, a, x, y)
    d_x, d_y, d_mix = pair_slopes(theta, s, h, p, a, t, SHIFTS)
    sides = [*side_slope(theta.side_x, x, d_x), *side_slope(theta.side_y, y, d_y)]
    return theta, [*sides, d_x.sum(1, keepdim=True), d_mix], t


@pytest.fixture
def drawn():
    torch.manual_seed(0)
    x, y = (torch.randn(B, N, D, dtype=torch.float64) for _ in range(2))
    return weights(), torch.randn(B, F, dtype=torch.float64), x, y


def test_slope_of_gelu():
    x = torch.linspace(-4, 4, 50, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(gelu(x).sum(), x)
    torch.testing.assert_close(gelu_slope(x.detach()), slope)


def test_slopes_are_those_of_autograd(drawn):
    w, a, x, y = drawn
    _, slopes, t = slopes_of(w, a, x, y)
    expected = torch.autograd.grad(objective(t).sum(), w)
    for slope, truth in zip(slopes, expected, strict=True):
        torch.testing.assert_close(slope, truth)


def test_a_small_move_raises_the_objective_and_no_rate_moves_nothing(drawn):
    w, a, x, y = drawn
    theta, slopes, t = slopes_of(w, a, x, y)
    slopes = [s.detach() for s in slopes]
    for rate, higher in ((1e-3, True), (0.0, False)):
        there, _ = moved(theta, slopes, torch.full((B, 8, F), rate), None)
        after = [*there.side_x, *there.side_y, there.bias, there.mix]
        gain = objective(critic_of(after, a, x, y)[-1]) - objective(t)
        assert ((gain > 0) == higher).all()


def test_refinement_finds_dependence_beyond_the_written_features():
    """An untrained critic of a circle has a higher bound with refinement."""
    torch.manual_seed(1)
    angle = 6.283 * torch.rand(2, 400)
    x = torch.stack([angle.cos(), angle.sin(), *[torch.zeros(2, 400)] * 3], -1)
    y = torch.stack([(2 * angle).cos(), (2 * angle).sin(), *[torch.zeros(2, 400)] * 3], -1)
    x, y = (2**0.5 * (s + 0.05 * torch.randn_like(s)) * (s.std(1) > 0)[:, None] for s in (x, y))
    readings = []
    for rounds in (0, 6):
        torch.manual_seed(2)
        model = InfoAtlas(replace(PRESETS["tiny"], refinements=rounds)).eval()
        with torch.no_grad():
            readings.append(model(x, y, torch.tensor([1, 5, 9, 100, 151, 203]))[0])
    assert (readings[1] > readings[0] + 0.1).all()


def test_rounds_take_turns_over_the_product_pairs():
    """With turns each round uses the next pairs; without, all rounds use the first ones."""
    rounds = [pairs_of_round(i, 2, 5, torch.device("cpu")).tolist() for i in range(5)]
    assert rounds == [[0, 1, 2], [0, 3, 4], [0, 5, 1], [0, 2, 3], [0, 4, 5]]
    same = [pairs_of_round(i, 2, 2, torch.device("cpu")).tolist() for i in range(3)]
    assert same == [[0, 1, 2]] * 3


def test_turns_over_fewer_pairs_than_a_round_has_are_refused():
    with pytest.raises(ValueError, match="set refine_turns to 2 or more, or to 0"):
        replace(PRESETS["tiny"], refine_shifts=2, refine_turns=1)


def test_turns_prevent_overfitting_to_product_pairs():
    """On clusters, rounds with two of six product pairs overestimate more on these two."""
    torch.manual_seed(4)
    z, e = torch.randn(2, 8, 300, 5)
    sign = torch.where(torch.rand(8, 300, 1) < 0.5, 1.0, -1.0)
    x, y = z, sign * (0.98 * z) + 0.2 * e
    shifts = torch.tensor([1, 20, 41, 77, 150, 212])
    lost = []
    for turns in (0, 5):
        torch.manual_seed(2)
        config = replace(PRESETS["tiny"], refinements=6, refine_turns=turns)
        with torch.no_grad():
            e = InfoAtlas(config).eval().critic(x, y, shifts)
        pairs = e.product.split((2, 4), 1)
        first, others = (donsker_varadhan(e.joint, p.flatten(1))[0] for p in pairs)
        lost.append(float((first - others).mean()))
    assert lost[1] < lost[0] / 2


def test_training_moves_the_rates():
    torch.manual_seed(3)
    model = InfoAtlas(replace(PRESETS["tiny"], refinements=2))
    x, y = torch.randn(3, 40, 5), torch.randn(3, 40, 5)
    model(x, y, torch.tensor([1, 5, 9, 12]))[0].sum().backward()
    rates = model.hypernetwork.generation.write.weight.grad[-2 * 8 * 2 :]
    assert rates.abs().sum() > 0 and rates.isfinite().all()


def test_half_of_an_earlier_step_is_added(drawn):
    w, a, x, y = drawn
    theta, slopes, _ = slopes_of(w, a, x, y)
    slopes = [s.detach() for s in slopes]
    rate = torch.full((B, 8, F), 1e-3)
    once, speed = moved(theta, slopes, rate, None)
    twice, faster = moved(theta, slopes, rate, speed)
    for first, second in zip(speed, faster, strict=True):
        torch.testing.assert_close(second, 1.5 * first)
    steps = ((there.mix - theta.mix).abs().mean() for there in (once, twice))
    assert next(steps) < next(steps)
