"""Critic, solve and hypernetwork."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from infoatlas_rt.estimation.canonical import canonicalise, normal_scores
from infoatlas_train.config import PRESETS, SHIFTS
from infoatlas_train.model import critic
from infoatlas_train.model.infoatlas import InfoAtlas, parameters, parameters_by_part
from infoatlas_train.model.objective import query_scores
from infoatlas_train.pretrain import load


def gaussian(mi: float, d: int, n: int, slices: int = 8, seed: int = 0):
    rng = np.random.default_rng(seed)
    rho = np.sqrt(1 - np.exp(-2 * mi / d))
    x = rng.normal(size=(slices, n, d))
    c = canonicalise(x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape), 5)
    return torch.from_numpy(c.x), torch.from_numpy(c.y)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return InfoAtlas(PRESETS["tiny"]).eval()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("mi", [0.0, 0.5, 2.0, 4.0])
def test_anchor_alone_is_right_on_gaussians(mi, d):
    x, y = gaussian(mi, d, 2000)
    z = critic.fisher_z(x, y)
    i = critic.shift_index(torch.arange(1, 33), 2000)
    product = critic.anchor(z, x, y, i).flatten(1)
    estimate, _ = critic.donsker_varadhan(critic.anchor(z, x, y), product)
    assert estimate.mean().item() == pytest.approx(mi, abs=0.03 + 0.06 * mi)


def test_fisher_z_is_bounded_on_copies():
    x, _ = gaussian(0.0, 3, 100)
    assert critic.fisher_z(x, x).max() == pytest.approx(0.5 * np.log(4e4), rel=1e-3)
    z = critic.capped(critic.fisher_z(x, x), torch.full((8, 1), 100.0))
    information = torch.log(torch.cosh(z)).sum(1)
    assert (information < np.log(100) + 1.5).all() and (information > 2).all()


@pytest.mark.parametrize("size", [1, 7, 33, 66])
@pytest.mark.parametrize("least", [1.0, 1e-2, 1e-4])
def test_inverse_by_products_is_the_inverse(size, least):
    """For matrices with eigenvalues down to the limit of ridges, at any scale."""
    torch.manual_seed(0)
    q = torch.linalg.qr(torch.randn(6, size, size).double())[0]
    eigenvalues = least ** torch.rand(6, 1, size).double()
    a = q * eigenvalues @ q.mT
    d = a.diagonal(dim1=1, dim2=2).rsqrt() * 10 ** (2 * torch.rand(6, size).double())
    a, b = d[:, :, None] * a * d[:, None], torch.randn(6, size, 1).double()
    expected = torch.linalg.solve(a, b)
    inverted = critic.inverse(a.float())
    got = critic.solved(a.float(), inverted, b.float()).double()
    error = ((got - expected) / d[..., None]).norm(dim=1) / (expected / d[..., None]).norm(dim=1)
    assert error.max() < 2e-3 if least < 1e-3 else error.max() < 1e-4


@pytest.mark.parametrize(
    ("least", "block", "bound"),
    [(1e-2, 36, 1e-4), (1e-3, 36, 1e-3), (3e-4, 36, 5e-3), (1e-4, 66, 5e-3), (5e-5, 66, 1e-2)],
)
def test_inverse_of_features_that_are_nearly_collinear(least, block, bound):
    """Eight directions and little else, as for features of one coordinate at large n."""
    torch.manual_seed(1)
    common = torch.randn(4, 400, 8).double() @ torch.randn(4, 8, 66).double()
    features = common + least**0.5 * torch.randn(4, 400, 66).double()
    a = features.mT @ features
    d = a.diagonal(dim1=1, dim2=2).rsqrt()
    a = d[:, :, None] * a * d[:, None] + least * torch.eye(66).double()
    b = torch.randn(4, 66, 1).double()
    expected = torch.linalg.solve(a, b)
    got = critic.solved(a.float(), critic.inverse(a.float(), block), b.float()).double()
    assert ((got - expected).norm(dim=1) / expected.norm(dim=1)).max() < bound


@pytest.mark.parametrize("name", ["edge", "base"])
def test_the_solve_of_the_graph_is_the_exact_one_on_one_coordinate(name):
    """With many samples of one coordinate the features of the critic are nearly collinear."""
    model, _ = load(Path(__file__).parents[3] / "train" / "checkpoints" / f"{name}.pt")
    rng = np.random.default_rng(1)
    x, noise = rng.standard_normal((2, 1, 5000, 1))
    c = canonicalise(x, 0.8 * x + 0.6 * noise, 5)
    shifts, order = torch.arange(1, 9) * 500, torch.from_numpy(rng.permutation(5000))
    with torch.no_grad():
        exact, found = (
            model.eval()(torch.from_numpy(c.x), torch.from_numpy(c.y), shifts, order, exact=e)[0]
            for e in (True, False)
        )
    torch.testing.assert_close(found, exact, atol=1e-3, rtol=0)


def coefficient(scale, natural):
    """Coefficient of a feature that separates joint from product pairs, and hardly varies."""
    torch.manual_seed(0)
    product = scale * torch.randn(1, 400, 1)
    return critic.solve_readout(
        torch.cat([product[:, :100] + 0.5, product], 1), torch.zeros(1, 500),
        torch.full((1, 1), 0.1), 100, newton_steps=3, exact=True, natural=natural,
    ).item()  # fmt: skip


def test_natural_features_keep_their_scale():
    """Their ridge bounds the coefficient; a standardised one grows as the feature shrinks."""
    assert 1 < coefficient(1e-3, natural=1) < 10
    assert coefficient(1e-3, natural=0) > 100
    assert coefficient(1.0, natural=1) == pytest.approx(coefficient(1.0, natural=0), rel=0.1)


def test_all_product_pairs_limit_a_step_that_overshot():
    step, t0, t0_product = torch.full((2, 50), 4.0), torch.zeros(2, 50), torch.zeros(2, 200)
    step_product = torch.zeros(2, 200)
    assert critic.best_share(t0, step, t0_product, step_product).tolist() == [1.0, 1.0]
    step_product[1, 7] = 12.0  # one pair with the weight of three joint pairs
    share = critic.best_share(t0, step, t0_product, step_product)
    assert share[0] == 1.0 and 0 < share[1] < 1
    grid = torch.linspace(0, 1, 101)
    value = 4 * grid - torch.logsumexp(grid[:, None] * step_product[1], 1)
    assert abs(grid[value.argmax()] - share[1]) < 0.1


@pytest.mark.parametrize("samples", [17, 100, 1000])
def test_graph_solver_and_exact_solver_agree(model, samples):
    x, y = gaussian(1.0, 3, samples)
    with torch.no_grad():
        exact, fixed = (model(x, y, torch.arange(1, 9), exact=e)[0] for e in (True, False))
    torch.testing.assert_close(exact, fixed, atol=1e-3, rtol=1e-3)


def test_samples_are_a_set(model):
    """The hypernetwork writes the same critic for any order of the samples."""
    x, y = gaussian(1.0, 3, 64)
    order = torch.randperm(64)
    with torch.no_grad():
        a, b = model.hypernetwork(x, y), model.hypernetwork(x[:, order], y[:, order])
    torch.testing.assert_close(a.mix, b.mix, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(a.side_x[2], b.side_x[2], atol=1e-4, rtol=1e-4)


def test_slices_do_not_see_each_other(model):
    x, y = gaussian(1.0, 3, 64)
    with torch.no_grad():
        together = model(x, y, torch.arange(1, 9))[0]
        alone = model(x[3:4], y[3:4], torch.arange(1, 9))[0]
    torch.testing.assert_close(together[3:4], alone, atol=1e-4, rtol=1e-4)


def test_pointwise_averages_to_mi_and_influence_to_zero(model):
    x, y = gaussian(1.0, 2, 200)
    with torch.no_grad():
        mi, pointwise, infl, _ = model(x, y, torch.arange(1, 9))
    torch.testing.assert_close(pointwise.mean(1), mi, atol=1e-5, rtol=1e-5)
    assert infl.mean(1).abs().max() < 1e-4


def test_influence_is_the_derivative_of_the_readout():
    """With more weight on a sample and the same critic, the bound changes by its influence."""
    torch.manual_seed(1)
    n, shifts = 40, torch.arange(1, 40)
    joint, product = torch.randn(1, n).double(), torch.randn(1, 39, n).double()
    mi, log_z = critic.donsker_varadhan(joint, product.flatten(1))
    expected = critic.influence(joint, product, log_z, shifts)
    step = 1e-6
    for i in (0, 17, 39):
        w = torch.full((n,), 1.0).double()
        w[i] += step * n
        w = w / w.mean()
        pair = w[None] * w[critic.shift_index(shifts, n)]
        moved = (w * joint[0]).mean() - torch.log((pair * product[0].exp()).mean())
        # d/d(eps) of (1 - eps) P + eps delta_i, with weights of sum n
        slope = (moved - mi[0]).item() / step
        assert slope == pytest.approx(expected[0, i].item(), abs=1e-3)


def test_edge_fits_the_control_loop():
    x, y = gaussian(1.0, 5, 100, slices=1)
    with FlopCounterMode(display=False) as count, torch.no_grad():
        InfoAtlas(PRESETS["edge"]).eval()(x, y, torch.arange(1, SHIFTS + 1), exact=False)
    assert count.get_total_flops() <= 55e6  # edge 0.12.0: 70e6


def test_generated_readout_is_the_papers_variant():
    config = dataclasses.replace(PRESETS["tiny"], readout="generated")
    x, y = gaussian(1.0, 3, 100)
    torch.manual_seed(0)
    m = InfoAtlas(config)
    mi, *_ = m(x, y, torch.arange(1, 9))
    mi.sum().backward()
    written = m.hypernetwork.generation.write.weight.grad
    # The coefficients are generated.
    assert torch.isfinite(mi).all() and written[-2:].abs().max() > 0


def test_paper_preset_has_the_papers_sizes():
    config = PRESETS["paper"]
    with torch.device("meta"):  # a billion parameters without memory
        h = InfoAtlas(config).hypernetwork
    assert (config.dim, config.readout, config.padding) == (20, "generated", "noise")
    assert (len(h.joint_layers), len(h.marginal_layers), len(h.readings)) == (16, 8, 0)
    readers = [h.joint_reading, h.fusion, *h.joint_layers, *h.marginal_layers]
    assert {(r.kv.in_features, r.kv.out_features) for r in readers} == {(1536, 2 * 1536)}
    layers = [m for m in h.generation.mlp.modules() if isinstance(m, torch.nn.Linear)]
    assert [layer.out_features for layer in layers] == [8196] * 7
    theta = sum(rows * length for rows, length, _ in h.generation.layout.values()) * config.units
    assert h.generation.write.weight.shape == (theta, 8196)
    parts = parameters_by_part(config)
    assert sum(parts.values()) == parameters(h) > 1e9
    assert parts["generation"] == parameters(h.generation)


def test_identical_sides_stay_finite(model):
    for n in (32, 100, 1000):
        x, _ = gaussian(0.0, 5, n)
        with torch.no_grad():
            mi, pointwise, infl, _ = model(x, x, torch.arange(1, 9), exact=False)
        assert torch.isfinite(pointwise).all() and torch.isfinite(infl).all()
        assert (mi > 2).all() and (mi < 25).all()


def test_query_scores_agree_with_the_runtime_on_the_support():
    torch.manual_seed(2)
    x = torch.randn(3, 2, 60)
    x[:, 1] = (2 * x[:, 1]).round()
    torch.testing.assert_close(query_scores(x, x), normal_scores(x))
    between = query_scores(x[:, :1], (x[:, :1].sort(-1).values[..., :-1] + 1e-4))
    assert (between.diff(dim=-1) > 0).all()


def test_the_factor_of_the_critic():
    """If few product pairs dominate the bound is at least 0; otherwise it is unchanged."""
    x, y = gaussian(1.0, 2, 200, slices=2)
    partner = critic.shift_index(torch.arange(1, 9), 200)
    z = critic.fisher_z(x, y)
    joint = critic.anchor(z, x, y)
    product = critic.anchor(z, x, y, partner).flatten(1)
    assert (critic.critic_share(joint, product) == 1).all()
    product[0, :3] += 60  # three outlying pairs
    share = critic.critic_share(joint, product)
    assert share.tolist()[1] == 1 and 0 <= share[0] < 1
    assert critic.donsker_varadhan(joint, product)[0][0] < -10
    assert critic.donsker_varadhan(share[:, None] * joint, share[:, None] * product)[0].min() >= 0


def test_a_rare_flag_is_not_read_below_zero(model):
    flag = np.zeros((1, 100, 1))
    flag[0, [3, 50]] = 1
    c = canonicalise(flag, flag, 5)
    sides = torch.from_numpy(c.x), torch.from_numpy(c.y)
    with torch.no_grad():
        e = model.critic(*sides, torch.arange(1, 100))
    assert critic.donsker_varadhan(e.joint, e.product.flatten(1))[0].item() >= 0
    queries = e.elsewhere(*sides)  # the same critic, on given pairs
    torch.testing.assert_close(queries, e.joint, atol=1e-2, rtol=1e-2)


def test_the_anchor_is_trainable_with_missing_coordinates(model):
    """Correlations of zero have finite slopes."""
    x, y = gaussian(1.0, 2, 64)
    z = torch.zeros(8, 5, requires_grad=True)
    critic.anchor(z, x, y).square().sum().backward()
    assert torch.isfinite(z.grad).all()
