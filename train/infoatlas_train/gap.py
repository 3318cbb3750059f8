"""The gap: what the Donsker-Varadhan bound misses, told from how the reading came about.

A critic that falls short reads too little, and much of what it missed leaves traces: neighbours
that agree more than it says, norms that depend on each other, ratios that vary over product pairs.
They are gathered as *evidence*, and a small network, fitted after pretraining to datasets of known
mutual information (:mod:`infoatlas_train.fit_gap`), says how much is to be added. (At small n it
can be less than nothing: the readout, solved on the sample that it reads, reads too much there.)
The paper has the bound alone.

Shapes: B datasets (or slices), n samples, C context samples, M shifts, D inputs a side, E evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from infoatlas_train.critic import donsker_varadhan, sample_size, side_inputs
from infoatlas_train.kernels import (
    context_size,
    default_width,
    fourth_power,
    gaussian,
    log_ratio,
)

if TYPE_CHECKING:
    from infoatlas_train.model import Evaluation

WIDTHS = 5  # of the kernels: twice the default, and each half of the one before
FALL = 0.7  # of log-scales from one direction to the next, in the second metric
UNITS, DROPOUT = 64, 0.1
BOUND = 4.0  # standard deviations: beyond what the fit has seen, evidence says no more


class Gap(nn.Module):
    """Evidence [B, E] -> what is to be added to the bound [B], nats."""

    mean: Tensor
    scale: Tensor

    def __init__(self, metrics: int) -> None:
        super().__init__()
        size = 13 + 9 + 3 * WIDTHS * metrics
        self.metrics = metrics
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))
        self.layers = nn.Sequential(
            nn.Linear(size, UNITS), nn.GELU(), nn.Dropout(DROPOUT),
            nn.Linear(UNITS, UNITS), nn.GELU(), nn.Dropout(DROPOUT),
            nn.Linear(UNITS, 1),
        )  # fmt: skip
        nn.init.zeros_(self.layers[-1].weight)
        nn.init.zeros_(self.layers[-1].bias)

    def forward(self, evidence: Tensor) -> Tensor:
        known = ((torch.asinh(evidence) - self.mean) * self.scale).clamp(-BOUND, BOUND)
        return self.layers(known)[:, 0]

    def evidence(self, x: Tensor, y: Tensor, e: Evaluation) -> Tensor:
        """What tells of the gap: canonical x, y [B, n, D] and the critic on them -> [B, E]."""
        traces = reading(x, y, e) + moments(x, y)
        for metric in range(self.metrics):
            traces += neighbours(x, y, e, FALL * metric)
        return torch.stack(traces, 1)


def reading(x: Tensor, y: Tensor, e: Evaluation) -> list[Tensor]:
    """The reading itself, that of the anchor, and how the ratios spread.

    Bounded where it can be: what two nearly equal solves differ in must not tell.
    """
    product, anchor_product = e.product.flatten(1), e.anchor_product.flatten(1)
    mi, log_z = donsker_varadhan(e.joint, product)
    local, ratio = e.joint - log_z[:, None], product - log_z[:, None]
    log_n = torch.log(sample_size(x))[:, 0]
    log_shifts = torch.log(torch.ones_like(product).sum(1)) - log_n
    used = [(v.square().mean(1) > 0.5).float().sum(1) for v in (x, y)]
    known = [mi, *donsker_varadhan(e.anchor_joint, anchor_product), log_n, log_shifts, *used]
    spread = [deviation(local), deviation(e.anchor_joint)]
    bounded = [torch.tanh(v / s).mean(1) for v in (local, ratio) for s in (1, 3)]
    return known + spread + bounded


def moments(x: Tensor, y: Tensor) -> list[Tensor]:
    """How norms and squares of the sides go together, and how heavy the tails are."""
    d = x.shape[-1]
    (a, x2), (b, y2) = (
        (standardised(torch.cat([side_inputs(v), v * v], -1)), v * v) for v in (x, y)
    )
    together = (a.mT @ b / sample_size(x)[:, :, None]).square()  # of all inputs: [B, 3D+1, 3D+1]
    own, norm = slice(d), slice(d, d + 1)
    product, square = slice(d + 1, 2 * d + 1), slice(2 * d + 1, None)
    blocks = (
        (norm, norm), (own, norm), (norm, own), (product, product),
        (own, product), (product, own), (square, square),
    )  # fmt: skip
    tails = [torch.log((q * q).sum((1, 2)) / q.sum((1, 2)).clamp(min=1)) for q in (x2, y2)]
    return [together[:, i, j].sum((1, 2)) for i, j in blocks] + tails


def neighbours(x: Tensor, y: Tensor, e: Evaluation, fall: float) -> list[Tensor]:
    """At each width of a kernel: the mean log-ratio, how many are near, what the critic misses.

    The first metric is even, the second looks at the first directions, by exp(-fall) a direction.
    """
    local = e.joint - donsker_varadhan(e.joint, e.product.flatten(1))[1][:, None]
    c = context_size(x.shape[1])
    position = torch.arange(x.shape[1], device=x.device)
    others = (position[:, None] != position[None, :c]).to(x.dtype)
    direction = torch.arange(x.shape[-1], device=x.device)
    scale = torch.exp((-fall * direction).clamp(min=-3)) / (2 * default_width(x, y)[:, :, None])
    kx, ky = (gaussian(v * scale, v[:, :c] * scale) * others for v in (x, y))
    out = []
    for i in range(WIDTHS):
        if i:
            kx, ky = fourth_power(kx), fourth_power(ky)
        both = (kx * ky).sum(-1)  # [B, n]
        ratio = log_ratio(both, kx.sum(-1), ky.sum(-1), c)
        seen = both / (both + 1)
        out += [ratio.mean(1), torch.log1p(both).mean(1), (seen * (ratio - local)).mean(1)]
    return out


def deviation(v: Tensor) -> Tensor:
    """Standard deviation of [B, n]: [B]."""
    v = v - v.mean(1, keepdim=True)
    return (v * v).mean(1).clamp(min=1e-12).sqrt()


def standardised(v: Tensor) -> Tensor:
    """Columns of mean 0 and variance 1 (0 if constant): [B, n, k]."""
    v = v - v.mean(1, keepdim=True)
    return v * ((v * v).mean(1, keepdim=True) + 1e-3).rsqrt()
