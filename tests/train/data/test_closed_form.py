"""Datasets with known mutual information, compared with Gaussian closed forms and counts."""

import math

import pytest
import torch

from infoatlas_train.data import closed_form, families, mixtures

N, D = 5000, 3


def gaussian_mi(x, y):
    """Gaussian mutual information from the sample covariance, [B]."""

    def log_det(z):
        cov = z.mT @ z / z.shape[1]
        used = cov.diagonal(dim1=1, dim2=2) > 1e-9
        return torch.linalg.slogdet(cov + torch.diag_embed((~used).double()))[1]

    x, y = x.double(), y.double()
    return 0.5 * (log_det(x) + log_det(y) - log_det(torch.cat([x, y], 2)))


def unwarped(x, mask):
    return x


def test_many_elliptical_datasets_have_all_dimensions():
    torch.manual_seed(0)
    d = closed_form.elliptical(200, 32, 16, 5)
    full = (d.x.square().mean(1) > 0).all(1) & (d.y.square().mean(1) > 0).all(1)
    assert 0.2 < full.float().mean() < 0.45  # 0.3, and a 25th of the others


def test_information_of_products_adds_up(monkeypatch):
    monkeypatch.setattr(mixtures, "random_flow", unwarped)
    normal = families.DRAWS["canonical"]
    monkeypatch.setattr(families, "_freedom", lambda b, k, dev: torch.full((b, k), torch.inf))
    monkeypatch.setattr("infoatlas_train.data.atlas.DRAWS", dict.fromkeys(families.DRAWS, normal))
    torch.manual_seed(1)
    for _ in range(3):
        d = closed_form.products(8, N, 128, D)
        assert (d.x.square().mean(1) > 0).sum(1).min() >= 2  # coordinates
        torch.testing.assert_close(gaussian_mi(d.x, d.y).float(), d.mi, atol=0.05, rtol=0.05)


def test_codes_agree_with_counts():
    """Counts have a bias of at most their cells divided by twice the samples."""
    n, truths = 100_000, []
    for seed in range(6):
        torch.manual_seed(seed)
        d = closed_form.codes(2, n, 0, D)
        for x, y, mi in zip(d.x, d.y, d.mi, strict=True):
            found = 0.0
            for j in range(D):
                a, b = (v[:, j].unique(return_inverse=True)[1] for v in (x, y))
                if a.max() > 50:  # noise
                    continue
                counts = torch.zeros(int(a.max()) + 1, int(b.max()) + 1)
                counts.index_put_((a, b), torch.ones(n), accumulate=True)
                found += float(closed_form.information(counts[None] / n))
            assert found == pytest.approx(float(mi), abs=0.015)
            truths.append(found)
    assert min(truths) < 0.1 and max(truths) > 0.9


def test_codes_have_bits_copies_and_noise_beside_them():
    bits, copies, noise = 0, 0, 0
    for seed in range(60):
        torch.manual_seed(seed)
        d = closed_form.codes(1, 300, 0, D)
        x, y = d.x[0], d.y[0]
        levels = [len(column.unique()) for column in x.T]
        pairs = len(torch.stack([x[:, 0], y[:, 0]], 1).unique(dim=0))
        bits += max(levels) == levels[0] == 2
        copies += 1 < levels[0] == pairs < 50
        noise += levels[-1] == 300
    assert min(bits, copies, noise) >= 3


def test_information_of_an_erasure_and_of_a_symmetric_channel():
    erasure = torch.cat([0.7 * torch.eye(4), torch.full((4, 1), 0.3)], 1) / 4
    symmetric = torch.tensor([[0.45, 0.05], [0.05, 0.45]])
    found = [float(closed_form.information(table[None])) for table in (erasure, symmetric)]
    flipped = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert found == pytest.approx([0.7 * math.log(4), math.log(2) - flipped])


def test_paths_agree_with_their_covariance(monkeypatch):
    """For paths with short memory; for the others the samples are too few."""
    slow = closed_form.smooth
    monkeypatch.setattr(closed_form, "random_flow", unwarped)
    monkeypatch.setattr(closed_form, "smooth", lambda s, n, lag: slow(s.clamp(max=2), n, lag))
    torch.manual_seed(2)
    truths = []
    for _ in range(12):
        d = closed_form.paths(8, N, 0, D)
        torch.testing.assert_close(gaussian_mi(d.x, d.y).float(), d.mi, atol=0.08, rtol=0.05)
        truths.append(d.mi)
    truth = torch.cat(truths)
    assert (truth < 1e-6).float().mean() > 0.1 and (truth > 1).float().mean() > 0.1


@pytest.mark.parametrize("lag", [0, 1, 7])
def test_smooth_paths_have_unit_variance_and_the_stated_correlation(lag):
    torch.manual_seed(3)
    z, rho = closed_form.smooth(torch.full((6, 400), 4.0), 2048, lag)
    assert z.shape == (6, 2048, 400)
    torch.testing.assert_close(z.square().mean((1, 2)), torch.ones(6), atol=0.02, rtol=0)
    found = (z * z.roll(-lag, 1)).mean((1, 2))
    torch.testing.assert_close(found, rho[:, 0].float(), atol=0.02, rtol=0)
    assert lag > 0 or (rho > 1 - 1e-9).all()
