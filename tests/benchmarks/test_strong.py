"""True values of the strong-dependence benchmark, recomputed from samples."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_t

from benchmarks import strong
from benchmarks.peers import ksg

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
