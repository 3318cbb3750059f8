"""Noisy channels: labels compared with closed forms and with counts."""

import math

import pytest
import torch

from infoatlas_train.data import channels, sensors
from infoatlas_train.data.channels import NOISE, by_coordinate, in_levels, levels, one_of
from refusals import fails

N = 20_000


def mutual_information(x, y):
    """Mutual information of two columns of labels [N] from counts, minus its bias."""
    table = torch.zeros(int(x.max()) + 1, int(y.max()) + 1, dtype=torch.float64)
    table.index_put_((x, y), torch.ones(len(x), dtype=torch.float64), accumulate=True)
    a, b = (table.sum(k, keepdim=True) for k in (1, 0))
    used = table > 0
    found = (table * (len(x) * table / (a * b)).log())[used].sum() / len(x)
    return float(found) - (int((a > 0).sum()) - 1) * (int((b > 0).sum()) - 1) / 2 / len(x)


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


def test_never_accurate_labels_end_with_an_error():
    side, none = torch.zeros(2, 40, 2), torch.zeros(2, dtype=torch.bool)
    attempt = channels.with_sure_labels(lambda *_: (side, side, torch.zeros(2), none))
    fails(RuntimeError, "sure label", attempt, 2, 40, 16, 2)


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


def test_datasets_with_inaccurate_labels_are_left_out():
    torch.manual_seed(5)
    u = torch.randn(2, 100 + channels.DRAWS, 1)

    def likelihood(i, j, rows, draws):
        sd = (1e-6, 0.5)[i]
        return -0.5 * ((u[i, rows] - u[i, draws, j]) / sd) ** 2 - math.log(sd)

    side = channels.Observed(u, by_coordinate(torch.ones(2, 1), likelihood))
    assert channels.label((side,), 100, 256)[1].tolist() == [False, True]


DRAWS = 1000


def with_noise(centre, mask):
    return channels.observed(centre, mask, centre, mask, 0.0)


def with_levels(centre, mask):
    return channels.observed(centre, mask, centre, mask, 1.0)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("side", [with_noise, with_levels, *sensors.SIDES])
def test_posteriors_are_as_uncertain_as_they_state(side, d):
    """Each of R draws has the same probability before its value is known, and the values are known.

    Then the error of the posterior mean of any function has the posterior variance, and does not
    depend on the mean.
    """
    torch.manual_seed(4)
    rows, found = torch.arange(DRAWS), []
    for _ in range(4):  # kinds of noise
        centre = torch.nn.functional.pad(torch.randn(4, DRAWS, d), (0, 3 - d))
        mask = (torch.arange(3) < d).float().expand(4, 3)
        shown = side(centre, mask)
        for i in range(4):
            own = []
            share = shown.log_likelihood(i, rows, rows).softmax(1)
            for value in (centre[i, :, 0], centre[i, :, 0].abs(), (2 * centre[i, :, d - 1]).sin()):
                mean = share @ value
                error = value - mean
                variance = share @ value.square() - mean.square()
                for zero in (error.square() - variance, error * (mean - mean.mean())):
                    own.append(zero.mean() / zero.std().clamp(min=1e-6) * DRAWS**0.5)
            found.append(torch.stack(own))
    deviations = torch.stack(found)  # [datasets, statistics], about standard normal
    assert deviations.abs().max() < 5
    assert deviations.mean(0).abs().max() < 4.5 * len(found) ** -0.5
