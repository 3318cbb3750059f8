"""Training uses the runtime's preprocessing, in torch."""

import numpy as np
import pytest
import torch

from infoatlas_rt.estimation.canonical import canonicalise


@pytest.mark.parametrize("ties", [False, True])
def test_torch_gives_the_canonical_form_of_numpy(ties):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 200, 4)), rng.standard_normal((4, 200, 2))
    y += 0.7 * x[..., :2]
    if ties:
        x[..., 1] = x[..., 1].round()
    a, b = canonicalise(x, y, 5), canonicalise(torch.tensor(x), torch.tensor(y), 5)
    np.testing.assert_allclose(a.x, b.x.numpy(), atol=1e-5)
    np.testing.assert_allclose(a.y, b.y.numpy(), atol=1e-5)
