"""The trained peers learn on a curve, and repeat."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from draws import gaussian

from benchmarks.peers.trained import _log_mixture, infonce, knife, mine

# Short trainings, because the tests only check that the peers learn.
SHORT = {
    "mine": partial(mine, steps=300),
    "infonce": partial(infonce, steps=220),
    "knife": partial(knife, steps=400),
}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", SHORT)
def test_detects_dependence_without_correlation(name):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (2000, 1))
    y = x**2 + 0.1 * rng.standard_normal(x.shape)
    # h(y) from a histogram of many draws, minus the entropy of the noise.
    many = rng.uniform(-1, 1, 10**6) ** 2 + 0.1 * rng.standard_normal(10**6)
    share, edges = np.histogram(many, 300, density=True)
    share = share[share > 0]
    truth = -(share * np.log(share)).sum() * (edges[1] - edges[0])
    truth -= 0.5 * math.log(2 * math.pi * math.e * 0.01)
    assert SHORT[name](x, y) == pytest.approx(truth, abs=0.2)


@pytest.mark.parametrize("name", SHORT)
def test_same_seed_same_value(name):
    train = partial(SHORT[name].func, steps=20)
    x, y = gaussian(0.5, 2, 400, 0)
    state = torch.random.get_rng_state()
    assert train(x, y) == train(x, y)
    assert train(x, y, seed=1) != train(x, y)
    assert torch.equal(torch.random.get_rng_state(), state)  # the global random state is unchanged


def test_mine_by_the_clock():
    x, y = gaussian(0.5, 2, 1000, 0)
    assert np.isfinite(mine(x, y, steps=None, seconds=0.1))


@pytest.mark.parametrize("d", [1, 3])
def test_mixture_density(d):
    """Comparison with torch's own density of the same parameters."""
    generator = torch.Generator().manual_seed(0)
    parameters = torch.randn(1, 4, 1 + 2 * d + d * (d - 1) // 2, generator=generator)
    y = torch.randn(50, d, generator=generator)
    weight, centre, log_diagonal, below = parameters[0].split([1, d, d, d * (d - 1) // 2], -1)
    factor = torch.diag_embed(log_diagonal.exp())
    row, column = torch.tril_indices(d, d, -1)
    factor[:, row, column] = below
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(logits=weight[:, 0]),
        torch.distributions.MultivariateNormal(centre, precision_matrix=factor.mT @ factor),
    )
    assert torch.allclose(_log_mixture(y, parameters), mixture.log_prob(y), atol=1e-4)
