"""Neighbour features: kernel log-ratios of a pair, in addition to the generated features.

Generated layers have to represent the form of a dependence. Neighbours represent any form, if there
are enough of them. For a pair (x, y) and a Gaussian kernel k, the feature

    log( (sum_k k(x - x_k) k(y - y_k) + a) / (sum_k k(x - x_k) sum_k k(y - y_k) / C + a) )

compares how many of C context samples are near in both sides with how many would be if the sides
were independent. A pseudo-count a shrinks it to zero if there are few. A sample is not a neighbour
of itself, so that the features are unbiased on the sample that the readout is solved on. (A product
pair leaves out two samples and a joint pair one, a difference of about 1/n.) The hypernetwork
writes the metrics, each metric is used at several widths, and the solve weights the features. (A
single neighbour feature with the coefficient one is the estimator of Moon, Rajagopalan and Lall,
1995.)

Shapes: B datasets (or slices), n samples, C context samples, M shifts, D inputs a side, K features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from infoatlas_train.model.critic import partners, sample_size

PSEUDO_COUNT = 0.3
# Most context samples times samples. In larger samples only the first samples (of a shuffled order)
# are the context, so that memory is linear in n. Beyond n = 5,000 the context shrinks, and features
# are less accurate.
BUDGET = 5_120_000
CONTEXT, TRAINING_CONTEXT = 1024, 320
COUNTED = 5  # widths at which the bias correction counts neighbours
# With these bounds, kernel values and products of two of them exceed the smallest normal float32
# number, 1.2e-38. Arithmetic with denormal numbers is many times slower, and such sums are
# negligible.
FARTHEST = 43.0  # exp(-43) = 2.1e-19
LEAST = 2.1e-5  # its fourth power is 1.9e-19
NEAREST = 3  # rank of the neighbour in the estimate from distances
EQUAL = 2e-6  # largest difference of kernel values of equal distances, from rounding


def context_size(n: int, most: int = CONTEXT) -> int:
    """Number of context samples among n samples."""
    return torch.sym_min(n, torch.sym_min(most, 1 + BUDGET // n))


def default_width(x: Tensor, y: Tensor) -> Tensor:
    """Rule-of-thumb width n^(-1/(d+4)), with d the dimensions of both canonical sides: [B, 1]."""
    used = (torch.cat([x, y], -1).square().mean(1) > 0.5).float().sum(-1, keepdim=True)
    return torch.exp(-torch.log(sample_size(x)) / (used + 4))


@dataclass
class Counts:
    """Numbers of neighbours of each sample, as sums of kernel values at L widths: [B, n, L]."""

    both: Tensor  # near in both sides
    x: Tensor
    y: Tensor
    context: int

    def log_ratio(self) -> Tensor:
        return log_ratio(self.both, self.x, self.y, self.context)


@dataclass
class Kernels:
    """A sample in each of the metrics; the first `context` samples are the context."""

    x: list[Tensor]  # [B, n, D] of each metric, in units of its widest kernel
    y: list[Tensor]
    scale: Tensor  # [B, metrics, 2, D]
    context: int
    widths: int

    @classmethod
    def of(cls, x: Tensor, y: Tensor, metric: Tensor, widths: int, most: int = CONTEXT) -> Kernels:
        """Scale a canonical sample [B, n, D] x 2 by the log-scales [B, metrics, 2, D].

        `widths` is the number of widths of each metric: 1, 1/2, 1/4, ...
        """
        scale = torch.exp(metric) / default_width(x, y)[:, :, None, None]
        return cls(*_scaled(x, y, scale), scale, context_size(x.shape[1], most), widths)

    def inside(
        self, partner: Tensor, counted: bool = False, constant: bool = True
    ) -> tuple[Tensor, Counts | None]:
        """Features of the pairs (i, partner[m, i]) of the sample itself: [B, M, n, K].

        In training they are `constant`: the metrics are trained on pairs outside of the sample,
        where the same sums need no gather and a fraction of the time. If `counted`, the result
        includes counts of the samples' neighbours in the first metric. Their `COUNTED` widths begin
        with twice the widest kernel. The first partners must be the samples themselves.
        """
        features, counts = [], []
        for metric, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            count_these = counted and metric == 0
            wider = int(count_these)
            x, y = (v.detach() if constant else v for v in (x, y))
            x, y = x / 2**wider, y / 2**wider
            widths = COUNTED if count_these else self.widths
            for level, (kx, ky) in enumerate(levels(x, y, self.context, widths), -wider):
                near_x, near_y = kx.sum(-1, keepdim=True), ky.sum(-1, keepdim=True)
                both = None
                if 0 <= level < self.widths:
                    rows = partners(ky, partner.mT)  # [B, n, M, C]
                    both = rows_by_columns(rows, kx)  # [B, n, M]
                    theirs = partners(near_y, partner.mT)[..., 0]
                    features.append(log_ratio(both, near_x, theirs, self.context))
                if count_these:  # the joint pairs are the first
                    both = (kx * ky).sum(-1, keepdim=True) if both is None else both[..., :1]
                    counts.append((both, near_x, near_y))
        features = torch.stack(features, -1).transpose(1, 2)
        return features, together(counts, self.context) if counted else None

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


def levels(x: Tensor, y: Tensor, c: int, widths: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield kernel values [B, n, C] of both sides of a scaled sample, halving the width each time.

    A sample is not a neighbour of itself.
    """
    position = torch.arange(x.shape[1], device=x.device)
    others = (position[:, None] != position[None, :c]).to(x.dtype)  # [n, C]
    kx, ky = (gaussian(v, v[:, :c]) * others for v in (x, y))
    for width in range(widths):
        if width:
            kx, ky = fourth_power(kx), fourth_power(ky)
        yield kx, ky


