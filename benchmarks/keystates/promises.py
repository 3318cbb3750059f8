"""What a tracker promises, and what it finds in demonstrations that it was not fitted to.

    python -m benchmarks.keystates.promises

For each set of demonstrations: means over followed key states, over three splits into halves.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import VectorTracker
from infoatlas_tools import KeyStates, Trajectories, discover_keystates

from ..tasks.demonstrations import SETS, Demonstrations, load

Float = NDArray[np.float64]

NEAR = 0.5  # seconds
SPLITS = 3
LEAST = 8  # demonstrations of a set


def promises(demos: Demonstrations, fitted: int, seed: int = 0) -> Float:
    """Follow the demonstrations that are not among `fitted` random ones.

    Returns
    -------
    [F, 4] float64
        Recall as promised and as found, and false reports an episode as promised and as found, of
        each key state that is followed.
    """
    order = np.random.default_rng(seed).permutation(len(demos.trajectories))
    own, others = np.sort(order[:fitted]), np.sort(order[fitted:])
    every, found = (
        discover_keystates(Trajectories(d.trajectories, names=d.names, rate=d.rate))
        for d in (demos, demos.subset(own))
    )
    assert demos.rate is not None
    near = NEAR * demos.rate
    task, rows = found.follow(), []
    reports = _reports([demos.trajectories[i] for i in others.tolist()], task)
    for j in np.flatnonzero(task.detectors.followed).tolist():
        steps = _true_steps(found, j, every, own, near)[others]
        hits = [any(abs(t - s) <= near for t in r[j]) for r, s in zip(reports, steps, strict=True)]
        false = (sum(len(r[j]) for r in reports) - sum(hits)) / len(others)
        recall = sum(hits) / there if (there := np.isfinite(steps).sum()) else np.nan
        live = task.detectors
        rows.append((live.recall[j], recall, live.false_reports[j], false))
    return np.array(rows).reshape(-1, 4)


def _reports(states: list[Float], task: Any) -> list[list[list[int]]]:
    """Reported steps of each key state of each episode."""
    tracker = VectorTracker(len(states), task)
    made: list[list[list[int]]] = [[[] for _ in task.keystates] for _ in states]
    for step in range(max(map(len, states))):
        rows = np.array([row for row, own in enumerate(states) if step < len(own)])
        before = tracker.steps.copy()
        tracker.push(np.stack([states[row][step] for row in rows]), rows)
        for row, j in np.argwhere(tracker.steps != before).tolist():
            made[row][j].append(int(tracker.steps[row, j]))
    return made


def _true_steps(
    found: KeyStates, column: int, every: KeyStates, own: NDArray[np.int64], near: float
) -> Float:
    """Steps of a key state in all demonstrations [N]: of the event, or nearest key state, of all.

    `own` are the demonstrations in which it was found.
    """
    known: dict[str, Float] = {}
    for i, row in enumerate(every.evidence.events):
        seen: Counter[str] = Counter()
        for event in row:
            seen[event.name] += 1
            name = f"{event.name} {seen[event.name]}" if seen[event.name] > 1 else event.name
            known.setdefault(name, np.full(len(every.steps), np.nan))[i] = event.step
    if found.name(column) in known:
        return known[found.name(column)]
    candidates = np.ma.filled(every.steps.astype(float), np.nan)
    steps = np.ma.filled(found.steps[:, column].astype(float), np.nan)[:, None]
    same = (np.abs(candidates[own] - steps) <= near).sum(axis=0)
    either = (np.isfinite(candidates[own]) | np.isfinite(steps)).sum(axis=0)
    return candidates[:, int((same / either).argmax())]


def main() -> None:
    means = {}
    for name in SETS:
        demos = load(name)
        if len(demos.trajectories) >= LEAST:
            half = len(demos.trajectories) // 2
            rows = np.concatenate([promises(demos, half, seed) for seed in range(SPLITS)])
            means[name] = np.nanmean(rows, axis=0)
    print(f"{'':20s} recall promised, found; false reports promised, found")
    for name, mean in [*means.items(), ("mean", np.mean(list(means.values()), axis=0))]:
        print(f"{name:20s} " + " ".join(f"{value:6.2f}" for value in mean))


if __name__ == "__main__":
    main()
