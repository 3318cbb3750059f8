"""True values of the slicing benchmark, compared with drawn slices and with nearest neighbours."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import slicing_studies
from benchmarks.peers.ksg import ksg

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
