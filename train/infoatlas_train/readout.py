"""Evaluation of a critic on its own sample with explicit gradients, faster than autograd.

`InfoAtlas.critic` serves training and exported graphs. Autograd through it spends most of its time
on tensors of samples x context and of pairs x features, and on the steps of the solve. This module
computes the same value, with its own backward passes for three parts:

- *Neighbours*: products of matrices evaluate all pairs at once; no gather selects the pairs needed.
- *Pairs*: the layer that combines both sides of a pair.
- *Readout*: at the solved coefficients the slope of the objective is zero. By the implicit function
  theorem their slopes follow from one linear system, for any number of steps of the solve.

Shapes: B slices, n samples, C context samples, M + 1 shifts, the first 0 (the joint
pairs), D inputs a side, F features, K features of neighbours.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.model import critic, neighbour_features
from infoatlas_train.model.bias_correction import Evaluation
from infoatlas_train.model.infoatlas import InfoAtlas

# A product of two n x C matrices gives the neighbours of all n^2 pairs. With more samples per shift
# than this, it is faster to evaluate only the pairs needed.
ALL_PAIRS = 170


def evaluated(
    network: InfoAtlas, x: Tensor, y: Tensor, shifts: Tensor
) -> tuple[Tensor, Evaluation]:
    """The bound [B] of canonical samples x, y [B, n, D], differentiable; the critic, detached."""
    c = network.config
    theta = network.hypernetwork(x, y)
    everyone = torch.cat([torch.zeros_like(shifts[:1]), shifts])
    partner = critic.shift_index(everyone, x.shape[1])
    near, counts = None, None
    if c.metrics:
        kernels = neighbour_features.Kernels.of(x, y, theta.metric, c.widths)
        near, counts = _neighbours(kernels, everyone, partner, c)
    theta, start = network.refined(theta, x, y, everyone, near, exact=True)
    sx = critic.side(theta.side_x, critic.side_inputs(x)) + theta.bias
    sy = critic.side(theta.side_y, critic.side_inputs(y))
    psi = Pairs.apply(sx, sy, theta.mix, everyone, partner)  # [B, M+1, n, F]
    psi = psi if near is None else torch.cat([psi, near], -1)
    t0 = critic.anchor(theta.shrunk_z, x, y, partner)  # [B, M+1, n]
    bound, t = Readout.apply(psi, t0, theta.ridge, start, c)
    t0 = t0.detach()
    return bound, Evaluation(t[:, 0], t[:, 1:], t0[:, 0], t0[:, 1:], counts, None)


def _neighbours(
    kernels: neighbour_features.Kernels, shifts: Tensor, partner: Tensor, c: HypernetworkConfig
) -> tuple[Tensor, neighbour_features.Counts | None]:
    """Neighbour features [B, M+1, n, K], and the counts of the first metric if shared."""
    features, counts = [], None
    for metric, (x, y) in enumerate(zip(kernels.x, kernels.y, strict=True)):
        counted = c.shared and metric == 0
        found = Neighbours.apply(x, y, shifts, partner, kernels.context, c.widths, counted)
        features.append(found[0])
        counts = neighbour_features.Counts(*found[1:], kernels.context) if counted else counts
    return torch.cat(features, -1), counts


class Neighbours(torch.autograd.Function):
    """Log-ratios of neighbours in one metric: x, y [B, n, D] in units of the widest kernel.

    Returns features [B, M+1, n, widths] and, if `counted`, the three sums of `Counts`
    [B, n, COUNTED]. Slices are processed one after another, because the kernel values of one slice
    fit a cache.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        shifts: Tensor,
        partner: Tensor,
        context: int,
        widths: int,
        counted: bool,
    ) -> tuple[Tensor, ...]:
        wanted = any(ctx.needs_input_grad)
        wider = int(counted)  # counts begin at twice the width of the widest feature
        every = range(-wider, neighbour_features.COUNTED - wider if counted else widths)
        features, counts, kept = [], [], []
        for sides in zip((x / 2**wider).split(1), (y / 2**wider).split(1), strict=True):
            kx, ky = (kernel_values(v, context) for v in sides)
            sums = []
            for level in every:
                if level > -wider:
                    fresh = (
                        wanted and 0 < level <= widths
                    )  # backward needs the values of the level before
                    kx, ky = (sharper(k, fresh) for k in (kx, ky))
                near_x, near_y = kx.sum(-1), ky.sum(-1)  # [1, n]
                if 0 <= level < widths:
                    both = wanted_sums(kx, ky, shifts, partner)  # [1, M+1, n]
                    theirs = near_y[:, partner]
                    features.append(
                        neighbour_features.log_ratio(both, near_x[:, None], theirs, context)
                    )
                    kept += [kx, ky, near_x, near_y, both]
                    both = both[:, 0]
                else:
                    both = (kx * ky).sum(-1)
                sums.append(torch.stack([both, near_x, near_y]))
            counts.append(torch.stack(sums, -1))  # [3, 1, n, levels]
        if wanted:
            ctx.save_for_backward(x, y, shifts, partner, *kept)
            ctx.context, ctx.widths = context, widths
        found = torch.cat(features).unflatten(0, (len(x), widths))
        out = (found.movedim(1, -1), *(torch.cat(counts, 1) if counted else ()))
        ctx.mark_non_differentiable(*out[1:])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, y, shifts, partner, *kept = ctx.saved_tensors
        c, widths = ctx.context, ctx.widths
        back = critic.shift_index(-shifts, x.shape[1])
        on_sides = []
        for b, own in enumerate(slope.split(1)):
            on_logs = []  # slopes on the log kernels of each level [1, n, C]
            for level in range(widths):
                i = 5 * (b * widths + level)
                kx, ky, near_x, near_y, both = kept[i : i + 5]
                theirs = near_y[:, partner]
                on_both = own[..., level] / (both + neighbour_features.PSEUDO_COUNT)
                on_near = own[..., level] / (
                    near_x[:, None] * theirs + c * neighbour_features.PSEUDO_COUNT
                )
                gx, gy = wanted_slopes(on_both, kx, ky, shifts, partner)
                gx -= (on_near * theirs).sum(1)[..., None]
                gy -= from_partners(on_near * near_x[:, None], back)[..., None]
                factor = 4.0**level
                on_logs.append((gx.mul_(kx).mul_(factor), gy.mul_(ky).mul_(factor)))
            for more in on_logs[1:]:
                for total, part in zip(on_logs[0], more, strict=True):
                    total += part
            sides = x[b : b + 1], y[b : b + 1]
            on_sides.append([through_distances(*v) for v in zip(on_logs[0], sides, strict=True)])
        return *(torch.cat(v) for v in zip(*on_sides, strict=True)), *[None] * 5


