"""Information of points about joints, where the truth is known."""

import numpy as np
import pytest

from infoatlas_tools.cameras.information import components, information, jackknife, permute


def draw(count, strength, seed):
    """Points [n, 2], and joints [n, 2] that depend on them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 2))
    return points, strength * points + rng.normal(size=(count, 2))


@pytest.mark.parametrize("strength", [0.5, 1.0, 5.0])
def test_gaussian_truth(strength):
    points, joints = draw(4000, strength, seed=0)
    truth = np.log(1 + strength**2)  # half of it for each of two coordinates
    assert information(points, joints) == pytest.approx(truth, abs=0.05)
    assert information(points @ [[2, 1], [0, 3]] + 90, joints) == pytest.approx(
        information(points, joints), abs=1e-9
    )


def test_no_information_is_below_zero_on_average():
    assert -0.4 < np.mean([information(*draw(16, 0.0, seed)) for seed in range(100)]) < 0


def test_jackknife_error_is_the_spread_over_draws():
    draws = [draw(30, 2.0, seed) for seed in range(60)]
    spread = np.std([information(*each) for each in draws])
    assert np.median([jackknife(*each)[0] for each in draws]) == pytest.approx(spread, rel=0.35)


def test_shuffles_have_their_level():
    share = np.array(
        [
            (permute(points, joints) >= information(points, joints)).mean()
            for points, joints in (draw(12, 0.0, seed) for seed in range(100))
        ]
    )
    assert (share <= 0.1).mean() <= 0.2 and share.mean() == pytest.approx(0.5, abs=0.1)
    points, joints = draw(12, 5.0, seed=0)
    assert permute(points, joints).max() < information(points, joints)


def test_components_leave_out_what_is_constant():
    rng = np.random.default_rng(0)
    assert components(np.column_stack([rng.normal(size=(20, 2)), np.ones(20)])).shape == (20, 2)
    assert components(rng.normal(size=(20, 7))).shape == (20, 3)
    assert components(np.ones((20, 3))).shape == (20, 0)
    assert information(rng.normal(size=(20, 2)), components(np.ones((20, 3)))) == 0
