"""The critic that the hypernetwork writes: evaluation on pairs, and Donsker-Varadhan readout.

    T(x, y) = T0(x, y) + psi(x, y) . a

T0 is the Gaussian anchor, the closed-form log-ratio of a Gaussian copula with the (shrunk)
canonical correlations. psi are F generated features and K features of neighbours
(train/infoatlas_train/model/neighbour_features.py). For the generated features each side has a
network of its own, which runs once per sample, and one more layer combines both sides of a pair.
The coefficients a are solved inside the forward pass, by damped Newton steps of the DV objective.

Shapes: B datasets (or slices), n samples, M shifts, D inputs a side, H units a side, F features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import gelu

LOG_2 = 0.6931471805599453
SHARES = (1.0, 0.9, 0.8, 0.65, 0.5, 0.3, 0.0)  # candidates for `best_share`
CRITIC_SHARES = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.0)  # candidates for `critic_share`
BLOCK = 36  # rows that the graph inverts together; refined critics have larger blocks
LEAST_EIGENVALUE = 1e-4  # of a matrix with unit diagonal; ridges keep eigenvalues above
FAR_BELOW = -1e9  # value of the critic that gives a pair no weight


@dataclass
class Theta:
    """The complete generated parameters of one critic per dataset (the paper's theta).

    The network of a side has three layers, [B, 2D+2, H], [B, H+1, H] (the last row of both is the
    bias) and [B, H+2D+1, F]. `ridge` regularises the solve; with a generated readout it contains
    the coefficients themselves.
    """

    shrunk_z: Tensor  # [B, D] Fisher z of the canonical correlations, shrunk and capped
    side_x: list[Tensor]
    side_y: list[Tensor]
    bias: Tensor  # [B, 1, F]
    mix: Tensor  # [B, F+1, F] the layer that is evaluated for each pair
    ridge: Tensor  # [B, F+K]
    metric: Tensor | None = None  # [B, metrics, 2, D] log-scales of the neighbour features
    rate: Tensor | None = None  # [B, layers, F] step sizes of refinement, for rows of each layer


def side_inputs(x: Tensor, sample: Tensor | None = None) -> Tensor:
    """Inputs of the critic from one side: x, its log-norm r, and r x: [B, n, D] -> [B, n, 2D+1].

    Heavy tails and spirals are hard to express without the norm. The norm is relative to the mean
    square of `sample` (x itself if not given).
    """
    size = x.square().sum(-1, keepdim=True)
    known = size if sample is None else sample.square().sum(-1, keepdim=True)
    r = torch.log1p(size) - torch.log1p(known.mean(1, keepdim=True))
    return torch.cat([x, r, r * x], -1)


def sample_size(x: Tensor) -> Tensor:
    """n of samples [B, n, D] as a float tensor [B, 1]; x.shape[1] would be a constant in graphs."""
    return torch.ones_like(x[:, :, 0]).sum(1, keepdim=True)


def fisher_z(x: Tensor, y: Tensor) -> Tensor:
    """Fisher z of the correlations of samples in canonical form: x, y [B, n, D] -> [B, D].

    It is computed from 1 - rho = mean((x - y)^2) / 2, which is accurate if rho is nearly 1. It is
    clamped to what n samples can resolve: 1 - rho^2 >= max(1 / n^2, 2e-5).
    """
    n = sample_size(x)
    used = (x.square().mean(1) > 0.5) & (y.square().mean(1) > 0.5)
    complement = (x - y).square().mean(1) / 2  # 1 - rho
    least = torch.clamp(n.square().reciprocal(), min=2e-5) / 2
    complement = torch.minimum(torch.maximum(complement, least), 2 - least)
    return torch.where(
        used, 0.5 * torch.log((2 - complement) / complement), torch.zeros_like(complement)
    )


def capped(z: Tensor, n: Tensor) -> Tensor:
    """Cap Fisher z [B, D] at about the information that n samples can resolve: [B, D].

    Above log n nats no product pair is close to the joint pairs, and the empirical DV formula
    diverges. A smooth cap at log n + 1.5 keeps the readout finite and increasing, also for x = y.
    """
    information = (z + torch.nn.functional.softplus(-2 * z) - LOG_2).sum(-1, keepdim=True)
    return z * (1 + (information / (torch.log(n) + 1.5)).pow(4)).pow(-0.25)


def anchor(z: Tensor, x: Tensor, y: Tensor, partner: Tensor | None = None) -> Tensor:
    """Log-ratio of the Gaussian copula of correlations tanh(z), z [B, D], of pairs.

    x, y [B, n, D] -> [B, n]; with partners [M, n] the pairs are (x_i, y_partner): [B, M, n]. All
    terms are computed per sample, except for the squared difference of each pair: its expansion
    would lose precision if rho is nearly 1.
    """
    complement = 2 / (torch.exp(2 * z) + 1)  # 1 - rho
    rho = (1 - complement).clamp(min=0)  # canonical correlations are not negative
    variance = complement * (2 - complement)  # 1 - rho^2
    constant = -0.5 * torch.log(variance).sum(-1)[:, None]
    # clamped because the slope of a square root at zero is infinite
    weight = (rho / (2 * variance)).clamp(min=1e-12).sqrt()[:, None]
    own = (rho / (2 * (1 + rho)))[:, :, None]
    u, v = weight * x, weight * y
    qx, qy = ((w * w @ own)[..., 0] for w in (x, y))  # products, because powers are slow
    if partner is not None:
        u, v, qy = u[:, None], partners(v, partner), qy[:, partner]
        qx, constant = qx[:, None], constant[:, None]
    apart = u - v
    return constant + qx + qy - (apart * apart).sum(-1)


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
    """Features of pairs from the outputs of both sides: [B, .., F] x 2 -> [B, .., F]."""
    h = gelu(sx + sy)
    shape = h.shape
    h = h.reshape(shape[0], -1, shape[-1])
    return (h + gelu(affine(h, theta.mix))).reshape(shape)


def identity(size: int, like: Tensor) -> Tensor:
    """The identity matrix [size, size], as a constant of the graph instead of an operator."""
    return torch.tensor([[float(i == j) for j in range(size)] for i in range(size)]).to(like)


def inverse(a: Tensor, block: int = BLOCK) -> Tensor:
    """Inverse of symmetric positive definite matrices [B, F, F], computed by products only.

    Graphs have no solver. Blocks of at most `block` rows are inverted iteratively and combined by
    Schur complements. A few dozen products of matrices replace about a thousand steps of conjugate
    gradients. Two blocks need 0.6 times the time of one, and lose precision if columns of one block
    are nearly combinations of columns of the other.
    """
    size = a.shape[-1]
    if size <= block:
        return block_inverse(a)
    half = (size + 1) // 2
    p, q, r = a[:, :half, :half], a[:, :half, half:], a[:, half:, half:]
    of_p = inverse(p, block)
    w = of_p @ q
    for _ in range(2):  # else the error of the complement can exceed its least eigenvalue
        w = w + of_p @ (q - p @ w)
    of_s = inverse(r - q.mT @ w, block)
    v = w @ of_s
    upper = torch.cat([of_p + v @ w.mT, -v], 2)
    return torch.cat([upper, torch.cat([-v.mT, of_s], 2)], 1)


def block_inverse(a: Tensor) -> Tensor:
    """Inverse by Newton's iteration q <- q (2 - a q), with Chebyshev's scaling for convergence.

    With unit diagonal, eigenvalues have to be between `LEAST_EIGENVALUE` and the number of rows.
    """
    eye = identity(a.shape[-1], a)
    d = (a * eye).sum(-1, keepdim=True).rsqrt()
    a = d * a * d.mT
    low, high = LEAST_EIGENVALUE, float(a.shape[-1])
    tau, step = (high + low) / (high - low), 2 / (high + low)
    q = None
    while True:
        rho = 2 * tau * tau / (2 * tau * tau - 1)
        if q is None:  # the start is `step` times the identity
            q = (2 * step * rho) * eye - (step * step * rho) * a
        else:
            q = q @ ((2 * rho) * eye - a @ (rho * q))
        if tau > 30:  # the next residual is below 1 / (2 tau^2)
            return d * q * d.mT
        tau = 2 * tau * tau - 1


def solve_readout(
    psi: Tensor,
    t0: Tensor,
    ridge: Tensor,
    n: int,
    *,
    newton_steps: int,
    exact: bool,
    natural: int = 0,
    start: Tensor | None = None,
    block: int = BLOCK,
) -> Tensor:
    """Coefficients of the features that maximise the DV objective around the anchor: [B, F].

    psi [B, R, F] are the features (F includes those of neighbours) and t0 [B, R] the anchor of R
    pairs. The first n pairs are the joint pairs, and the others product pairs. ridge [B, F] is in
    units of standardised features. The last `natural` features are not standardised: their
    coefficients and ridge are in units of the features.

    Each damped Newton step is followed by a chord step, with the new gradient and the old
    curvature, which is cheap and nearly as good as a Newton step. A step can overshoot, so the
    result is the step of the highest objective. `start` [B, F] are initial coefficients, from
    slightly different features. `exact` solves by factorisation, as in training. Graphs have only
    products of matrices (`inverse` with its `block`); tests compare both.
    """
    is_joint = torch.arange(t0.shape[1], device=psi.device) < n
    joint = (
        is_joint.to(psi.dtype) / is_joint.to(psi.dtype).sum()
    )  # [R] weights of the mean over joint pairs
    others = (~is_joint).to(psi.dtype)
    others = others / others.sum()
    mean_joint, mean = (torch.stack([joint, others]) @ psi).split(1, 1)  # [B, 1, F]
    psi, mean_joint = psi - mean, mean_joint - mean
    # A row and not a vector: TensorRT's parser drops the batch of a vector times matrices.
    scale = ((others[None] @ (psi * psi))[:, 0] + 1e-6).rsqrt()  # [B, F]
    if natural:
        scale = torch.cat([scale[:, :-natural], torch.ones_like(scale[:, -natural:])], 1)
    scales, damping = (
        scale[:, :, None] * scale[:, None],
        ridge[:, :, None] * identity(ridge.shape[1], ridge),
    )
    t0 = torch.where(is_joint, FAR_BELOW, t0)  # no weight in the mean over product pairs
    weight, log_sum = softmax(t0)
    best, best_t, highest = torch.zeros_like(ridge), t0, -log_sum
    a, steps = best if start is None else start / scale, 2 * newton_steps - 1
    for step in range(steps + 1):
        t = t0
        if step > 0 or start is not None:
            t = t0 + (psi @ (a * scale)[..., None]).squeeze(-1)
            value = (mean_joint[:, 0] * scale * a - 0.5 * ridge * a.square()).sum(-1)
            value = value - torch.logsumexp(t, -1)
            higher = (value >= highest)[:, None]
            best, best_t = torch.where(higher, a, best), torch.where(higher, t, best_t)
            if step == steps:
                break
            highest = torch.maximum(value, highest)
            a, t = (a + best) / 2, (t + best_t) / 2  # half of a step that overshot
            weight, _ = softmax(t)
        mean_product = weight @ psi
        gradient = (mean_joint - mean_product)[:, 0] * scale - ridge * a
        if step % 2 == 0:  # a Newton step, with the mean of both covariances
            means = torch.cat([mean_joint, mean_product], 1)
            covariance = psi.mT @ ((weight + joint).mT * psi) - means.mT @ means
            curvature = 0.5 * covariance * scales + damping
            inverted = None if exact else inverse(curvature, block)
        a = a + solved(curvature, inverted, gradient[..., None])[..., 0]
    return best * scale


def softmax(t: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax weights [B, 1, R] of the values t [B, R], and their log-sum-exp [B].

    No weight is below exp(-60) times the largest, because denormal numbers make products of
    matrices thirty times slower.
    """
    top = t.amax(-1, keepdim=True)
    e = torch.exp((t - top).clamp(min=-60))
    total = e.sum(-1, keepdim=True)
    return (e / total)[:, None], (top + torch.log(total))[:, 0]


def solved(a: Tensor, inverted: Tensor | None, b: Tensor) -> Tensor:
    """Solve a x = b for a [B, F, F], b [B, F, 1]; by the inverse, if given, and one correction."""
    if inverted is None:
        return torch.linalg.solve(a, b)
    x = inverted @ b
    return x + inverted @ (b - a @ x)


def best_share(t0: Tensor, step: Tensor, t0_product: Tensor, step_product: Tensor) -> Tensor:
    """Share of the solved features that maximises the DV objective over all product pairs: [B].

    The solve uses some of the product pairs. If dependence is strong, few of these are close to the
    joint pairs, and the objective over all product pairs can show that the solve overshot. The
    arguments are anchor and solved part on the joint pairs (t0, step [B, n]) and on all product
    pairs (t0_product, step_product [B, P]).
    """
    share = torch.tensor(SHARES, dtype=t0.dtype, device=t0.device)
    value = t0.mean(1, keepdim=True) + share * step.mean(1, keepdim=True)
    product = t0_product[:, None] + share[:, None] * step_product[:, None]  # [B, K, P]
    return largest_of_best(value - torch.logsumexp(product, -1), share)


def largest_of_best(value: Tensor, share: Tensor) -> Tensor:
    """Share [K] with the highest value [B, K], and the largest of them if values are equal: [B]."""
    return torch.where(value >= value.amax(-1, keepdim=True), share, 0.0).amax(-1)


def critic_share(joint: Tensor, product: Tensor) -> Tensor:
    """Factor of the critic, including its anchor, that maximises the DV objective: [B].

    Rare values are far from the mean. If a flag is set in 1% of the samples, these samples are at
    seven standard deviations after preprocessing. The few product pairs of two such samples
    dominate the log-mean-exp. One of the shares is 0, with a bound of 0, so that no bound is
    negative. On other data the share is 1. joint [B, n], product [B, P] are values of T.
    """
    share = torch.tensor(CRITIC_SHARES, dtype=joint.dtype, device=joint.device)
    top = product.amax(1, keepdim=True)
    log_sum = torch.log(torch.exp(share[:, None] * (product - top)[:, None]).sum(-1))
    value = share * (joint.mean(1, keepdim=True) - top) - log_sum
    return largest_of_best(value, share)


def shift_index(shifts: Tensor, n: int) -> Tensor:
    """Partners under cyclic shifts: (i + shift) mod n for each of M shifts, |shift| < n: [M, n]."""
    i = torch.arange(n, device=shifts.device) + shifts[:, None]
    return torch.where(i >= n, i - n, torch.where(i < 0, i + n, i))


def partners(values: Tensor, partner: Tensor) -> Tensor:
    """Gather the rows of other samples: values [B, n, k], partner [M, n] -> [B, M, n, k]."""
    return values.index_select(1, partner.flatten()).unflatten(1, partner.shape)


def donsker_varadhan(joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor]:
    """The empirical DV formula (paper, Eq. 5): joint [B, n], product [B, P] -> mi, log Z [B]."""
    log_z = torch.logsumexp(product, -1) - torch.log(torch.ones_like(product).sum(-1))
    return joint.mean(-1) - log_z, log_z


def influence(joint: Tensor, product: Tensor, log_z: Tensor, shifts: Tensor) -> Tensor:
    """Influence of each sample on the mutual information: [B, n], zero mean.

    joint [B, n] and product [B, M, n], of x_i with y_{i+shift}, are values of T. The influence is
    the joint term of a sample less its share of the product terms, once as x and once as y. The
    critic is near the optimum of the objective, so its own change with a sample, and that of the
    neighbour features, is of second order and neglected.
    """
    ratio = torch.exp(product - log_z[:, None, None])
    n = joint.shape[-1]
    back = shift_index(-shifts, n).expand(ratio.shape)
    as_x, as_y = ratio.mean(1), torch.gather(ratio, 2, back).mean(1)
    return joint - joint.mean(-1, keepdim=True) + 2 - as_x - as_y
