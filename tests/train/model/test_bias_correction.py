"""The gap: evidence as defined, what is added where, and a fit that finds what is to be found."""

import dataclasses
import sys

import pytest
import torch

from infoatlas_train import fit_gap
from infoatlas_train.config import PRESETS
from infoatlas_train.gap import (
    BOUND,
    LAGS,
    WIDTHS,
    Gap,
    Heads,
    deviation,
    moments,
    neighbours,
    persistence,
    unit_columns,
)
from infoatlas_train.model import InfoAtlas
from infoatlas_train.plain import straight
from infoatlas_train.pretrain import checkpoint, load

N, D = 40, 5
SHIFTS = torch.tensor([3, 7, 11, 20, 31])
ORDER = torch.arange(N)


def sample(seed=0, sets=3, n=N):
    torch.manual_seed(seed)
    x = torch.randn(sets, n, D)
    return x, 0.8 * x + 0.6 * torch.randn(sets, n, D)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = InfoAtlas(dataclasses.replace(PRESETS["tiny"], gap=2)).eval()
    for heads in (model.gap.missing, model.gap.doubt):
        torch.nn.init.normal_(heads.last)
    return model


@pytest.mark.parametrize("fall", [0.0, 0.7])
def test_neighbours_by_hand(fall):
    x, y = sample()
    joint = torch.randn(3, N)
    found = torch.stack(neighbours(x, y, joint, fall), 1)
    assert found.shape == (3, 3 * WIDTHS, N)
    for b, level in ((0, 0), (1, 2), (2, WIDTHS - 1)):
        width = 2 * N ** (-1 / 14) / 2**level
        scale = torch.exp(-fall * torch.arange(D)).clamp(min=torch.e**-3) / width
        kx, ky = (torch.exp(-0.5 * torch.cdist(v[b] * scale, v[b] * scale) ** 2) for v in (x, y))
        kx.fill_diagonal_(0)
        ky.fill_diagonal_(0)
        both = (kx * ky).sum(1)
        ratio = torch.log((both + 0.3) / (kx.sum(1) * ky.sum(1) / N + 0.3))
        missed = both / (both + 1) * (ratio - joint[b])
        expected = torch.stack([ratio, torch.log1p(both), missed])
        got = found[b, 3 * level : 3 * level + 3]
        torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-3)


def test_moments_tell_a_common_factor_from_independence():
    """Coordinates that share a factor have norms that go together, and no correlation."""
    torch.manual_seed(1)
    factor = torch.exp(torch.randn(1, 4000, 1))
    z = torch.randn(2, 1, 4000, D)
    for x, y, low, high in ((*z, 0.0, 0.01), (*(z * factor), 0.3, 1.0)):
        x, y = (v / v.square().mean(1, keepdim=True).sqrt() for v in (x, y))
        together = float(moments(x, y)[0])  # of the log-norms
        assert low <= together <= high


def test_persistence_tells_series_from_samples_in_any_order():
    """Autoregressions of 0.9 forget by 0.9 a step; n of them, unrelated, count as n / 9.5."""
    torch.manual_seed(2)
    n, e = 4000, torch.randn(2, 3, 4000, D)
    z = torch.zeros_like(e)
    for t in range(1, n):
        z[:, :, t] = 0.9 * z[:, :, t - 1] + 0.19**0.5 * e[:, :, t]
    order = torch.randperm(n)
    found = persistence(*z[:, :, order], torch.argsort(order))
    assert found.shape == (3, 2 * len(LAGS) + 1)
    expected = torch.tensor([0.9**lag for lag in LAGS]).repeat(3, 2)
    torch.testing.assert_close(found[:, :-1], expected, atol=0.07, rtol=0)
    worth = torch.exp(found[:, -1])
    assert ((worth > 1 / 9.5 / 1.5) & (worth < 1 / 9.5 * 1.5)).all()
    without = persistence(*z[:, :, order], torch.arange(n))
    assert without[:, :-1].abs().max() < 0.05 and without[:, -1].min() > -0.5


def test_lags_beyond_the_sample_count_as_forgotten():
    x, y = sample()
    found = persistence(x, y, ORDER)
    beyond = torch.tensor([lag >= N for lag in LAGS]).repeat(2)
    assert beyond.any() and not found[:, :-1][:, beyond].any()
    by_hand = (x - x.mean(1, keepdim=True)) / (x - x.mean(1, keepdim=True)).square().sum(
        (1, 2), keepdim=True
    ).sqrt()
    expected = (by_hand[:, 3:] * by_hand[:, :-3]).sum((1, 2))
    torch.testing.assert_close(found[:, LAGS.index(3)], expected, atol=1e-4, rtol=1e-3)


def test_unit_columns_and_deviation():
    x, _ = sample(n=500)
    x[..., 0] = 3.0
    z = unit_columns(x)
    assert not z[..., 0].any() and z.mean(1).abs().max() < 1e-5
    torch.testing.assert_close(
        z[..., 1:].std(1, correction=0), torch.ones(3, D - 1), atol=1e-3, rtol=0
    )
    torch.testing.assert_close(deviation(x[..., 1]), x[..., 1].std(1, correction=0))


