"""Whether the certainty of proposals that follow from labels is right: a table, to stdout.

    python -m benchmarks.keystates.certainty

Each set of `known.py` is labelled in 1, 2, 3 and 5 demonstrations, twice.
Sets have the same weight.
"""

from itertools import pairwise, product

import numpy as np

from infoatlas_tools import discover_keystates

from ..report import number, table
from ..tasks.demonstrations import load
from .known import random_labels
from .ours import as_recorded
from .run import CHOSEN

EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
SEEDS = (100, 101)
COUNTS = (1, 2, 3, 5)


def proposals(name: str) -> list[tuple[float, bool]]:
    """Certainty of each proposal, and whether it is within 0.25 s of the true event."""
    demos, found = load(name), []
    total, states = len(demos.trajectories), as_recorded(demos)
    near = 0.25 * (demos.rate or np.nan)
    for count, seed in product([count for count in COUNTS if count < total], SEEDS):
        labels = random_labels(demos, count, seed)
        keystates = discover_keystates(states, labels=labels)
        steps = keystates.steps.astype(float).filled(np.nan)
        for j, i in np.ndindex(len(keystates.kind), total):
            truth = demos.times[i, demos.events.index(keystates.name(j))]
            lacks = np.isnan(steps[i, j]) and np.isnan(truth)
            if i not in labels:
                sure = float(keystates.found.certainty[i, j])
                found.append((sure, bool(lacks or abs(steps[i, j] - truth) <= near)))
    return found


def main() -> None:
    """Print the table."""
    sure, right, weight = [], [], []
    for name in CHOSEN:
        own = proposals(name)
        sure += [s for s, _ in own]
        right += [r for _, r in own]
        weight += [1 / len(own)] * len(own)
    said, true, each = map(np.asarray, (sure, right, weight))
    rows = []
    for low, high in pairwise(EDGES):
        part = (said >= low) & (said < high)
        if part.any():
            means = (np.average(values[part], weights=each[part]) for values in (said, true))
            rows.append([f"{low:g} to {high:g}", str(part.sum()), *(number(m, 2) for m in means)])
    print(table(["certainty", "proposals", "mean certainty", "within 0.25 s"], rows))


if __name__ == "__main__":
    main()
