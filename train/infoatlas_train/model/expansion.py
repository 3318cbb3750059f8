"""Initial weights of a large hypernetwork from a trained smaller one.

A network can first be trained with fewer inputs, features, metrics or rounds of refinement, so that
training steps are faster. On data that the small network accepts, the larger one then writes the
same features and additional ones. Widths, heads and numbers of tokens have to be equal.
"""

from __future__ import annotations

from dataclasses import asdict

import torch
from torch import Tensor

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.model.hypernetwork import Hypernetwork

GROWING = ("dim", "features", "metrics", "refinements")
# Settings of the solve and the readout that may differ, because no weight depends on them.
FREE = (
    "newton_steps", "solve_shifts", "refine_shifts", "refine_turns", "ridge_floor", "shared", "gap",
    "padding",
)  # fmt: skip


def expanded(
    weights: dict[str, Tensor], small: HypernetworkConfig, large: HypernetworkConfig
) -> dict[str, Tensor]:
    """Expand weights of a hypernetwork of configuration `small` to configuration `large`.

    Weights of new inputs start at zero. Weights that write new parts of the critic start as in a
    new network, except that the old features do not mix with the new ones at first. ValueError if a
    setting differs that cannot grow, or a setting is smaller in `large`.
    """
    free = FREE if small.metrics else (*FREE, "widths")
    for name, old in asdict(small).items():
        new = getattr(large, name)
        if name in GROWING and new < old:
            raise ValueError(f"{name} is {old} in the start and {new} after it: it can only grow")
        if name not in (*GROWING, *free) and new != old:
            raise ValueError(
                f"{name} is {old} in the start and {new} after it: of a network only "
                f"{', '.join(GROWING)} can change"
            )
    new = Hypernetwork(large).state_dict()
    inputs = side_positions(small.dim, large.dim)
    new_d = 2 * large.dim + 1
    columns = {
        "condition.0.weight": condition_positions(small.dim, large.dim),
        "pair_embedding.0.weight": torch.cat([
            inputs, new_d + inputs, 2 * new_d + torch.arange(small.dim),
            torch.tensor([2 * new_d + large.dim]),
        ]),
        "f_x.0.weight": inputs,
        "f_y.0.weight": inputs,
    }  # fmt: skip
    rows = {f"shrinkage.{kind}": torch.arange(small.dim) for kind in ("weight", "bias")}
    if small.metrics:
        rows |= {f"kernels.{kind}": kernel_positions(small, large) for kind in ("weight", "bias")}
    for name, old in weights.items():
        if name in columns:
            new[name].zero_()
            new[name][:, columns[name]] = old
        elif name in rows:
            new[name][rows[name]] = old
        elif not name.startswith("generation."):
            new[name] = old.clone()
    _expand_generation(weights, new, small, large)
    return new


def side_positions(small: int, large: int) -> Tensor:
    """Positions of the 2D+1 inputs of a side (x, r, r x) among those of a wider side."""
    x = torch.arange(small)
    return torch.cat([x, torch.tensor([large]), large + 1 + x])


def condition_positions(small: int, large: int) -> Tensor:
    """The same for the statistics of a sample: n, correlations twice, variances, moments."""
    x, inputs = torch.arange(small), side_positions(small, large)
    vectors = [1 + i * large + x for i in range(4)]
    moments = inputs[:, None] * (2 * large + 1) + inputs
    return torch.cat(
        [torch.zeros(1, dtype=torch.int64), *vectors, 1 + 4 * large + moments.flatten()]
    )


def kernel_positions(small: HypernetworkConfig, large: HypernetworkConfig) -> Tensor:
    """The same for the log-scales and widths of the metrics."""
    x, widths = torch.arange(small.dim), torch.arange(small.widths)
    own = torch.cat([x, large.dim + x, 2 * large.dim + widths])
    return (torch.arange(small.metrics)[:, None] * (2 * large.dim + large.widths) + own).flatten()


def _expand_generation(
    weights: dict[str, Tensor],
    new: dict[str, Tensor],
    small: HypernetworkConfig,
    large: HypernetworkConfig,
) -> None:
    """Expand, in place, the weights that generate the rows of the critic's layers."""
    units = small.units
    inputs, hidden = side_positions(small.dim, large.dim), torch.arange(units)
    last = torch.tensor([-1])  # the bias
    r, more = small.features // units, large.features // units
    # Feature j of token i has the index i r + j.
    feature = (torch.arange(units)[:, None] * more + torch.arange(r)).flatten()
    columns = {"1": torch.cat([inputs, last]), "3": torch.cat([hidden, units + inputs]),
               "mix": torch.cat([feature, last])}  # fmt: skip
    with torch.device("meta"):
        before, after = (Hypernetwork(c).generation.layout for c in (small, large))
    starts = {}
    for layout in (before, after):
        start = 0
        for name, (rows, length, _) in layout.items():
            starts[name, layout is after] = start
            start += rows * length

    base, write, bias = (
        [state[f"generation.{name}"] for state in (weights, new)]
        for name in ("base", "write.weight", "write.bias")
    )
    for name, (rows, length, scale) in before.items():
        _, wider, other_scale = after[name]
        where = columns.get(name.removeprefix("x").removeprefix("y"), torch.arange(length))
        old = starts[name, False] + torch.arange(rows * length)
        here = starts[name, True] + wider * torch.arange(rows)[:, None]
        to = (here + where % wider).flatten()
        ratio = scale / other_scale
        if name == "mix":  # old features do not mix with new ones
            all_of_them = (here + torch.arange(wider)).flatten()
            base[1][:, all_of_them] = write[1][all_of_them] = bias[1][all_of_them] = 0
        base[1][:, to] = ratio * base[0][:, old]
        write[1][to] = ratio * write[0][old]
        bias[1][to] = ratio * bias[0][old]
    for kind in ("weight", "bias"):
        new[f"generation.norm.{kind}"] = weights[f"generation.norm.{kind}"].clone()
