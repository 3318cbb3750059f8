"""Sensors: labels compared with closed forms, and samples with their distributions."""

import math

import numpy as np
import pytest
import torch
from scipy.special import i0, i1
from scipy.stats import binom, poisson

from infoatlas_train.data import channels, sensors
from infoatlas_train.data.sensors import FUNCTIONS

QUERIES = 4096


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_are_of_the_coordinates_in_use(kind):
    torch.manual_seed(1)
    u, mask = torch.randn(64, 300, 3), torch.tensor([1.0, 0.0, 1.0]).expand(64, 3)
    values = []
    for scale in ([1.0, 9.0, 1.0], [1.0, 1.0, 1.0], [9.0, 1.0, 1.0]):
        torch.manual_seed(7)
        values.append(kind(u * torch.tensor(scale), mask, 4))
    assert values[0].shape == (64, 300, 4) and values[0].isfinite().all()
    torch.testing.assert_close(values[0], values[1], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(values[2], values[1], atol=0.1)


def test_frames_turn_vectors_by_an_angle(monkeypatch):
    """Like a product of complex numbers."""
    torch.manual_seed(2)
    angle, a, b = torch.randn(3, 6, 500)
    terms = iter((angle, a, b))
    monkeypatch.setattr(sensors, "term", lambda u, mask: next(terms))
    monkeypatch.setattr(sensors, "reach", lambda u: 1.0)
    monkeypatch.setattr(sensors, "standardise", lambda v: v)
    monkeypatch.setattr(torch, "rand", lambda *s: torch.ones(s))  # vectors differ between samples
    found = sensors.turned_frames(torch.zeros(6, 500, 3), torch.ones(6, 3), 2)
    turned = torch.complex(a, b) * torch.exp(1j * angle)
    torch.testing.assert_close(found, torch.view_as_real(turned))


def test_chains_end_where_their_links_lead(monkeypatch):
    """Two links of known length, the second rotated relative to the first."""
    torch.manual_seed(2)
    first, second = torch.randn(2, 6, 500)
    terms = iter((first, second))
    monkeypatch.setattr(sensors, "term", lambda u, mask: next(terms))
    monkeypatch.setattr(sensors, "reach", lambda u: 1.0)
    monkeypatch.setattr(sensors, "standardise", lambda v: v)
    monkeypatch.setattr(sensors, "uniform", lambda count, *_: torch.full((count,), 0.5))
    monkeypatch.setattr(torch, "randint", lambda *_: torch.tensor(0))
    found = sensors.chain(torch.zeros(6, 500, 3), torch.ones(6, 3), 6)
    elbow, tip = 0.5 * torch.exp(1j * first), 0.5 * torch.exp(1j * (first + second))
    expected = [torch.view_as_real(elbow + tip), torch.view_as_real(elbow)]
    torch.testing.assert_close(found[..., :4], torch.cat(expected, -1))
    torch.testing.assert_close(found[..., 4:], torch.stack([first, second], -1))


def test_sources_are_of_length_one_or_sum_to_one():
    torch.manual_seed(3)
    u, mask = torch.randn(2, 50, 3), torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    u = u * mask[:, None]
    torch.testing.assert_close(sensors.of_length_one(u, mask).norm(dim=2), torch.ones(2, 50))
    shares = sensors.shares(u, mask)
    torch.testing.assert_close(shares[0].sum(1), torch.ones(50))
    torch.testing.assert_close(shares[1], u[1])


@pytest.mark.parametrize("either", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_directions_agree_with_the_closed_form(d, either):
    """With uniform directions on a line, a circle and a sphere."""
    torch.manual_seed(4)
    kappa = 4.0
    centre = torch.nn.functional.pad(torch.randn(3, channels.DRAWS, d), (0, 4 - d))
    mask = (torch.arange(4) < d).float().expand(3, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensors, "noise_level", lambda mask: torch.full((3,), kappa**-0.5))
        rand = torch.rand
        patch.setattr(
            torch,
            "rand",
            lambda *s: torch.full(s, 0.0 if either else 1.0) if s == (3,) else rand(*s),
        )
        shown = sensors.directions(centre, mask)
    assert float((shown.values.norm(dim=2) - 1).abs().max()) < 1e-3
    along = (shown.values * torch.nn.functional.normalize(centre, dim=2)).sum(2)
    expected, mean = {
        1: (kappa * math.tanh(kappa) - math.log(math.cosh(kappa)), math.tanh(kappa)),
        2: (kappa * i1(kappa) / i0(kappa) - math.log(i0(kappa)), i1(kappa) / i0(kappa)),
        3: (
            kappa / math.tanh(kappa) - 1 - math.log(math.sinh(kappa) / kappa),
            1 / math.tanh(kappa) - 1 / kappa,
        ),
    }[d]
    mi, sure = channels.label((shown,), 0, QUERIES)
    assert sure.all()
    if either:  # (a random sign loses one bit, except what the other pole reveals)
        assert float(along.mean().abs()) < 0.05
        t = np.linspace(0, math.pi, 200_001)
        around = np.sin(t) ** (d - 2) if d > 1 else (np.isin(t, [0, math.pi])).astype(float)
        density = np.cosh(kappa * np.cos(t))
        law = around * density / (around * density).sum()
        expected = float((law * np.log(density)).sum() - np.log((around * density).sum()))
        expected += math.log(around.sum())
    else:
        assert float(along.mean()) == pytest.approx(mean, abs=0.02)
    torch.testing.assert_close(mi, torch.full((3,), float(expected)), atol=0.05, rtol=0)


def test_counts_agree_with_sums_over_counts():
    """One of two rates, by the sign of the centre."""
    torch.manual_seed(5)
    sign = torch.randn(4, channels.DRAWS, 1).sign()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensors, "uniform", lambda b, low, high, dev: torch.full((b,), math.log(3)))
        patch.setattr(sensors, "gain", lambda mask: torch.full((len(mask), 1, 1), 0.6))
        shown = sensors.counts(sign, torch.ones(4, 1))
    mi, _ = channels.label((shown,), 0, QUERIES)
    law = np.stack([poisson.pmf(np.arange(80), 3 * math.exp(0.6 * s)) for s in (1, -1)])
    expected = (law * np.log(law / law.mean(0))).sum() / 2
    torch.testing.assert_close(mi, torch.full((4,), float(expected)), atol=0.04, rtol=0)
    assert float(shown.values.mean()) == pytest.approx(3 * math.cosh(0.6), abs=0.1)


@pytest.mark.parametrize("d", [1, 2])
def test_kinds_agree_with_sums_over_counts(d):
    """Twelve things of two kinds. One kind is observed, or both: binomial in both cases."""
    torch.manual_seed(6)
    sign = torch.randn(4, channels.DRAWS, 1).sign().expand(-1, -1, 2) * torch.tensor([1.0, 0.0])
    mask = (torch.arange(2) < d).float().expand(4, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensors, "gain", lambda mask: torch.full((len(mask), 1, 1), 0.6))
        patch.setattr(sensors, "MOST_COUNTED", 12)
        patch.setattr(torch, "rand", lambda *s: torch.ones(()) if s == ((),) else torch.zeros(*s))
        shown = sensors.kinds(sign, mask)
    if d == 2:
        assert (shown.values.sum(2) == 12).all()
    mi, _ = channels.label((shown,), 0, QUERIES)
    law = np.stack([binom.pmf(np.arange(13), 12, 1 / (1 + math.exp(-0.6 * s))) for s in (1, -1)])
    expected = (law * np.log(law / law.mean(0))).sum() / 2
    torch.testing.assert_close(mi, torch.full((4,), float(expected)), atol=0.04, rtol=0)


@pytest.mark.parametrize("within", [False, True])
def test_compositions_have_the_information_of_their_logits(within):
    torch.manual_seed(7)
    centre, mask = torch.randn(4, channels.DRAWS, 2), torch.ones(4, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensors, "noise_level", lambda mask: torch.full((len(mask),), 0.5))
        patch.setattr(torch, "rand", lambda *s: torch.full(s, 0.0 if within else 1.0))
        patch.setattr(sensors, "gain", lambda mask: torch.full((len(mask), 1, 1), 2.0))
        shown = sensors.parts_of_a_whole(centre, mask)
    assert (shown.values.sum(2) <= 1 + 1e-5).all() and (shown.values > 0).all()
    if within:
        torch.testing.assert_close(shown.values.sum(2), torch.ones(4, channels.DRAWS))
    logits = (
        shown.values[..., 0].log()
        - (shown.values[..., 1] if within else 1 - shown.values.sum(2)).log()
    )
    rho = [
        float(torch.corrcoef(torch.stack(p))[0, 1])
        for p in zip(logits, centre[..., 0], strict=True)
    ]
    assert np.allclose(rho, 1 / math.sqrt(1.25), atol=0.02)
    mi, _ = channels.label((shown,), 0, QUERIES)
    expected = torch.full((4,), (1 if within else 2) * 0.5 * math.log(5))
    torch.testing.assert_close(mi, expected, atol=0.05, rtol=0)
