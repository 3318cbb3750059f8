"""Sample the BMI benchmark (Czyz et al., 2023) into .npz files.

Runs in an environment of its own (old jax, numpy < 2), which the Makefile makes:

    python -m benchmarks.tasks.bmi_samples build/bmi

One file per task with x, y [seeds, samples, d] float32 and the true mutual information in nats.
The tasks of 25 and 50 dimensions are written to the folder large/, each in five strengths, because
a rank order needs several. The strengths use the constructors of the benchmark.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import bmi
import numpy as np
from bmi.benchmark import tasks

SEEDS, LARGE_SEEDS = 10, 3
SAMPLES = 5000
LARGEST = 5  # dimension of a side that enters the model unsliced
DENSE = (0.02, 0.05, 0.15, 0.5, 0.8)  # correlation of any two coordinates; the benchmark's is 0.5
SPARSE = (0.25, 0.5, 1.0, 2.0, 5.0)  # of two shared factors; the benchmark's is 2


def large() -> Iterator["bmi.benchmark.Task"]:
    """The large tasks of the benchmark, weaker and stronger ones of the same kinds."""
    for d in (25, 50):
        for correlation in DENSE:
            yield tasks.multinormal.task_multinormal_dense(d, d, off_diag=correlation)
    spiral = tasks.spiral.transform_spiral_task
    uniform = tasks.normal_cdf.transform_normal_cdf_task
    for strength in SPARSE:
        base = tasks.multinormal.task_multinormal_sparse(25, 25, strength=strength)
        yield from (base, uniform(base), tasks.half_cube.transform_half_cube_task(base))
        yield from (spiral(base), spiral(uniform(base)))


def save(task: "bmi.benchmark.Task", name: str, folder: Path, seeds: range, **more: object) -> None:
    draws = [task.sample(SAMPLES, seed) for seed in seeds]
    x, y = (np.stack([np.asarray(d[i], np.float32) for d in draws]) for i in (0, 1))
    np.savez_compressed(folder / f"{name}.npz", x=x, y=y, mi=task.mutual_information, **more)
    print(f"{name}: {x.shape[2]} + {y.shape[2]}, {task.mutual_information:.3f} nats")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("build/bmi"), help="folder")
    out = parser.parse_args().out
    (out / "large").mkdir(parents=True, exist_ok=True)
    listed = bmi.benchmark.BENCHMARK_TASKS
    for name, task in listed.items():
        if max(task.dim_x, task.dim_y) <= LARGEST:
            save(task, name, out, range(SEEDS))
    made = {task.id: task for task in large()}
    missing = {n for n, t in listed.items() if max(t.dim_x, t.dim_y) > LARGEST} - made.keys()
    if missing:
        sys.exit(f"the benchmark has large tasks that are not made here: {sorted(missing)}")
    for i, (name, task) in enumerate(made.items()):
        # Separate seeds: with the same noise the strengths of a kind would be easier to order.
        seeds = range(100 * i, 100 * i + LARGE_SEEDS)
        save(task, name, out / "large", seeds, listed=name in listed)


if __name__ == "__main__":
    main()
