"""True values of the benchmarks, recomputed from samples or in another way."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_t

from benchmarks import calibration as benchmark, slicing_studies, sparse_data, strong
from benchmarks.peers.classical import ksg


def test_truth_of_a_student_t():
    """Comparison with the mean of the log-ratio over samples."""
    for dx, nu in ((1, 1.0), (2, 2.0), (5, 3.0)):
        z = np.random.default_rng(0).standard_normal((400_000, 2 * dx))
        z /= np.sqrt(np.random.default_rng(1).chisquare(nu, (400_000, 1)) / nu)
        x, y = (np.square(side).sum(1) for side in (z[:, :dx], z[:, dx:]))
        # The log-ratio of the densities, including its constant.
        shape = ((nu + 2 * dx) / 2, (nu + dx) / 2)
        ratio = shape[1] * (np.log1p(x / nu) + np.log1p(y / nu)) - shape[0] * np.log1p((x + y) / nu)
        ratio += gammaln(shape[0]) + gammaln(nu / 2)
        ratio -= 2 * gammaln(shape[1])
        assert benchmark.student_excess(nu, dx) == pytest.approx(ratio.mean(), abs=0.01)


def test_sliced_gaussian_truth():
    """Two projections to a line correlate by 0.8 times the cosine of their angle."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 4000, 2))
    y = 0.8 * x + 0.6 * rng.standard_normal(x.shape)
    mi, error = benchmark._sliced_gaussian(x, y, 1)
    cosine = np.cos(rng.uniform(0, 2 * np.pi, 200_000))  # of the angle between two projections
    assert mi == pytest.approx(-0.5 * np.log1p(-np.square(0.8 * cosine)).mean(), abs=0.01)
    assert 0 < error < 0.01


def test_summary_counts_the_labels_error():
    data = {"n": np.array([50, 50]), "mi": np.array([1.0, 1.0]), "truth": np.array([1.2, 1.2])}
    data |= {"stderr": np.array([0.2, 0.05]), "noise": np.array([0.05, 0.05])}
    rows = benchmark.summarise("a", data | {"truth_error": np.zeros(2)})
    assert [r["coverage_90%"] for r in rows] == [0.5] and rows[0]["coverage_90%_noise_alone"] == 0
    rows = benchmark.summarise("a", data | {"truth_error": np.array([0.0, 0.2])})
    assert rows[0]["coverage_90%"] == 1


ROOT = Path(__file__).parents[2]


def test_sparse_and_dense_have_the_same_slices():
    """The closed forms agree with drawn slices and with the paper's value."""
    assert slicing_studies.dense(1.0) == pytest.approx(0.7963, abs=1e-4)
    for rho in (0.5, 0.95):
        for own in ([rho, 0.0], [slicing_studies.dense(rho)] * 2):
            drawn = slicing_studies.sliced_truth(np.array(own), 1, draws=20_000)
            assert drawn == pytest.approx(slicing_studies.circle(rho), rel=0.02)


def test_a_slice_of_all_coordinates_is_the_unsliced_value():
    rho = np.array([0.3, 0.6, 0.9])
    whole = -0.5 * np.log(1 - rho**2).sum()
    assert slicing_studies.sliced_truth(rho, 3, draws=5) == pytest.approx(whole)


@pytest.mark.parametrize(("d", "k", "ratio"), [(2, 1, 3.0), (20, 2, 3.0), (20, 1, 1.2)])
def test_information_of_a_common_radius(d, k, ratio):
    """By integration, compared with nearest neighbours on samples."""
    x, y, _ = slicing_studies.radius(3000, d, ratio, np.random.default_rng(1))
    found = ksg(x[:, :k], y[:, :k])
    assert slicing_studies.radius_truth(d, k, ratio) == pytest.approx(found, abs=0.05)


def test_the_page_for_users():
    """Its true values are those of the benchmark."""
    page = (ROOT / "docs" / "when-to-trust.md").read_text(encoding="utf-8")
    half = np.sqrt(0.5)
    for d, said in ((64, "a slice of five contains {:.2f}"), (20, "{:.2f} in slices of five")):
        truth = slicing_studies.sliced_truth(np.full(d, half), 5)
        assert said.format(truth) in page.replace("\n", " ")
    for ratio, digits, said in ((1.5, 2, "whose true value is {}"), (1.01, 3, "{} in a slice")):
        truth = slicing_studies.radius_truth(2, 1, ratio)
        assert said.format(f"{truth:.{digits}f}") in page
    assert f"{slicing_studies.dense(1.0):.3f} each" in page


