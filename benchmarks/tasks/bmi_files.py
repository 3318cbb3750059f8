"""Samples of the BMI benchmark, written by `bmi_samples.py`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import Case

# The tasks of the paper's Table 1, in its order.
EIGHT = {
    "multinormal-dense-5-5-0.5": "Mn-dense 5-5-0.5",
    "spiral-multinormal-sparse-3-3-2-2.0": "Spiral 3-3-2-2.0",
    "asinh-student-identity-5-5-2": "Asinh@St 5-5-2",
    "student-identity-3-3-3": "St 3-3-3",
    "normal_cdf-multinormal-sparse-3-3-2-2.0": "Uniform 3-3-2-2.0",
    "half_cube-multinormal-sparse-5-5-2-2.0": "Hc@Mn 5-5-2",
    "1v1-additive-0.1": "Additive 1-1-0.1",
    "1v1-bimodal-0.75": "Bimodal 1-1-0.75",
}


def own_tasks(folder: Path) -> set[str]:
    """Names of the tasks in a folder that are of the benchmark itself."""
    found = set()
    for file in folder.glob("*.npz"):
        with np.load(file) as data:
            if data["listed"]:
                found.add(file.stem)
    return found


def load_cases(folder: Path, sizes: Sequence[int], seeds: int) -> list[Case]:
    """Cases in the order of their truth, sizes innermost."""
    files = sorted(folder.glob("*.npz"))
    if not files:
        sys.exit(
            f"no .npz files in {folder}: make them with python -m benchmarks.tasks.bmi_samples"
        )
    cases = []
    for file in files:
        with np.load(file) as data:
            x, y, truth = data["x"][:seeds], data["y"][:seeds], float(data["mi"])
        if x.shape[1] < max(sizes):
            sys.exit(f"{file} has {x.shape[1]} samples, fewer than {max(sizes)}: see --sizes")
        label = {"task": file.stem, "dx": x.shape[2], "dy": y.shape[2]}
        cases += [
            Case(label, truth, n, len(x), lambda i, x=x, y=y, n=n: (x[i, :n], y[i, :n]))
            for n in sizes
        ]
    return sorted(cases, key=lambda case: (case.truth, case.label["task"]))
