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

from dataclasses import asdict, dataclass, replace
from typing import Any

# Of an estimate: the fewest shifts (the solve may need more), and the number of product pairs over
# all slices beyond which more shifts gain nothing.
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
    rounds: int = 1  # of attention to the data after the fusion
    features: int = 64  # F, a multiple of units
    readout: str = "solved"  # or "generated", as in the paper
    metrics: int = 0  # of neighbour_features.py; the features of neighbours
    widths: int = 3  # of kernels, of each metric
    shared: bool = False  # the bias correction counts neighbours in the critic's first metric
    newton_steps: int = 2
    solve_shifts: int = 4  # product pairs of the solve: the first of the shifts; 0: all
    refinements: int = 0  # rounds of train/infoatlas_train/refinement.py
    refine_shifts: int = 2  # product pairs of a round
    refine_turns: int = 0  # product pairs that the rounds take turns over; 0: all take the first
    ridge_floor: float = 5e-4  # bounds the condition number of the solve
    padding: str = "zeros"  # of coordinates that a side lacks; or "noise", as in the paper
    generator_layers: int = 0  # of one MLP that writes all parameters; 0: each token writes its own
    generator_width: int = 0  # of those layers
    gap: int = 0  # metrics of bias_correction.py, fitted after pretraining (files have this name)
    gap_share: float = 0.0  # of its prediction that is kept in large samples; 0: all, always

    def __post_init__(self) -> None:
        if not 0 <= self.gap_share < 1 or (self.gap_share and self.gap < 2):
            raise ValueError(
                f"a share of {self.gap_share} of the bias correction, with {self.gap} metrics: "
                "choose a share from 0 to below 1, and two metrics or more unless it is 0"
            )
        if 0 < self.refine_turns < self.refine_shifts:
            raise ValueError(
                f"rounds of {self.refine_shifts} product pairs cannot take turns over "
                f"{self.refine_turns}: set refine_turns to {self.refine_shifts} or more, or to 0"
            )

    @property
    def solved_pairs(self) -> slice:
        """Rows of all shifts, of which the first is 0, that the solve sees."""
        return slice(self.solve_shifts + 1) if self.solve_shifts else slice(None)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# Small enough for a control loop: 60 features and 2 of neighbours, a solve of 62.
EDGE = HypernetworkConfig(
    heads=2, units=30, features=60, metrics=1, widths=2, shared=True, solve_shifts=0
)

PRESETS = {
    # something useful in three minutes on two cores
    "tiny": HypernetworkConfig(width=32, heads=2, joint_latents=8, units=16, features=32),
    "edge": EDGE,
    # accuracy first, offline and on a GPU
    "base": replace(
        EDGE, refinements=6, refine_turns=5, metrics=2, newton_steps=3, ridge_floor=2e-4
    ),
    # unsliced to twenty dimensions a side
    "wide": replace(EDGE, dim=20),
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
