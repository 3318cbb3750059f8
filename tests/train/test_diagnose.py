"""The critic with a correction that is exported for the C++ engine."""

import torch

from infoatlas_train import diagnose
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas


def test_any_correction_has_weights_that_the_export_does_not_fold():
    model = InfoAtlas(PRESETS["tiny"])
    state = torch.random.get_rng_state()
    whole = diagnose.with_any_correction(model, 2)
    assert torch.equal(torch.random.get_rng_state(), state)
    weights = whole.gap.state_dict().values()
    assert all((v != 0).any() and (v != 1).any() for v in weights)
    for name, values in model.hypernetwork.state_dict().items():
        assert torch.equal(whole.hypernetwork.state_dict()[name], values), name
