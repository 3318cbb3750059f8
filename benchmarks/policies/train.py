"""Train a policy on demonstrations and the key states of one arm."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from infoatlas_tools.generation.sources import Sources

from .policy import JOINTS, SLOTS, Policy, Settings

RESTING = 1e-4  # columns with a smaller deviation are not scaled


def targets(demos: Sources, steps: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Rows of the coming key states [sum, SLOTS], and which of them are still to come.

    `steps` [N, K] are the key states of each trajectory; K is `SLOTS` - 1 at most, and NaN a
    missing one. The end is always the last key state. None: no slot is used.
    """
    rows = np.zeros((len(demos.states), SLOTS), np.int64)
    coming = np.zeros((len(demos.states), SLOTS), bool)
    if steps is None:
        return rows, coming
    starts = np.cumsum(demos.lengths) - demos.lengths
    for start, length, own in zip(starts, demos.lengths, np.asarray(steps, float), strict=True):
        here = np.arange(length)
        for slot, step in enumerate([*own, length - 1]):
            if np.isfinite(step):
                rows[start : start + length, slot] = start + int(step)
                coming[start : start + length, slot] = here <= step
    return rows, coming


def train(demos: Sources, steps: NDArray[Any] | None, settings: Settings, seed: int) -> Policy:
    """Train a policy; the seed determines initial weights, batches and noise."""
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    states = torch.as_tensor(demos.states)
    policy = Policy(states.shape[1], settings)
    policy.mean.copy_(states.mean(0))
    spread = states.std(0)
    policy.scale.copy_(torch.where(spread > RESTING, 1 / spread, 0.0))

    ends = np.repeat(np.cumsum(demos.lengths), demos.lengths) - 1
    starts = np.repeat(np.cumsum(demos.lengths) - demos.lengths, demos.lengths)
    at = np.arange(len(states))
    before = torch.as_tensor(np.maximum(at - settings.history, starts))
    ahead = torch.as_tensor(np.minimum(at[:, None] + np.arange(settings.chunk), ends[:, None]))
    chunks = torch.as_tensor(demos.actions)[ahead]  # [sum, chunk, 8]
    policy.reach.copy_((chunks[..., :JOINTS] - states[:, None, :JOINTS]).std((0, 1)))
    standard = policy.standardise(states)
    past = standard[before]
    rows, coming = map(torch.as_tensor, targets(demos, steps))

    optimiser = torch.optim.AdamW(
        policy.parameters(), lr=settings.rate, weight_decay=1e-4, fused=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.rate, settings.steps, pct_start=0.05
    )
    for _ in range(settings.steps):
        i = torch.randint(len(states), (settings.batch,), generator=random)
        # One disturbance for both states: another pose with the same motion. Targets
        # remain those of the planner, so the chunk corrects the disturbance.
        now = standard[i]
        noise = settings.noise * torch.randn(now.shape, generator=random)
        disturbed = states[i, :JOINTS] + noise[:, :JOINTS] / policy.scale[:JOINTS]
        wanted = chunks[i]
        wanted[..., :JOINTS] = (wanted[..., :JOINTS] - disturbed[:, None]) / policy.reach
        chunk, keystates = policy(now + noise, past[i] + noise)
        loss = smooth_l1_loss(chunk, wanted, beta=0.1)
        if steps is not None:
            error = _masked(keystates - standard[rows[i]], coming[i])
            loss = loss + settings.weight * error
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return policy.eval()


def _masked(error: Tensor, mask: Tensor) -> Tensor:
    """Mean square of [B, SLOTS, d] where the mask [B, SLOTS] is true."""
    return (error.square().mean(2) * mask).sum() / mask.sum().clamp(min=1)
