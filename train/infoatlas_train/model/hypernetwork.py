"""The hypernetwork, which maps a sample to the parameters of its critic (paper, section 3.1).

Joint path, marginal path, fusion and parameter generation have the paper's names. There are three
differences from the paper. Generation is token-wise: each unit token writes its own rows of every
layer of the critic (with `generator_layers` one MLP writes all rows, as in the paper). The tokens
attend to the data once more after the fusion. The last layer of the critic is solved
(`readout="solved"`) and not generated.

Shapes: B datasets (or slices), n samples, D inputs a side, W width, U unit tokens.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.model.critic import Theta, anchor, capped, fisher_z, sample_size, side_inputs
from infoatlas_train.model.refinement import LAYERS


class Attention(nn.Module):
    """Attention of tokens to samples, whose keys and values are linear in the samples.

    The projection of the keys is applied to the queries, and the projection of the values to the
    weighted mean of the samples. This avoids keys and values [B, n, 2W], and transposes of tensors
    of length n.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.fixed: tuple[Tensor, ...] | None = None  # merged weights, once they are constants

    def forward(self, tokens: Tensor, samples: Tensor, kv: nn.Linear) -> Tensor:
        """tokens [B, U, W], samples [B, n, W] -> update of the tokens [B, U, W].

        kv contains the projection of the keys, and below it that of the values.
        """
        units, width = tokens.shape[1:]
        query, query_bias, out, out_bias = self.fixed or self.merged(kv)
        q = linear(self.norm(tokens), query, query_bias).reshape(-1, units * self.heads, width)
        # Plain products: on a CPU the backward pass of fused attention is ten times slower.
        y = torch.softmax(q @ samples.mT, -1) @ samples  # [B, U heads, W]
        return linear(y.reshape(-1, units, self.heads * width), out, out_bias)

    def merged(self, kv: nn.Linear) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Merge projections: weight and bias [heads W, W] of queries, and [W, heads W] of outputs.

        The bias of the keys is omitted, because it adds the same constant to all scores.
        """
        k, v = (part.unflatten(0, (self.heads, -1)) for part in kv.weight.chunk(2))  # [h, W/h, W]
        q = self.query.weight.unflatten(0, (self.heads, -1))
        bias = self.query.bias.unflatten(0, (self.heads, -1, 1))
        scale = k.shape[1] ** -0.5
        out = self.out.weight.unflatten(1, (self.heads, -1)).transpose(0, 1)  # [h, W, W/h]
        return (
            (scale * (k.mT @ q)).flatten(0, 1),
            (scale * (k.mT @ bias)).flatten(),
            (out @ v).transpose(0, 1).flatten(1),
            self.out.bias + self.out.weight @ kv.bias.chunk(2)[1],
        )


class MLP(nn.Sequential):
    def __init__(self, width: int) -> None:
        super().__init__(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )


class SelfAttention(nn.Module):
    """One pre-norm transformer layer over the tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.kv = nn.Linear(width, 2 * width)
        self.attention = Attention(width, heads)
        self.mlp = MLP(width)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attention(tokens, self.norm(tokens), self.kv)
        return tokens + self.mlp(tokens)


