"""Kernel log-ratios: what the neighbours of a pair say, as features beside the generated ones.

A generated layer has to find the form of a dependence; neighbours show any form, if there are
enough of them. For a pair (x, y) and a Gaussian kernel k

    log( (sum_k k(x - x_k) k(y - y_k) + a) / (sum_k k(x - x_k) sum_k k(y - y_k) / C + a) )

compares how many of C context samples lie near in both sides with how many would if the sides were
independent; a pseudo-count a draws it to zero where there are few. No sample counts as a neighbour
of its own, so that the features are honest on the sample that the readout is solved on. (A product
pair leaves out two samples where a joint pair leaves out one, which costs it about 1/n.) The
hypernetwork writes the metrics; each is used at several widths. The solve decides how far to go by
them. (The estimate of Moon, Rajagopalan and Lall, 1995, made of the same kernels, is what results
if it gives one of them the coefficient one, and nothing else.)

Shapes: B datasets (or slices), n samples, C context samples, M shifts, D inputs a side, K features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from infoatlas_train.critic import partners, sample_size

PSEUDO_COUNT = 0.3
# Context samples times samples, at most: beyond it the first samples stand for all (they enter
# shuffled), and memory stays linear in n. Beyond n = 5,000 the context shrinks, and with it what
# neighbours can tell.
BUDGET = 5_120_000
CONTEXT, TRAINING_CONTEXT = 1024, 320
# Kernel values and products of two of them stay above the smallest normal float32 number, 1.2e-38:
# arithmetic with denormal ones is many times slower, and nothing depends on sums that small.
FARTHEST = 43.0  # exp(-43) = 2.1e-19
LEAST = 2.1e-5  # its fourth power is 1.9e-19


def context_size(n: int, most: int = CONTEXT) -> int:
    """How many of n samples are context."""
    return torch.sym_min(n, torch.sym_min(most, 1 + BUDGET // n))


def default_width(x: Tensor, y: Tensor) -> Tensor:
    """n^(-1/(d+4)), d the dimensions of both canonical sides: [B, 1]. As a rule of thumb has it."""
    used = (torch.cat([x, y], -1).square().mean(1) > 0.5).float().sum(-1, keepdim=True)
    return torch.exp(-torch.log(sample_size(x)) / (used + 4))


@dataclass
class Kernels:
    """A sample in each of its metrics, of which the first `context` samples are context."""

    x: list[Tensor]  # [B, n, D] of each metric, in units of its widest kernel
    y: list[Tensor]
    scale: Tensor  # [B, metrics, 2, D]
    context: int
    widths: int

    @classmethod
    def of(cls, x: Tensor, y: Tensor, metric: Tensor, widths: int, most: int = CONTEXT) -> Kernels:
        """From a canonical sample [B, n, D] x 2, and the log-scales [B, metrics, 2, D].

        Each metric is used at so many `widths`: 1, 1/2, 1/4, ...
        """
        scale = torch.exp(metric) / default_width(x, y)[:, :, None, None]
        return cls(*_scaled(x, y, scale), scale, context_size(x.shape[1], most), widths)

    def inside(self, partner: Tensor) -> Tensor:
        """Features of the pairs (i, partner[m, i]) of the sample itself: [B, M, n, K].

        They are constants in training: the metrics learn from pairs outside, where the same sums
        take no gather and a fraction of the time.
        """
        n, c = self.x[0].shape[1], self.context
        position = torch.arange(n, device=partner.device)
        others = (position[:, None] != position[None, :c]).to(self.x[0].dtype)  # [n, C]
        rows = partner.mT  # [n, M]
        out = []
        for x, y in zip(self.x, self.y, strict=True):
            x, y = x.detach(), y.detach()
            kx, ky = gaussian(x, x[:, :c]) * others, gaussian(y, y[:, :c]) * others
            for width in range(self.widths):
                if width:
                    kx, ky = fourth_power(kx), fourth_power(ky)
                theirs = partners(ky, rows)  # [B, n, M, C]
                both = (theirs @ kx[..., None])[..., 0]
                near_y = partners(ky.sum(-1, keepdim=True), rows)[..., 0]
                out.append(log_ratio(both, kx.sum(-1, keepdim=True), near_y, c))
        return torch.stack(out, -1).transpose(1, 2)

    def outside(self, xq: Tensor, yq: Tensor) -> Tensor:
        """Features of other pairs: [B, q, D] x 2 -> [B, q, K]."""
        c, out = self.context, []
        scaled = zip(self.x, self.y, *_scaled(xq, yq, self.scale), strict=True)
        for x, y, xs, ys in scaled:
            kx, ky = gaussian(xs, x[:, :c]), gaussian(ys, y[:, :c])
            for width in range(self.widths):
                if width:
                    kx, ky = fourth_power(kx), fourth_power(ky)
                out.append(log_ratio((kx * ky).sum(-1), kx.sum(-1), ky.sum(-1), c))
        return torch.stack(out, -1)


def _scaled(x: Tensor, y: Tensor, scale: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    sides = (x.float(), y.float())
    return tuple([s * w[:, None] for w in scale[:, :, i].unbind(1)] for i, s in enumerate(sides))


def gaussian(a: Tensor, b: Tensor) -> Tensor:
    """exp(-|a - b|^2 / 2) of all pairs: [B, n, D], [B, C, D] -> [B, n, C]."""
    half = 0.5 * b.square().sum(-1)[:, None] - a @ b.mT + 0.5 * a.square().sum(-1, keepdim=True)
    return torch.exp(-half.clamp(min=0.0, max=FARTHEST))


def log_ratio(both: Tensor, near_x: Tensor, near_y: Tensor, c: int) -> Tensor:
    """Neighbours in both sides over those that independent sides would have, as a logarithm."""
    expected = near_x * near_y / c
    return torch.log((both + PSEUDO_COUNT) / (expected + PSEUDO_COUNT))


def fourth_power(k: Tensor) -> Tensor:
    """Kernel values of half the width: [..] -> [..], not below `LEAST`^4."""
    k = k.clamp(min=LEAST)
    k = k * k  # (as a power it would be slow in ONNX Runtime)
    return k * k
