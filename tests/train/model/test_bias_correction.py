"""The bias correction: diagnostic features, correction, and a fit that finds a known error."""

import dataclasses
import math

import pytest
import torch

from infoatlas_train import diagnose, fit_correction
from infoatlas_train.config import PRESETS
from infoatlas_train.data.closed_form import elliptical
from infoatlas_train.model.bias_correction import (
    BOUND,
    LAGS,
    LOG_N,
    TRUSTED,
    BiasCorrection,
    Heads,
    moments,
    neighbours,
    own_counts,
    pair_information,
    persistence,
)
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.model.neighbour_features import COUNTED, default_width
from refusals import fails, refuses

N, D = 40, 5
SHIFTS = torch.tensor([3, 7, 11, 20, 31])
ORDER = torch.arange(N)


def sample(seed=0, sets=3, n=N):
    torch.manual_seed(seed)
    x = torch.randn(sets, n, D)
    return x, 0.8 * x + 0.6 * torch.randn(sets, n, D)


@pytest.fixture(scope="module", params=[0.0, 0.4], ids=["all", "share"])
def model(request):
    torch.manual_seed(0)
    config = dataclasses.replace(PRESETS["tiny"], gap=2, gap_share=request.param)
    model = InfoAtlas(config).eval()
    for heads in (model.gap.missing, model.gap.doubt):
        torch.nn.init.normal_(heads.last)
    return model


@pytest.mark.parametrize("fall", [0.0, 0.7])
def test_neighbours_by_hand(fall):
    x, y = sample()
    joint = torch.randn(3, N)
    found = neighbours(own_counts(x, y, fall), joint).mT
    assert found.shape == (3, 3 * COUNTED, N)
    for b, level in ((0, 0), (1, 2), (2, COUNTED - 1)):
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


def test_moments_separate_a_common_factor_from_independence():
    """Coordinates with a common factor have dependent norms and no correlation."""
    torch.manual_seed(1)
    factor = torch.exp(torch.randn(1, 4000, 1))
    z = torch.randn(2, 1, 4000, D)
    for x, y, low, high in ((*z, 0.0, 0.01), (*(z * factor), 0.3, 1.0)):
        x, y = (v / v.square().mean(1, keepdim=True).sqrt() for v in (x, y))
        together = float(moments(x, y)[0, 0])  # of the log-norms
        assert low <= together <= high


def test_persistence_separates_series_from_shuffled_samples():
    """Autoregressions of 0.9 decay by 0.9 a step; n independent pairs of them count as n / 9.5."""
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