def kernel_values(x: Tensor, context: int) -> Tensor:
    """exp(-|x_i - x_c|^2 / 2), zero for a sample and itself: [B, n, D] -> [B, n, C]."""
    k = neighbour_features.gaussian(x, x[:, :context])
    k.diagonal(dim1=1, dim2=2).zero_()
    return k


def sharper(k: Tensor, fresh: bool) -> Tensor:
    """`fourth_power`, in place unless `fresh`."""
    k = k.clamp(min=neighbour_features.LEAST) if fresh else k.clamp_(min=neighbour_features.LEAST)
    torch.mul(k, k, out=k)
    return torch.mul(k, k, out=k)


def wanted_sums(kx: Tensor, ky: Tensor, shifts: Tensor, partner: Tensor) -> Tensor:
    """Sums over the context of kx_i ky_partner: [B, n, C] x 2 -> [B, M+1, n]."""
    n = kx.shape[1]
    if n <= ALL_PAIRS * len(shifts):
        index = partner.mT.expand(len(kx), -1, -1)
        return (kx @ ky.mT).gather(2, index).mT
    return torch.stack([(kx * ky.roll(-int(s), 1)).sum(-1) for s in shifts], 1)


def wanted_slopes(
    slope: Tensor, kx: Tensor, ky: Tensor, shifts: Tensor, partner: Tensor
) -> tuple[Tensor, Tensor]:
    """Slopes on kx and ky from those on their wanted sums [B, M+1, n]."""
    b, n = kx.shape[:2]
    if n <= ALL_PAIRS * len(shifts):
        index = partner.mT.expand(b, -1, -1)
        every = kx.new_zeros(b, n, n).scatter_(2, index, slope.mT)
        return every @ ky, every.mT @ kx
    on_x, on_y = torch.zeros_like(kx), torch.zeros_like(ky)
    for s, own in zip(shifts.tolist(), slope.unbind(1), strict=True):
        on_x.addcmul_(own[..., None], ky.roll(-s, 1))
        on_y += (own[..., None] * kx).roll(s, 1)
    return on_x, on_y


def through_distances(slope: Tensor, x: Tensor) -> Tensor:
    """Slope on x [B, n, D] from that on -|x_i - x_c|^2 / 2 for each context sample: [B, n, C]."""
    near = x[:, : slope.shape[2]]
    out = slope @ near - slope.sum(2)[..., None] * x
    out[:, : slope.shape[2]] += slope.mT @ x - slope.sum(1)[..., None] * near
    return out


def from_partners(slope: Tensor, back: Tensor) -> Tensor:
    """Slopes on values of samples from those on their values as partners: [B, M+1, n] -> [B, n]."""
    return slope.gather(2, back.expand(len(slope), -1, -1)).sum(1)


