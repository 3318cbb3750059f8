"""Sample the BMI benchmark (Czyz et al., 2023) into .npz files.

Runs in an environment of its own (old jax, numpy < 2), which the Makefile makes:

    python benchmarks/accuracy/bmi_samples.py build/bmi

One file per task with x, y [seeds, samples, d] float32 and the true mutual information in nats.
"""

import sys
from pathlib import Path

sys.path.pop(0)  # this folder's bmi.py is not the package of that name

import bmi
import numpy as np

SEEDS = 10
SAMPLES = 5000
LARGEST = 5  # dimension of a side; the sliced 25- and 50-dimensional tasks are another matter


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, task in bmi.benchmark.BENCHMARK_TASKS.items():
        if max(task.dim_x, task.dim_y) > LARGEST:
            continue
        draws = [task.sample(SAMPLES, seed) for seed in range(SEEDS)]
        x, y = (np.stack([np.asarray(d[i], np.float32) for d in draws]) for i in (0, 1))
        np.savez_compressed(out / f"{name}.npz", x=x, y=y, mi=task.mutual_information)
        print(f"{name}: {x.shape[2]} + {y.shape[2]}, {task.mutual_information:.3f} nats")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/bmi"))
