"""A policy by behaviour cloning: a chunk of the planner's targets, and the coming key states.

A small network after the idea of CoTPC (Jia et al. 2024). It predicts the states at the coming key
states; the features of that prediction are also inputs of the actions. Every arm has the same
network. In the arm "none" the loss of the key states has no weight.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

JOINTS = 7
SLOTS = 6  # key states of the network: five, and the end


@dataclass(frozen=True)
class Settings:
    """Settings of all arms, chosen on development seeds with the arm "none"."""

    chunk: int = 10  # predicted actions
    executed: int = 5  # of these, before the next prediction
    history: int = 4  # steps between the two states of the input
    width: int = 256
    steps: int = 5000
    batch: int = 256
    rate: float = 1e-3
    # On inputs in training: standard deviation, in standard deviations of each column.
    noise: float = 0.02
    weight: float = 0.1  # of the key states' loss


class Policy(nn.Module):
    """Two states -> a chunk of actions [chunk, 8] and the coming key states [SLOTS, d].

    Joint targets are predicted relative to the present joint positions (the state's first seven
    columns), in units of their pooled standard deviation.
    """

    def __init__(self, dim: int, settings: Settings) -> None:
        super().__init__()
        self.dim, self.settings = dim, settings
        width, concept = settings.width, 32
        self.trunk = nn.Sequential(
            nn.Linear(2 * dim, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.concepts = nn.Sequential(nn.Linear(width, SLOTS * concept), nn.ReLU())
        self.keystates = nn.Parameter(torch.randn(SLOTS, concept, dim) / concept**0.5)
        self.actions = nn.Sequential(
            nn.Linear(width + SLOTS * concept, width),
            nn.ReLU(),
            nn.Linear(width, settings.chunk * (JOINTS + 1)),
        )
        for name in ("mean", "scale"):
            self.register_buffer(name, torch.zeros(dim))
        self.register_buffer("reach", torch.ones(JOINTS))

    def forward(self, now: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, d], in units of the columns' standard deviations -> chunk and key states."""
        hidden = self.trunk(torch.cat([now, now - before], dim=1))
        concepts = self.concepts(hidden)
        of_slot = concepts.view(len(now), SLOTS, -1).transpose(0, 1)
        keystates = (of_slot @ self.keystates).transpose(0, 1)
        chunk = self.actions(torch.cat([hidden, concepts], dim=1))
        return chunk.view(-1, self.settings.chunk, JOINTS + 1), keystates

    def standardise(self, states: Tensor) -> Tensor:
        return (states - self.mean) * self.scale

    @torch.no_grad()
    def act(self, states: list[Any]) -> NDArray[np.float32]:
        """Commands [chunk, 8] after the states of an episode so far."""
        before = states[max(len(states) - 1 - self.settings.history, 0)]
        pair = torch.as_tensor(np.stack([states[-1], before]))
        now, past = self.standardise(pair)
        chunk = self(now[None], past[None])[0][0]
        joints = chunk[:, :JOINTS] * self.reach + pair[0, :JOINTS]
        gripper = torch.where(chunk[:, JOINTS:] > 0, 1.0, -1.0)
        return torch.cat([joints, gripper], dim=1).numpy()
