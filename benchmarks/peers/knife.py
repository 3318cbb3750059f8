"""KNIFE: two entropies from mixtures of kernels, trained for each data set."""

from __future__ import annotations

import math

from ..extras import missing
from .training import Array, halves, mlp, train

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as error:
    raise missing(error, "train") from error


def knife(x: Array, y: Array, *, steps: int = 2000, seed: int = 0) -> float:
    """KNIFE: I = h(y) - h(y|x), both entropies from mixtures of kernels that are learned.

    Pichler et al. (2022, arXiv:2202.06618): 128 kernels with triangular factors for y, and 16 for y
    given x, whose parameters are computed by a network from x; batches of 256. The estimate is a
    difference of two bounds, and no bound.
    """
    generator = torch.Generator().manual_seed(seed)
    x, y, x_held, y_held = halves(x, y, generator)
    d, kernels = y.shape[1], 16
    each = 1 + d + d + d * (d - 1) // 2  # weight, centre, log-diagonal, below it
    start = torch.zeros(128, each)
    start[:, 1 : 1 + d] = y[torch.randint(len(y), (128,), generator=generator)]
    marginal = nn.Parameter(start)
    network = mlp(x.shape[1], kernels * each, generator)
    with torch.no_grad():
        spread = network[-1].bias.view(kernels, each)[:, 1 : 1 + d]
        spread.copy_(torch.randn(spread.shape, generator=generator))

    def entropies(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        given = network(x).view(len(x), kernels, each)
        return -_log_mixture(y, marginal[None]).mean(), -_log_mixture(y, given).mean()

    def loss() -> Tensor:
        batch = torch.randint(len(x), (min(256, len(x)),), generator=generator)
        return sum(entropies(x[batch], y[batch]))

    best = [math.inf, math.inf]

    def read() -> float:
        """Each entropy is bounded above by its own cross-entropy: the best of either."""
        best[:] = (min(a, float(b)) for a, b in zip(best, entropies(x_held, y_held), strict=True))
        return best[0] - best[1]

    train([marginal, *network.parameters()], loss, read, steps, None)
    return best[0] - best[1]


def _log_mixture(y: Tensor, parameters: Tensor) -> Tensor:
    """Log-density of y [n, d] under mixtures with parameters [n or 1, kernels, each]: [n]."""
    d = y.shape[1]
    weight, centre, log_diagonal, below = parameters.split([1, d, d, d * (d - 1) // 2], -1)
    factor = torch.diag_embed(log_diagonal.exp())  # of the precision
    row, column = torch.tril_indices(d, d, -1)
    index = torch.zeros(d, d, dtype=torch.long)
    index[row, column] = torch.arange(len(row))
    if len(row):
        lower = below[..., index.flatten()].unflatten(-1, (d, d)).tril(-1)
        factor = factor + lower
    e = (factor @ (y[:, None] - centre)[..., None]).squeeze(-1)
    log_kernel = log_diagonal.sum(-1) - 0.5 * e.square().sum(-1) - d / 2 * math.log(2 * math.pi)
    return torch.logsumexp(log_kernel + weight.squeeze(-1).log_softmax(-1), -1)
