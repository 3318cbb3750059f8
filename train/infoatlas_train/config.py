"""Sizes and switches of the hypernetwork, and the presets.

The preset `paper` has the sizes that the paper gives (section 3.1 and appendix): D = 20, 16 and 8
self-attention layers, keys and values of width 1536, a seven-layer generator of 8196 units, every
parameter of the critic generated, padding with noise. It leaves the following unstated, and what
stands here is an assumption:

* 16 heads, 64 latent queries of the joint path and 64 of the marginal path, two-layer MLPs of
  twice the width after each attention, projections f_x and f_y of width 1536;
* "seven layers" are seven hidden ones, each behind a layer norm, on the mean of the fused tokens,
  and a linear one after them that writes all parameters at once;
* a critic of this project's form (a network of each side, a layer for the pairs) with 64 hidden
  units and 64 features, around the Gaussian anchor and behind the canonical form.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# How a model is read: fewest shifts (more where the solve wants more), and product pairs over all
# slices up to which more of them pay.
SHIFTS, PAIRS = 5, 16_000


@dataclass(frozen=True)
class HypernetworkConfig:
    dim: int = 5  # D
    width: int = 64  # W, of all tokens
    heads: int = 4
    joint_latents: int = 16
    joint_layers: int = 1  # self-attention layers of the joint path
    units: int = 32  # U: unit tokens, and hidden units of each side of the critic
    marginal_layers: int = 1  # self-attention layers of the marginal path
    rounds: int = 1  # readings of the data after the fusion
    features: int = 64  # F, a multiple of units
    readout: str = "solved"  # or "generated", as in the paper
    metrics: int = 0  # of train/infoatlas_train/kernels.py; the features of neighbours
    widths: int = 3  # of kernels, of each metric
    newton_steps: int = 2
    solve_shifts: int = 4  # product pairs of the solve: the first of the shifts
    refinements: int = 0  # rounds of train/infoatlas_train/refinement.py
    refine_shifts: int = 2  # product pairs there
    refine_cg_steps: int = 48  # there: 8 are 1 nat off, 16 0.03, 32 0.01, 48 0.002
    ridge_floor: float = 5e-4  # bounds the condition number of the solve
    cg_steps: int = 24  # in the graph; training solves exactly
    padding: str = "zeros"  # of coordinates that a side lacks; or "noise", as in the paper
    generator_layers: int = 0  # of one MLP that writes all parameters; 0: each token writes its own
    generator_width: int = 0  # of those layers
    gap: int = 0  # metrics of train/infoatlas_train/gap.py, which is fitted after pretraining

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


PRESETS = {
    # something useful in three minutes on two cores
    "tiny": HypernetworkConfig(width=32, heads=2, joint_latents=8, units=16, features=32),
    # shipped: small enough for a control loop
    "edge": HypernetworkConfig(metrics=1, widths=2),
    # shipped: accuracy first, offline and on a GPU
    "base": HypernetworkConfig(
        refinements=6, metrics=2, newton_steps=3, solve_shifts=6, ridge_floor=2e-4, cg_steps=32
    ),
    # unsliced to twenty dimensions a side
    "wide": HypernetworkConfig(dim=20),
    # the paper's sizes, for 16 GPUs
    "paper": HypernetworkConfig(
        dim=20,
        width=1536,
        heads=16,
        joint_latents=64,
        joint_layers=16,
        units=64,
        marginal_layers=8,
        rounds=0,
        features=64,
        readout="generated",
        padding="noise",
        generator_layers=7,
        generator_width=8196,
    ),
}
