"""InfoNCE: a critic, trained for each data set, classifies the partner of a sample."""

from __future__ import annotations

import math

from ..extras import missing
from .training import Array, halves, linear, train

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as error:
    raise missing(error, "train") from error


def infonce(x: Array, y: Array, *, steps: int = 1500, seed: int = 0) -> float:
    """InfoNCE: a critic classifies the partner of a sample among its batch.

    Van den Oord, Li and Vinyals (2018, arXiv:1807.03748) as a bound of mutual information, with a
    critic of both sides as in Czyż et al. (2023), batches of 128. It cannot exceed log 128 = 4.9.
    """
    generator = torch.Generator().manual_seed(seed)
    x, y, x_held, y_held = halves(x, y, generator)
    # The first layer is linear in each side, so it runs once a sample and not once a pair.
    from_x, from_y = linear(x.shape[1], 64, generator), linear(y.shape[1], 64, generator)
    rest = nn.Sequential(nn.ReLU(), linear(64, 64, generator), nn.ReLU(), linear(64, 1, generator))

    def bound(x: Tensor, y: Tensor) -> Tensor:
        table = rest(from_x(x)[:, None] + from_y(y)).squeeze(-1)  # [batch of x, batch of y]
        return (table.diagonal() - torch.logsumexp(table, 1)).mean() + math.log(len(x))

    def loss() -> Tensor:
        batch = torch.randint(len(x), (min(128, len(x)),), generator=generator)
        return -bound(x[batch], y[batch])

    def read() -> float:
        parts = [part for part in torch.arange(len(x_held)).split(128) if len(part) == 128]
        parts = parts or [torch.arange(len(x_held))]
        return float(torch.stack([bound(x_held[part], y_held[part]) for part in parts]).mean())

    parameters = nn.ModuleList([from_x, from_y, rest]).parameters()
    return train(parameters, loss, read, steps, None)