def test_the_correction_is_added_to_estimate_and_local_values(model):
    x, y = sample()
    with torch.no_grad():
        mi, pointwise, influence, spread = model(x, y, SHIFTS, ORDER)
        correction, model.gap = model.gap, None
        bound, local, effect, none = model(x, y, SHIFTS, ORDER)
        model.gap = correction
        found = correction(x, y, model.critic(x, y, SHIFTS), ORDER)
    assert found.correction.abs().min() > 1e-3 and not none.any()
    torch.testing.assert_close(mi, bound + found.correction)
    torch.testing.assert_close(pointwise, local + found.correction[:, None])
    torch.testing.assert_close(spread, found.spread)
    torch.testing.assert_close(pointwise.mean(1), mi, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(influence, (1 + found.slope[:, None]) * effect + found.effect)
    torch.testing.assert_close(influence.mean(1), torch.zeros(3), atol=1e-4, rtol=0)


def test_slope_is_that_of_autograd(model):
    torch.manual_seed(5)
    diagnostics = (2 * torch.randn(6, len(model.gap.mean))).requires_grad_()
    (expected,) = torch.autograd.grad(model.gap.correction(diagnostics).sum(), diagnostics)
    torch.testing.assert_close(model.gap.slope(diagnostics), expected)
    far = torch.full_like(diagnostics, 1e4)
    assert not model.gap.slope(far).any()
    if model.gap.share:  # with an exceeded estimate from neighbours: both ends of it count
        diagnostics = diagnostics.detach()
        diagnostics[:, 0], diagnostics[:, -1], diagnostics[:, LOG_N] = -3.0, -2.9, 9.0
        model.gap.missing.constant.data += 2
        diagnostics.requires_grad_()
        (expected,) = torch.autograd.grad(model.gap.correction(diagnostics).sum(), diagnostics)
        torch.testing.assert_close(model.gap.slope(diagnostics), expected)
        assert (expected[:, -1] > 0.2).any()
        model.gap.missing.constant.data -= 2


def test_effect_of_each_sample_on_the_correction(model):
    """Its share is the deviation of its terms from their means times the slope on these means."""
    x, y = sample()
    with torch.no_grad():
        e = model.critic(x, y, SHIFTS)
        diagnostics, terms = model.gap.diagnostics(x, y, e, ORDER)
        found = model.gap(x, y, e, ORDER)
        each = model.gap.slope(diagnostics)
    count = terms.shape[-1]
    assert count == 2 + 3 * COUNTED * 2 + (model.gap.share > 0)
    torch.testing.assert_close(diagnostics[:, -count:], terms.mean(1))
    torch.testing.assert_close(found.slope, each[:, 0])
    expected = ((terms - terms.mean(1, keepdim=True)) * each[:, None, -count:]).sum(-1)
    assert expected.abs().max() > 1e-3
    torch.testing.assert_close(found.effect, expected, atol=1e-5, rtol=1e-4)


def test_the_predicted_error_is_positive_and_finite(model):
    diagnostics = torch.randn(6, len(model.gap.mean))
    for scale in (0, 1, 1e30):
        spread = model.gap.spread(scale * diagnostics)
        assert (spread > 0).all() and torch.isfinite(spread).all()


def test_an_unfitted_correction_is_zero():
    assert not BiasCorrection(1).correction(torch.randn(4, len(BiasCorrection(1).mean))).any()


def test_diagnostics_beyond_what_was_fitted_are_clipped(model):
    far = torch.sinh(torch.full((1, len(model.gap.mean)), 2 * BOUND))
    assert torch.equal(model.gap.correction(far), model.gap.correction(1e3 * far))
    assert torch.isfinite(model.gap.correction(1e30 * far)).all()


def test_an_unsupported_correction_is_reduced():
    correction = BiasCorrection(2, share=0.4)
    diagnostics = torch.randn(4, len(correction.mean))
    diagnostics[:, LOG_N] = torch.tensor([50.0, 200.0, 1e6, 1e6]).log()
    diagnostics[:, 0], diagnostics[:, -1] = 1.0, torch.tensor([1.5, 1.5, 0.5, 2.8])
    kept = torch.tensor([0.88, 0.7, 0.4, 0.4])
    torch.testing.assert_close(correction.kept(diagnostics), kept, atol=2e-4, rtol=0)
    found = correction.supported(diagnostics, torch.full((4,), 2.0))
    support = torch.tensor([0.5, 0.5, 0.0, 1.8]) + TRUSTED
    expected = torch.where(support < 2, support + kept * (2 - support), 2.0)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)
    small = torch.full((4,), 0.25)  # small predictions are kept
    torch.testing.assert_close(correction.supported(diagnostics, small), small)
    fails(ValueError, "two metrics", dataclasses.replace, PRESETS["tiny"], gap=1, gap_share=0.4)


def test_the_predicted_error_depends_on_prediction_and_disagreement():
    torch.manual_seed(0)
    correction = BiasCorrection(2, share=0.4)
    torch.nn.init.normal_(correction.doubt.last)
    diagnostics = torch.randn(1, len(correction.mean)).expand(2, -1)
    spread = correction.spread(diagnostics, torch.tensor([0.1, 2.0]))
    assert spread[0] != spread[1]


def test_pairs_of_coordinates_add_up():
    torch.manual_seed(0)
    x = torch.randn(1, 20_000, 3)
    y = (x + torch.randn(1, 20_000, 3)) / math.sqrt(2)
    each = [float(pair_information(x[..., i : i + 1], y[..., i : i + 1], 8)) for i in range(3)]
    assert float(pair_information(x, y, 8)) == pytest.approx(sum(each), abs=1e-5)
    assert sum(each) == pytest.approx(3 * 0.5 * math.log(2), rel=0.15)
    assert float(pair_information(x, y, 4)) < sum(each)
    assert abs(float(pair_information(x, y.flip(1), 8))) < 0.005  # corrected for its bias
    flags = (torch.rand(1, 20_000, 1) < 0.5).float().expand(-1, -1, 3) * torch.tensor([1.0, 0, 0])
    middle = flags + 1e-7 * torch.randn(1, 20_000, 3)  # rounding splits no tie at zero
    assert float(pair_information(flags, middle, 8)) == pytest.approx(math.log(2), abs=1e-3)


def test_copies_and_constants_stay_finite(model):
    x, _ = sample()
    none = torch.zeros_like(x)
    for a, b in ((x, x), (x, none), (none, none)):
        with torch.no_grad():
            assert all(torch.isfinite(v).all() for v in model(a, b, SHIFTS))
            assert (
                model.gap.diagnostics(a, b, model.critic(a, b, SHIFTS), ORDER)[0].isfinite().all()
            )


def batch_of(count):
    return torch.arange(count) // fit_correction.TOGETHER


