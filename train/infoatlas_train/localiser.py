"""The learned localiser of key states: a small network, fitted to the demonstrations of a task.

It is a baseline of the paper and not part of `infoatlas_tools.discover_keystates`, because evenly
spaced steps are closer to the events (docs/key-states.md).

The method is that of MaxMI (Zhou et al., 2024), on which the paper's Table 2 builds. The network
attends to the steps of a trajectory for each of K concepts, and the mean of the attention is the
time of the concept. The loss orders the concepts in time, and rewards mutual information of pooled
pairs: the states at a concept and the states `lag` steps before. Any differentiable estimate of the
mutual information can be used. MaxMI estimates it for each coordinate. This module estimates it for
all coordinates of a state together.

Shapes: N trajectories, K concepts, L steps of resampled trajectories, d coordinates.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count
from infoatlas_tools.trajectories import Trajectories, as_trajectories
from infoatlas_train.differentiable import mutual_information

Information = Callable[[Tensor, Tensor, int], Tensor]  # x, y [n, d], number of the step -> nats

LENGTH = 64  # L
WIDTH, WAVES = 64, 8
# Weight of the information, and sharpness of the order loss. MaxMI has a weight of 4 on estimates
# for each coordinate. With a weight of 4 on estimates for all coordinates together, all concepts
# are found where the robot rests.
WEIGHT, SHARPNESS = 0.3, 0.3
PAIRS = 100  # pairs of a training step, as in MaxMI: 5 concepts of 20 trajectories
STEPS, RATE = 120, 2e-3
SLICES = 4  # slices of a training step, with new projections at each step


class KeyStateLocaliser(nn.Module):
    """Network for the times of K concepts: attention over the steps of a trajectory.

    Embeddings of the steps include their time.
    """

    def __init__(self, d: int, concepts: int) -> None:
        super().__init__()
        self.point = nn.Sequential(
            nn.Linear(d + 2 * WAVES, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()
        )
        self.concepts = nn.Parameter(torch.randn(concepts, WIDTH))
        self.query = nn.Linear(2 * WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """States [N, L, d] -> times [N, K] from 0 to 1, and the spread of attention around them."""
        n, length = states.shape[:2]
        position = torch.linspace(0, 1, length)
        waves = position[:, None] * torch.pi * torch.arange(1, WAVES + 1)
        time = torch.cat([waves.sin(), waves.cos()], 1).expand(n, -1, -1)
        points = self.point(torch.cat([states, time], 2))  # [N, L, W]
        of_all = points.amax(1, keepdim=True).expand(-1, len(self.concepts), -1)
        query = self.query(torch.cat([of_all, self.concepts.expand(n, -1, -1)], 2))
        attention = torch.softmax(query @ self.key(points).mT / WIDTH**0.5, 2)  # [N, K, L]
        times = attention @ position
        spread = (attention * (position - times[..., None]).square()).sum(2).sqrt()
        return times, spread


def ours(x: Tensor, y: Tensor, step: int) -> Tensor:
    """The differentiable estimate of this project, with new projections at each training step."""
    return mutual_information(x, y, k=5, slices=SLICES, seed=step)


def fit(
    trajectories: Sequence[NDArray[np.float64]] | Trajectories,
    count: int,
    lag: int,
    information: Information | None = ours,
    *,
    steps: int = STEPS,
    seed: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fit a localiser to trajectories, and find their key states with it.

    Parameters
    ----------
    trajectories : sequence of N arrays [T_i, d], or Trajectories
        Demonstrations of a task.
    count : int
        Number K of key states in each trajectory.
    lag : int
        Steps between a state and its past.
    information : callable, optional
        Differentiable estimate of the mutual information of pooled pairs in nats. With None the
        loss only orders the concepts.
    steps : int
        Steps of the optimiser.
    seed : int
        Seed of the initial weights and of the training steps.

    Returns
    -------
    steps : [N, K] int64
        Key states in ascending order, after the first `lag` steps and before the last step.
    concentration : [K] float64
        Concentration of the attention: 1 if it is at a single step, 0 if it is uniform.

    Raises
    ------
    InputError
        If the trajectories are unusable or too short for K key states, all coordinates are
        constant, or there are too few pairs for the estimate.
    """
    count, lag = as_count(count, "count", 1), as_count(lag, "lag", 1)
    given = as_trajectories(trajectories)
    least = lag + count + 1
    if given.lengths.min() < least:
        i = int(given.lengths.argmin())
        raise InputError(
            f"trajectory {i} has {given.lengths[i]} steps, and {count} key states need {least}: "
            "leave it out, or pass a smaller count"
        )
    pooled = given.states
    varies = np.ptp(pooled, axis=0) > 0
    if not varies.any():
        raise InputError("all coordinates are constant: pass states that move")
    centre, scale = pooled[:, varies].mean(0), pooled[:, varies].std(0)
    scaled = [torch.tensor((s[:, varies] - centre) / scale).float() for s in given.split()]
    last = torch.tensor([len(s) - 1.0 for s in scaled])
    padded = nn.utils.rnn.pad_sequence(scaled, batch_first=True)  # [N, T, d]
    even = torch.linspace(0, 1, LENGTH)[None] * last[:, None]
    resampled = at(padded, torch.arange(len(scaled))[:, None], even)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        localiser = KeyStateLocaliser(padded.shape[2], count)
    optimiser = torch.optim.Adam(localiser.parameters(), lr=RATE)
    drawn = min(len(scaled), -(-PAIRS // count))
    for step in range(steps):
        rows = torch.randperm(len(scaled), generator=generator)[:drawn]
        times, _ = localiser(resampled[rows])
        times = lag + times * (last[rows, None] - lag)  # steps
        late = nn.functional.softplus(times[:, :-1] - times[:, 1:], beta=SHARPNESS)
        loss = late.sum() / max(1, late.numel())
        if information is not None:
            now = at(padded, rows[:, None], times).flatten(0, 1)
            past = at(padded, rows[:, None], times - lag).flatten(0, 1)
            loss = loss - WEIGHT * information(now, past, step)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        times, spread = localiser(resampled)
    found = (lag + times * (last[:, None] - lag)).numpy()
    uniform = ((LENGTH + 1) / (12 * (LENGTH - 1))) ** 0.5  # standard deviation of even attention
    concentration = (1 - spread.double().mean(0) / uniform).numpy()
    order = np.argsort(found.mean(0), kind="stable")  # concepts in order of time
    return apart(found[:, order], lag, last.numpy()), concentration[order]


def at(padded: Tensor, rows: Tensor, times: Tensor) -> Tensor:
    """States [N, K, d] at times [N, K] in steps, linearly interpolated between steps."""
    before = times.detach().floor().clamp(0, padded.shape[1] - 2).long()
    share = (times - before)[..., None]
    return padded[rows, before] * (1 - share) + padded[rows, before + 1] * share


def apart(times: NDArray[np.floating], lag: int, last: NDArray[np.floating]) -> NDArray[np.int64]:
    """Round times to distinct ascending steps, after the first `lag` and before the last."""
    steps = np.sort(np.rint(times), axis=1).astype(np.int64)
    count = steps.shape[1]
    for j in range(count):
        least = lag if j == 0 else steps[:, j - 1] + 1
        steps[:, j] = np.maximum(steps[:, j], least)
    for j in reversed(range(count)):
        most = last.astype(np.int64) - 1 if j == count - 1 else steps[:, j + 1] - 1
        steps[:, j] = np.minimum(steps[:, j], most)
    return steps
