"""Rare events and parities: log-ratios, their mean, and the dependence of single coordinates."""

import pytest
import torch

from infoatlas_train.data import events
from infoatlas_train.data.atlas import Atlas
from refusals import fails


@pytest.fixture(autouse=True)
def unwarped(monkeypatch):
    """No flows, so that values are those of the families."""
    monkeypatch.setattr("infoatlas_train.data.mixtures.random_flow", lambda x, mask: x)


def draw(family, dim=3, sets=24, samples=20_000, seed=0):
    torch.manual_seed(seed)
    settings = Atlas(dim=dim, queries=samples).settings
    return getattr(events, family)(settings, sets, samples, torch.device("cpu"))


@pytest.mark.parametrize("family", ["events", "signs"])
def test_the_mean_of_the_log_ratio_is_the_mutual_information(family):
    p = draw(family)
    error = p.joint.std(1) / p.joint.shape[1] ** 0.5
    assert ((p.joint.mean(1) - p.mi).abs() < 5 * error + 5e-3).all()
    assert (p.mi >= 0).all() and p.mi.max() > 0.5


@pytest.mark.parametrize("family", ["events", "signs"])
def test_ratios_of_product_pairs_have_mean_one(family):
    """The mean of p(x,y)/p(x)p(y) over independent pairs is 1."""
    p = draw(family)
    ratio = p.product.clamp(max=8).exp()
    error = ratio.std(1) / ratio.shape[1] ** 0.5
    assert ((ratio.mean(1) - 1).abs() < 6 * error + 0.02).float().mean() > 0.9


def test_events_are_those_of_their_tables():
    """With one flag per side the plug-in estimate of the table agrees with the true value."""
    p = draw("events", dim=1, sets=60, samples=40_000)
    found = 0
    for x, y, mi in zip(p.x[..., 0], p.y[..., 0], p.mi, strict=True):
        if len(x.unique()) > 2 or len(y.unique()) > 2:
            continue
        found += 1
        table = torch.histogramdd(torch.stack([x, y], 1), [2, 2], [-0.5, 1.5, -0.5, 1.5]).hist
        table = table.double() / table.sum()
        alone = table.sum(1, keepdim=True) * table.sum(0, keepdim=True)
        plug_in = torch.special.xlogy(table, table / alone.clamp(min=1e-300)).sum()
        assert abs(float(plug_in - mi)) < 0.01
    assert found > 5


def test_some_events_are_rare():
    active = (draw("events").x != 0).double().mean(1)
    used = active[active > 0]
    assert used.min() < 0.01 and used.max() > 0.3


def test_only_products_of_signs_are_informative():
    """Correlations vanish; with one dimension per side the odds of equal signs give the truth."""
    p = draw("signs", dim=1, sets=40)
    even = (p.x[..., 0] * p.y[..., 0] > 0).double().mean(1)
    entropy = -torch.special.xlogy(even, even) - torch.special.xlogy(1 - even, 1 - even)
    torch.testing.assert_close(0.6931 - entropy, p.mi.double(), atol=0.02, rtol=0)
    wide = draw("signs", dim=4)
    x, y = wide.x, wide.y.square()
    x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True).clamp(min=1e-3)
    y = (y - y.mean(1, keepdim=True)) / y.std(1, keepdim=True).clamp(min=1e-3)
    assert (x.mT @ y / x.shape[1]).abs().max() < 0.05


def test_an_unknown_family_is_refused():
    fails(ValueError, "no family sings: there are mixture", Atlas, families={"sings": 1.0})


def test_series_come_in_order_of_time_only_if_asked():
    def autocorrelated(in_order):
        torch.manual_seed(3)
        data = Atlas(families={"autoregressive": 1.0}, in_order=in_order).sample(8, 500)
        x = data.x[..., 0] - data.x[..., 0].mean(1, keepdim=True)
        return ((x[:, 1:] * x[:, :-1]).mean(1) / x.square().mean(1)).abs().mean()

    assert autocorrelated(True) > 0.3 > 0.1 > autocorrelated(False)
