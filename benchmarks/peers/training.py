"""Common parts of MINE, InfoNCE and KNIFE: networks, halves of the samples, training.

They are written in torch from their papers, because no library on the package index maintains them.
They are trained for each data set. All standardise each coordinate, train on a random half of the
samples and are evaluated on the other half. The estimate is the largest value during training, as
in Czyż et al. (2023). It is a lower bound up to its noise, and overfitting does not reduce it. No
code is shared with the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..extras import missing

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as error:
    raise missing(error, "train") from error

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
