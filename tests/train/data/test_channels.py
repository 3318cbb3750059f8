"""Noisy channels: labels compared with closed forms and with counts."""

import math

import pytest
import torch

from infoatlas_train.data import channels
from infoatlas_train.data.channels import (
    NOISE,
    by_coordinate,
    formula,
    in_levels,
    levels,
    observed,
    one_of,
    waves,
)
from infoatlas_train.data.sensors import sensors

N = 20_000


def unwarped(x, mask):
    return x


def mutual_information(x, y):
    """Mutual information of two columns of labels [N] from counts, minus its bias."""
    table = torch.zeros(int(x.max()) + 1, int(y.max()) + 1, dtype=torch.float64)
    table.index_put_((x, y), torch.ones(len(x), dtype=torch.float64), accumulate=True)
    a, b = (table.sum(k, keepdim=True) for k in (1, 0))
    used = table > 0
    found = (table * (len(x) * table / (a * b)).log())[used].sum() / len(x)
    return float(found) - (int((a > 0).sum()) - 1) * (int((b > 0).sum()) - 1) / 2 / len(x)


@pytest.mark.parametrize("dim", [1, 5, 20])
@pytest.mark.parametrize("kind", [channels.channels, sensors])
def test_shapes_and_ranges(kind, dim):
    truths = []
    for seed in range(6):
        torch.manual_seed(seed)
        d = kind(8, max(32, 3 * dim), 32, dim)
        assert d.x.shape == d.y.shape == (8, max(32, 3 * dim), dim)
        assert d.x.isfinite().all() and d.y.isfinite().all()
        assert (d.mi > -0.1).all() and (d.family == -1).all()
        truths.append(d.mi)
    assert torch.cat(truths).min() < 0.3 and torch.cat(truths).max() > 1


@pytest.mark.parametrize("hidden", [False, True])
def test_gaussian_channels_agree_with_the_closed_form(hidden, monkeypatch):
    """y = u + noise, x = u or u + noise, each coordinate separately."""
    monkeypatch.setattr(channels, "random_flow", unwarped)
    monkeypatch.setattr(channels, "function", lambda u, mask, out: u[..., :out])
    monkeypatch.setattr(channels, "CUT", (0, 0))
    monkeypatch.setattr(channels, "NOISE", NOISE[:1])
    monkeypatch.setattr(channels, "source", lambda m, n: torch.randn(*m.shape[:1], n, 2))
    monkeypatch.setattr(channels, "sides", lambda count, dim: torch.ones(count, 2))
    # The first of the two is the log of the noise level, the second its amplitude of variation.
    monkeypatch.setattr(
        channels, "uniform", lambda count, low, *_: torch.full((count,), -0.7 if low < 0 else 0.0)
    )
    monkeypatch.setattr(channels, "hides", lambda clean: hidden)
    torch.manual_seed(1)
    d = channels.channels(4, 1000, 1024, 2)
    sd = math.exp(-0.7)
    rho = 1 / math.sqrt(1 + sd**2) ** (2 if hidden else 1)
    expected = torch.full((4,), -math.log(1 - rho**2))
    torch.testing.assert_close(d.mi, expected, atol=0.08, rtol=0)
    found = (d.x * d.y).mean((1,)) / (d.x.std(1) * d.y.std(1))
    torch.testing.assert_close(found, torch.full((4, 2), rho), atol=0.06, rtol=0)


def test_noise_that_swings_is_informative_about_its_source(monkeypatch):
    """y = s(u) e with two values of u: only the scale of y depends on u, in some datasets not."""

    class Itself:
        def __init__(self, mask, out, **how):
            pass

        def standardised(self, u):
            return u

    monkeypatch.setattr(channels, "RandomFunction", Itself)
    monkeypatch.setattr(channels, "CUT", (0, 0))
    monkeypatch.setattr(channels, "NOISE", NOISE[:1])
    monkeypatch.setattr(channels, "uniform", lambda count, low, *_: torch.ones(count) * (low == 0))
    torch.manual_seed(6)
    u = torch.randn(12, 100 + channels.DRAWS, 1).sign()
    one = torch.ones(12, 1)
    mi, sure = channels.label((observed(u, one, 0 * u, one, 0),), 100, 2048)
    at = torch.linspace(-30, 30, 60_001, dtype=torch.float64)
    sd = torch.tensor([math.e, 1 / math.e], dtype=torch.float64)[:, None]
    density = torch.exp(-0.5 * (at / sd) ** 2) / sd / math.sqrt(2 * math.pi)
    whole = density.mean(0).clamp(min=1e-300)
    expected = float((density * (density.clamp(min=1e-300) / whole).log()).mean(0).sum() * 1e-3)
    swings = mi > expected / 2
    assert sure.all() and 0 < swings.sum() < 12 and expected > 0.2
    torch.testing.assert_close(mi, torch.where(swings, expected, 0.0), atol=0.04, rtol=0)


