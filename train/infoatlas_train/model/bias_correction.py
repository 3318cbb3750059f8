"""The gap: what the Donsker-Varadhan bound misses, told from how the reading came about.

A critic that falls short reads too little, and much of what it missed leaves traces: neighbours
that agree more than it says, norms that depend on each other, ratios that vary over product pairs,
states that last. They are gathered as *evidence*, and small networks, fitted after pretraining to
datasets of known mutual information (:mod:`infoatlas_train.fit_gap`), say how much is to be added,
and how far the sum may still be off. (At small n the gap can be less than nothing: the readout,
solved on the sample that it reads, reads too much there.) The paper has the bound alone.

Shapes: B datasets (or slices), n samples, C context samples, M shifts, D inputs a side, E evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu

from infoatlas_train.critic import donsker_varadhan, partners, sample_size, side_inputs
from infoatlas_train.kernels import (
    context_size,
    default_width,
    fourth_power,
    gaussian,
    log_ratio,
)
from infoatlas_train.refinement import gelu_slope

if TYPE_CHECKING:
    from infoatlas_train.model import Evaluation

WIDTHS = 5  # of the kernels: twice the default, and each half of the one before
FALL = 0.7  # of log-scales from one direction to the next, in the second metric
LOCAL = 2  # terms of the local values
LAGS = 1, 3, 9, 27, 81, 243  # of autocorrelations
HEADS, UNITS, DROPOUT = 4, 128, 0.1
BOUND = 4.0  # standard deviations: beyond what the fit has seen, evidence says no more


class Heads(nn.Module):
    """Networks that differ in where they started alone; what counts is their mean."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, HEADS * UNITS)
        self.second = nn.Parameter(torch.empty(HEADS, UNITS, UNITS).uniform_(-1, 1) / UNITS**0.5)
        self.bias = nn.Parameter(torch.zeros(HEADS, 1, UNITS))
        self.last = nn.Parameter(torch.zeros(HEADS, UNITS, 1))
        self.constant = nn.Parameter(torch.zeros(HEADS, 1, 1))

    def forward(self, z: Tensor) -> Tensor:
        """What each of them says of [B, E]: [HEADS, B]."""
        h = dropout(gelu(self.by_head(self.first(z))), DROPOUT, self.training)
        h = dropout(gelu(h @ self.second + self.bias), DROPOUT, self.training)
        return (h @ self.last + self.constant)[..., 0]

    def slope(self, z: Tensor) -> Tensor:
        """Slope of their mean: [B, E]. Written out, for the graph has no autograd."""
        before = self.by_head(self.first(z))
        between = gelu(before) @ self.second + self.bias
        d = (gelu_slope(between) * self.last.mT) @ self.second.mT * gelu_slope(before)
        return d.transpose(0, 1).flatten(1) @ self.first.weight / HEADS

    def by_head(self, h: Tensor) -> Tensor:
        """[B, HEADS * UNITS] -> [HEADS, B, UNITS]."""
        return h.unflatten(-1, (HEADS, UNITS)).transpose(0, 1)


@dataclass
class Found:
    """What the gap makes of a reading."""

    gap: Tensor  # [B] nats, to be added to the bound
    spread: Tensor  # [B] nats: 1.645 times it is met or exceeded by a tenth of the errors
    slope: Tensor  # [B] of the gap on the bound
    effect: Tensor  # [B, n] of each sample on the gap beside it, zero mean


