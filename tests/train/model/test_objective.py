"""The meta-objective: the paper's objective, its held-out form, and padding with noise."""

import dataclasses
import math

import pytest
import torch

from infoatlas_train.config import PRESETS
from infoatlas_train.data.atlas import Atlas
from infoatlas_train.model.critic import donsker_varadhan
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.model.objective import OBJECTIVES, canonical_datasets, held_out_dv, losses

SHIFTS = torch.arange(1, 7)
# The paper's generator, padding and readout, with small sizes.
MLP = {"generator_layers": 3, "generator_width": 48}
PAPER = dataclasses.replace(PRESETS["tiny"], readout="generated", padding="noise", **MLP)


@pytest.fixture(scope="module")
def data():
    torch.manual_seed(0)
    return Atlas().sample(16, 64)


def test_held_out_dv_of_the_true_ratio_is_the_information():
    torch.manual_seed(1)
    rho = 0.8
    x = torch.randn(4, 4000, 1)
    y = rho * x + math.sqrt(1 - rho**2) * torch.randn_like(x)

    def log_ratio(x, y):
        quadratic = (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (1 - rho**2)
        return (-0.5 * (math.log(1 - rho**2) + quadratic))[..., 0]

    truth = torch.full((4,), -0.5 * math.log(1 - rho**2))
    torch.testing.assert_close(held_out_dv(log_ratio, x, y), truth, atol=0.06, rtol=0)
    # Any other critic is a lower bound, and adding a constant to it has no effect.
    assert (held_out_dv(lambda x, y: 0.5 * log_ratio(x, y) + 3, x, y) < truth - 0.05).all()


def test_in_sample_dv_is_the_readout(data):
    torch.manual_seed(2)
    model = InfoAtlas(PRESETS["tiny"])
    with torch.no_grad():
        x, y, *_ = canonical_datasets(data, 5, 64)
        e = model.critic(x, y, SHIFTS)
        mi, _ = donsker_varadhan(e.joint, e.product.flatten(1))
        parts = {o: losses(model, data, SHIFTS, o) for o in OBJECTIVES}
    torch.testing.assert_close(parts["in-sample-dv"]["loss"], -mi.mean())
    # The readout is solved on its sample: on others the bound is smaller.
    assert parts["held-out-dv"]["loss"] > parts["in-sample-dv"]["loss"]
    for other in OBJECTIVES[1:]:  # reported values do not depend on the objective
        torch.testing.assert_close(parts[other]["error"], parts["distilled"]["error"])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_form_of_the_paper_learns_from_each_objective(data, objective):
    """Noise padding and an MLP generator: the loss decreases in some steps on one batch."""
    torch.manual_seed(3)
    model = InfoAtlas(PAPER)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    curve = []
    for _ in range(16):
        torch.manual_seed(4)  # the same noise again
        loss = losses(model, data, SHIFTS, objective)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    assert curve[-1] < curve[0] - 0.05
    layers = [m for m in model.hypernetwork.generation.mlp.modules() if hasattr(m, "in_features")]
    assert len(layers) == 3 and all(m.weight.grad.abs().max() > 0 for m in layers)


def test_noise_replaces_only_missing_coordinates():
    torch.manual_seed(5)
    data = Atlas(families={"canonical": 1.0}).sample(24, 64)  # (codes of labels can be collinear)
    zeros, noise = (canonical_datasets(data, 5, 64, padding) for padding in ("zeros", "noise"))
    for before, after in zip(zeros, noise, strict=True):
        used = (before[:, :, -1] != 0).any(1)  # sides of full width
        assert used.any() and not used.all()
        assert (before[~used][..., -1] == 0).all()
        assert after[~used].std(1).min() > 0.5
    # If both sides have full width, padding has no effect.
    whole = ((zeros[0][..., -1] != 0) & (zeros[1][..., -1] != 0)).any(1)
    assert whole.any()
    for before, after in zip(zeros, noise, strict=True):
        assert torch.equal(before[whole], after[whole])