class Pairs(torch.autograd.Function):
    """Features [B, M+1, n, F] of pairs from the outputs of both sides, sx and sy [B, n, F]."""

    @staticmethod
    def forward(
        ctx: Any, sx: Tensor, sy: Tensor, mix: Tensor, shifts: Tensor, partner: Tensor
    ) -> Tensor:
        s = critic.partners(sy, partner).add_(sx[:, None])
        h = gelu(s)
        p = torch.baddbmm(mix[:, -1:], h.flatten(1, 2), mix[:, :-1]).unflatten(1, partner.shape)
        ctx.save_for_backward(s, h, p, mix, shifts)
        return gelu(p).add_(h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        s, h, p, mix, shifts = ctx.saved_tensors
        m, n = s.shape[1:3]
        on_p = torch.ops.aten.gelu_backward(slope, p).flatten(1, 2)
        on_mix = torch.cat([h.flatten(1, 2).mT @ on_p, on_p.sum(1, keepdim=True)], 1)
        on_h = torch.baddbmm(slope.flatten(1, 2), on_p, mix[:, :-1].mT).view_as(s)
        on_s = torch.ops.aten.gelu_backward(on_h, s)
        back = critic.shift_index(-shifts, n) + n * torch.arange(m, device=s.device)[:, None]
        on_y = on_s.flatten(1, 2).index_select(1, back.flatten()).unflatten(1, (m, n)).sum(1)
        return on_s.sum(1), on_y, on_mix, None, None


class Readout(torch.autograd.Function):
    """Bound [B] and critic [B, M+1, n] of solved features psi [B, M+1, n, F+K] and anchor t0.

    The slope of the bound goes through the coefficients a(psi, t0, ridge), at which the slope of
    the objective is zero. The shares of a and of the critic are constants.
    """

    @staticmethod
    def forward(
        ctx: Any,
        psi: Tensor,
        t0: Tensor,
        ridge: Tensor,
        start: Tensor | None,
        c: HypernetworkConfig,
    ) -> tuple[Tensor, Tensor]:
        n, natural = psi.shape[2], c.metrics * c.widths
        some = c.solved_pairs
        a = critic.solve_readout(
            psi[:, some].flatten(1, 2),
            t0[:, some].flatten(1),
            ridge,
            n,
            newton_steps=c.newton_steps,
            exact=True,
            natural=natural,
            start=start,
        )
        step = (psi.flatten(1, 2) @ a[..., None]).view_as(t0)
        share = torch.ones_like(a[:, :1])
        if c.solve_shifts:
            product = t0[:, 1:].flatten(1), step[:, 1:].flatten(1)
            share = critic.best_share(t0[:, 0], step[:, 0], *product)[:, None]
        t = t0 + share[..., None] * step
        scale = critic.critic_share(t[:, 0], t[:, 1:].flatten(1))[:, None]
        t = scale[..., None] * t
        ctx.save_for_backward(psi, t0, ridge, a, step, share, scale, t)
        ctx.some, ctx.natural = some, natural
        ctx.mark_non_differentiable(t)
        return critic.donsker_varadhan(t[:, 0], t[:, 1:].flatten(1))[0], t

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        psi, t0, ridge, a, step, share, scale, t = ctx.saved_tensors
        n = psi.shape[2]
        # Slopes of the bound on T, then on the inputs with the coefficients as constants.
        on_t = torch.cat([torch.full_like(t[:, :1], 1 / n), -weights(t)], 1)
        on_t = (slope[:, None] * scale)[..., None] * on_t  # [B, M+1, n]
        along = share * a
        on_a = share * (on_t.flatten(1)[:, None] @ psi.flatten(1, 2))[:, 0]  # [B, F+K]

        # Objective of the solve: mean over joint pairs of psi . a - log sum exp (t0 + psi . a) over
        # product pairs - ridge variance a^2 / 2.
        psi, some = psi[:, ctx.some], ctx.some
        weight = weights((t0 + step)[:, some]).flatten(1)  # [B, P]
        product = psi[:, 1:].flatten(1, 2)
        mean = product.mean(1)
        variance = product.square().mean(1) - mean.square() + 1e-6
        if ctx.natural:
            variance[:, -ctx.natural :] = 1
        weighted = (weight[:, None] @ product)[:, 0]
        curvature = (product * weight[..., None]).mT @ product
        curvature = curvature - weighted[:, :, None] * weighted[:, None]
        curvature = curvature + torch.diag_embed(ridge * variance)
        moved = torch.linalg.solve(curvature, on_a)  # slope on the gradient of the solve

        apart = (psi.flatten(1, 2) @ moved[..., None]).view_as(t0[:, some])
        apart = apart - (weighted * moved).sum(1)[:, None, None]
        on_t0 = on_t.clone()
        bent = weight.view_as(t0[:, some][:, 1:]) * apart[:, 1:]
        on_t0[:, some][:, 1:] -= bent
        drift = -2 / product.shape[1] * moved * ridge * a  # through the variances in the ridge
        if ctx.natural:
            drift[:, -ctx.natural :] = 0
        first = torch.full_like(weight[:, :n], 1 / n)
        on_psi = on_t[..., None] * along[:, None, None]
        own = torch.cat([first, -weight], 1)[..., None] * moved[:, None]
        own[:, n:] -= bent.flatten(1)[..., None] * a[:, None]
        own[:, n:] += (product - mean[:, None]) * drift[:, None]
        on_psi[:, some] += own.view_as(psi)
        return on_psi, on_t0, -moved * a * variance, None, None


def weights(t: Tensor) -> Tensor:
    """Weights of the product pairs in the log-mean-exp of the critic: [B, M+1, n] -> [B, M, n]."""
    return torch.softmax(t[:, 1:].flatten(1), 1).view_as(t[:, 1:])