class Gap(nn.Module):
    """What is to be added to the bound, how sure that is, and how it hangs on each sample."""

    mean: Tensor
    scale: Tensor

    def __init__(self, metrics: int) -> None:
        super().__init__()
        size = 11 + 9 + 2 * len(LAGS) + 1 + LOCAL + 3 * WIDTHS * metrics
        self.metrics = metrics
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))
        self.missing = Heads(size)  # nats
        self.doubt = Heads(size)  # log nats

    def forward(self, x: Tensor, y: Tensor, e: Evaluation, sequence: Tensor) -> Found:
        """Canonical x, y [B, n, D], the critic on them, and where the samples in order of time are.

        Of the evidence, what is a mean over samples counts in their effects; autocorrelations do
        not.
        """
        evidence, terms = self.evidence(x, y, e, sequence)
        slope = self.slope(evidence)
        own = slope[:, -terms.shape[-1] :]
        effect = ((terms - terms.mean(1, keepdim=True)) @ own[..., None])[..., 0]
        return Found(self.of(evidence), self.spread(evidence), slope[:, 0], effect)

    def evidence(
        self, x: Tensor, y: Tensor, e: Evaluation, sequence: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What tells of the gap [B, E], of which the last T are means of terms [B, n, T]."""
        mi, log_z = donsker_varadhan(e.joint, e.product.flatten(1))
        local, ratio = e.joint - log_z[:, None], e.product.flatten(1) - log_z[:, None]
        terms = [torch.tanh(local), torch.tanh(local / 3)]
        for metric in range(self.metrics):
            terms += neighbours(x, y, local, FALL * metric)
        each = torch.stack(terms, -1)
        traces = torch.stack([mi, *reading(x, y, e, local, ratio), *moments(x, y)], 1)
        return torch.cat([traces, persistence(x, y, sequence), each.mean(1)], 1), each

    def of(self, evidence: Tensor) -> Tensor:
        """Evidence [B, E] -> gap [B], nats."""
        return self.missing(self.bounded(evidence)).mean(0)

    def spread(self, evidence: Tensor) -> Tensor:
        """Evidence [B, E] -> spread of the errors of bound and gap [B], nats."""
        return torch.exp(self.doubt(self.bounded(evidence)).mean(0))

    def slope(self, evidence: Tensor) -> Tensor:
        """Slope of the gap on the evidence: [B, E]."""
        z = self.standardised(evidence)
        d = self.missing.slope(z.clamp(-BOUND, BOUND))
        d = d * self.scale * (1 + evidence * evidence).rsqrt()
        return torch.where(z.abs() < BOUND, d, torch.zeros_like(d))

    def bounded(self, evidence: Tensor) -> Tensor:
        return self.standardised(evidence).clamp(-BOUND, BOUND)

    def standardised(self, evidence: Tensor) -> Tensor:
        return (torch.asinh(evidence) - self.mean) * self.scale


def reading(x: Tensor, y: Tensor, e: Evaluation, local: Tensor, ratio: Tensor) -> list[Tensor]:
    """The reading of the anchor, the size of the sample, and how the ratios spread.

    local [B, n] and ratio [B, P] are what the critic says of joint and of product pairs. Bounded
    where it can be: what two nearly equal solves differ in must not tell.
    """
    log_n = torch.log(sample_size(x))[:, 0]
    log_shifts = torch.log(torch.ones_like(ratio).sum(1)) - log_n
    used = [(v.square().mean(1) > 0.5).float().sum(1) for v in (x, y)]
    anchor = donsker_varadhan(e.anchor_joint, e.anchor_product.flatten(1))
    spread = [deviation(local), deviation(e.anchor_joint)]
    return [*anchor, log_n, log_shifts, *used, *spread] + [
        torch.tanh(ratio / s).mean(1) for s in (1, 3)
    ]


def moments(x: Tensor, y: Tensor) -> list[Tensor]:
    """How norms and squares of the sides go together, and how heavy the tails are."""
    d = x.shape[-1]
    (a, x2), (b, y2) = (
        (unit_columns(torch.cat([side_inputs(v), v * v], -1)), v * v) for v in (x, y)
    )
    together = (a.mT @ b / sample_size(x)[:, :, None]).square()  # of all inputs: [B, 3D+1, 3D+1]
    own, norm = slice(d), slice(d, d + 1)
    product, square = slice(d + 1, 2 * d + 1), slice(2 * d + 1, None)
    blocks = (
        (norm, norm), (own, norm), (norm, own), (product, product),
        (own, product), (product, own), (square, square),
    )  # fmt: skip
    tails = [
        torch.log((q * q).sum((1, 2)).clamp(min=1) / q.sum((1, 2)).clamp(min=1)) for q in (x2, y2)
    ]
    return [together[:, i, j].sum((1, 2)) for i, j in blocks] + tails


def persistence(x: Tensor, y: Tensor, sequence: Tensor) -> Tensor:
    """How long states last: autocorrelations of x, of y, log of the samples' worth: [B, 2L + 1].

    What lasts looks dependent, however little the sides have to do with each other: their
    correlation spreads as that of n / (1 + 2 sum_k rho_x(k) rho_y(k)) independent samples.
    `sequence` [n] has the positions of the samples in order of time; in any other order, as that
    of independent samples, nothing lasts.
    """
    n = x.shape[1]
    lags = torch.tensor(LAGS, device=x.device)
    then = torch.arange(n, device=x.device) + lags[:, None]  # [L, n]
    within = (then < n).to(x.dtype)
    both = []
    for v in (x, y):
        v = v.index_select(1, sequence)
        v = v - v.mean(1, keepdim=True)
        products = (v[:, None] * partners(v, then.clamp(max=n - 1))).sum(-1)  # [B, L, n]
        both.append((products * within).sum(-1) / (v * v).sum((1, 2)).clamp(min=1e-6)[:, None])
    # A lag stands for those nearest to it; the lags are powers of three.
    worth = 1 + 2 * ((4 / 3 * lags) * (both[0] * both[1]).clamp(min=0)).sum(1, keepdim=True)
    return torch.cat([*both, -torch.log(worth)], 1)


def neighbours(x: Tensor, y: Tensor, local: Tensor, fall: float) -> list[Tensor]:
    """Of each sample, at each width of a kernel: the log-ratio, how many are near, what is missed.

    `local` is what the critic says. The first metric is even, the second looks at the first
    directions, by exp(-fall) a direction.
    """
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
        out += [ratio, torch.log1p(both), seen * (ratio - local)]
    return out


def deviation(v: Tensor) -> Tensor:
    """Standard deviation of [B, n]: [B]."""
    v = v - v.mean(1, keepdim=True)
    return (v * v).mean(1).clamp(min=1e-12).sqrt()


def unit_columns(v: Tensor) -> Tensor:
    """Columns of mean 0 and variance 1 (0 if constant): [B, n, k]."""
    v = v - v.mean(1, keepdim=True)
    return v * ((v * v).mean(1, keepdim=True) + 1e-3).rsqrt()
