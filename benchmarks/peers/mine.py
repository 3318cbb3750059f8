"""MINE: a critic, trained for each data set, maximises the Donsker-Varadhan bound."""

from __future__ import annotations

import math

from ..extras import missing
from .training import Array, halves, mlp, train

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    raise missing(error, "train") from error

PRODUCT_COPIES = 20  # of the held-out half, for the product of marginals


def mine(
    x: Array, y: Array, *, steps: int | None = 1000, seconds: float | None = None, seed: int = 0
) -> float:
    """MINE: a critic maximises the Donsker-Varadhan bound.

    Belghazi et al. (2018, arXiv:1801.04062), with its correction of the gradient's bias by a moving
    average, two hidden layers of 100, batches of 512. With a limit of seconds, the result depends
    on the machine.
    """
    generator = torch.Generator().manual_seed(seed)
    x, y, x_held, y_held = halves(x, y, generator)
    critic = mlp(x.shape[1] + y.shape[1], 1, generator)
    average = None

    def loss() -> Tensor:
        nonlocal average
        batch = torch.randint(len(x), (min(512, len(x)),), generator=generator)
        other = torch.randint(len(x), batch.shape, generator=generator)
        joint = critic(torch.cat([x[batch], y[batch]], 1)).mean()
        weight = critic(torch.cat([x[batch], y[other]], 1)).exp().mean()
        now = weight.detach()
        average = now if average is None else 0.99 * average + 0.01 * now
        return weight / average - joint

    def read() -> float:
        joint = critic(torch.cat([x_held, y_held], 1)).mean()
        turns = torch.linspace(1, len(x_held) - 1, PRODUCT_COPIES).long().tolist()
        product = torch.cat([critic(torch.cat([x_held, y_held.roll(t, 0)], 1)) for t in turns])
        return float(joint - torch.logsumexp(product, 0).squeeze() + math.log(len(product)))

    return train(critic.parameters(), loss, read, steps, seconds)
