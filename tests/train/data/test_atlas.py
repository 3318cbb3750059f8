"""The atlas agrees with closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from infoatlas_train.data import families as module, mixtures
from infoatlas_train.data.atlas import Atlas
from infoatlas_train.data.mixtures import Mixture, low_rank_correlation, prescribed_correlation
from infoatlas_train.model.objective import HIGHEST_MI

FAMILIES = list(Atlas().families)


def only(family: str, **kw: float) -> Atlas:
    return Atlas(families={family: 1.0}, independent=0.0, **kw)


def test_a_drawn_zero_is_no_infinite_share(monkeypatch):
    """torch.rand returns exactly 0 once in 16 million numbers, which occurs in long pretraining."""
    rand = torch.rand

    def with_zero(*size, **options):
        values = rand(*size, **options)
        values.view(-1)[0] = 0.0
        return values

    monkeypatch.setattr(torch, "rand", with_zero)
    scale = prescribed_correlation(torch.ones(3, 5), torch.ones(3, 5))
    assert scale.isfinite().all()
    torch.linalg.cholesky(scale)


def two_clusters() -> Mixture:
    """1 + 1 dimensions, one Gaussian and one Student-t component with different correlations."""
    scale = torch.tensor([[[1.0, 0.8], [0.8, 1.0]], [[0.5, -0.3], [-0.3, 0.7]]])
    log_weight, mean = torch.tensor([[0.3, 0.7]]).log(), torch.tensor([[[0.0, 1.0], [1.5, -1.0]]])
    freedom = torch.tensor([[torch.inf, 4.0]])
    return Mixture(log_weight, mean, scale[None].double(), freedom, torch.ones(1, 2))


def test_mixture_density_is_scipys():
    torch.manual_seed(0)
    m, z = two_clusters(), torch.randn(1, 50, 2) * 2
    a = stats.multivariate_normal([0, 1], m.scale[0, 0].numpy())
    b = stats.multivariate_t([1.5, -1], m.scale[0, 1].numpy(), df=4)
    expected = np.log(0.3 * a.pdf(z[0]) + 0.7 * b.pdf(z[0]))
    np.testing.assert_allclose(m.log_density(z, slice(None))[0], expected, atol=2e-5)
    a, b = stats.norm(0, 1), stats.t(4, loc=1.5, scale=math.sqrt(0.5))
    expected = np.log(0.3 * a.pdf(z[0, :, 0]) + 0.7 * b.pdf(z[0, :, 0]))
    np.testing.assert_allclose(m.log_density(z[..., :1], slice(1))[0], expected, atol=2e-5)


def test_mixture_mi_is_the_integral():
    """Monte Carlo over samples of the mixture, compared with quadrature of its density."""
    torch.manual_seed(0)
    m = two_clusters()
    z = m.sample(100_000)
    monte_carlo = m.log_ratio(z[..., :1], z[..., 1:]).mean().item()
    grid = np.linspace(-14, 14, 281)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(1, -1, 2)
    points = torch.from_numpy(points).float()
    density = m.log_density(points, slice(None)).exp()
    surface = (m.log_ratio(points[..., :1], points[..., 1:]) * density).reshape(281, 281).numpy()
    quadrature = integrate.simpson(integrate.simpson(surface, x=grid), x=grid)
    assert monte_carlo == pytest.approx(quadrature, abs=0.01)


def test_truth_belongs_to_its_pair():
    """joint[i] is the log-ratio of (x_i, y_i) and product[i] that of (x_i, y_{i+1}), cyclic."""
    torch.manual_seed(0)
    m = two_clusters()
    z = m.sample(12)
    p = m.pairs(z, 5)
    for drawn, side in ((z[..., :1], p.x), (z[..., 1:], p.y)):  # a flow is monotone
        order = drawn[0, :, 0].argsort().tolist()
        assert side[0, :, 0].argsort().tolist() in (order, order[::-1])
    x, y = z[:, -5:, :1], z[:, -5:, 1:]
    for i in range(5):
        own, other = (m.log_ratio(x[:, [i]], y[:, [j]])[0, 0] for j in (i, (i + 1) % 5))
        assert p.joint[0, i] == pytest.approx(own.item(), abs=1e-5)
        assert p.product[0, i] == pytest.approx(other.item(), abs=1e-5)


@pytest.mark.parametrize("family", ["canonical", "autoregressive"])
def test_gaussian_log_ratio_averages_to_the_closed_form(family):
    torch.manual_seed(1)
    d = only(family, queries=4096).sample(16, 64)
    # Student-t members of the canonical family have no closed form: their mi is the mean.
    error = (d.joint.mean(1) - d.mi).abs()
    assert (d.mi > 0.05).any() and (d.mi - d.joint.mean(1)).abs().max() > 0
    assert error.max() < 0.15


def test_prescribed_strength_is_met():
    torch.manual_seed(2)
    mx, my = (torch.tensor([[1.0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]) for _ in range(2))
    scale = prescribed_correlation(mx, my)
    normal = torch.full((2, 1), torch.inf)
    m = Mixture(torch.zeros(2, 1), torch.zeros(2, 1, 10), scale, normal, torch.cat([mx, my], 1))
    z = m.sample(60_000)
    r = m.log_ratio(z[..., :5], z[..., 5:]).mean(1)
    torch.testing.assert_close(r, m.gaussian_mi(), atol=0.03, rtol=0.02)


def test_prescribed_strengths_cover_those_of_robots():
    """6 U^1.3 nats in total, and two and a half times that in 6% of the draws."""
    torch.manual_seed(2)
    masks = (torch.arange(5) < torch.randint(1, 6, (2, 3000, 1))).float()
    scale = prescribed_correlation(*masks)
    m = Mixture(torch.zeros(3000, 1), torch.zeros(3000, 1, 10), scale, None, torch.cat([*masks], 1))
    mi = m.gaussian_mi()
    assert mi.mean().item() == pytest.approx(6 / 2.3 * (1 + 0.06 * 1.5), abs=0.15)
    assert 0.01 < (mi > 6.01).float().mean() < 0.06 and mi.min() >= 0


def test_low_rank_correlations_are_correlations():
    torch.manual_seed(3)
    mask = (torch.arange(6) < torch.tensor([[2], [6], [4]])).float()
    c = low_rank_correlation(mask, 7)
    torch.testing.assert_close(c.diagonal(dim1=-2, dim2=-1), torch.ones(3, 7, 6).double())
    assert torch.linalg.eigvalsh(c).min() > 0
    assert c[0, :, 2:, :2].abs().max() == 0  # unused coordinates are independent


@pytest.mark.parametrize("family", FAMILIES)
def test_ratio_averages_to_one_over_independent_pairs(family):
    """The mean of p(x,y)/p(x)p(y) over independent pairs is 1, so ratios match the samples.

    Under strong dependence the mean is heavy-tailed, so only moderately dependent datasets count.
    """
    torch.manual_seed(4)
    d = only(family, queries=384, draws=768).sample(48, 32)
    tame = d.mi < 1.0
    assert tame.sum() >= 5
    mean = d.product[tame].exp().mean(1)
    assert mean.median() == pytest.approx(1.0, abs=0.08)
    assert mean.min() > 0.7 and mean.max() < 1.4
    assert d.joint[tame].mean() > 0  # joint pairs are more likely together


@pytest.mark.parametrize("family", FAMILIES)
def test_information_of_twenty_dimensions_is_bounded(family):
    """Labels are right under moderate dependence, and most datasets are below HIGHEST_MI."""
    torch.manual_seed(14)
    d = only(family, dim=20, queries=192).sample(48, 32)
    widths = (d.x.abs().amax(1) > 0).sum(1)
    assert widths.max() > 15
    assert (d.mi < HIGHEST_MI).float().mean() > 0.6 and (d.mi > 0.3).float().mean() > 0.4
    tame = d.mi < 1.0
    assert tame.sum() >= 5
    mean = d.product[tame].exp().mean(1)
    assert mean.median() == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("family", FAMILIES)
def test_datasets_are_finite_and_padded_with_zeros(family):
    torch.manual_seed(5)
    for n in (32, 100):
        d = only(family).sample(24, n)
        assert d.x.shape == (24, n, 5) and d.xq.shape == (24, 256, 5)
        assert all(
            torch.isfinite(v).all() for v in (d.x, d.y, d.xq, d.yq, d.joint, d.product, d.mi)
        )
        widths = (d.x.abs().amax(1) > 0).sum(1)
        assert widths.min() >= 1 and widths.min() < widths.max()


def test_paths_and_queries_have_equal_dependence():
    """The time average of pairs along a path of a VAR(1) equals that of independent draws."""
    torch.manual_seed(11)
    checked = 0
    for _ in range(2):
        d = only("autoregressive", queries=8000).sample(24, 12_000)
        for i in torch.where(d.mi < 2.5)[0]:  # others are too slow for a time average
            k = int((d.x[i].abs().amax(0) > 0).sum())
            chain, query = (
                np.corrcoef(x[i, :, :k].numpy(), y[i, :, :k].numpy(), rowvar=False)
                for x, y in ((d.x, d.y), (d.xq, d.yq))
            )
            np.testing.assert_allclose(chain, query, atol=0.1)
            checked += 1
    assert checked >= 4


def test_noise_densities_are_scipys():
    """Up to a constant, also if each draw of the source has its own noise level."""
    torch.manual_seed(12)
    y, centre, level = torch.randn(1, 7, 5), torch.randn(1, 9, 5), 0.5 + 2 * torch.rand(1, 9, 5)
    mask = torch.tensor([[1.0, 1, 0, 0, 0]])
    ys, cs, ss = (v[0, ..., :2].numpy() for v in (y[:, :, None], centre[:, None], level[:, None]))
    normal = stats.norm.logpdf(ys, cs, ss).sum(-1) + math.log(2 * math.pi)
    np.testing.assert_allclose(module._log_kernel(y, centre, level, mask)[0], normal, atol=1e-4)
    box = stats.uniform.logpdf(ys, cs - ss, 2 * ss).sum(-1) + 2 * math.log(2)
    ours = module._log_box(y, centre, level, mask)[0]
    assert 0 < np.isfinite(box).sum() < box.size
    np.testing.assert_allclose(ours, np.where(np.isfinite(box), box, -1e4), atol=1e-4)


class Linear:
    """Replaces RandomFunction to allow closed forms: it returns the first coordinate."""

    def __init__(self, mask, out, *, smooth):
        self.out, self.smooth = out, smooth

    def standardised(self, x):
        return x[..., :1].expand(*x.shape[:2], self.out) * (0.0 if self.smooth else 1.0)


@pytest.fixture
def plain(monkeypatch):
    """Normal sources, linear functions and no flows, for closed forms."""

    def normal(mask, samples):
        return torch.randn(mask.shape[0], samples, mask.shape[1]) * mask[:, None]

    def sides(x, y):
        masks = [(torch.arange(5) < d).float() for d in (x, y)]
        return lambda dim, b, dev: tuple(m.expand(b, 5) for m in masks)

    monkeypatch.setattr(module, "RandomFunction", Linear)
    monkeypatch.setattr(mixtures, "random_flow", lambda x, mask: x)
    monkeypatch.setattr(module, "source", normal)
    return lambda x, y: monkeypatch.setattr(module, "masks", sides(x, y))


def gaussian_ratio(rho, x, y):
    quadratic = (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (1 - rho**2)
    return -0.5 * (math.log(1 - rho**2) + quadratic)


@pytest.mark.parametrize("family", ["functional", "latent"])
def test_averaged_densities_meet_the_gaussian_closed_form(family, plain):
    """With three noisy copies of x, or of its source, their mean contains all information."""
    torch.manual_seed(6)
    plain(1, 3)
    settings, checked = Atlas(draws=4096, queries=128).settings, 0
    for _ in range(4):  # the direction of functional dependence is random in each call
        d = getattr(module, family)(settings, 6, 2000 + 128, torch.device("cpu"))
        for i in torch.where(d.mi < 1.5)[0]:  # for more, 2,128 samples are too few for rho
            x, y = (stats.zscore(side[i].double().sum(-1).numpy()) for side in (d.x, d.y))
            rho, xq, yq = (x * y).mean(), x[-128:], y[-128:]
            for step, ratio in ((0, d.joint[i]), (-1, d.product[i])):
                exact = gaussian_ratio(rho, xq, np.roll(yq, step))
                error, likely = np.abs(ratio.numpy() - exact), exact > -4
                assert np.median(error[likely]) < 0.12 and (ratio.numpy()[~likely] < -3).all()
            checked += rho > 0.3
    assert checked >= 6


def test_bounded_noise_meets_its_closed_form(plain):
    """y = c x + uniform noise within +-h: the ratio is 1 / P(y - h < c x < y + h), or zero."""
    torch.manual_seed(10)
    plain(1, 1)
    settings, checked = Atlas(draws=4096, queries=128).settings, 0
    for _ in range(6):
        d = module.functional(settings, 6, 2000 + 128, torch.device("cpu"))
        for i in torch.where(d.mi < 1.5)[0]:
            x, y = d.x[i, :, 0].double().numpy(), d.y[i, :, 0].double().numpy()
            turned = abs(x.std() - 1) > abs(y.std() - 1)  # the source has unit variance
            cause, effect = (y, x) if turned else (x, y)
            slope = 1.0 if np.cov(cause, effect)[0, 1] > 0.5 else 0.1
            noise = effect - slope * cause
            if stats.kurtosis(noise) > -0.9 or slope < 1:
                continue  # Gaussian noise, or almost no dependence
            h = np.abs(noise).max()
            for step, ratio in ((0, d.joint[i]), (-1, d.product[i])):
                xq, yq = x[-128:], np.roll(y[-128:], step)
                cause, effect = (yq, xq) if turned else (xq, yq)
                within = stats.norm.cdf(effect + h) - stats.norm.cdf(effect - h)
                apart = np.abs(effect - cause) / h
                assert (ratio.numpy()[apart > 1.01] < -100).all()
                error = np.abs(ratio.numpy() + np.log(within))
                assert np.median(error[apart < 0.99]) < 0.12
            checked += 1
    assert checked >= 2


def test_discrete_information_is_that_of_the_table():
    """Codes without noise: the log-ratio of a pair is that of its cell in the table of labels."""
    torch.manual_seed(7)
    d = only("discrete", queries=6000).sample(24, 32)
    checked = 0
    for x, y, joint, product in zip(d.xq, d.yq, d.joint, d.product, strict=True):
        _, a = np.unique(x.numpy().round(4), axis=0, return_inverse=True)
        _, b = np.unique(y.numpy().round(4), axis=0, return_inverse=True)
        if a.max() > 8 or b.max() > 8:
            continue  # with noise, or changed by float rounding
        table = np.zeros((9, 9))
        np.add.at(table, (a.ravel(), b.ravel()), 1 / len(a))
        outer = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
        plug_in = (table[table > 0] * np.log(table[table > 0] / outer[table > 0])).sum()
        assert joint.mean().item() == pytest.approx(plug_in, abs=0.03)
        a, b = a.ravel(), np.roll(b.ravel(), -1)  # the cells of the product pairs
        frequent = table[a, b] > 0.02
        cell = np.log(table[a, b][frequent] / outer[a, b][frequent])
        assert np.abs(product.numpy()[frequent] - cell).max() < 0.35
        checked += 1
    assert checked >= 3


def test_broken_pairs_have_no_information():
    torch.manual_seed(8)
    d = Atlas(independent=1.0, families={"canonical": 1.0}).sample(16, 2000)
    assert d.joint.abs().max() == 0 and d.mi.abs().max() == 0
    x, y = d.x[:, :, 0], d.y[:, :, 0]
    corr = ((x - x.mean(1, True)) * (y - y.mean(1, True))).mean(1) / (x.std(1) * y.std(1))
    assert corr.abs().max() < 0.12


def test_same_seed_same_datasets():
    draws = []
    for _ in range(2):
        torch.manual_seed(9)
        draws.append(Atlas().sample(16, 64))
    assert torch.equal(draws[0].x, draws[1].x) and torch.equal(draws[0].product, draws[1].product)
