"""Sizes and switches of the hypernetwork, and the presets.

The preset `paper` has the sizes of the paper (section 3.1 and appendix): D = 20, 16 and 8
self-attention layers, keys and values of width 1536, and a seven-layer generator of 8196 units.
Every parameter of the critic is generated, and padding is noise. The paper leaves other sizes open.
These are assumptions:

- 16 heads, 64 latent queries of the joint path and 64 of the marginal path, two-layer MLPs of
  twice the width after each attention, projections f_x and f_y of width 1536;
- "seven layers" are seven hidden layers on the mean of the fused tokens, each with a layer norm,
  and a linear layer after them that writes all parameters at once;
- a critic of this project's form (a network of each side, a layer for the pairs) with 64 hidden
  units and 64 features, the Gaussian anchor, and inputs in canonical form.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

# Minimum number of shifts of an estimate (the solve may need more), and number of product pairs
# over all slices beyond which more shifts do not reduce the error.
SHIFTS, PAIRS = 5, 16_000
READOUTS, PADDINGS = ("solved", "generated"), ("zeros", "noise")


def check_positive(of: object, names: str) -> None:
    """Raise ValueError unless these attributes are above 0."""
    for name in names.split():
        if not getattr(of, name) > 0:
            raise ValueError(f"{name} is {getattr(of, name)}: use a number above 0")


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
    metrics: int = 0  # metrics of the neighbour features (neighbour_features.py)
    widths: int = 3  # kernel widths of each metric
    shared: bool = False  # whether the bias correction uses the first metric of the critic
    newton_steps: int = 2
    solve_shifts: int = 4  # shifts whose product pairs the solve uses, from the first; 0: all
    refinements: int = 0  # rounds of refinement.py
    refine_shifts: int = 2  # shifts whose product pairs a round uses
    refine_turns: int = 0  # shifts that the rounds use in turn; 0: all rounds use the first ones
    ridge_floor: float = 5e-4  # bounds the condition number of the solve
    padding: str = "zeros"  # for coordinates that a side lacks; or "noise", as in the paper
    generator_layers: int = 0  # layers of one MLP that writes all parameters; 0: tokens write them
    generator_width: int = 0  # width of those layers
    gap: int = 0  # metrics of the bias correction (`gap` in files), fitted after pretraining
    gap_share: float = 0.0  # share of an unsupported prediction kept in large samples; 0: keep all

    def __post_init__(self) -> None:
        check_positive(self, "dim width heads joint_latents units features widths newton_steps")
        for name, of in (("width", "heads"), ("features", "units")):
            value, divisor = getattr(self, name), getattr(self, of)
            if value % divisor:
                raise ValueError(f"{name} {value} is no multiple of {of} {divisor}")
        for name, known in (("readout", READOUTS), ("padding", PADDINGS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}: use {' or '.join(known)}")
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
        """Rows that the solve uses, in an array over all shifts whose first shift is 0."""
        return slice(self.solve_shifts + 1) if self.solve_shifts else slice(None)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# Small enough for a control loop: 60 generated features and 2 neighbour features, a solve of 62.
EDGE = HypernetworkConfig(
    heads=2, units=30, features=60, metrics=1, widths=2, shared=True, solve_shifts=0
)

PRESETS = {
    # useful after three minutes of training on two cores
    "tiny": HypernetworkConfig(width=32, heads=2, joint_latents=8, units=16, features=32),
    "edge": EDGE,
    # most accurate, for offline use or a GPU
    "base": replace(
        EDGE, refinements=6, refine_turns=5, metrics=2, newton_steps=3, ridge_floor=2e-4
    ),
    # unsliced estimates of sides with up to twenty dimensions
    "wide": replace(EDGE, dim=20),
    # the paper's sizes, for training on 16 GPUs
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