def examples(diagnostics, truth):
    n = len(truth)
    rest = {"bound": torch.ones(n), "batch": batch_of(n)}
    return {"diagnostics": diagnostics, "truth": truth, **rest}


def test_fit_finds_an_error_that_diagnostics_indicate():
    torch.manual_seed(3)
    correction = BiasCorrection(1)
    diagnostics = torch.randn(2000, len(correction.mean))
    truth = 1 + 0.3 * torch.tanh(diagnostics[:, 5])
    data = examples(diagnostics, truth)
    fit_correction.fit(correction, {k: v[:1600] for k, v in data.items()}, seed=0, steps=150)
    with torch.no_grad():
        left = (1 + correction.correction(diagnostics[1600:]) - truth[1600:]).abs().mean()
    assert left < 0.5 * (1 - truth[1600:]).abs().mean()


def test_units_are_dropped_only_while_heads_are_fitted():
    torch.manual_seed(3)
    heads, z = Heads(5), torch.randn(8, 5)

    def loss(heads, rows):
        return (heads(z[rows]) - z[rows].sum(1)).square()

    fit_correction.descend(heads, loss, torch.arange(8), 3, "a fit")
    with torch.no_grad():
        assert torch.equal(heads(z), heads(z))
        heads.train()
        assert not torch.equal(heads(z), heads(z))


def test_the_predicted_error_is_that_of_examples_outside_of_the_fit():
    """Errors that no diagnostic feature predicts, three times as large if a column is positive."""
    torch.manual_seed(4)
    correction = BiasCorrection(1)
    diagnostics = torch.randn(6000, len(correction.mean))
    sigma = torch.where(diagnostics[:, 3] > 0, 0.3, 0.1)
    truth = 1 + sigma * torch.randn(6000)
    data = examples(diagnostics, truth)
    fit_correction.fit(correction, {k: v[:4000] for k, v in data.items()}, seed=0, steps=300)
    with torch.no_grad():
        spread = correction.spread(diagnostics[4000:])
        error = (1 + correction.correction(diagnostics[4000:]) - truth[4000:]).abs()
    wide = diagnostics[4000:, 3] > 0
    assert spread[wide].median() > 1.6 * spread[~wide].median()
    for part in (wide, ~wide):
        assert (
            0.84 < float((error[part] <= fit_correction.Z90 * spread[part]).float().mean()) < 0.96
        )


def test_the_predicted_error_includes_unreachable_truths():
    """For true values above 6.5 nats the correction is incomplete; predicted errors cover it."""
    torch.manual_seed(5)
    correction = BiasCorrection(1)
    diagnostics = torch.randn(2000, len(correction.mean))
    strong = diagnostics[:, 3] > 0
    truth = torch.where(strong, 10.0, 1.0) + 0.1 * torch.randn(2000)
    data = examples(diagnostics, truth) | {"bound": torch.where(strong, 6.0, 1.0)}
    fit_correction.fit(correction, data, seed=0, steps=120)
    with torch.no_grad():
        spread = correction.spread(diagnostics)
    assert spread[strong].median() > 1


def plan(batches, **options):
    return fit_correction.Plan(batches=batches, seed=1, largest=50, up_to=40, **options)


def test_batches_are_of_the_kinds_of_the_recipe():
    p = plan(8, kinds={"straight": 1, "codes": 1, "events": 1, "atlas": 1})
    families = [p.draw(number, 2).family for number in range(8)]
    assert [int(f.max()) >= 0 for f in families] == [False, False, True, True] * 2
    again = p.draw(2, 2)
    assert torch.equal(again.x, p.draw(2, 2).x) and not torch.equal(again.x, p.draw(6, 2).x)


def test_independent_batches_have_no_information():
    p = plan(12, kinds={"independent": 1}, atlas={"families": {"canonical": 0.5, "mixture": 0.5}})
    drawn = [p.draw(number, 2) for number in range(12)]
    assert not any(d.mi.any() for d in drawn) and len({int(d.family[0]) for d in drawn}) == 2


@pytest.mark.parametrize("kinds, match", [({"strait": 1}, "no kind strait"), ({"atlas": 3}, "sum")])
def test_a_plan_of_no_use_is_refused(kinds, match):
    fails(ValueError, match, plan, 8, kinds=kinds)


def test_a_dataset_is_read_in_parts_too():
    torch.manual_seed(6)
    data = elliptical(8, 130, 16, 2)
    whole, *others = fit_correction.parts(data)
    assert whole.x.shape[1] == 130
    for part, rows in zip(others, (slice(65), slice(65, 97)), strict=True):  # no sample is in both
        assert torch.equal(part.x, data.x[:, rows]) and torch.equal(part.mi, data.mi)
        assert torch.equal(part.y, data.y[:, rows])
    assert len(list(fit_correction.parts(elliptical(8, 63, 16, 2)))) == 1


