"""Refinement: rounds of gradient ascent that improve the written critic on its sample.

The hypernetwork writes the critic in one pass, and its features can miss a nonlinear map of a side.
Each round solves the readout on the current features, computes the slope of the DV objective on the
rows of every layer, and moves the rows along it with momentum. The solved coefficients are
constants, by the envelope theorem. The hypernetwork writes the rate of each row. It is trained on
the held-out objective, with n among its inputs, so that rates are small where ascent would overfit.
The rounds are part of the forward pass. They have a fixed number and only plain products, so that
they can be exported.

Shapes: B datasets (or slices), n samples, M shifts, the first 0 (the joint pairs),
D inputs a side, H units a side, F features.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import gelu

from infoatlas_train.model.critic import Theta, affine, shift_index

LAYERS = 8  # three for each side, the bias, and the layer of the pairs
MOMENTUM = 0.5


def detached(theta: Theta) -> Theta:
    """The same parameters, detached from gradients."""
    return Theta(
        theta.shrunk_z.detach(),
        [w.detach() for w in theta.side_x],
        [w.detach() for w in theta.side_y],
        theta.bias.detach(),
        theta.mix.detach(),
        theta.ridge.detach(),
    )


def pairs_of_round(i: int, count: int, turns: int, device: torch.device) -> Tensor:
    """Indices of the shifts of round i: 0 (the joint pairs), and `count` of the first `turns`."""
    return torch.tensor([0, *(1 + (i * count + j) % turns for j in range(count))], device=device)


def gelu_slope(x: Tensor) -> Tensor:
    density = torch.exp(-0.5 * x.square()) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * density


def layer_slope(x: Tensor, d_out: Tensor) -> Tensor:
    """Slope on a weight whose last row is the bias: x [B, n, i], d_out [B, n, o] -> [B, i+1, o]."""
    return torch.cat([x.mT @ d_out, d_out.sum(1, keepdim=True)], 1)


def side_slope(theta: list[Tensor], x: Tensor, d_out: Tensor) -> list[Tensor]:
    """Slopes on the three layers of a side from the slope on its output, d_out [B, n, F]."""
    first, second, last = theta
    before = affine(x, first)
    u = gelu(before)
    between = affine(u, second)
    hidden = u + gelu(between)
    d_last = torch.cat([hidden, x], -1).mT @ d_out
    d_hidden = d_out @ last[:, : u.shape[-1]].mT
    d_between = d_hidden * gelu_slope(between)
    d_before = (d_hidden + d_between @ second[:, :-1].mT) * gelu_slope(before)
    return [layer_slope(x, d_before), layer_slope(u, d_between), d_last]


def pair_slopes(
    theta: Theta, s: Tensor, h: Tensor, p: Tensor, a: Tensor, t: Tensor, shifts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Slopes on s = sx + sy, summed for each x and for each y [B, n, F], and on the mix.

    s, h, p [B, M, n, F] are the inputs, hidden values and mixed values of the pairs, a [B, F] the
    solved coefficients, t [B, M, n] the critic.
    """
    m, n = s.shape[1:3]
    share = torch.softmax(t[:, 1:].flatten(1), -1).unflatten(1, (m - 1, n))
    weight = torch.cat([torch.full_like(t[:, :1], 1.0) / n, -share], 1)
    d_psi = (weight[..., None] * a[:, None, None]).to(s.dtype)
    d_p = d_psi * gelu_slope(p)
    d_mix = layer_slope(h.flatten(1, 2), d_p.flatten(1, 2))
    d_h = d_psi + (d_p.flatten(1, 2) @ theta.mix[:, :-1].mT).unflatten(1, (m, n))
    d_s = d_h * gelu_slope(s)
    # The pair (i, shift) consists of x_i and y_{i + shift}: gather the slopes of each y.
    back = shift_index(-shifts, n) + n * torch.arange(m, device=s.device)[:, None]
    d_y = d_s.flatten(1, 2).index_select(1, back.flatten()).unflatten(1, (m, n)).sum(1)
    return d_s.sum(1), d_y, d_mix


def moved(
    theta: Theta, slopes: list[Tensor], rate: Tensor, velocity: list[Tensor] | None
) -> tuple[Theta, list[Tensor]]:
    """Move rows along the slopes: rate [B, LAYERS, F]; layers of H units use every (F/H)-th rate.

    `velocity` is the second result of the round before; half of it is added to the slopes. Steps
    are relative to the size of a layer and bounded, so that large slopes do not dominate.
    """
    weights = [*theta.side_x, *theta.side_y, theta.bias, theta.mix]
    out, speeds = [], []
    for i, (w, g) in enumerate(zip(weights, slopes, strict=True)):
        size = w.square().mean((1, 2), keepdim=True).sqrt()
        g = g.float()
        speed = g / g.square().mean((1, 2), keepdim=True).sqrt().clamp(min=1e-12)
        if velocity is not None:
            speed = speed + MOMENTUM * velocity[i]
        step = speed / (1 + speed.abs())
        out.append(w + rate[:, i, None, :: rate.shape[-1] // w.shape[-1]] * size * step)
        speeds.append(speed)
    theta = replace(theta, side_x=out[:3], side_y=out[3:6], bias=out[6], mix=out[7])
    return theta, speeds
