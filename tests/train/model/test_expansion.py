"""A larger network that starts from a smaller one has the same outputs."""

from dataclasses import replace

import pytest
import torch

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.model.expansion import expanded
from infoatlas_train.model.hypernetwork import Hypernetwork
from infoatlas_train.model.infoatlas import InfoAtlas
from refusals import fails

SMALL = HypernetworkConfig(
    dim=3, width=16, heads=2, joint_latents=4, units=6, features=12, metrics=1, widths=2
)


@pytest.fixture
def small():
    """A network without zero weights, as after training."""
    torch.manual_seed(0)
    network = Hypernetwork(SMALL).eval()
    with torch.no_grad():
        for values in network.parameters():
            values.add_(0.05 * torch.randn_like(values))
    return network


def grown(small, **changes):
    large = replace(SMALL, **changes)
    network = Hypernetwork(large).eval()
    network.load_state_dict(expanded(small.state_dict(), SMALL, large))
    return network


def samples(dim=3, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 40, 3, generator=generator)
    pad = torch.zeros(2, 40, dim - 3)
    return torch.cat([x, pad], 2), torch.cat([0.8 * x + 0.6 * torch.tanh(x.roll(1, 1)), pad], 2)


@pytest.mark.parametrize("dim", [3, 4, 7])
def test_a_wider_network_keeps_outputs_for_narrow_data(small, dim):
    """The complete model, on samples without the new coordinates."""
    models = []
    for network, data in ((small, samples()), (grown(small, dim=dim), samples(dim))):
        model = InfoAtlas(network.config).eval()
        model.hypernetwork = network
        with torch.no_grad():
            models.append(model(*data, torch.tensor([1, 7, 20])))
    for before, after in zip(*models, strict=True):
        torch.testing.assert_close(after, before, atol=2e-4, rtol=1e-3)


def test_new_inputs_have_a_gradient(small):
    """They initially have no effect on the tokens, but a gradient."""
    network = grown(small, dim=4)
    first = network.pair_embedding[0].weight
    theta = network(*samples(4))
    network(*[s + 0.1 for s in samples(4)]).ridge.sum().backward()
    assert (first[:, 3] == 0).all() and (first.grad[:, 3] != 0).any()
    assert theta.side_x[0].shape == (2, 10, 6)


def test_old_features_stay_beside_new_ones(small):
    """Row j of token i, with two rows per token before and five afterwards."""
    before, after = small(*samples()), grown(small, features=30)(*samples())
    old = (torch.arange(6)[:, None] * 5 + torch.arange(2)).flatten()
    for name in ("side_x", "side_y"):
        a, b = getattr(before, name), getattr(after, name)
        torch.testing.assert_close(b[0], a[0])
        torch.testing.assert_close(b[2][:, :, old], a[2])
    torch.testing.assert_close(after.bias[:, :, old], before.bias)
    mix = after.mix[:, :, old]
    torch.testing.assert_close(mix[:, torch.cat([old, torch.tensor([30])])], before.mix)
    new = torch.tensor([i for i in range(30) if i not in old])
    assert (mix[:, new] == 0).all()
    assert (after.side_x[2][:, :, new].std(1) > 0.01).all()


def test_more_metrics_and_rounds_keep_the_first_metric(small):
    before, after = small(*samples()), grown(small, metrics=2, refinements=3)(*samples())
    torch.testing.assert_close(after.metric[:, 0], before.metric[:, 0])
    torch.testing.assert_close(after.side_y[1], before.side_y[1])
    assert after.metric.shape[1] == 2 and before.rate is None
    assert after.rate.shape[1:] == (3, 8, 12) and (after.rate > 0).all()


@pytest.mark.parametrize(
    "changes, message",
    [({"dim": 2}, "dim is 3 in the start and 2 after it: it can only grow"),
     ({"width": 32}, "width is 16 in the start and 32 after it: of a network only dim, features"),
     ({"widths": 3}, "widths is 2 in the start")],
)  # fmt: skip
def test_invalid_expansions_are_refused(small, changes, message):
    fails(ValueError, message, expanded, small.state_dict(), SMALL, replace(SMALL, **changes))
