"""A stored critic: the same maps and weights for new pairs."""

import numpy as np
import pytest

from infoatlas_rt import Estimator, InputError, ModelError
from infoatlas_rt.estimation import canonical, critic as critic_module, shuffling
from infoatlas_rt.estimation.critic import FOLDER, Critic, Side, _gelu, start_session


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1)


def linear(n, seed, rho=0.8, d=2):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))


def truth(x, y, rho=0.8):
    """Local information of the pairs of `linear`."""
    apart = x * x + y * y - 2 * rho * x * y
    each = -0.5 * np.log(1 - rho**2) - apart / (2 * (1 - rho**2)) + (x * x + y * y) / 2
    return each.sum(axis=1)


def test_new_pairs_have_their_local_information(estimator):
    critic = estimator.critic(*linear(800, 0))
    x, y = linear(500, 1)
    found, expected = critic.pointwise(x, y), truth(x, y)
    assert found.mean() == pytest.approx(expected.mean(), abs=0.1)
    assert np.corrcoef(found, expected)[0, 1] > 0.95
    assert critic.mi == pytest.approx(expected.mean(), abs=0.15)
    # Pairs that do not belong together.
    assert critic.pointwise(x, np.roll(y, 7, axis=0)).mean() < -1


def test_the_maps_are_frozen(estimator):
    """The value of a pair is the same alone, among others, and in other units."""
    critic = estimator.critic(*linear(300, 2))
    x, y = linear(20, 3)
    together = critic.pointwise(x, y)
    alone = np.concatenate([critic.pointwise(x[i : i + 1], y[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    assert np.isfinite(critic.pointwise(1e6 * x, -1e6 * y)).all()


@pytest.mark.parametrize(
    "options", [{}, {"k": 3, "slices": 4}, {"k": 3, "slices": 4, "sides": "x"}]
)
def test_the_sample_itself_enters_as_the_estimator_has_it(options):
    """In its own sample the table of ranks gives the ranks, so canonical forms agree."""
    rng = np.random.default_rng(4)
    x = np.round(rng.standard_normal((200, 4)), 1)  # with ties
    y = x[:, :3] ** 3 + rng.standard_normal((200, 3))
    estimator = Estimator(threads=1, **options)
    entered = estimator.prepare(x, y)
    expected = canonical.canonicalise(*entered.slices(slice(0, entered.plan.slices)), 5)
    critic = estimator.critic(x, y)
    for side, samples, wanted in ((critic.x, x, expected.x), (critic.y, y, expected.y)):
        np.testing.assert_allclose(side(samples[entered.order]), wanted, atol=1e-5)


def test_evaluated_as_the_graph_does(estimator):
    """The mean over the sample, computed in NumPy, is the bound that the graph computes."""
    x, y = linear(400, 5)
    critic = estimator.critic(x, y)
    assert critic.pointwise(x, y).mean() == pytest.approx(critic.mi, abs=1e-4)


def test_a_subset_of_many_pairs(estimator):
    critic = estimator.critic(*linear(4000, 6))
    assert critic.x.sorted.shape == (1, 2, 1500)
    again = estimator.critic(*linear(4000, 6))
    assert again.mi == critic.mi


def test_no_product_pair_within_a_group(estimator, monkeypatch):
    """Also for a subset, with the largest group of the subset."""
    sizes = [600, 500, 400, 300, 200]
    groups = np.repeat(np.arange(5), sizes)
    x, y = linear(2000, 7)
    seen = {}

    def shuffle(n, shifts, seed, labels):
        order, place, offsets = shuffling.shuffle(n, shifts, seed, labels)
        seen.update(owner=labels[order], shifts=offsets)
        return order, place, offsets

    monkeypatch.setattr(critic_module, "shuffle", shuffle)
    estimator.critic(x, y, groups=groups)
    assert len(seen["owner"]) == 1500
    for shift in seen["shifts"]:
        assert (seen["owner"] != np.roll(seen["owner"], shift)).all()


def test_the_identity_of_trajectories_has_little_effect(estimator):
    """Each trajectory and side has an independent goal: the true local information is zero."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(25), 30)
    goals = rng.standard_normal((2, 25))[:, groups]
    x, y = np.stack([goals, rng.standard_normal((2, 750))], axis=2)
    assert estimator.estimate(x, y).mi > 0.5
    assert estimator.critic(x, y).mi < 0.15
    assert estimator.critic(x, y, groups=groups).mi < 0.15


def test_saved_and_loaded(estimator, tmp_path):
    x, y = linear(100, 8)
    for made in (estimator, Estimator(threads=1, k=1, slices=3)):
        critic = made.critic(x, y)
        critic.save(tmp_path / "critic.npz")
        loaded = Critic.load(tmp_path / "critic.npz")
        np.testing.assert_array_equal(loaded.pointwise(x, y), critic.pointwise(x, y))
        assert loaded.model == critic.model
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("other.npz", "text.npz"):
        with pytest.raises(InputError, match="no critic that was saved"):
            Critic.load(tmp_path / name)
    with pytest.raises(InputError, match=r"none.npz does not exist: check the path"):
        Critic.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (np.zeros((100, 2)), np.ones((100, 2)), "x is constant"),
        (np.zeros((99, 2)), np.ones((100, 2)), "99 samples and y has 100"),
        (np.eye(4), np.eye(4), "at least"),
    ],
)
def test_invalid_samples_are_refused(estimator, x, y, expected):
    with pytest.raises(InputError, match=expected):
        estimator.critic(x, y)


def test_invalid_new_pairs_are_refused(estimator):
    critic = estimator.critic(*linear(100, 9))
    with pytest.raises(InputError, match=r"x has 3 coordinates.*for 2"):
        critic.pointwise(np.zeros((5, 3)), np.zeros((5, 2)))
    with pytest.raises(InputError, match="pass pairs"):
        critic.pointwise(np.zeros((5, 2)), np.zeros((4, 2)))


def test_a_model_without_such_a_graph():
    with pytest.raises(ModelError, match="use model='edge'"):
        Estimator("base", threads=1).critic(*linear(100, 10))


def test_the_shipped_graph_is_of_the_shipped_model(estimator):
    metadata = start_session((FOLDER / "edge.onnx").read_bytes()).get_modelmeta()
    assert metadata.custom_metadata_map["infoatlas.version"] == estimator.model_file.version
    assert metadata.custom_metadata_map["infoatlas.dim"] == str(estimator.model_file.dim)


def test_gelu():
    from scipy.special import ndtr

    x = np.linspace(-9, 9, 400)
    np.testing.assert_allclose(_gelu(x), x * ndtr(x), atol=1e-6)


def test_a_constant_coordinate_changes_nothing(estimator):
    x, y = linear(150, 11)
    wide = np.column_stack([x, np.full(150, 3.0)])
    critic = estimator.critic(wide, y)
    assert isinstance(critic.x, Side)
    plain = estimator.critic(x, y)
    np.testing.assert_allclose(critic.pointwise(wide, y), plain.pointwise(x, y), atol=1e-5)