def rows_by_columns(rows: Tensor, column: Tensor) -> Tensor:
    """Multiply the matrix and the vector of each sample: [B, n, M, C], [B, n, C] -> [B, n, M].

    In torch the transposed product is five times as fast; in ONNX Runtime it is slower.
    """
    if torch.compiler.is_exporting():
        return (rows @ column[..., None])[..., 0]
    return (column[..., None, :] @ rows.mT)[..., 0, :]


def count(kx: Tensor, ky: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sums [B, n, 1] over the neighbours of each sample: near in both sides, in x, in y."""
    return (kx * ky).sum(-1, keepdim=True), kx.sum(-1, keepdim=True), ky.sum(-1, keepdim=True)


def counts(x: Tensor, y: Tensor, scale: Tensor) -> Counts:
    """Count neighbours of canonical samples [B, n, D] x 2, in units of scale [B, 1, D]."""
    c = context_size(x.shape[1])
    return together([count(*each) for each in levels(x * scale, y * scale, c, COUNTED)], c)


def counts_and_distances(x: Tensor, y: Tensor, scale: Tensor) -> tuple[Counts, Tensor]:
    """`counts`, and the local information [B, n] of `from_distances`."""
    c = context_size(x.shape[1])
    found, local = [], None
    for kx, ky in levels(x * scale, y * scale, c, COUNTED):
        local = from_distances(kx, ky, c) if local is None else local
        found.append(count(kx, ky))
    assert local is not None
    return together(found, c), local


def from_distances(kx: Tensor, ky: Tensor, c: int) -> Tensor:
    """Local information of each sample from the distance of its third neighbour: [B, n].

    This is the estimator of Kraskov, Stoegbauer and Grassberger (2004), in the form of Gao, Kannan,
    Oh and Viswanath (2017). It counts ties, and so accepts flags and levels. It has no learned
    parts. Kernel values [B, n, C], a decreasing function of the distances, replace the distances.
    The digamma function psi(k) is approximated by log(k - 1/2). The third neighbour is at its
    distance in only one of the two sides. Each side therefore uses the mean of psi(k) and
    psi(k + 1), which is log k.
    """
    both = torch.minimum(kx, ky)
    least = both.topk(NEAREST, -1).values[..., NEAREST - 1 :] - EQUAL
    near, near_x, near_y = ((k >= least).to(k.dtype).sum(-1) for k in (both, kx, ky))
    return torch.log((near - 0.5) / near_x / near_y * c)


def together(found: list[tuple[Tensor, Tensor, Tensor]], c: int) -> Counts:
    """Join the counts of several widths."""
    return Counts(*(torch.cat(sums, -1) for sums in zip(*found, strict=True)), c)


def gaussian(a: Tensor, b: Tensor) -> Tensor:
    """exp(-|a - b|^2 / 2) of all pairs: [B, n, D], [B, C, D] -> [B, n, C].

    The squares are two additional coordinates of the product, which saves two passes over it.
    """
    one = torch.ones_like(b[..., :1])
    left = torch.cat([a, -0.5 * (a * a).sum(-1, keepdim=True), torch.ones_like(a[..., :1])], -1)
    right = torch.cat([b, one, -0.5 * (b * b).sum(-1, keepdim=True)], -1)
    return torch.exp((left @ right.mT).clamp(min=-FARTHEST, max=0.0))


def log_ratio(both: Tensor, near_x: Tensor, near_y: Tensor, c: int) -> Tensor:
    """Log-ratio of the number of neighbours in both sides and that expected if independent."""
    expected = near_x * near_y / c
    return torch.log((both + PSEUDO_COUNT) / (expected + PSEUDO_COUNT))


def fourth_power(k: Tensor) -> Tensor:
    """Kernel values of half the width: [..] -> [..], at least `LEAST`^4."""
    k = k.clamp(min=LEAST)
    k = k * k  # not a power, which is slow in ONNX Runtime
    return k * k
