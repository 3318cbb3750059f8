"""The meta-objective of pretraining.

The objective "distilled" has two parts. The critic written from a support sample is compared with
the exact log-ratio on held-out pairs of the same distribution, so that it does not memorise its
sample. The in-sample DV readout, which is the estimate of a user, is compared with the true mutual
information. Two other objectives do not use the truth and serve for comparison: "in-sample-dv", the
paper's Eq. 6, and "held-out-dv", the same on held-out pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import smooth_l1_loss, softplus

from infoatlas_rt.estimation.canonical import rotate, whiten
from infoatlas_train.data.atlas import Datasets
from infoatlas_train.model.critic import donsker_varadhan
from infoatlas_train.model.infoatlas import InfoAtlas

OBJECTIVES = ("distilled", "held-out-dv", "in-sample-dv")
HIGHEST_MI = 6.5  # nats; samples resolve no more, so above it only overestimates are penalised


def query_scores(support: Tensor, query: Tensor) -> Tensor:
    """Normal scores of query points by their rank within the support: [B, d, n], [B, d, q] float.

    The scores agree with `infoatlas_rt.estimation.canonical.normal_scores` on points of the
    support, including ties. Between two of them the rank is interpolated.
    """
    n = support.shape[-1]
    support = support.contiguous()
    ordered = support.sort(-1).values
    both = torch.cat([support, query], -1).contiguous()
    left = torch.searchsorted(ordered, both)
    right = torch.searchsorted(ordered, both, right=True)
    below = ordered.gather(-1, (left - 1).clamp(min=0))
    above = ordered.gather(-1, left.clamp(max=n - 1))
    share = ((both - below) / (above - below).clamp(min=1e-30)).clamp(0, 1)
    rank = torch.where(right > left, (left + 1 + right) / 2, left + share.double())
    rank = torch.where((left == 0) & (right == 0), 0.75, rank)
    rank = torch.where((left == n) & (right == n), n + 0.25, rank)
    score = torch.special.ndtri((rank - 0.5) / n)
    return score[..., n:] - score[..., :n].mean(-1, keepdim=True)


def noise_padded(side: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Replace coordinates that are zero everywhere by normal noise (paper, section 3.1)."""
    missing = (side == 0).all(1, keepdim=True)
    return tuple(torch.where(missing, torch.randn_like(v), v) for v in (side, query))


@torch.no_grad()
def canonical_datasets(
    data: Datasets, dim: int, queries: int, padding: str = "zeros"
) -> tuple[Tensor, ...]:
    """Transform support and queries to the canonical form of the support: x, y, xq, yq float32."""
    sides = (data.x, data.xq[:, :queries]), (data.y, data.yq[:, :queries])
    if padding == "noise":
        sides = noise_padded(*sides[0]), noise_padded(*sides[1])
    (x, xq), (y, yq) = sides
    of_x, of_y = whiten(x), whiten(y)
    tx, ty = rotate(of_x, of_y, dim)[0]
    qx, qy = query_scores(x.mT, xq.mT), query_scores(y.mT, yq.mT)
    return tuple(
        (t @ z).mT.float().contiguous()
        for t, z in ((tx, of_x.scores), (ty, of_y.scores), (tx, qx), (ty, qy))
    )


def distillation(t: Tensor, log_ratio: Tensor) -> Tensor:
    """Binary cross-entropy with soft targets sigmoid(log r) less its minimum: [B, q] -> [B]."""
    p = torch.sigmoid(log_ratio)
    least = softplus(log_ratio) - p * log_ratio
    return (softplus(t) - p * t - least).mean(-1)


def squared_error(mi: Tensor, truth: Tensor) -> Tensor:
    """Squared error of estimates in units of half of (0.1 nats plus 30% of the truth): [B].

    Above HIGHEST_MI only overestimates count.
    """
    error = torch.where(truth < HIGHEST_MI, mi - truth, (mi - truth).clamp(min=0))
    return (error / (0.1 + 0.3 * truth.clamp(min=0)) / 0.5).square()


def held_out_dv(elsewhere: Callable[[Tensor, Tensor], Tensor], xq: Tensor, yq: Tensor) -> Tensor:
    """The DV formula on query pairs; the product pairs are each x with eight other y: [B]."""
    product = torch.cat([elsewhere(xq, yq.roll(shift, 1)) for shift in range(1, 9)], 1)
    return donsker_varadhan(elsewhere(xq, yq), product)[0]


def losses(
    model: InfoAtlas, data: Datasets, shifts: Tensor, objective: str = "distilled"
) -> dict[str, Tensor]:
    """Loss and its parts for one batch of datasets, in nats or similar units.

    ``distilled`` compares held-out pairs with the exact log-ratio, ``pointwise`` is the absolute
    error of the local information on them, and ``calibration`` is the relative error of the
    readout.
    """
    n, q = data.x.shape[1], data.xq.shape[1]
    q = min(q, max(64, n // 2))
    x, y, xq, yq = canonical_datasets(data, model.config.dim, q, model.config.padding)
    e = model.critic(x, y, shifts)
    mi, log_z = donsker_varadhan(e.joint, e.product.flatten(1))
    # One pass for both kinds of query pairs; the last query has no next one to be paired with.
    t = e.elsewhere(torch.cat([xq, xq[:, :-1]], 1), torch.cat([yq, yq[:, 1:]], 1)) - log_z[:, None]
    t_joint, t_product = t[:, :q].clamp(-20, 20), t[:, q:].clamp(-20, 20)
    usable = (data.mi < HIGHEST_MI).float()
    weight = usable / usable.sum().clamp(min=1)
    r_joint, r_product = data.joint[:, :q], data.product[:, : q - 1]
    distilled = distillation(t_joint, r_joint) + distillation(t_product, r_product)
    pointwise = smooth_l1_loss(t_joint, r_joint, beta=0.5, reduction="none").mean(1)
    # Bounded (Geman-McClure), so that datasets that n samples cannot resolve do not dominate.
    u = squared_error(mi, data.mi)
    calibration = u / (1 + u)
    parts = {"distilled": distilled, "pointwise": pointwise, "calibration": calibration}
    parts = {name: (weight * value).sum() for name, value in parts.items()}
    parts["calibration"] = calibration.mean()
    if objective == "distilled":
        loss = parts["distilled"] + 0.03 * parts["pointwise"] + 0.3 * parts["calibration"]
    else:
        loss = -(mi if objective == "in-sample-dv" else held_out_dv(e.elsewhere, xq, yq)).mean()
    parts["loss"] = loss
    parts["error"] = (weight * (mi - data.mi).abs()).sum().detach()
    return parts
