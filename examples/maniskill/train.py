"""Clone the planner that made trajectory.h5, and predict its key states beside the actions.

    python examples/maniskill/train.py demos/trajectory.h5 --out policy.pt
    python examples/maniskill/evaluate.py policy.pt

`--weight 0` trains the same network without key states. `make policies` measures whether they help,
with intervals. This script is the training loop in its shortest form.
"""

import argparse

import h5py
import numpy as np
import torch
from torch import nn

from infoatlas_tools import discover_keystates, load_trajectories

CHUNK, JOINTS = 16, 7


class Policy(nn.Module):
    """State [B, d] -> CHUNK actions relative to the joints [B, CHUNK, 8], key states [B, K, d]."""

    def __init__(self, dim: int, keystates: int, width: int = 256) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            *(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        )
        self.actions = nn.Linear(width, CHUNK * (JOINTS + 1))
        self.keystates = nn.Linear(width, keystates * dim)
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.trunk((states - self.mean) / self.scale)
        chunk = self.actions(hidden).view(-1, CHUNK, JOINTS + 1)
        return chunk, self.keystates(hidden).view(len(states), -1, states.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demonstrations", help="trajectory.h5 of collect.py")
    parser.add_argument("--out", default="policy.pt", help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=6000, help="(%(default)s)")
    parser.add_argument("--weight", type=float, default=0.1, help="of key states (%(default)s)")
    chosen = parser.parse_args()
    torch.manual_seed(0)

    found = discover_keystates(load_trajectories(chosen.demonstrations), count=3)
    shared = found.steps[:, found.shared].filled(-1)  # -1: this demonstration lacks it
    columns = [int(name.removeprefix("obs.")) for name in found.trajectories.names]  # without flags
    states, chunks, coming, still = [], [], [], []
    with h5py.File(chosen.demonstrations) as file:
        episodes = sorted(file, key=lambda name: int(name.removeprefix("traj_")))
        for name, steps in zip(episodes, shared, strict=True):
            obs, actions = file[name]["obs"][:][:, columns], file[name]["actions"][:]
            at = np.arange(len(actions))
            states.append(obs[:-1])
            chunks.append(actions[np.minimum(at[:, None] + np.arange(CHUNK), at[-1])])
            coming.append(np.repeat(obs[None, steps], len(at), axis=0))
            still.append(at[:, None] <= steps)  # a key state that is past is not asked for
    states, chunks, coming = (torch.tensor(np.concatenate(a)) for a in (states, chunks, coming))
    still = torch.tensor(np.concatenate(still))
    chunks[..., :JOINTS] -= states[:, None, :JOINTS]

    policy = Policy(states.shape[1], shared.shape[1])
    policy.mean.copy_(states.mean(0))
    policy.scale.copy_(states.std(0).clamp(min=1e-3))
    optimiser = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    for step in range(chosen.steps):
        i = torch.randint(len(states), (128,))
        chunk, keystates = policy(states[i])
        action_loss = (chunk - chunks[i]).abs().mean()
        wanted = (coming[i] - policy.mean) / policy.scale
        keystate_loss = ((keystates - wanted).square().mean(2) * still[i]).mean()
        optimiser.zero_grad()
        (action_loss + chosen.weight * keystate_loss).backward()
        optimiser.step()
        if step % 500 == 0 or step == chosen.steps - 1:
            print(f"step {step}: actions {action_loss:.4f}, key states {keystate_loss:.3f}")
    kept = {"columns": columns, "keystates": shared.shape[1]}
    torch.save({"policy": policy.state_dict(), **kept}, chosen.out)


if __name__ == "__main__":
    main()
