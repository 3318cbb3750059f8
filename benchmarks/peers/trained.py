"""Estimators that are trained for each data set: MINE, InfoNCE and KNIFE.

They are written in torch from their papers, because no library on the package index maintains them.
All standardise each coordinate, train on a random half of the samples and are evaluated on the
other half. The estimate is the largest value during training, as in Czyż et al. (2023). It is a
lower bound up to its noise, and overfitting does not reduce it. No code is shared with the library.
"""

import math
from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..extras import needs

with needs("train"):
    import torch
    from torch import Tensor, nn

Array = NDArray[np.floating]

WIDTH = 100  # of two hidden layers, as in MINE's paper
LEARNING_RATE = 1e-3
READ_EVERY = 100  # steps


def train(
    parameters: Iterable[nn.Parameter],
    loss: Callable[[], Tensor],
    read: Callable[[], float],
    steps: int | None,
    seconds: float | None,
) -> float:
    """Train with Adam for some steps or seconds; returns the largest value."""
    optimiser = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    start, step, best = perf_counter(), 0, -math.inf
    while True:
        last = step == steps or (seconds is not None and perf_counter() - start > seconds)
        if last or (step and step % READ_EVERY == 0):
            with torch.no_grad():
                best = max(best, read())
        if last:
            return best
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
        step += 1


def halves(x: Array, y: Array, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Standardised x, y of the half that trains and of the half that is held out."""
    order = torch.randperm(len(x), generator=generator)
    half = len(x) // 2
    sides = [
        torch.from_numpy(((side - side.mean(0)) / side.std(0)).astype(np.float32))[order]
        for side in (x, y)
    ]
    return (*(side[:half] for side in sides), *(side[half:] for side in sides))


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer with torch's initialisation from the given generator."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -(inputs**-0.5), inputs**-0.5, generator=generator)
    return layer


def mlp(inputs: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    return nn.Sequential(
        linear(inputs, WIDTH, generator),
        nn.ReLU(),
        linear(WIDTH, WIDTH, generator),
        nn.ReLU(),
        linear(WIDTH, outputs, generator),
    )


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
