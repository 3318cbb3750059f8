"""The generator against closed forms: what teaches the model must itself be right."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from infoatlas_train import atlas as module
from infoatlas_train.atlas import Atlas, Mixture, low_rank_correlation, prescribed_correlation

FAMILIES = list(Atlas().families)


def only(family: str, **kw: float) -> Atlas:
    return Atlas(families={family: 1.0}, independent=0.0, **kw)


def two_clusters() -> Mixture:
    """1 + 1 dimensions, one Gaussian and one Student-t component, of different correlation."""
    scale = torch.tensor([[[1.0, 0.8], [0.8, 1.0]], [[0.5, -0.3], [-0.3, 0.7]]])
    return Mixture(
        torch.tensor([[0.3, 0.7]]).log(), torch.tensor([[[0.0, 1.0], [1.5, -1.0]]]),
        scale[None].double(), torch.tensor([[torch.inf, 4.0]]), torch.ones(1, 2),
    )  # fmt: skip


def test_mixture_density_is_scipys():
    m, z = two_clusters(), torch.randn(1, 50, 2) * 2
    a = stats.multivariate_normal([0, 1], m.scale[0, 0].numpy())
    b = stats.multivariate_t([1.5, -1], m.scale[0, 1].numpy(), df=4)
    expected = np.log(0.3 * a.pdf(z[0]) + 0.7 * b.pdf(z[0]))
    np.testing.assert_allclose(m.log_density(z, slice(None))[0], expected, atol=2e-5)
    a, b = stats.norm(0, 1), stats.t(4, loc=1.5, scale=math.sqrt(0.5))
    expected = np.log(0.3 * a.pdf(z[0, :, 0]) + 0.7 * b.pdf(z[0, :, 0]))
    np.testing.assert_allclose(m.log_density(z[..., :1], slice(1))[0], expected, atol=2e-5)


def test_mixture_mi_is_the_integral():
    """Monte Carlo over the mixture's own samples against quadrature of its density."""
    torch.manual_seed(0)
    m = two_clusters()
    z = m.sample(100_000)
    monte_carlo = m.log_ratio(z[..., :1], z[..., 1:]).mean().item()

    def integrand(y: float, x: float) -> float:
        point = torch.tensor([[[x, y]]])
        r = m.log_ratio(point[..., :1], point[..., 1:])
        return float(r * m.log_density(point, slice(None)).exp())

    grid = np.linspace(-14, 14, 281)
    values = torch.tensor(
        np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(1, -1, 2)
    ).float()
    density = m.log_density(values, slice(None)).exp()
    surface = (m.log_ratio(values[..., :1], values[..., 1:]) * density).reshape(281, 281).numpy()
    quadrature = integrate.simpson(integrate.simpson(surface, x=grid), x=grid)
    assert monte_carlo == pytest.approx(quadrature, abs=0.01)


@pytest.mark.parametrize("family", ["canonical", "autoregressive"])
def test_gaussian_log_ratio_averages_to_the_closed_form(family):
    torch.manual_seed(1)
    d = only(family, queries=4096).sample(16, 64)
    # Student-t members of the canonical family have no closed form: their mi is the mean itself.
    error = (d.joint.mean(1) - d.mi).abs()
    assert (d.mi > 0.05).any() and (d.mi - d.joint.mean(1)).abs().max() > 0
    assert error.max() < 0.15


