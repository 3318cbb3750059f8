"""The critic: what the hypernetwork writes, evaluated on pairs, and the Donsker-Varadhan readout.

    T(x, y) = T0(x, y) + psi(x, y) . a

T0 is the Gaussian anchor, the closed-form log-ratio of a Gaussian copula with the (shrunk)
canonical correlations. psi are F features from generated layers: each side has a network of its
own, run once per sample, and the two meet in a layer that is run once per pair; and K of what
neighbours say (train/infoatlas_train/kernels.py). The coefficients a are solved, not guessed:
damped Newton steps of the DV objective, inside the forward pass.

Shapes: B datasets (or slices), n samples, M shifts, D inputs a side, H units a side, F features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import gelu

LOG_2 = 0.6931471805599453
SHARES = (1.0, 0.9, 0.8, 0.65, 0.5, 0.3, 0.0)  # of the solved part
CRITIC_SHARES = (0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 1.0)  # of the critic as a whole; or 0
TINY = 1e-30  # (as a bound, not a summand: graph optimisers drop summands that small)


@dataclass
class Theta:
    """The complete generated parameters of one critic per dataset (the paper's theta).

    The network of a side has three layers, [B, 2D+2, H], [B, H+1, H] (the last row of both is the
    bias) and [B, H+2D+1, F]. `ridge` regularises the solve; where the readout is generated it holds
    the coefficients themselves.
    """

    shrunk_z: Tensor  # [B, D] Fisher z of the canonical correlations, shrunk and capped
    side_x: list[Tensor]
    side_y: list[Tensor]
    bias: Tensor  # [B, 1, F]
    mix: Tensor  # [B, F+1, F] the layer that is run per pair
    ridge: Tensor  # [B, F+K]
    metric: Tensor | None = None  # [B, metrics, 2, D] log-scales of train/.../kernels.py
    rate: Tensor | None = None  # [B, layers, F] how far the rows of each layer move in a round


def side_inputs(x: Tensor, sample: Tensor | None = None) -> Tensor:
    """What the critic sees of a side: x, its log-norm r, and r x: [B, n, D] -> [B, n, 2D+1].

    Heavy tails and spirals are hard to express without the norm. It is relative to the mean square
    of `sample` (x itself where not given).
    """
    size = x.square().sum(-1, keepdim=True)
    known = size if sample is None else sample.square().sum(-1, keepdim=True)
    r = torch.log1p(size) - torch.log1p(known.mean(1, keepdim=True))
    return torch.cat([x, r, r * x], -1)


def sample_size(x: Tensor) -> Tensor:
    """n of samples [B, n, D], as a float tensor [B, 1]: a graph would freeze x.shape[1]."""
    return torch.ones_like(x[:, :, 0]).sum(1, keepdim=True)


def fisher_z(x: Tensor, y: Tensor) -> Tensor:
    """Fisher z of the correlations of samples in canonical form: x, y [B, n, D] -> [B, D].

    Computed through 1 - rho = mean((x - y)^2) / 2, which keeps its digits when rho is nearly 1, and
    clamped at what n samples can tell: 1 - rho^2 >= max(1 / n^2, 2e-5).
    """
    n = sample_size(x)
    used = (x.square().mean(1) > 0.5) & (y.square().mean(1) > 0.5)
    gap = (x - y).square().mean(1) / 2  # 1 - rho
    least = torch.clamp(n.square().reciprocal(), min=2e-5) / 2
    gap = torch.minimum(torch.maximum(gap, least), 2 - least)
    return torch.where(used, 0.5 * torch.log((2 - gap) / gap), torch.zeros_like(gap))


def capped(z: Tensor, n: Tensor) -> Tensor:
    """Shrink Fisher z [B, D] so that the anchor claims little more than n samples can show: [B, D].

    Above log n nats no product pair comes near the joint ones, and the empirical DV formula runs
    away. A smooth cap at log n + 1.5 keeps the readout finite and growing, also on x = y.
    """
    information = (z + torch.nn.functional.softplus(-2 * z) - LOG_2).sum(-1, keepdim=True)
    return z * (1 + (information / (torch.log(n) + 1.5)).pow(4)).pow(-0.25)


def anchor(z: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Log-ratio of the Gaussian copula of correlations tanh(z): z [B, 1.., D], x, y [B, .., D]."""
    gap = 2 / (torch.exp(2 * z) + 1)  # 1 - rho
    rho = 1 - gap
    variance = gap * (2 - gap)  # 1 - rho^2
    apart = x - y
    each = (
        -0.5 * torch.log(variance)
        - (rho / (2 * variance)) * apart * apart  # (products: squares are slow as powers)
        + (rho / (2 * (1 + rho))) * (x * x + y * y)
    )
    return each.sum(-1)


def side(theta: list[Tensor], x: Tensor) -> Tensor:
    """The network of one side: [B, n, 2D+1] -> [B, n, F]."""
    first, second, last = theta
    u = gelu(affine(x, first))
    u = u + gelu(affine(u, second))
    return torch.cat([u, x], -1) @ last


def affine(x: Tensor, weight: Tensor) -> Tensor:
    """x [B, n, i] times weight [B, i+1, o], whose last row is the bias."""
    return x @ weight[:, :-1] + weight[:, -1:]


def features(theta: Theta, sx: Tensor, sy: Tensor) -> Tensor:
    """Features of pairs from what the sides say of them: [B, .., F] x 2 -> [B, .., F]."""
    h = gelu(sx + sy)
    shape = h.shape
    h = h.reshape(shape[0], -1, shape[-1])
    return (h + gelu(affine(h, theta.mix))).reshape(shape)


def identity(like: Tensor) -> Tensor:
    """The identity matrix of the size of the last axis: [.., F] -> [F, F].

    Compared, because torch.eye and torch.diagonal become an ONNX operator that few engines have.
    """
    number = torch.arange(like.shape[-1], device=like.device)
    return (number[:, None] == number).to(like.dtype)


def conjugate_gradients(a: Tensor, b: Tensor, steps: int) -> Tensor:
    """Solve a x = b for symmetric positive definite a [B, F, F], b [B, F], Jacobi preconditioned.

    A fixed number of steps of plain products, because the graph has no solver. Once the residual
    has vanished, further steps change nothing.
    """
    scale = (a * identity(b)).sum(-1, keepdim=True).rsqrt()  # [B, F, 1]
    a = scale * a * scale.mT  # the preconditioner, once for all steps
    p = r = scale * b[..., None]
    x = torch.zeros_like(r)
    rr = r.mT @ r
    for _ in range(steps):
        ap = a @ p
        alpha = rr / (p.mT @ ap).clamp(min=TINY)
        x, r = x + alpha * p, r - alpha * ap
        new = r.mT @ r
        p, rr = r + new / rr.clamp(min=TINY) * p, new
    return (scale * x).squeeze(-1)


def solve_readout(
    joint: Tensor,
    product: Tensor,
    t0: Tensor,
    ridge: Tensor,
    *,
    newton_steps: int,
    cg_steps: int,
    natural: int = 0,
    start: Tensor | None = None,
) -> Tensor:
    """Coefficients of the features that maximise the DV objective around the anchor: [B, F].

    joint [B, n, F] features of the joint pairs (F counts those of neighbours too); product
    [B, P, F] and t0 [B, P] features and anchor of product pairs; ridge [B, F], in units of
    standardised features. The last `natural` features have a scale of their own: coefficients and
    ridge are in it. Between the damped Newton steps lies a chord step each, which takes the new
    gradient with the old curvature: nearly as good as one Newton step more, and nearly free. The
    result is the highest of all steps, because a step can overshoot. `start` [B, F] is a first
    guess, from features little different. `cg_steps` 0 solves exactly (for training, where
    factorisations exist); the graph takes a fixed number of conjugate-gradient steps, and tests
    hold one to the other.
    """
    n = joint.shape[1]
    mean = product.mean(1, keepdim=True)
    joint, product = joint - mean, product - mean
    scale = (product.square().mean(1) + 1e-6).rsqrt()  # [B, F]
    if natural:
        scale = torch.cat([scale[:, :-natural], torch.ones_like(scale[:, -natural:])], 1)
    mean_joint = joint.mean(1)
    cov_joint = joint.mT @ joint / n - mean_joint[:, :, None] * mean_joint[:, None]
    scales = scale[:, :, None] * scale[:, None]
    damping = ridge[:, :, None] * identity(ridge)
    best, best_t, highest = torch.zeros_like(ridge), t0, -torch.logsumexp(t0, -1)
    a, steps = best if start is None else start / scale, 2 * newton_steps - 1
    for step in range(steps + 1):
        untouched = step == 0 and start is None
        t = t0 if untouched else t0 + (product @ (a * scale)[..., None]).squeeze(-1)
        value = (mean_joint * scale * a - 0.5 * ridge * a.square()).sum(-1)
        value = value - torch.logsumexp(t, -1)
        higher = (value >= highest)[:, None]
        best, best_t = torch.where(higher, a, best), torch.where(higher, t, best_t)
        if step == steps:
            break
        highest = torch.maximum(value, highest)
        if step > 0 or start is not None:  # half of a step that overshot
            a, t = (a + best) / 2, (t + best_t) / 2
        weighted = torch.softmax(t, -1)[..., None] * product  # [B, P, F]
        mean_w = weighted.sum(1)
        gradient = (mean_joint - mean_w) * scale - ridge * a
        if step % 2 == 0:
            cov_w = product.mT @ weighted - mean_w[:, :, None] * mean_w[:, None]
            curvature = (cov_w + cov_joint) * 0.5 * scales + damping
        if cg_steps:
            a = a + conjugate_gradients(curvature, gradient, cg_steps)
        else:
            a = a + torch.linalg.solve(curvature, gradient)
    return best * scale


def best_share(t0: Tensor, step: Tensor, t0_product: Tensor, step_product: Tensor) -> Tensor:
    """Share of the solved features that maximises the DV objective over all product pairs: [B].

    The solve sees some of the product pairs, and where dependence is strong few of them come near
    the joint ones: one pair more can show that it went too far. t0, step [B, n] anchor and solved
    features on the joint pairs; t0_product, step_product [B, P] on all product pairs.
    """
    highest, best = None, None
    for share in SHARES:
        value = (t0 + share * step).mean(1) - torch.logsumexp(t0_product + share * step_product, 1)
        if highest is None:
            highest, best = value, torch.full_like(value, share)
        else:
            best = torch.where(value > highest, share, best)
            highest = torch.maximum(value, highest)
    return best


def critic_share(joint: Tensor, product: Tensor) -> Tensor:
    """Share of the whole critic, anchor included, that maximises the DV objective: [B].

    The anchor is evaluated far out where values are rare: the ones of a flag that is set in 1% of
    the samples lie at seven standard deviations, and the few product pairs in which two of them
    meet outweigh all others in the log-mean-exp. Among the shares is 0, whose bound is 0, so no
    bound falls below 0. Elsewhere the share is 1. joint [B, n], product [B, P] values of T.
    """
    mean, pairs = joint.mean(1), torch.log(torch.ones_like(product).sum(1))
    best, highest = torch.zeros_like(mean), -pairs  # of the share 0
    for share in CRITIC_SHARES:
        value = share * mean - torch.logsumexp(share * product, 1)
        best = torch.where(value >= highest, share, best)
        highest = torch.maximum(value, highest)
    return best


def shift_index(shifts: Tensor, n: int) -> Tensor:
    """Partners under cyclic shifts: (i + shift) mod n for each of M shifts, |shift| < n: [M, n]."""
    i = torch.arange(n, device=shifts.device) + shifts[:, None]
    return torch.where(i >= n, i - n, torch.where(i < 0, i + n, i))


def partners(values: Tensor, partner: Tensor) -> Tensor:
    """Rows of other samples, by one gather: [B, n, k], index [M, n] -> [B, M, n, k]."""
    return values.index_select(1, partner.flatten()).unflatten(1, partner.shape)


def donsker_varadhan(joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor]:
    """The empirical DV formula (paper, Eq. 5): joint [B, n], product [B, P] -> mi, log Z [B]."""
    log_z = torch.logsumexp(product, -1) - torch.log(torch.ones_like(product).sum(-1))
    return joint.mean(-1) - log_z, log_z


def influence(joint: Tensor, product: Tensor, log_z: Tensor, shifts: Tensor) -> Tensor:
    """Influence of each sample on the mutual information: [B, n], zero mean.

    joint [B, n]; product [B, M, n], x_i with y_{i+shift}; the joint term of a sample less its share
    of the product terms, once as x and once as y. (The critic sits near the optimum of the
    objective, so its own change, and that of the neighbours in it, is of second order.)
    """
    ratio = torch.exp(product - log_z[:, None, None])
    n = joint.shape[-1]
    back = shift_index(-shifts, n).expand(ratio.shape)
    as_x, as_y = ratio.mean(1), torch.gather(ratio, 2, back).mean(1)
    return joint - joint.mean(-1, keepdim=True) + 2 - as_x - as_y