def gathered(model, p, keep, shard=(0, 1), metrics=1):
    def reader():
        return diagnose.with_torch(model, metrics)

    return fit_correction.gather(reader, model.config, p, keep, shard)


@pytest.fixture(scope="module")
def plain():
    torch.manual_seed(0)
    return InfoAtlas(PRESETS["tiny"]).eval()


@pytest.fixture(scope="module")
def whole(plain, tmp_path_factory):
    return gathered(plain, plan(5), tmp_path_factory.mktemp("examples") / "a.pt")


def same(a, b):
    return all(torch.equal(a[name], value) for name, value in b.items())


def test_examples_are_kept_and_resumed(plain, whole, tmp_path):
    keep = tmp_path / "a.pt"
    gathered(plain, plan(2), keep)
    resumed = gathered(plain, plan(5), keep)
    assert len(whole["truth"]) == 40 and (whole["n"] >= fit_correction.LEAST).all()
    assert whole["batch"].tolist() == batch_of(40).tolist()
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value)
    refuses("of another model", gathered, plain, plan(6), keep, metrics=2)
    complete = fit_correction.gather(pytest.fail, plain.config, plan(5), keep)
    assert torch.equal(complete["truth"], resumed["truth"])  # and no diagnosis was created


def test_missing_examples_are_drawn_again(plain, whole, tmp_path):
    keep = tmp_path / "a.pt"
    torch.save({name: v[whole["batch"] % 3 != 1] for name, v in whole.items()}, keep)
    assert same(fit_correction.merged([gathered(plain, plan(5), keep)]), whole)


def test_shards_are_merged_to_what_one_process_has(plain, whole, tmp_path):
    shards = [gathered(plain, plan(5), tmp_path / f"{i}.pt", (i, 2)) for i in range(2)]
    assert [set(shard["batch"].tolist()) for shard in shards] == [{0, 2, 4}, {1, 3}]
    assert same(fit_correction.merged(shards), whole)


def test_a_correction_is_fitted_to_the_model(plain, tmp_path, capsys):
    p = plan(12)
    data = gathered(plain, p, tmp_path / "e.pt")
    fitted, about = fit_correction.corrected(plain, data, 1, p, seed=1, steps=20)
    out = capsys.readouterr().out
    assert "samples" in out and "32 to 69" in out
    assert fitted.config.gap == 1 and about["datasets"] == 80
    x, y = sample()
    with torch.no_grad():
        assert (fitted(x, y, SHIFTS)[0] != plain(x, y, SHIFTS)[0]).all()


def test_a_kind_can_count_several_times():
    """Batches of two kinds contradict each other: the one with nine times the weight decides."""
    torch.manual_seed(6)
    p = plan(200, kinds={"straight": 1, "codes": 1})
    batch = batch_of(1600)
    data = {"diagnostics": torch.randn(1600, len(BiasCorrection(1).mean)), "batch": batch}
    data |= {"bound": torch.ones(1600), "n": torch.full((1600,), 100)}
    data["truth"] = torch.where(batch % 2 == 0, 1.3, 0.7)
    plain = InfoAtlas(PRESETS["tiny"])
    fitted, _ = fit_correction.corrected(plain, data, 1, p, seed=1, steps=100, times={"codes": 9})
    with torch.no_grad():
        found = fitted.gap.correction(data["diagnostics"]).mean()
    assert float(found) == pytest.approx(-0.3, abs=0.15)


def test_counts_of_a_shared_metric_are_equal():
    """Neighbours from the critic equal those that the correction would count itself."""
    torch.manual_seed(0)
    config = dataclasses.replace(PRESETS["tiny"], metrics=1, widths=2, shared=True)
    model = InfoAtlas(config).eval()
    x, y = sample()
    with torch.no_grad():
        found = model.critic(x, y, SHIFTS).counts
        scale = torch.exp(model.hypernetwork(x, y).metric[:, 0])  # [B, 2, D]
    assert scale.amax((1, 2)).allclose(torch.ones(3))  # widths cannot drift
    half = scale[:, :, None] / (2 * default_width(x, y)[:, None, None])
    kept = [torch.exp(-0.5 * torch.cdist(v * s, v * s) ** 2) for v, s in
            ((x, half[:, 0]), (y, half[:, 1]))]  # fmt: skip
    for k in kept:
        k.diagonal(dim1=1, dim2=2).zero_()
    for level in range(COUNTED):
        kx, ky = (k**4.0**level for k in kept)
        torch.testing.assert_close(found.both[..., level], (kx * ky).sum(-1), atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(found.x[..., level], kx.sum(-1), atol=1e-4, rtol=1e-3)
