"""The whole model: the hypernetwork writes a critic, and here the critic is evaluated.

A sample goes in; its critic is written, refined, its readout solved, and the Donsker-Varadhan
formula applied to it, in one forward pass.

Shapes: B datasets (or slices), n samples, D inputs a side, M shifts, F features.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.critic import (
    Theta,
    affine,
    anchor,
    best_share,
    critic_share,
    donsker_varadhan,
    features,
    influence,
    partners,
    shift_index,
    side,
    side_inputs,
    solve_readout,
)
from infoatlas_train.gap import Gap
from infoatlas_train.hypernetwork import Hypernetwork
from infoatlas_train.kernels import CONTEXT, TRAINING_CONTEXT, Kernels
from infoatlas_train.refinement import detached, moved, pair_slopes, side_slope


def float32_only(x: Tensor) -> AbstractContextManager[None]:
    """Solve and readout in float32 also under autocast.

    Where there is no autocast it is no context at all, because the graph is traced through here.
    """
    on = torch.is_autocast_enabled(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if on else nullcontext()


@dataclass
class Evaluation:
    """A critic on the sample that it was written from."""

    joint: Tensor  # [B, n] T on the joint pairs
    product: Tensor  # [B, M, n] T on the product pairs
    anchor_joint: Tensor  # [B, n] the anchor alone
    anchor_product: Tensor  # [B, M, n]
    elsewhere: Callable[[Tensor, Tensor], Tensor]  # T on other pairs: [B, q, D] x 2 -> [B, q]


class InfoAtlas(nn.Module):
    """Hypernetwork, critic, DV readout and its gap: a sample in, mutual information out."""

    def __init__(self, config: HypernetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.hypernetwork = Hypernetwork(config)
        self.gap = Gap(config.gap) if config.gap else None

    def critic(self, x: Tensor, y: Tensor, shifts: Tensor, *, exact: bool = True) -> Evaluation:
        """Write the critic of a sample, and evaluate it there."""
        c = self.config
        theta = self.hypernetwork(x, y)
        xn, yn = side_inputs(x), side_inputs(y)
        everyone = torch.cat([torch.zeros_like(shifts[:1]), shifts])  # the joint pairs first
        index = shift_index(everyone, x.shape[1])
        kernels, near = None, None
        if c.metrics:
            with float32_only(x):
                context = TRAINING_CONTEXT if self.training else CONTEXT
                kernels = Kernels.of(x, y, theta.metric, c.widths, context)
                near = kernels.inside(index)  # [B, M+1, n, K]
        theta, start = self.refined(theta, x, y, everyone, near, exact)
        sx, sy = side(theta.side_x, xn) + theta.bias, side(theta.side_y, yn)
        partner = index[1:]  # [M, n]

        psi = features(theta, sx, sy)
        psi_product = features(theta, sx[:, None], partners(sy, partner))  # [B, M, n, F]
        z = theta.shrunk_z[:, None]
        t0 = anchor(z, x, y)
        t0_product = anchor(z[:, None], x[:, None], partners(y, partner))
        with float32_only(x):
            psi, psi_product = psi.float(), psi_product.float()
            if near is not None:
                psi = torch.cat([psi, near[:, 0]], -1)
                psi_product = torch.cat([psi_product, near[:, 1:]], -1)
            if c.readout == "solved":
                a = solve_readout(
                    psi,
                    psi_product[:, : c.solve_shifts].flatten(1, 2),
                    t0_product[:, : c.solve_shifts].flatten(1),
                    theta.ridge,
                    newton_steps=c.newton_steps,
                    cg_steps=0 if exact else c.cg_steps,
                    natural=c.metrics * c.widths,
                    start=start,
                )
            else:
                a = theta.ridge
            joint = (psi @ a[..., None]).squeeze(-1)
            product = (psi_product @ a[:, None, :, None]).squeeze(-1)
            if c.readout == "solved":
                share = best_share(t0, joint, t0_product.flatten(1), product.flatten(1))[:, None]
                a, joint, product = share * a, share * joint, share[..., None] * product
            a = a[..., None]
            joint, product = t0 + joint, t0_product + product
            whole = torch.ones_like(joint[:, :1])
            if c.readout == "solved":
                whole = critic_share(joint, product.flatten(1))[:, None]
                joint, product = whole * joint, whole[..., None] * product

        def elsewhere(xq: Tensor, yq: Tensor) -> Tensor:
            qx = side(theta.side_x, side_inputs(xq, x)) + theta.bias
            psi = features(theta, qx, side(theta.side_y, side_inputs(yq, y)))
            with float32_only(x):
                psi = psi.float()
                if kernels is not None:
                    psi = torch.cat([psi, kernels.outside(xq, yq)], -1)
                return whole * (anchor(z, xq, yq) + (psi @ a)[..., 0])

        return Evaluation(joint, product, t0, t0_product, elsewhere)

    def refined(
        self,
        theta: Theta,
        x: Tensor,
        y: Tensor,
        shifts: Tensor,
        near: Tensor | None,
        exact: bool,
    ) -> tuple[Theta, Tensor | None]:
        """Rounds of refinement: the corrected critic, and its last coefficients [B, F+K].

        shifts [M] with 0 as the first; near [B, M, n, K] kernel features of those pairs, which
        stay as they are, so that the rounds go after what they miss. The slopes count as constants
        in training (first order): a third of the time, and gradients that do not explode.
        """
        c = self.config
        if not c.refinements:
            return theta, None
        shifts = shifts[: c.refine_shifts + 1]
        partner = shift_index(shifts, x.shape[1])

        xn, yn = side_inputs(x), side_inputs(y)
        z = theta.shrunk_z.detach()[:, None, None]
        t0 = anchor(z, x[:, None], partners(y, partner))  # [B, M, n]
        if near is not None:
            near = near[:, : c.refine_shifts + 1].detach()
        a = velocity = None
        for i in range(c.refinements):
            fixed = detached(theta)
            sx, sy = side(fixed.side_x, xn) + fixed.bias, side(fixed.side_y, yn)
            s = sx[:, None] + partners(sy, partner)
            h = gelu(s)
            p = affine(h.flatten(1, 2), fixed.mix).unflatten(1, partner.shape)
            with float32_only(x):
                psi = (h + gelu(p)).float()
                if near is not None:
                    psi = torch.cat([psi, near], -1)
                a = solve_readout(
                    psi[:, 0],
                    psi[:, 1:].flatten(1, 2),
                    t0[:, 1:].flatten(1),
                    fixed.ridge,
                    newton_steps=1,
                    cg_steps=0 if exact else c.refine_cg_steps,
                    natural=c.metrics * c.widths,
                    start=a,
                )
                t = t0 + (psi @ a[:, None, :, None]).squeeze(-1)
            written = a[:, : c.features]
            d_x, d_y, d_mix = pair_slopes(fixed, s, h, p, written, t, shifts)
            slopes = [*side_slope(fixed.side_x, xn, d_x), *side_slope(fixed.side_y, yn, d_y)]
            slopes += [d_x.sum(1, keepdim=True), d_mix]
            theta, velocity = moved(theta, slopes, theta.rate[:, i], velocity)
        return theta, a

    def forward(
        self,
        x: Tensor,
        y: Tensor,
        shifts: Tensor,
        sequence: Tensor | None = None,
        exact: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Canonical x, y [B, n, D], shifts [M] -> mi [B], pointwise, influence [B, n], spread [B].

        sequence [n] has the positions of the samples in order of time; none, they have no order.
        """
        e = self.critic(x, y, shifts, exact=exact)
        mi, log_z = donsker_varadhan(e.joint, e.product.flatten(1))
        pointwise = e.joint - log_z[:, None]
        each = influence(e.joint, e.product, log_z, shifts)
        if self.gap is None:
            return mi, pointwise, each, torch.zeros_like(mi)
        if sequence is None:
            sequence = torch.arange(x.shape[1], device=x.device)
        found = self.gap(x, y, e, sequence)
        mi, pointwise = mi + found.gap, pointwise + found.gap[:, None]
        return mi, pointwise, (1 + found.slope[:, None]) * each + found.effect, found.spread


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def parameters_by_part(config: HypernetworkConfig) -> dict[str, int]:
    """Parameters of each part of the hypernetwork, counted without allocating any."""
    with torch.device("meta"):
        hypernetwork = Hypernetwork(config)
    parts: dict[str, int] = {}
    for name, values in hypernetwork.named_parameters():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + values.numel()
    return parts