def test_the_gap_is_added_to_reading_and_local_values_alike(model):
    x, y = sample()
    with torch.no_grad():
        mi, pointwise, influence, spread = model(x, y, SHIFTS, ORDER)
        gap, model.gap = model.gap, None
        bound, local, effect, none = model(x, y, SHIFTS, ORDER)
        model.gap = gap
        found = gap(x, y, model.critic(x, y, SHIFTS), ORDER)
    assert found.gap.abs().min() > 1e-3 and not none.any()
    torch.testing.assert_close(mi, bound + found.gap)
    torch.testing.assert_close(pointwise, local + found.gap[:, None])
    torch.testing.assert_close(spread, found.spread)
    torch.testing.assert_close(pointwise.mean(1), mi, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(influence, (1 + found.slope[:, None]) * effect + found.effect)
    torch.testing.assert_close(influence.mean(1), torch.zeros(3), atol=1e-4, rtol=0)


def test_slope_is_that_of_autograd(model):
    torch.manual_seed(5)
    evidence = (2 * torch.randn(6, len(model.gap.mean))).requires_grad_()
    (expected,) = torch.autograd.grad(model.gap.of(evidence).sum(), evidence)
    torch.testing.assert_close(model.gap.slope(evidence), expected)
    far = torch.full_like(evidence, 1e4)
    assert not model.gap.slope(far).any()


def test_each_sample_has_its_share_of_the_gap(model):
    """By how far its terms lie from their means, which are evidence, and the slope on these."""
    x, y = sample()
    with torch.no_grad():
        e = model.critic(x, y, SHIFTS)
        evidence, terms = model.gap.evidence(x, y, e, ORDER)
        found = model.gap(x, y, e, ORDER)
        each = model.gap.slope(evidence)
    count = terms.shape[-1]
    assert count == 2 + 3 * WIDTHS * 2
    torch.testing.assert_close(evidence[:, -count:], terms.mean(1))
    torch.testing.assert_close(found.slope, each[:, 0])
    expected = ((terms - terms.mean(1, keepdim=True)) * each[:, None, -count:]).sum(-1)
    assert expected.abs().max() > 1e-3
    torch.testing.assert_close(found.effect, expected, atol=1e-5, rtol=1e-4)


def test_spread_is_positive_and_finite_whatever_the_evidence(model):
    evidence = torch.randn(6, len(model.gap.mean))
    for scale in (0, 1, 1e30):
        spread = model.gap.spread(scale * evidence)
        assert (spread > 0).all() and torch.isfinite(spread).all()


def test_an_unfitted_gap_adds_nothing():
    assert not Gap(1).of(torch.randn(4, len(Gap(1).mean))).any()


def test_beyond_what_was_fitted_evidence_says_no_more(model):
    far = torch.sinh(torch.full((1, len(model.gap.mean)), 2 * BOUND))
    assert torch.equal(model.gap.of(far), model.gap.of(1e3 * far))
    assert torch.isfinite(model.gap.of(1e30 * far)).all()


def test_copies_and_constants_stay_finite(model):
    x, _ = sample()
    none = torch.zeros_like(x)
    for a, b in ((x, x), (x, none), (none, none)):
        with torch.no_grad():
            assert all(torch.isfinite(v).all() for v in model(a, b, SHIFTS))
            assert model.gap.evidence(a, b, model.critic(a, b, SHIFTS), ORDER)[0].isfinite().all()


# ---- fit -----------------------------------------------------------------------------------------


def test_fit_finds_a_gap_that_evidence_tells(monkeypatch):
    monkeypatch.setattr(fit_gap, "BATCH", 128)
    torch.manual_seed(3)
    gap = Gap(1)
    evidence = torch.randn(4000, len(gap.mean))
    truth = 1 + 0.3 * torch.tanh(evidence[:, 5])
    data = {
        "evidence": evidence,
        "truth": truth,
        "bound": torch.ones(4000),
        "batch": batch_of(4000),
    }
    fit_gap.fit(gap, {k: v[:3000] for k, v in data.items()}, seed=0, steps=300)
    with torch.no_grad():
        left = (1 + gap.of(evidence[3000:]) - truth[3000:]).abs().mean()
    assert left < 0.3 * (1 - truth[3000:]).abs().mean()


def test_units_are_dropped_only_while_heads_are_fitted():
    torch.manual_seed(3)
    heads, z = Heads(5), torch.randn(8, 5)
    fit_gap.descend(
        heads, lambda h, rows: (h(z[rows]) - z[rows].sum(1)).square(), torch.arange(8), 3
    )
    with torch.no_grad():
        assert torch.equal(heads(z), heads(z))
        heads.train()
        assert not torch.equal(heads(z), heads(z))


def test_the_spread_is_that_of_readings_which_the_fit_has_not_seen():
    """Errors that no evidence tells, three times as large where one column is above zero."""
    torch.manual_seed(4)
    gap = Gap(1)
    evidence = torch.randn(6000, len(gap.mean))
    sigma = torch.where(evidence[:, 3] > 0, 0.3, 0.1)
    truth = 1 + sigma * torch.randn(6000)
    data = {
        "evidence": evidence,
        "truth": truth,
        "bound": torch.ones(6000),
        "batch": batch_of(6000),
    }
    fit_gap.fit(gap, {k: v[:4000] for k, v in data.items()}, seed=0, steps=300)
    with torch.no_grad():
        spread = gap.spread(evidence[4000:])
        error = (1 + gap.of(evidence[4000:]) - truth[4000:]).abs()
    wide = evidence[4000:, 3] > 0
    assert spread[wide].median() > 1.6 * spread[~wide].median()
    for part in (wide, ~wide):
        assert 0.84 < float((error[part] <= fit_gap.Z90 * spread[part]).float().mean()) < 0.96


def test_what_is_beyond_reach_counts_in_the_spread(monkeypatch):
    """Of truths above 6.5 nats the gap has not to tell how far; the spread has."""
    monkeypatch.setattr(fit_gap, "BATCH", 128)
    torch.manual_seed(5)
    gap = Gap(1)
    evidence = torch.randn(2000, len(gap.mean))
    strong = evidence[:, 3] > 0
    truth = torch.where(strong, 10.0, 1.0) + 0.1 * torch.randn(2000)
    data = {"evidence": evidence, "truth": truth, "bound": torch.where(strong, 6.0, 1.0)}
    data["batch"] = batch_of(2000)
    fit_gap.fit(gap, data, seed=0, steps=120)
    with torch.no_grad():
        spread = gap.spread(evidence)
    assert spread[strong].median() > 1


def batch_of(count):
    return torch.arange(count) // fit_gap.TOGETHER


def test_four_of_twenty_batches_are_the_atlas_s(monkeypatch):
    monkeypatch.setattr(fit_gap, "UP_TO", 40)
    monkeypatch.setattr(fit_gap, "QUERIES", 16)
    drawn = [next(fit_gap.batches(2, 1, number)).family for number in range(11, 31)]
    assert [int(family.max()) >= 0 for family in drawn] == [False] * 5 + [True] * 4 + [False] * 11


def test_a_dataset_is_read_in_parts_too():
    torch.manual_seed(6)
    data = straight(8, 130, 16, 2)
    whole, *others = fit_gap.parts(data)
    assert whole.x.shape[1] == 130
    for part, size in zip(others, (65, 32), strict=True):
        assert torch.equal(part.x, data.x[:, :size]) and torch.equal(part.mi, data.mi)
        assert torch.equal(part.y, data.y[:, :size])
    assert len(list(fit_gap.parts(straight(8, 63, 16, 2)))) == 1


def test_readings_are_kept_and_resumed(model, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_gap, "UP_TO", 40)
    monkeypatch.setattr(fit_gap, "LARGEST", 50)
    at_once = fit_gap.gather(model, model.gap, 56, 1, tmp_path / "a.pt")
    fit_gap.gather(model, model.gap, 16, 1, tmp_path / "b.pt")
    resumed = fit_gap.gather(model, model.gap, 56, 1, tmp_path / "b.pt")
    assert len(at_once["truth"]) == 56 and (at_once["n"] >= fit_gap.LEAST).all()
    assert at_once["batch"].tolist() == batch_of(56).tolist()
    for name, value in at_once.items():
        torch.testing.assert_close(resumed[name], value)
    other = Gap(1)
    with pytest.raises(SystemExit, match="of another model"):
        fit_gap.gather(model, other, 64, 1, tmp_path / "b.pt")


def test_command_writes_a_checkpoint_with_the_gap(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fit_gap, "UP_TO", 40)
    monkeypatch.setattr(fit_gap, "LARGEST", 50)
    monkeypatch.setattr(fit_gap, "STEPS", 20)
    torch.manual_seed(0)
    plain = InfoAtlas(PRESETS["tiny"])
    torch.save(checkpoint(plain, {"step": 3}), tmp_path / "tiny.pt")
    files = ["--out", str(tmp_path / "gap.pt"), "--evidence", str(tmp_path / "e.pt")]
    monkeypatch.setattr(
        sys, "argv", ["fit_gap", str(tmp_path / "tiny.pt"), *files, "--readings", "96"]
    )
    fit_gap.main()
    out = capsys.readouterr().out
    assert "samples" in out and "32 to 69" in out
    fitted, run = load(tmp_path / "gap.pt")
    assert fitted.config.gap == 1 and run["step"] == 3 and run["gap"]["datasets"] == 80
    x, y = sample()
    with torch.no_grad():
        assert (fitted(x, y, SHIFTS)[0] != plain.eval()(x, y, SHIFTS)[0]).all()
