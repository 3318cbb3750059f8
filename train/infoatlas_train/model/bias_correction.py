"""The learned bias correction: an estimate of what the Donsker-Varadhan bound misses.

A suboptimal critic underestimates the mutual information. Statistics of the sample predict by how
much: log-ratios of neighbours, dependence of the norms, variance of the density ratio over product
pairs, autocorrelation. These *diagnostic features* are the inputs of small networks, which are
fitted after pretraining to datasets of known mutual information
(:mod:`infoatlas_train.fit_correction`). Some of the networks predict the correction, which is added
to the bound. The others predict the error of the sum. At small n the correction can be negative,
because a readout that is solved and evaluated on the same sample overestimates. The paper has only
the bound.

On data of other kinds than the examples, a large predicted correction is about twice what the bound
misses. A model can therefore compare it with an estimate from nearest neighbours, which has no
learned parts. If
the prediction exceeds that estimate by more than 0.3 nats, only a *share* of the excess is kept.
The share is larger at small n, where the estimate from neighbours is poor.

Checkpoints and graphs name this module `gap`, the networks of the correction `missing` and those of
the predicted error `doubt`. Shipped files depend on these names.

Shapes: B datasets (or slices), n samples, C context samples, M shifts, D inputs a side, E
diagnostic features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu

from infoatlas_train.model.critic import donsker_varadhan, partners, sample_size, side_inputs
from infoatlas_train.model.neighbour_features import (
    COUNTED,
    Counts,
    counts,
    counts_and_distances,
    default_width,
)
from infoatlas_train.model.refinement import gelu_slope

FALL = 0.7  # decrease of log-scales from one direction to the next, in the second metric
LOCAL = 2  # features that are means of functions of the local information
LAGS = 1, 3, 9, 27, 81, 243  # lags of the autocorrelations
HEADS, UNITS, DROPOUT = 4, 128, 0.1
BOUND = 4.0  # standard deviations; features are clipped to it, because larger ones are rare
TRUSTED = 0.3  # nats by which a prediction may exceed the estimate from neighbours
FEW = 200  # n at which the share is half-way between 1 and that of large samples
LOG_N = 3  # index of log n in the diagnostic features
TINY = 1e-12  # smallest probability in a logarithm
CELLS = 4, 8  # numbers of cells of equal normal probability, for each of two coordinates


@dataclass
class Evaluation:
    """A critic evaluated on the sample that it was written from."""

    joint: Tensor  # [B, n] T on the joint pairs
    product: Tensor  # [B, M, n] T on the product pairs
    anchor_joint: Tensor  # [B, n] the anchor alone
    anchor_product: Tensor  # [B, M, n]
    counts: Counts | None  # counts of neighbours, if the bias correction shares the critic's
    elsewhere: Callable[[Tensor, Tensor], Tensor]  # T on other pairs: [B, q, D] x 2 -> [B, q]


class Heads(nn.Module):
    """Networks that differ only in their initial weights; their mean is used."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, HEADS * UNITS)
        self.second = nn.Parameter(torch.empty(HEADS, UNITS, UNITS).uniform_(-1, 1) / UNITS**0.5)
        self.bias = nn.Parameter(torch.zeros(HEADS, 1, UNITS))
        self.last = nn.Parameter(torch.zeros(HEADS, UNITS, 1))
        self.constant = nn.Parameter(torch.zeros(HEADS, 1, 1))

    def forward(self, z: Tensor) -> Tensor:
        """The output of each network for [B, E]: [HEADS, B]."""
        h = dropout(gelu(self.by_head(self.first(z))), DROPOUT, self.training)
        h = dropout(gelu(h @ self.second + self.bias), DROPOUT, self.training)
        return (h @ self.last + self.constant)[..., 0]

    def slope(self, z: Tensor) -> Tensor:
        """Slope of the mean of the networks: [B, E]; explicit, because graphs have no autograd."""
        before = self.by_head(self.first(z))
        between = gelu(before) @ self.second + self.bias
        d = (gelu_slope(between) * self.last.mT) @ self.second.mT * gelu_slope(before)
        return d.transpose(0, 1).flatten(1) @ self.first.weight / HEADS

    def by_head(self, h: Tensor) -> Tensor:
        """[B, HEADS * UNITS] -> [HEADS, B, UNITS]."""
        return h.unflatten(-1, (HEADS, UNITS)).transpose(0, 1)