class CrossAttention(nn.Module):
    """Cross-attention of tokens to embedded samples [B, n, W], with an MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.kv = nn.Linear(width, 2 * width)
        self.attention = Attention(width, heads)
        self.mlp = MLP(width)

    def forward(self, tokens: Tensor, samples: Tensor) -> Tensor:
        tokens = tokens + self.attention(tokens, samples, self.kv)
        return tokens + self.mlp(tokens)


def generator_layer(inputs: int, units: int) -> nn.Sequential:
    return nn.Sequential(nn.LayerNorm(inputs), nn.Linear(inputs, units), nn.GELU())


class ParameterGeneration(nn.Module):
    """Each unit token writes its rows of every layer of the critic, around learned base values.

    With `generator_layers` one MLP writes all rows from the mean of the tokens.
    """

    def __init__(self, c: HypernetworkConfig) -> None:
        super().__init__()
        d, h, f = 2 * c.dim + 1, c.units, c.features
        r = f // c.units  # feature rows that a token writes
        # name -> (rows a token, row length, scale of a weight)
        self.layout = {
            "x1": (1, d + 1, d**-0.5), "y1": (1, d + 1, d**-0.5),
            "x2": (1, h + 1, h**-0.5), "y2": (1, h + 1, h**-0.5),
            "x3": (r, h + d, (h + d) ** -0.5), "y3": (r, h + d, (h + d) ** -0.5),
            "bias": (r, 1, 1.0), "mix": (r, f + 1, f**-0.5), "ridge": (r, 1, 1.0),
        }  # fmt: skip
        if c.refinements:
            self.layout["rate"] = (r, c.refinements * LAYERS, 3.0)  # a larger scale learns faster
        size = sum(rows * length for rows, length, _ in self.layout.values())
        scale = torch.cat([torch.full((r * m,), s) for r, m, s in self.layout.values()])
        self.register_buffer("scale", scale)
        base = torch.randn(c.units, size)
        for name, part in zip(self.layout, self._split(base), strict=True):
            if name in ("ridge", "rate"):
                part.mul_(0.1 if name == "ridge" and c.readout == "generated" else 0.0)
        self.base = nn.Parameter(base)
        widths = [c.width, *[c.generator_width] * c.generator_layers]
        self.mlp = nn.Sequential(*(generator_layer(a, b) for a, b in pairwise(widths)))
        self.norm = nn.LayerNorm(widths[-1])
        self.write = nn.Linear(widths[-1], size * (c.units if c.generator_layers else 1))
        nn.init.normal_(self.write.weight, std=0.3 * widths[-1] ** -0.5)
        nn.init.zeros_(self.write.bias)

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        """tokens [B, U, W] -> weights [B, inputs, units] by name."""
        if self.mlp:
            written = self.write(self.norm(self.mlp(tokens.mean(1)))).unflatten(-1, self.base.shape)
        else:
            written = self.write(self.norm(tokens))
        flat = (self.base + written.float()) * self.scale
        return {
            name: part.unflatten(-1, (rows, length)).flatten(1, 2).mT
            for (name, (rows, length, _)), part in zip(
                self.layout.items(), self._split(flat), strict=True
            )
        }

    def _split(self, flat: Tensor) -> tuple[Tensor, ...]:
        return flat.split([rows * length for rows, length, _ in self.layout.values()], -1)


class Hypernetwork(nn.Module):
    """H: sample -> theta (paper, Eq. 4)."""

    def __init__(self, config: HypernetworkConfig) -> None:
        super().__init__()
        self.config = c = config
        if c.features % c.units:
            raise ValueError(f"features ({c.features}) must be a multiple of units ({c.units})")
        d, w = 2 * c.dim + 1, c.width
        self.condition = nn.Sequential(
            nn.Linear(4 * c.dim + 1 + d * d, w), nn.GELU(), nn.Linear(w, w)
        )
        # joint path: latent queries attend to paired samples (shipped weights are named "reading")
        self.pair_embedding = nn.Sequential(nn.Linear(2 * d + c.dim + 1, w), nn.GELU())
        self.q_joint = nn.Parameter(torch.randn(c.joint_latents, w))
        self.joint_reading = CrossAttention(w, c.heads)
        self.joint_layers = nn.ModuleList(SelfAttention(w, c.heads) for _ in range(c.joint_layers))
        # marginal path: f_x, f_y, and learned queries in both directions
        self.f_x = nn.Sequential(nn.Linear(d, w), nn.GELU(), nn.Linear(w, 2 * w))
        self.f_y = nn.Sequential(nn.Linear(d, w), nn.GELU(), nn.Linear(w, 2 * w))
        self.q_x_to_y = nn.Parameter(torch.randn(c.units, w))
        self.q_y_to_x = nn.Parameter(torch.randn(c.units, w))
        self.attend_x, self.attend_y = Attention(w, c.heads), Attention(w, c.heads)
        self.marginal_layers = nn.ModuleList(
            SelfAttention(w, c.heads) for _ in range(c.marginal_layers)
        )
        # fusion: the marginal tokens query the joint ones
        self.fusion_norm = nn.LayerNorm(w)
        self.fusion = CrossAttention(w, c.heads)
        # after the fusion the unit tokens attend to the pairs again
        self.readings = nn.ModuleList(CrossAttention(w, c.heads) for _ in range(c.rounds))
        self.layers = nn.ModuleList(SelfAttention(w, c.heads) for _ in range(c.rounds))
        self.generation = ParameterGeneration(c)
        self.shrinkage = nn.Linear(w, c.dim)
        nn.init.zeros_(self.shrinkage.weight)
        nn.init.constant_(self.shrinkage.bias, 3.0)
        if c.metrics:
            self.kernels = nn.Linear(w, c.metrics * (2 * c.dim + c.widths))
            nn.init.zeros_(self.kernels.weight)
            # The first metric weights all directions equally; later ones emphasise the first
            # directions more and more.
            falling = -0.7 * torch.arange(c.metrics)[:, None] * torch.arange(c.dim)
            falling = falling.clamp(min=-3.0)
            with torch.no_grad():
                self.kernels.bias.copy_(
                    torch.cat([falling, falling, torch.zeros(c.metrics, c.widths)], 1).flatten()
                )

    def fix(self) -> None:
        """Merge the weights of attention in advance, so that they are constants of a graph."""
        with torch.no_grad():
            for part in self.modules():
                if isinstance(part, (CrossAttention, SelfAttention)):
                    part.attention.fixed = part.attention.merged(part.kv)
            self.attend_x.fixed = self.attend_x.merged(self.f_x[2])
            self.attend_y.fixed = self.attend_y.merged(self.f_y[2])

    def forward(self, x: Tensor, y: Tensor) -> Theta:
        """Canonical samples x, y [B, n, D] -> the parameters of one critic per dataset."""
        c = self.config
        n = sample_size(x)  # [B, 1]
        z = fisher_z(x, y)
        xn, yn = side_inputs(x), side_inputs(y)
        used = torch.cat([x.square().mean(1), y.square().mean(1)], -1)
        # Cross-moments of the sides and their norms: they reveal rotations that depend on the norm.
        moments = xn.mT @ yn / x.shape[1] - xn.mean(1)[:, :, None] * yn.mean(1)[:, None]
        moments = moments.flatten(1).clamp(-3, 3)
        fact = torch.cat([torch.log(n) / 4 - 1.5, torch.tanh(z), z / 3, used, moments], -1)
        condition = self.condition(fact)[:, None]  # [B, 1, W]
        t0 = torch.tanh(anchor(capped(z, n), x, y) / 8)
        pairs = self.pair_embedding(torch.cat([xn, yn, x * y, t0[..., None]], -1))  # [B, n, W]

        h_joint = self.joint_reading(self.q_joint + condition, pairs)
        for layer in self.joint_layers:
            h_joint = layer(h_joint)

        # Queries of x attend to y, and queries of y attend to x. The pairing is not used.
        q_x, q_y = self.q_x_to_y + condition, self.q_y_to_x + condition
        h_marginal = (
            q_x
            + self.attend_y(q_x, self.f_y[:2](yn), self.f_y[2])
            + self.attend_x(q_y, self.f_x[:2](xn), self.f_x[2])
        )
        for layer in self.marginal_layers:
            h_marginal = layer(h_marginal)

        tokens = self.fusion(h_marginal, self.fusion_norm(h_joint))
        for attention, layer in zip(self.readings, self.layers, strict=True):
            tokens = layer(attention(tokens, pairs))

        w = self.generation(tokens)
        shrink = 1.05 * torch.sigmoid(self.shrinkage(tokens.mean(1)).float())
        ridge = w["ridge"][:, 0]
        scale, metric = c.features / n, None
        if c.metrics:
            written = self.kernels(tokens.mean(1)).float().unflatten(1, (c.metrics, -1))
            metric = written[..., : -c.widths].unflatten(-1, (2, c.dim)).clamp(-4, 3)
            if c.shared:  # relative to the sharpest direction in use, so that widths do not drift
                there = used.unflatten(-1, (1, 2, c.dim)) > 0.5
                sharpest = torch.where(there, metric, -4.0).amax((2, 3), keepdim=True)
                metric = (metric - sharpest).clamp(min=-3)
            own = written[..., -c.widths :].flatten(1)
            scale = torch.cat([scale.expand_as(ridge), n.rsqrt().expand_as(own)], 1)
            ridge = torch.cat([ridge, own], 1)
        if c.readout == "solved":
            # A Gaussian prior of variance 1/F on the coefficients of standardised features.
            ridge = c.ridge_floor + scale * torch.exp(ridge.clamp(-8, 8))
        rate = None
        if c.refinements:
            rate = 0.03 * torch.exp(w["rate"].clamp(-8, 3)).unflatten(1, (c.refinements, LAYERS))
        side_x, side_y = [w["x1"], w["x2"], w["x3"]], [w["y1"], w["y2"], w["y3"]]
        z = capped(shrink * z, n)
        return Theta(z, side_x, side_y, w["bias"], w["mix"], ridge, metric, rate)
