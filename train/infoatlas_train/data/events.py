"""Rare events and sign interactions: families of the atlas with tables of joint probabilities.

- ``events``  flags, levels and values that are zero most of the time, as contacts and counts are.
  The activity of a pair of coordinates has a joint table of two by two; some are rarely active.
- ``signs``   parities. The product of the signs of some coordinates of both sides is more often +1
  than -1 (or less often). Otherwise the sides are independent.

Both have the interface of :mod:`infoatlas_train.data.families`. Shapes: B datasets, N samples, Q
queries, D coordinates of a side.
"""

import math

import torch
from torch import Tensor

from infoatlas_train.data.flows import uniform
from infoatlas_train.data.mixtures import Pairs, Settings, finish, masks

RAREST = 0.004  # smallest probability that a coordinate is active
LEAST = 1e-9  # smallest probability in a logarithm


def events(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """Rarely active coordinates: a table for each j, and values that may be correlated.

    The table contains the joint probabilities that coordinates j of x and y are active.
    """
    mx, my = masks(settings.dim, b, dev)
    shape = b, settings.dim
    p = uniform(shape, math.log(RAREST), math.log(0.5), dev).exp()
    p = torch.where(torch.rand(b, 1, device=dev) < 0.5, p, uniform(shape, 0.1, 0.5, dev))
    q = (p * uniform(shape, -1.0, 1.0, dev).exp()).clamp(max=0.5)
    share = torch.rand(shape, device=dev) ** 0.7
    both = p * q + share * (torch.minimum(p, q) - p * q)
    both = torch.where(torch.rand(shape, device=dev) < 0.2, p * q * (1 - share), both)
    both = torch.where(mx * my > 0, both, p * q)
    table = torch.stack([1 - p - q + both, q - both, p - both, both], -1)  # [B, D, 4]
    active_x = torch.rand(b, samples, settings.dim, device=dev) < p[:, None]
    given = torch.where(active_x, (both / p)[:, None], ((q - both) / (1 - p))[:, None])
    active_y = torch.rand(b, samples, settings.dim, device=dev) < given

    # The value of an active coordinate is 1, a random level, or a real number.
    kind = torch.randint(3, (b, 1, settings.dim), device=dev)
    rho = (torch.rand(shape, device=dev) ** 0.5 * 0.98) * (mx * my) * (kind[:, 0] == 2)
    e, f = torch.randn(2, b, samples, settings.dim, device=dev)
    f = rho[:, None] * e + (1 - rho.square()).sqrt()[:, None] * f
    offset = 3 * (torch.rand(b, 1, settings.dim, device=dev) < 0.5)
    x, y = (
        active * torch.where(kind == 0, 1.0, torch.where(kind == 1, number, v + offset))
        for active, v in ((active_x, e), (active_y, f))
        for number in (1 + torch.empty_like(v).exponential_().floor(),)
    )

    alone = torch.stack([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q], -1)
    ratio = table.clamp(min=LEAST).log() - alone.log()  # [B, D, 4]

    def log_ratio(ax: Tensor, ay: Tensor, e: Tensor, f: Tensor) -> Tensor:
        cell = 2 * ax.long() + ay.long()  # [B, Q, D]
        known = ratio[:, None].expand(*cell.shape, 4).gather(-1, cell[..., None])[..., 0]
        r = rho[:, None]
        left = 1 - r * r
        normal = -0.5 * left.log() - (r * r * (e * e + f * f) - 2 * r * e * f) / (2 * left)
        return (known + (ax & ay) * normal).sum(-1)

    ends = [v[:, -settings.queries :] for v in (active_x, active_y, e, f)]
    ax, ay, e, f = ends
    joint = log_ratio(ax, ay, e, f)
    product = log_ratio(ax, ay.roll(-1, 1), e, f.roll(-1, 1))
    mi = (table * ratio).sum((1, 2)) - 0.5 * (both * (1 - rho.square()).log()).sum(1)
    x, y = x * mx[:, None], y * my[:, None]
    return finish(mx, my, x, y, joint, product, mi)


def signs(settings: Settings, b: int, samples: int, dev: torch.device) -> Pairs:
    """Groups of up to two coordinates of each side whose signs have a product of known odds."""
    mx, my = masks(settings.dim, b, dev)
    x, y = (_symmetric(b, samples, settings.dim, dev) for _ in range(2))
    groups = (settings.dim + 1) // 2
    odds, member_x, member_y = [], [], []
    for g in range(groups):
        first = torch.arange(settings.dim, device=dev) == 2 * g
        second = torch.arange(settings.dim, device=dev) == 2 * g + 1
        more = torch.rand(2, b, 1, device=dev) < 0.4
        in_x, in_y = ((first | (second & m)) & (v > 0) for m, v in zip(more, (mx, my), strict=True))
        used = (mx[:, 2 * g] * my[:, 2 * g] > 0) & (
            (torch.rand(b, device=dev) < 0.4) if g else torch.ones(b, dtype=torch.bool, device=dev)
        )
        sure = torch.where(torch.rand(b, device=dev) < 0.4, 1.0, torch.rand(b, device=dev) ** 0.5)
        odd = 0.5 + 0.5 * sure * torch.randn(b, device=dev).sign()
        odds.append(torch.where(used, odd, 0.5))
        member_x.append(in_x)
        member_y.append(in_y)
        wanted = 2.0 * (torch.rand(b, samples, device=dev) < odds[-1][:, None]) - 1
        flip = torch.where(used[:, None], wanted * _parity(x, in_x) * _parity(y, in_y), 1.0)
        y = torch.where(first, y * flip[..., None], y)

    def log_ratio(x: Tensor, y: Tensor) -> Tensor:
        total = torch.zeros(x.shape[:2], device=dev)
        for odd, in_x, in_y in zip(odds, member_x, member_y, strict=True):
            even = _parity(x, in_x) * _parity(y, in_y) > 0
            chance = torch.where(even, odd[:, None], 1 - odd[:, None])
            total = total + (2 * chance).clamp(min=LEAST).log()
        return total

    xq, yq = x[:, -settings.queries :], y[:, -settings.queries :]
    odd = torch.stack(odds, 1)
    mi = (torch.special.xlogy(odd, 2 * odd) + torch.special.xlogy(1 - odd, 2 * (1 - odd))).sum(1)
    joint, product = log_ratio(xq, yq), log_ratio(xq, yq.roll(-1, 1))
    return finish(mx, my, x * mx[:, None], y * my[:, None], joint, product, mi)


def _symmetric(b: int, samples: int, d: int, dev: torch.device) -> Tensor:
    """Independent coordinates, symmetric about zero: normal, uniform or two clusters."""
    z = torch.randn(b, samples, d, device=dev)
    kind = torch.randint(3, (b, 1, 1), device=dev)
    size = torch.where(kind == 1, 1.7 * torch.rand_like(z) + 1e-3, z.abs() + 1e-6)
    size = torch.where(kind == 2, (1 + 0.3 * torch.randn_like(z)).abs() + 1e-6, size)
    return size * z.sign()


def _parity(x: Tensor, members: Tensor) -> Tensor:
    """Product of the signs of the members [B, D] of x [B, N, D]: [B, N]."""
    return torch.where(members[:, None], x.sign(), 1.0).prod(-1)