@dataclass
class Found:
    """The bias correction of an estimate, its predicted error and its slopes."""

    correction: Tensor  # [B] nats, to be added to the bound
    spread: Tensor  # [B] nats, predicted error; a tenth of the errors exceed 1.645 times its value
    slope: Tensor  # [B] derivative of the correction with respect to the bound
    effect: Tensor  # [B, n] effect of each sample through the other features, of zero mean


class BiasCorrection(nn.Module):
    """Networks for the correction of the bound and for the predicted error of the estimate."""

    mean: Tensor
    scale: Tensor

    def __init__(self, metrics: int, share: float = 0.0) -> None:
        super().__init__()
        size = 11 + 9 + 2 * len(LAGS) + 1 + LOCAL + 3 * COUNTED * metrics
        size += len(CELLS) + 1 if share else 0
        self.metrics = metrics
        self.share = share
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))
        self.missing = Heads(size)  # nats
        self.doubt = Heads(size + 2 if share else size)  # log nats

    def forward(self, x: Tensor, y: Tensor, e: Evaluation, sequence: Tensor) -> Found:
        """Correction of the estimate of canonical samples x, y [B, n, D].

        `e` is the critic on these samples, and `sequence` [n] are the positions of the samples in
        order of time. The effects of samples include those through features that are means over
        samples, but not those through autocorrelations.
        """
        diagnostics, terms = self.diagnostics(x, y, e, sequence)
        predicted = self.predicted(diagnostics)
        slope = self.slope(diagnostics)
        own = slope[:, -terms.shape[-1] :]
        effect = ((terms - terms.mean(1, keepdim=True)) @ own[..., None])[..., 0]
        return Found(
            self.supported(diagnostics, predicted),
            self.spread(diagnostics, predicted),
            slope[:, 0],
            effect,
        )

    def diagnostics(
        self, x: Tensor, y: Tensor, e: Evaluation, sequence: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Diagnostic features [B, E], and terms [B, n, T] whose means are the last T features.

        With a share, the last feature is the estimate from nearest neighbours.
        """
        mi, log_z = donsker_varadhan(e.joint, e.product.flatten(1))
        local, ratio = e.joint - log_z[:, None], e.product.flatten(1) - log_z[:, None]
        terms = [torch.tanh(local)[..., None], torch.tanh(local / 3)[..., None]]
        by_distance = []
        for metric in range(self.metrics):
            near = e.counts if metric == 0 else None
            if self.share and metric == self.metrics - 1:
                near, found = counts_and_distances(x, y, own_scale(x, y, FALL * metric))
                by_distance.append(found[..., None])
            elif near is None:
                near = own_counts(x, y, FALL * metric)
            terms.append(neighbours(near, local))
        each = torch.cat([*terms, *by_distance], -1)
        levels = torch.stack([mi, *ratios(x, y, e, local, ratio)], 1)
        columns = [levels, moments(x, y), persistence(x, y, sequence)]
        columns += [pair_information(x, y, cells) for cells in CELLS if self.share]
        return torch.cat([*columns, each.mean(1)], 1), each

    def predicted(self, diagnostics: Tensor) -> Tensor:
        """Diagnostics [B, E] -> correction [B] as the networks predict it, nats."""
        return self.missing(self.bounded(diagnostics)).mean(0)

    def correction(self, diagnostics: Tensor) -> Tensor:
        """Diagnostics [B, E] -> correction [B] that is applied, nats."""
        return self.supported(diagnostics, self.predicted(diagnostics))

    def supported(self, diagnostics: Tensor, predicted: Tensor) -> Tensor:
        """Prediction [B] -> correction [B], reduced if it exceeds the estimate from neighbours."""
        if not self.share:
            return predicted
        beyond = self.beyond(diagnostics, predicted)
        return predicted - (1 - self.kept(diagnostics)) * beyond.clamp(min=0)

    def beyond(self, diagnostics: Tensor, predicted: Tensor) -> Tensor:
        """Excess of a prediction [B] over what the estimate from neighbours supports: [B], nats."""
        return predicted - self.above(diagnostics).clamp(min=0) - TRUSTED

    def kept(self, diagnostics: Tensor) -> Tensor:
        """Share of the excess that is kept: [B]."""
        n = torch.exp(diagnostics[:, LOG_N].detach())  # n is a constant for slopes
        return self.share + (1 - self.share) * FEW / (FEW + n)

    def above(self, diagnostics: Tensor) -> Tensor:
        """Difference of the estimate from neighbours and the bound: [B], nats."""
        return diagnostics[:, -1] - diagnostics[:, 0]

    def spread(self, diagnostics: Tensor, predicted: Tensor | None = None) -> Tensor:
        """Diagnostics [B, E] -> predicted error of the corrected estimate [B], nats.

        With a share it also depends on the prediction [B] (by default that of the networks) and on
        the difference of the prediction and the estimate from neighbours.
        """
        if predicted is None:
            predicted = self.predicted(diagnostics)
        return torch.exp(self.doubt(self.of_error(diagnostics, predicted)).mean(0))

    def of_error(self, diagnostics: Tensor, predicted: Tensor) -> Tensor:
        """Inputs of the networks for the predicted error: [B, E], or [B, E + 2] with a share."""
        z = self.bounded(diagnostics)
        if not self.share:
            return z
        two = torch.stack([predicted, predicted - self.above(diagnostics)], 1)
        return torch.cat([z, torch.asinh(two)], 1)

    def slope(self, diagnostics: Tensor) -> Tensor:
        """Slope of the correction on the diagnostics: [B, E]."""
        z = self.standardised(diagnostics)
        d = self.missing.slope(z.clamp(-BOUND, BOUND))
        d = d * self.scale * (1 + diagnostics * diagnostics).rsqrt()
        d = torch.where(z.abs() < BOUND, d, torch.zeros_like(d))
        if not self.share:
            return d
        # Slopes of the prediction and of the estimate from neighbours that limits it.
        beyond = self.beyond(diagnostics, self.predicted(diagnostics))
        lost = ((1 - self.kept(diagnostics)) * (beyond > 0).to(d.dtype))[:, None]
        support = lost * (self.above(diagnostics)[:, None] > 0).to(d.dtype)
        first, between, last = ((1 - lost) * part for part in (d[:, :1], d[:, 1:-1], d[:, -1:]))
        return torch.cat([first - support, between, last + support], 1)

    def bounded(self, diagnostics: Tensor) -> Tensor:
        return self.standardised(diagnostics).clamp(-BOUND, BOUND)

    def standardised(self, diagnostics: Tensor) -> Tensor:
        return (torch.asinh(diagnostics) - self.mean) * self.scale


def ratios(x: Tensor, y: Tensor, e: Evaluation, local: Tensor, ratio: Tensor) -> list[Tensor]:
    """Features of the anchor, the sample size and the variance of the density ratios.

    local [B, n] and ratio [B, P] are log-ratios of the critic on joint and on product pairs. They
    are clipped where possible, so that two nearly equal solves give nearly equal features.
    """
    log_n = torch.log(sample_size(x))[:, 0]
    log_shifts = torch.log(torch.ones_like(ratio).sum(1)) - log_n
    used = [(v.square().mean(1) > 0.5).float().sum(1) for v in (x, y)]
    anchor = donsker_varadhan(e.anchor_joint, e.anchor_product.flatten(1))
    spread = [deviation(local), deviation(e.anchor_joint)]
    return [*anchor, log_n, log_shifts, *used, *spread] + [
        torch.tanh(ratio / s).mean(1) for s in (1, 3)
    ]


def moments(x: Tensor, y: Tensor) -> Tensor:
    """Correlations of norms and squares of the two sides, and weight of the tails: [B, 9]."""
    d = x.shape[-1]
    both = torch.cat([x, y])  # one pass for both sides: [2B, n, D]
    squares = both * both
    columns, count = unit_columns(torch.cat([side_inputs(both), squares], -1)), x.shape[0]
    a, b = columns[:count], columns[count:]
    together = (a.mT @ b / sample_size(x)[:, :, None]).square()  # of all inputs: [B, 3D+1, 3D+1]
    own, norm, product, square = range(4)
    of_input = torch.tensor([own] * d + [norm] + [product] * d + [square] * d, device=x.device)
    member = (of_input[:, None] == torch.arange(4, device=x.device)).to(x.dtype)  # [3D+1, 4]
    blocks = (member.mT @ together @ member).flatten(1)  # sums over the blocks: [B, 16]
    wanted = (
        (norm, norm), (own, norm), (norm, own), (product, product),
        (own, product), (product, own), (square, square),
    )  # fmt: skip
    chosen = blocks[:, torch.tensor([4 * i + j for i, j in wanted], device=x.device)]
    fourth, second = (v.sum((1, 2)).clamp(min=1) for v in (squares * squares, squares))
    tails = torch.log(fourth / second)[:, None]
    return torch.cat([chosen, tails[:count], tails[count:]], 1)


def persistence(x: Tensor, y: Tensor, sequence: Tensor) -> Tensor:
    """Autocorrelations of x and of y, and the log of the effective sample size: [B, 2L + 1].

    Slow series appear dependent even if the sides are independent: their correlation varies like
    that of n / (1 + 2 sum_k rho_x(k) rho_y(k)) independent samples. `sequence` [n] has the
    positions of the samples in order of time. Independent samples have no autocorrelation in any
    order.
    """
    n = x.shape[1]
    lags = torch.tensor(LAGS, device=x.device)
    then = torch.arange(n, device=x.device) + lags[:, None]  # [L, n]
    within = then < n
    then = torch.where(within, then, 0)  # not by minimum: engines lack it for integers
    v = torch.cat([x, y]).index_select(1, sequence)  # one pass for both sides: [2B, n, D]
    v = v - v.mean(1, keepdim=True)
    products = torch.where(within, (v[:, None] * partners(v, then)).sum(-1), 0.0)  # [2B, L, n]
    both = products.sum(-1) / (v * v).sum((1, 2)).clamp(min=1e-6)[:, None]
    both = both[: x.shape[0]], both[x.shape[0] :]
    # Each lag represents the range of lags nearest to it; lags are powers of three.
    worth = 1 + 2 * ((4 / 3 * lags) * (both[0] * both[1]).clamp(min=0)).sum(1, keepdim=True)
    return torch.cat([*both, -torch.log(worth)], 1)


def own_scale(x: Tensor, y: Tensor, fall: float) -> Tensor:
    """Scale [B, 1, D] of a metric, which decreases by exp(-fall) from direction to direction."""
    direction = torch.arange(x.shape[-1], device=x.device)
    return torch.exp((-fall * direction).clamp(min=-3)) / (2 * default_width(x, y)[:, :, None])


def own_counts(x: Tensor, y: Tensor, fall: float) -> Counts:
    """Counts of neighbours in a metric of `own_scale`."""
    return counts(x, y, own_scale(x, y, fall))


def pair_information(x: Tensor, y: Tensor, cells: int) -> Tensor:
    """Sum over i of the mutual information of x_i and y_i, from histograms: [B, 1], nats.

    Weak dependence of many pairs of coordinates is more visible in this sum than in estimates from
    all coordinates together. Cells have equal probabilities under a normal law, and the sum is
    corrected for its bias (Miller, 1955).
    """
    law = NormalDist()
    # Beside zero, where rounding would split tied values.
    edges = torch.tensor([law.inv_cdf(k / cells) + 1e-3 for k in range(1, cells)], device=x.device)
    n = sample_size(x)[..., None, None]
    inside = [cell_of(v.transpose(1, 2), edges) for v in (x, y)]  # [B, D, n, cells]
    p = inside[0].mT @ inside[1] / n  # [B, D, cells, cells]
    px, py = p.sum(3, keepdim=True), p.sum(2, keepdim=True)
    each = p * (torch.log(p.clamp(min=TINY)) - torch.log((px * py).clamp(min=TINY)))
    used = [(q > 0).to(p.dtype).sum((2, 3)) - 1 for q in (px, py)]
    return (each.sum((2, 3)) - used[0] * used[1] / (2 * n[:, :, 0, 0])).sum(1, keepdim=True)


def cell_of(v: Tensor, edges: Tensor) -> Tensor:
    """One-hot cell of each value: [...] -> [..., cells]."""
    above = (v[..., None] > edges).to(v.dtype)
    one, none = torch.ones_like(above[..., :1]), torch.zeros_like(above[..., :1])
    return torch.cat([one, above], -1) - torch.cat([above, none], -1)


def neighbours(near: Counts, local: Tensor) -> Tensor:
    """Features of neighbours of each sample, for each kernel width: [B, n, 3 COUNTED].

    They are the log-ratio from neighbours, their number, and the difference between the log-ratio
    and that of the critic, `local` [B, n].
    """
    ratio = near.log_ratio()  # [B, n, COUNTED]
    missed = near.both / (near.both + 1) * (ratio - local[..., None])
    return torch.stack([ratio, torch.log1p(near.both), missed], -1).flatten(2)


def deviation(v: Tensor) -> Tensor:
    """Standard deviation of [B, n]: [B]."""
    v = v - v.mean(1, keepdim=True)
    return (v * v).mean(1).clamp(min=1e-12).sqrt()


def unit_columns(v: Tensor) -> Tensor:
    """Columns of mean 0 and variance 1 (0 if constant): [B, n, k]."""
    v = v - v.mean(1, keepdim=True)
    return v * ((v * v).mean(1, keepdim=True) + 1e-3).rsqrt()