def plug_in(x, y):
    """Mutual information of a table of counts minus its bias, for samples with few levels."""
    sides = [np.unique(side, axis=0, return_inverse=True)[1].ravel() for side in (x, y)]
    p = np.zeros([side.max() + 1 for side in sides])
    np.add.at(p, tuple(sides), 1 / len(x))
    information, least = sparse_data.of_table(p)
    bias = ((p > 0).sum() - (p.sum(0) > 0).sum() - (p.sum(1) > 0).sum() + 1) / (2 * len(x))
    return information - bias, least


@pytest.mark.parametrize(
    "kind",
    [
        "rare flag", "rare events", "independent flags", "few levels", "copied levels",
        "tied normals",
    ],
)  # fmt: skip
def test_truths_of_tables(kind):
    for seed in range(2):
        rng = np.random.default_rng([seed, *kind.encode()])
        x, y, truth, least = sparse_data.KINDS[kind](rng, 200_000)
        found = plug_in(x, y)
        assert truth == pytest.approx(found[0], abs=0.01)
        assert least == pytest.approx(found[1], abs=0.02)


def test_truth_of_flag_and_level():
    for seed in range(2):
        x, y, truth, least = sparse_data.flag_and_level(np.random.default_rng(seed), 400_000)
        bins = np.floor(4 * y)  # fine enough: the loss is far below the tolerance
        found = plug_in(x, bins)
        assert truth == pytest.approx(found[0], abs=0.01)
        assert least == pytest.approx(found[1], abs=0.01)


KINDS = list(strong.SAYS)


def gaussian_information(x, y):
    log_det = [np.linalg.slogdet(np.cov(s, rowvar=False))[1] for s in (x, y, np.hstack([x, y]))]
    return (log_det[0] + log_det[1] - log_det[2]) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimension(kind):
    """Comparison with KSG, which is nearly unbiased there; a path of 4000 suffices at 1 nat."""
    found = np.mean([ksg(*strong.sample(kind, 1.0, 1, 4000, seed)) for seed in range(3)])
    assert found == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("kind", ["Gaussian", "autoregressive"])
@pytest.mark.parametrize(("truth", "d"), [(5.0, 2), (3.0, 5)])
def test_gaussian_core(kind, truth, d):
    x, y = strong.sample(kind, truth, d, 40_000, 0)
    assert gaussian_information(x, y) == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize(("truth", "d"), [(1.0, 5), (4.0, 3)])
def test_student(truth, d):
    """The mean log-ratio with scipy's densities."""
    x, y = strong.student(np.random.default_rng(0), truth, d, 20_000)
    cross = np.diag(strong.correlations(truth - strong.student_excess(strong.FREEDOM, d), d))
    shape = np.block([[np.eye(d), cross], [cross, np.eye(d)]])
    joint, side = (multivariate_t(shape=s, df=strong.FREEDOM) for s in (shape, np.eye(d)))
    ratio = joint.logpdf(np.hstack([x, y])) - side.logpdf(x) - side.logpdf(y)
    assert ratio.mean() == pytest.approx(truth, abs=4 * ratio.std() / math.sqrt(20_000))


@pytest.mark.parametrize("d", [2, 5])
def test_mixture(d):
    """The information of the cluster's name, plus that within the clusters."""
    x, y = strong.sample("mixture", 3.0, d, 40_000, 1)
    labels = []
    for side in (x, y):
        centred = side - side.mean(0)
        axis = np.linalg.svd(centred, full_matrices=False)[2][0]
        labels.append(centred @ axis > 0)
    agree = (labels[0] == labels[1]).mean()
    assert agree in (0.0, 1.0)  # either side determines the cluster
    within = np.mean([gaussian_information(x[part], y[part]) for part in (labels[0], ~labels[0])])
    assert math.log(2) + within == pytest.approx(3.0, abs=0.03)
