"""Sizes and switches of the hypernetwork, and the presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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
    newton_steps: int = 2
    solve_shifts: int = 4  # product pairs of the solve: the first of the shifts
    refinements: int = 0  # rounds of train/infoatlas_train/refinement.py
    refine_shifts: int = 2  # product pairs there
    ridge_floor: float = 5e-4  # bounds the condition number of the solve
    cg_steps: int = 15  # in the graph; training solves exactly

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


PRESETS = {
    # something useful in three minutes on two cores
    "tiny": HypernetworkConfig(width=32, heads=2, joint_latents=8, units=16, features=32),
    # shipped: small enough for a control loop
    "edge": HypernetworkConfig(),
    # shipped: accuracy first, offline and on a GPU
    "base": HypernetworkConfig(refinements=6, newton_steps=3, ridge_floor=2e-4, cg_steps=24),
}
