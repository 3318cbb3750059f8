"""The complete model: a hypernetwork, and the evaluation of the critic that it writes.

A forward pass writes the critic of a sample, refines it, solves its readout, and applies the
Donsker-Varadhan (DV) formula and the bias correction.

Shapes: B datasets (or slices), n samples, D inputs a side, M shifts, F features.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.model.bias_correction import BiasCorrection, Evaluation
from infoatlas_train.model.critic import (
    BLOCK,
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
from infoatlas_train.model.hypernetwork import Hypernetwork
from infoatlas_train.model.neighbour_features import CONTEXT, TRAINING_CONTEXT, Kernels
from infoatlas_train.model.refinement import (
    detached,
    moved,
    pair_slopes,
    pairs_of_round,
    side_slope,
)


def float32_only(x: Tensor) -> AbstractContextManager[None]:
    """A context that disables autocast, so that solve and readout are in float32.

    It is an empty context without autocast, because graphs are traced through it.
    """
    on = torch.is_autocast_enabled(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if on else nullcontext()


@dataclass
class SolvedCritic:
    """A critic with its coefficients and the sample that it was written from."""

    theta: Theta
    x: Tensor  # [B, n, D]
    y: Tensor
    kernels: Kernels | None
    coefficients: Tensor  # [B, F+K, 1]
    scale: Tensor  # [B, 1] factor on T

    def elsewhere(self, xq: Tensor, yq: Tensor) -> Tensor:
        """T on pairs that are not in the sample: [B, q, D] x 2 -> [B, q]."""
        theta = self.theta
        qx = side(theta.side_x, side_inputs(xq, self.x)) + theta.bias
        psi = features(theta, qx, side(theta.side_y, side_inputs(yq, self.y)))
        with float32_only(self.x):
            psi = psi.to(self.x.dtype)
            if self.kernels is not None:
                psi = torch.cat([psi, self.kernels.outside(xq, yq)], -1)
            solved = (psi @ self.coefficients)[..., 0]
            return self.scale * (anchor(theta.shrunk_z, xq, yq) + solved)


class InfoAtlas(nn.Module):
    """Hypernetwork, critic, DV readout and bias correction: a sample in, mutual information out."""

    def __init__(self, config: HypernetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.hypernetwork = Hypernetwork(config)
        # Shipped files name the bias correction `gap`.
        self.gap = BiasCorrection(config.gap, config.gap_share) if config.gap else None

    def critic(self, x: Tensor, y: Tensor, shifts: Tensor, *, exact: bool = True) -> Evaluation:
        """Write the critic of a sample, and evaluate it on the sample."""
        c = self.config
        theta = self.hypernetwork(x, y)
        xn, yn = side_inputs(x), side_inputs(y)
        everyone = torch.cat([torch.zeros_like(shifts[:1]), shifts])  # the joint pairs first
        n, partner = x.shape[1], shift_index(everyone, x.shape[1])  # [M+1, n]
        kernels, near, counts = None, None, None
        if c.metrics:
            with float32_only(x):
                context = TRAINING_CONTEXT if self.training else CONTEXT
                kernels = Kernels.of(x, y, theta.metric, c.widths, context)
                near, counts = kernels.inside(
                    partner, c.shared and not self.training, constant=self.training
                )
        theta, start = self.refined(theta, x, y, everyone, near, exact)
        sx, sy = side(theta.side_x, xn) + theta.bias, side(theta.side_y, yn)

        psi = features(theta, sx[:, None], partners(sy, partner))  # [B, M+1, n, F]
        t0 = anchor(theta.shrunk_z, x, y, partner)  # [B, M+1, n]
        with float32_only(x):
            psi = psi.to(x.dtype)
            if near is not None:
                psi = torch.cat([psi, near], -1)
            if c.readout == "solved":
                some = c.solved_pairs
                a = solve_readout(
                    psi[:, some].flatten(1, 2),
                    t0[:, some].flatten(1),
                    theta.ridge,
                    n,
                    newton_steps=c.newton_steps,
                    exact=exact,
                    natural=c.metrics * c.widths,
                    start=start,
                    # One block: refinement makes features similar, which amplifies small errors.
                    block=theta.ridge.shape[1] if c.refinements else BLOCK,
                )
            else:
                a = theta.ridge
            step = (psi @ a[:, None, :, None]).squeeze(-1)
            if c.readout == "solved" and c.solve_shifts:
                share = best_share(
                    t0[:, 0], step[:, 0], t0[:, 1:].flatten(1), step[:, 1:].flatten(1)
                )
                a, step = share[:, None] * a, share[:, None, None] * step
            a = a[..., None]
            t = t0 + step
            critic_scale = torch.ones_like(t[:, :1, 0])
            if c.readout == "solved":
                critic_scale = critic_share(t[:, 0], t[:, 1:].flatten(1))[:, None]
                t = critic_scale[..., None] * t
        solved = SolvedCritic(theta, x, y, kernels, a, critic_scale)
        return Evaluation(t[:, 0], t[:, 1:], t0[:, 0], t0[:, 1:], counts, solved.elsewhere)

    def refined(
        self, theta: Theta, x: Tensor, y: Tensor, shifts: Tensor, near: Tensor | None, exact: bool
    ) -> tuple[Theta, Tensor | None]:
        """Refine the critic in rounds; return it and its last coefficients [B, F+K].

        shifts [M] start with 0. near [B, M, n, K] are the neighbour features of these pairs; they
        are constant during refinement. In training the slopes are constants, too (first order),
        which needs a third of the time and keeps gradients from exploding. With the same few
        product pairs in all rounds, the critic would overfit to them, so the rounds can use more
        pairs in turn.
        """
        c = self.config
        if not c.refinements:
            return theta, None
        turns = c.refine_turns or c.refine_shifts
        everyone = shift_index(shifts[: turns + 1], x.shape[1])
        xn, yn = side_inputs(x), side_inputs(y)
        anchors = anchor(theta.shrunk_z.detach(), x, y, everyone)  # [B, 1 + turns, n]
        a = velocity = None
        for i in range(c.refinements):
            fixed = detached(theta)
            pairs = pairs_of_round(i, c.refine_shifts, turns, x.device)
            partner, t0 = everyone.index_select(0, pairs), anchors.index_select(1, pairs)
            sx, sy = side(fixed.side_x, xn) + fixed.bias, side(fixed.side_y, yn)
            s = sx[:, None] + partners(sy, partner)
            h = gelu(s)
            p = affine(h.flatten(1, 2), fixed.mix).unflatten(1, partner.shape)
            with float32_only(x):
                psi = (h + gelu(p)).to(x.dtype)
                if near is not None:
                    psi = torch.cat([psi, near.index_select(1, pairs).detach()], -1)
                a = solve_readout(
                    psi.flatten(1, 2),
                    t0.flatten(1),
                    fixed.ridge,
                    x.shape[1],
                    newton_steps=1,
                    exact=exact,
                    natural=c.metrics * c.widths,
                    start=a,
                    block=fixed.ridge.shape[1],
                )
                t = t0 + (psi @ a[:, None, :, None]).squeeze(-1)
            written = a[:, : c.features]
            moved_by = shifts.index_select(0, pairs)
            d_x, d_y, d_mix = pair_slopes(fixed, s, h, p, written, t, moved_by)
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

        sequence [n] are the positions of the samples in order of time, or None without an order.
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
        mi, pointwise = mi + found.correction, pointwise + found.correction[:, None]
        return mi, pointwise, (1 + found.slope[:, None]) * each + found.effect, found.spread


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def parameters_by_part(config: HypernetworkConfig) -> dict[str, int]:
    """Number of parameters of each part of the hypernetwork, without allocating them."""
    with torch.device("meta"):
        hypernetwork = Hypernetwork(config)
    parts: dict[str, int] = {}
    for name, values in hypernetwork.named_parameters():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + values.numel()
    return parts
