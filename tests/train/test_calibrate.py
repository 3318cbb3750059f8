"""Calibration: labels by other methods, a fit that recovers constants, and the file."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from scipy import special

from command_line import complaint
from infoatlas_rt import Estimator
from infoatlas_rt.cli import main
from infoatlas_rt.estimation.slicing import plan, stiefel
from infoatlas_rt.estimation.standard_error import gaussian_part, rank_noise, standard_error
from infoatlas_rt.models import model_file
from infoatlas_train import calibrate as module
from infoatlas_train.data import wide_sides
from infoatlas_train.data.mixtures import Mixture

CONSTANTS = {"noise": 1.4, "spread": 1.2, "ceiling": 2.0, "few": 3.0} | module.PLAIN


def test_unsliced_draws_are_the_atlas_and_elliptical_ones():
    draws = list(module.unsliced(6, seed=1, samples=40))
    assert [d.family == "elliptical" for d in draws] == [False, False, True] * 2
    for d in draws:
        assert len(d.x) == len(d.y) == 40 and 1 <= min(d.x.shape[1], d.y.shape[1])
        assert np.isfinite(d.x).all() and np.isfinite(d.y).all()
        assert math.isfinite(d.mi) and 0 <= d.mi_error < 0.1
    again = next(module.unsliced(1, seed=1, samples=40))
    np.testing.assert_array_equal(again.x, draws[0].x)
    assert not np.array_equal(next(module.unsliced(1, seed=2, samples=40)).x, draws[0].x)


def test_labels_of_gaussians_are_those_of_their_samples():
    elliptical = (d for d in module.unsliced(12, seed=3, samples=4000) if d.family == "elliptical")
    exact = [d for d in elliptical if d.mi_error == 0]
    assert exact
    for d in exact:
        r = np.corrcoef(np.column_stack([d.x, d.y]), rowvar=False)
        dx = d.x.shape[1]
        parts = (np.linalg.slogdet(m)[1] for m in (r[:dx, :dx], r[dx:, dx:], r))
        x, y, joint = parts
        assert (x + y - joint) / 2 == pytest.approx(d.mi, abs=0.1)


def test_labels_of_sliced_gaussians():
    """From the correlations of many samples, over other projections."""
    rng, found = np.random.default_rng(0), 0
    for kind in ("spread", "factors", "sparse") * 2:
        wide = wide_sides.draw(kind, 2, rng)
        if min(wide.dx, wide.dy) < 2:
            continue
        found += 1
        mi, error = wide_sides.truth(wide, 2, rng)
        r = np.corrcoef(np.column_stack(wide_sides.sample(wide, 20_000, rng)), rowvar=False)
        dx, each = wide.dx, []
        for _ in range(1000):
            w = np.zeros((len(r), 4))
            w[:dx, :2] = np.linalg.qr(rng.standard_normal((dx, 2)))[0]
            w[dx:, 2:] = np.linalg.qr(rng.standard_normal((len(r) - dx, 2)))[0]
            m = w.T @ r @ w
            parts = (np.linalg.slogdet(part)[1] for part in (m[:2, :2], m[2:, 2:], m))
            x, y, joint = parts
            each.append((x + y - joint) / 2)
        assert mi == pytest.approx(np.mean(each), abs=5 * error + 0.02)
    assert found > 2


@pytest.mark.parametrize("kind", ["regimes", "parity", "student", "mixture"])
def test_labels_of_wide_kinds_are_means_over_their_own_samples(kind):
    """The density of each slice at the standardised samples of the dataset."""
    torch.manual_seed(0)
    rng = np.random.default_rng(3)
    wide = wide_sides.draw(kind, 2, rng)
    x, y = wide_sides.sample(wide, 4000, rng)
    slices = plan(wide.dx, wide.dy, 2, slices=8, seed=0)
    mi, _ = wide_sides.truth(wide, 2, rng, slices)
    sides = []
    for side, own in ((x, slices.x), (y, slices.y)):
        d = side.shape[1]
        padded = np.pad(np.eye(d), ((0, 0), (0, 2 - d)))[None] if own is None else own
        sides.append(torch.from_numpy(side @ (padded / spread(wide, side))).float())
    m = wide_sides.projected(wide.mixture, wide.dx, wide.dy, 2, slices.x, slices.y, 8)
    x, y = (side.expand(8, -1, -1) for side in sides)
    found = m.log_ratio(x, y).mean()
    assert float(found) == pytest.approx(mi, abs=0.05)


def spread(wide, side):
    """Standard deviations [d, 1] of the coordinates, from many samples."""
    many = wide_sides.sample(wide, 200_000, np.random.default_rng(1))
    own = many[0] if many[0].shape[1:] == side.shape[1:] else many[1]
    return own.std(0)[:, None]


def test_sides_paired_anew_are_independent():
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    for _ in range(4):
        wide = wide_sides.draw("independent", 3, rng)
        assert wide_sides.truth(wide, 3, rng) == (0.0, 0.0)
        assert max(wide.dx, wide.dy) > 3


def test_information_of_wide_slices_is_bounded():
    """Without a bound on the rank of their correlations, mixtures would have 20 nats."""
    torch.manual_seed(20_260_301)
    rng = np.random.default_rng(20_260_301)
    drawn = [wide_sides.draw("mixture", 20, rng) for _ in range(3)]
    slices = [plan(d.dx, d.dy, 20, k=20, slices=8) for d in drawn]
    found = zip(drawn, slices, strict=True)
    assert np.mean([wide_sides.truth(d, 20, rng, own)[0] for d, own in found]) < 5


def test_labels_of_sliced_mixtures():
    """A t with identity dispersion has the same mutual information in each projection."""
    nu, k, d = 4.0, 2, 6

    def entropy(d):
        spread = (nu + d) / 2 * (special.digamma((nu + d) / 2) - special.digamma(nu / 2))
        return special.gammaln(nu / 2) - special.gammaln((nu + d) / 2) + spread

    scale = torch.eye(2 * d, dtype=torch.float64)[None, None]
    one = torch.zeros(1, 1, 2 * d)
    m = Mixture(torch.zeros(1, 1), one, scale, torch.full((1, 1), nu), torch.ones(1, 2 * d))
    torch.manual_seed(0)
    px, py = (stiefel(d, k, 256, np.random.default_rng(seed)) for seed in (0, 1))
    projected = wide_sides.projected(m, d, d, k, px, py, 256)
    mi, error = module.label(projected, k, 256)
    assert 0 < error < 0.01
    assert mi == pytest.approx(2 * entropy(k) - entropy(2 * k), abs=5 * error)


def test_gaussian_part_takes_its_bias_off():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        x, y = rng.standard_normal((2, 100, 2))
        r = np.linalg.svd(np.linalg.qr(x - x.mean(0))[0].T @ np.linalg.qr(y - y.mean(0))[0])[1]
        found.append(float(gaussian_part(np.r_[r, 0, 0], 2, 2, 100)))
    assert np.mean(found) < 0.01  # 0.02 without
    strong = gaussian_part(np.array([[0.9, 0.5], [0.0, 0.0]]), [2, 2], [2, 2], 10**6)
    expected = -0.5 * np.log([(1 - 0.81) * (1 - 0.25), 1])
    np.testing.assert_allclose(strong, expected, atol=1e-5)
    assert np.isfinite(gaussian_part(np.ones((1, 3)), [3], [3], 100)).all()


def test_rank_noise_indicates_when_ranks_are_too_coarse():
    assert float(rank_noise(np.array([0.5, 0.0]), 1000)) < 0.001
    assert float(rank_noise(np.array([0.999, 0.0]), 100)) == 1.0  # completely lost
    assert rank_noise(np.ones((2, 5)), 50).tolist() == [1.0, 1.0]


def test_standard_error_grows_with_what_it_counts():
    base = {"noise": 0.1, "predicted_error": 0.1, "rank_noise": 0.0, "samples": 100, "beyond": 0.1}
    assert standard_error(None, **base) == 0.1
    least = standard_error(CONSTANTS, **base)
    assert least > 0.1
    larger = {"noise": 0.2, "predicted_error": 0.3, "rank_noise": 0.2, "samples": 40}
    for name, value in larger.items():
        assert standard_error(CONSTANTS, **{**base, name: value}) > least
    assert standard_error(CONSTANTS, **{**base, "beyond": 1.0}) == least  # power 0: as without it
    powers = {**CONSTANTS, "predicted": 0.5, "beyond": 1.0}
    assert standard_error(powers, **{**base, "beyond": 0.2}) > standard_error(powers, **base)


@pytest.mark.parametrize("few", [module.LEAST_FEW, -1.0, 2.0])
def test_noise_never_grows_with_the_samples(few):
    n = np.array([8.0, 32, 50, 100, 200, 500, 1000, 2000, 5000])
    law = CONSTANTS | {"few": few}
    stderr = standard_error(law, 1 / n**0.5, 0.2 / n**0.5, 0.0, n)
    assert (np.diff(stderr) <= 1e-12).all() and stderr[-1] > 0


def readings(rows, seed):
    """Estimates whose errors follow the model of the standard error exactly, with tails."""
    rng = np.random.default_rng(seed)
    n = rng.choice([50, 100, 500, 1000, 5000], rows).astype(float)
    data = {"n": n, "samples": n, "mi": rng.exponential(0.5, rows)}
    data |= {name: rng.uniform(0.3, 1, rows) / n**0.5 for name in ("noise", "predicted_error")}
    data["rank_noise"] = rng.exponential(10 / n)
    data["beyond_gaussian"] = rng.exponential(0.2, rows)
    data |= {"truth_error": np.full(rows, 0.002), "dataset": np.arange(rows)}
    scale = np.hypot(module.standard_errors(data, CONSTANTS), 0.002)
    data["truth"] = data["mi"] + scale * rng.standard_t(3, rows)
    return data


def test_fit_covers_new_data():
    found = module.fit(readings(2000, 0))
    data = readings(4000, 1)
    stderr = module.standard_errors(data, found)
    for n in np.unique(data["n"]):
        part = {name: column[data["n"] == n] for name, column in data.items()}
        assert abs(module.coverage(part, stderr[data["n"] == n]) - module.SHARE) < 0.03
        assert module.coverage(part, part["noise"]) < 0.8
    # The constants are recovered, up to the common factor for the coverage of 90%.
    ratio = [found[name] / CONSTANTS[name] for name in ("noise", "spread", "ceiling")]
    assert max(ratio) / min(ratio) < 1.6


def test_fit_of_slices_covers_each_kind():
    """One kind has errors three times as large as the others."""
    law = {"noise": 1.0, "spread": 2.0, "ceiling": 1.0, "few": 0.0, "predicted": 0.4, "beyond": 1.2}

    def drawn(seed):
        data = readings(3000, seed)
        rng = np.random.default_rng(seed)
        data["family"] = rng.choice(["a", "b", "c", "hard"], len(data["mi"]))
        scale = module.standard_errors(data, law) * np.where(data["family"] == "hard", 3, 1)
        data["truth"] = data["mi"] + np.hypot(scale, 0.002) * rng.standard_normal(len(scale))
        return data

    found, data = module.fit_sliced(drawn(0)), drawn(1)
    for family in np.unique(data["family"]):
        part = {name: column[data["family"] == family] for name, column in data.items()}
        share = module.coverage(part, module.standard_errors(part, found))
        assert share > module.EACH - 0.04 and (family == "hard" or share > 0.85)
    assert found["beyond"] == pytest.approx(1.2, abs=0.3)


def test_read_goes_through_the_public_estimator():
    estimator = Estimator(threads=1)
    draws = list(itertools.islice(module.unsliced(3, seed=7, samples=100), 3))
    data = module.estimates(estimator, iter(draws), (50, 100))
    assert set(data["n"]) <= {50, 100} and len(data["mi"]) <= 6
    last = draws[-1]
    e = estimator.estimate(last.x, last.y)
    assert data["mi"][-1] == e.mi and data["truth"][-1] == last.mi
    values = dict(noise=e.noise, predicted_error=e.predicted_error, rank_noise=e.rank_noise)
    values |= {"samples": e.effective_samples, "beyond": e.beyond_gaussian}
    constants = estimator.model_file.calibration.get("whole")
    assert e.stderr == pytest.approx(float(standard_error(constants, **values)), rel=1e-9)


def test_constants_reach_the_model_file_and_the_estimate(tmp_path, monkeypatch, capsys):
    constants = {"whole": CONSTANTS, "sliced": {**CONSTANTS, "noise": 7.0}}
    monkeypatch.setattr(module, "calibrate", lambda *a: (constants, []))
    out, model = tmp_path / "calibration.json", tmp_path / "edge.onnx"
    threads = torch.get_num_threads()
    module.main(["edge", "--out", str(out)])
    torch.set_num_threads(threads)

    shipped = model_file.load("edge")
    command = ["export", str(shipped.path), "--out", str(model)]
    assert main.main([*command, "--calibration", str(out)]) == 0
    changed = model_file.load(model)
    assert changed.calibration == constants and changed.sha256 != shipped.sha256
    assert (changed.steps, changed.accuracy) == (shipped.steps, shipped.accuracy)
    x = np.random.default_rng(0).standard_normal((60, 3))
    estimates = [
        Estimator(model, threads=1, **o).estimate(x, x**2) for o in ({}, {"k": 2, "slices": 4})
    ]
    for e, kind in zip(estimates, ("whole", "sliced"), strict=True):
        assert e.stderr > constants[kind]["noise"] * e.noise
    same = Estimator("edge", threads=1).estimate(x, x**2)
    assert same.mi == estimates[0].mi and same.noise == estimates[0].noise

    capsys.readouterr()
    assert "--calibration" in complaint(capsys, *command)
    out.write_text(json.dumps({"whole": CONSTANTS}))
    assert "cannot read the calibration" in complaint(capsys, *command, "--calibration", out)
