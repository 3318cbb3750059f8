"""Objectives of a localiser of key states in place of our estimate: MINE and a Gaussian copula.

Functions of pooled pairs x, y [n, d] (torch) and the number of the step: nats, with gradients.
"""

from collections.abc import Callable

from ..extras import needs
from .trained import LEARNING_RATE, mlp

with needs("train"):
    import torch
    from torch import Tensor

SHRINKAGE = 0.1  # of the covariance, to the identity: there are more coordinates than pairs
SOFTNESS = 0.1  # standard deviations over which a rank is smoothed


def mine(steps: int) -> Callable[[Tensor, Tensor, int], Tensor]:
    """A critic, trained for `steps` steps at every step of the localiser, and then constant.

    As in the paper ("MINE-100 denotes training MINE for 100 iterations"). All pairs are one
    batch, and the product of marginals permutes them anew in each iteration.
    """

    def information(x: Tensor, y: Tensor, step: int) -> Tensor:
        generator = torch.Generator().manual_seed(step)
        critic = mlp(x.shape[1] + y.shape[1], 1, generator)
        optimiser = torch.optim.Adam(critic.parameters(), lr=LEARNING_RATE)

        def bound(x: Tensor, y: Tensor) -> Tensor:
            other = y[torch.randperm(len(y), generator=generator)]
            joint = critic(torch.cat([x, y], 1)).mean()
            product = critic(torch.cat([x, other], 1))[:, 0]
            return joint - torch.logsumexp(product, 0) + torch.log(torch.tensor(float(len(y))))

        fixed = x.detach(), y.detach()
        for _ in range(steps):
            optimiser.zero_grad()
            (-bound(*fixed)).backward()
            optimiser.step()
        return bound(x, y)

    return information


def gaussian_copula(x: Tensor, y: Tensor, step: int) -> Tensor:
    """Gaussian mutual information of the normal scores of soft ranks, covariance shrunk."""
    both = torch.cat([x, y], 1)
    scaled = (both - both.mean(0)) / (both.std(0) + 1e-6)
    above = torch.sigmoid((scaled[:, None] - scaled[None]) / SOFTNESS)  # [n, n, d]
    scores = torch.special.ndtri(above.mean(1).clamp(1e-3, 1 - 1e-3))
    scores = (scores - scores.mean(0)) / (scores.std(0) + 1e-3)
    covariance = (1 - SHRINKAGE) * scores.T @ scores / len(both)
    covariance = covariance + SHRINKAGE * torch.eye(len(covariance))
    d = x.shape[1]
    sides = torch.logdet(covariance[:d, :d]) + torch.logdet(covariance[d:, d:])
    return 0.5 * (sides - torch.logdet(covariance))