def test_prescribed_strength_is_met():
    torch.manual_seed(2)
    mx, my = (torch.tensor([[1.0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]) for _ in range(2))
    scale = prescribed_correlation(mx, my)
    m = Mixture(torch.zeros(2, 1), torch.zeros(2, 1, 10), scale, torch.full((2, 1), torch.inf),
                torch.cat([mx, my], 1))  # fmt: skip
    z = m.sample(60_000)
    r = m.log_ratio(z[..., :5], z[..., 5:]).mean(1)
    torch.testing.assert_close(r, m.gaussian_mi(), atol=0.03, rtol=0.02)


def test_low_rank_correlations_are_correlations():
    torch.manual_seed(3)
    mask = (torch.arange(6) < torch.tensor([[2], [6], [4]])).float()
    c = low_rank_correlation(mask, 7)
    torch.testing.assert_close(c.diagonal(dim1=-2, dim2=-1), torch.ones(3, 7, 6).double())
    assert torch.linalg.eigvalsh(c).min() > 0
    assert c[0, :, 2:, :2].abs().max() == 0  # unused coordinates know nothing


@pytest.mark.parametrize("family", FAMILIES)
def test_ratio_averages_to_one_over_independent_pairs(family):
    """E over the product of marginals of p(x,y)/p(x)p(y) is 1: holds the teacher to its samples.

    Strong dependence makes the average heavy tailed, so it is taken where the ratio is tame.
    """
    torch.manual_seed(4)
    d = only(family, queries=512, draws=1024).sample(96, 32)
    tame = d.mi < 1.0
    assert tame.sum() >= 5
    mean = d.product[tame].exp().mean(1)
    assert mean.median() == pytest.approx(1.0, abs=0.12)
    assert d.joint[tame].mean() > 0  # and joint pairs are likelier together


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


class Linear:
    """Stands in for RandomFunction where a closed form is wanted: the first coordinate itself."""

    def __init__(self, mask, out, *, smooth):
        self.out, self.smooth = out, smooth

    def standardised(self, x):
        return x[..., :1].expand(*x.shape[:2], self.out) * (0.0 if self.smooth else 1.0)


@pytest.mark.parametrize("family", ["functional", "latent"])
def test_averaged_densities_meet_the_gaussian_closed_form(family, monkeypatch):
    """With linear functions of a normal source, the Monte Carlo log-ratio has an exact counterpart."""
    torch.manual_seed(6)
    monkeypatch.setattr(module, "RandomFunction", Linear)
    monkeypatch.setattr(module, "random_flow", lambda x, mask: x)
    monkeypatch.setattr(
        module, "_source",
        lambda mask, n: torch.randn(mask.shape[0], n, mask.shape[1]) * mask[:, None],
    )  # fmt: skip
    one = torch.tensor([1.0, 0, 0, 0, 0])
    monkeypatch.setattr(module, "_sides", lambda a, b, dev: (one.expand(b, 5), one.expand(b, 5)))
    a = Atlas(draws=8192, queries=256)
    d = getattr(module, family)(a, 12, 2000 + 256, torch.device("cpu"))
    for i in range(12):
        x, y = d.x[i, :, 0].double(), d.y[i, :, 0].double()
        rho = np.corrcoef(x, y)[0, 1]
        zx, zy = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
        exact = -0.5 * math.log(1 - rho**2) - (
            rho**2 * (zx**2 + zy**2) - 2 * rho * zx * zy
        ) / (2 * (1 - rho**2))  # fmt: skip
        if d.mi[i] > 1.5:  # the correlation estimated from 2,256 samples is too blunt there
            continue
        assert (d.joint[i] - exact[-256:]).abs().median() < 0.12


def test_discrete_information_is_that_of_the_table():
    """Unblurred codes: the mean log-ratio over many pairs is the plug-in MI of the labels seen."""
    torch.manual_seed(7)
    d = only("discrete", queries=6000).sample(24, 32)
    checked = 0
    for x, y, joint in zip(d.xq, d.yq, d.joint, strict=True):
        _, a = np.unique(x.numpy().round(4), axis=0, return_inverse=True)
        _, b = np.unique(y.numpy().round(4), axis=0, return_inverse=True)
        if a.max() > 8 or b.max() > 8:
            continue  # blurred, or bent by float noise
        table = np.zeros((9, 9))
        np.add.at(table, (a.ravel(), b.ravel()), 1 / len(a))
        outer = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
        plug_in = (table[table > 0] * np.log(table[table > 0] / outer[table > 0])).sum()
        assert joint.mean().item() == pytest.approx(plug_in, abs=0.03)
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