@pytest.mark.parametrize("kind", [formula, waves])
def test_functions_are_of_the_coordinates_in_use(kind):
    torch.manual_seed(7)
    u, mask = torch.randn(64, 400, 3), torch.tensor([1.0, 0.0, 1.0]).expand(64, 3)
    same = torch.get_rng_state()
    values = kind(u, mask, 2)
    assert values.shape == (64, 400, 2) and values.isfinite().all()
    torch.testing.assert_close(values.std(1), torch.ones(64, 2))
    torch.set_rng_state(same)
    torch.testing.assert_close(kind(u * torch.tensor([1.0, 9.0, 1.0]), mask, 2), values)
    torch.set_rng_state(same)
    assert not torch.allclose(kind(u * torch.tensor([9.0, 1.0, 1.0]), mask, 2), values)


def test_each_dataset_has_a_formula_of_its_own():
    torch.manual_seed(8)
    u = torch.randn(200, 500, 1)
    found = one_of((lambda a, b, c: a * b * c, lambda a, b, c: a.abs()), u, torch.ones(200, 1))
    for power in (u[..., 0] ** 3, u[..., 0].abs()):  # for functions without shifted terms
        own = [torch.corrcoef(torch.stack(pair))[0, 1] for pair in zip(found, power, strict=True)]
        assert 8 <= sum(abs(float(c)) > 0.999 for c in own) <= 80


@pytest.mark.parametrize("clean", [False, True])
def test_clean_channels_are_not_warped(clean, monkeypatch):
    monkeypatch.setattr(channels, "is_clean", lambda: clean)
    monkeypatch.setattr(channels, "random_flow", lambda x, mask: 0 * x)
    torch.manual_seed(9)
    d = channels.channels(4, 50, 16, 2)
    assert bool((d.x == 0).all() and (d.y == 0).all()) != clean


def test_never_accurate_labels_end_with_an_error(monkeypatch):
    monkeypatch.setattr(channels, "UNSURE", -1.0)
    monkeypatch.setattr(channels, "ATTEMPTS", 2)
    with pytest.raises(RuntimeError, match="sure label"):
        channels.channels(2, 40, 16, 2)


def test_levels_agree_with_counts():
    torch.manual_seed(2)
    mask, draws = torch.ones(6, 1), channels.DRAWS
    u, edge = levels(torch.randn(6, N + draws, 1), mask)
    y = in_levels(u - u.mean(1, keepdim=True), torch.full_like(u, 0.7), mask)
    mi, sure = channels.label((y,), N, 2048)
    assert sure.all() and edge[:, 1:-1].isfinite().any() and mi.max() > 0.3
    for i in range(6):
        x, z = (v[i, :, 0].unique(return_inverse=True)[1] for v in (u, y.values))
        assert abs(mutual_information(x, z) - float(mi[i])) < 0.06


@pytest.mark.parametrize("kind", range(len(NOISE)))
def test_noise_is_drawn_from_its_density(kind):
    torch.manual_seed(3)
    draw, log_density = NOISE[kind]
    z = draw(torch.Size((200_000,)))
    at = torch.linspace(-200, 200, 400_001)
    density = log_density(at).exp()
    density = density / density.sum()
    for bound in (0.5, 1.0, 3.0):
        inside = float(density[at.abs() <= bound].sum())
        assert float((z.abs() <= bound).float().mean()) == pytest.approx(inside, abs=0.005)


def test_own_draws_are_most_likely(monkeypatch):
    """A side almost without noise: each query is likely only given its own draw."""
    monkeypatch.setattr(channels, "uniform", lambda b, low, *_: torch.full((b,), low))
    torch.manual_seed(4)
    u = torch.randn(1, 300, 1)
    mask = torch.ones(1, 1)
    side = observed(u, mask, channels.function(u, mask, 1), mask, 0)
    rows = torch.arange(300)
    table = side.log_likelihood(0, rows, rows)
    assert (table.diagonal() >= table.quantile(0.7, dim=1)).float().mean() > 0.7


def test_datasets_with_inaccurate_labels_are_left_out():
    torch.manual_seed(5)
    u = torch.randn(2, 100 + channels.DRAWS, 1)

    def likelihood(i, j, rows, draws):
        sd = (1e-6, 0.5)[i]
        return -0.5 * ((u[i, rows] - u[i, draws, j]) / sd) ** 2 - math.log(sd)

    side = channels.Observed(u, by_coordinate(torch.ones(2, 1), likelihood))
    assert channels.label((side,), 100, 256)[1].tolist() == [False, True]
