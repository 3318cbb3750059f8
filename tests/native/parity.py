"""Compares libinfoatlas with Python's preparation of samples, on random inputs.

python tests/native/parity.py build/native/prefix/lib/libinfoatlas.so 10000
"""

import sys

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.models.model_file import MODELS
from library import Library

EACH = 10  # inputs of one size, for which the library makes one estimator


def any_sizes(rng):
    """Model, sizes and settings of an estimator."""
    model = rng.choice(["edge", "base", "wide"], p=[0.6, 0.2, 0.2])
    wide = model == "wide"
    n = int(rng.choice([60, 61, 97, 128, 300] if wide else [32, 33, 50, 100, 257, 600]))
    dx, dy = rng.choice([1, 2, 3, 5, 8, 25] if wide else [1, 2, 3, 5, 6, 9, 20], 2).tolist()
    settings = {"seed": int(rng.choice([0, 1, 2**40 + 3])), "slices": int(rng.integers(1, 8))}
    if rng.random() < 0.3:
        settings["k"] = int(rng.integers(1, min(dx, dy, 5) + 1))
    if rng.random() < 0.3:
        settings["shifts"] = int(rng.integers(4, 40))
    return model, n, dx, dy, settings


def any_samples(rng, n, dx, dy):
    """Samples with ties, constants, copies, sums, heavy tails, outliers, oscillations.

    All n of them, or fewer.
    """
    n = n if rng.random() < 0.5 else int(rng.integers(min(60, n), n + 1))
    sides = [rng.standard_normal((n, dx)), rng.standard_normal((n, dy))]
    if rng.random() < 0.5:  # in order of time
        sides = [side.cumsum(axis=0) for side in sides]
    strength = rng.choice([0, 0.3, 2, 100])
    sides[1] += strength * sides[0][:, rng.integers(0, dx, dy)]
    for side in sides:
        for column in range(side.shape[1]):
            own = side[:, column]
            kind = rng.integers(0, 14)
            if kind == 0:
                own[:] = np.round(own)
            elif kind == 1:
                own[:] = rng.integers(0, 3)
            elif kind == 2:
                own[:] = side[:, rng.integers(0, side.shape[1])]
            elif kind == 3:
                own *= rng.standard_t(1, n)
            elif kind == 4:
                own[rng.integers(0, n, 1 + n // 100)] *= 1e6
            elif kind == 5:
                own *= rng.choice([1e-300, 1e-12, 1e90])
            elif kind == 6:
                own[:] = own > 1
            elif kind == 7:
                own[n // 3 :] = own[n // 3]
            elif kind == 8:
                own[:] = 3 - side @ rng.integers(-1, 2, side.shape[1])
    x, y = sides
    if rng.random() < 0.15:
        x = rng.random((n, dx))
        y = np.sin(30 * x[:, rng.integers(0, dx, dy)]) + 0.1 * rng.standard_normal((n, dy))
    if rng.random() < 0.1 and dx == dy:
        y = x.copy()
    if rng.random() < 0.1:  # rows repeat
        rows = rng.integers(0, max(2, n // 4), n)
        x, y = x[rows], y[rows]
    options = {"time_series": bool(rng.random() < 0.5)}
    if rng.random() < 0.2:
        options["resolution_x"] = rng.choice([0, 0.1, 0.5], dx)
    return x, y, options


def difference(ours, wanted):
    """Largest difference of values in nats, flags and numbers; relative for values above 1."""
    worst = 0.0
    for name, value in ours.items():
        expected = getattr(wanted, name)
        if name == "k":
            value, expected = value or None, expected
            worst = max(worst, float(value != expected))
            continue
        if name.startswith(("constant_", "redundant_")):
            expected = len(expected)
        expected = np.asarray(expected, np.float64)
        off = np.abs(value - expected).max() / max(1.0, np.abs(expected).max())
        worst = off if off > worst or np.isnan(off) else worst
    return worst


class PreparedByPython:
    """The engine without complete estimates."""

    def __init__(self, backend):
        self.provider, self.threads = backend.provider, backend.threads
        self.run, self.canonicalise = backend.run, backend.canonicalise


def compare(library, seeds):
    """Yield the difference for each of `EACH` inputs of each seed, and a description."""
    models = {name: library.load(MODELS / f"{name}.onnx") for name in ("edge", "base", "wide")}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model, n, dx, dy, settings = any_sizes(rng)
        python = Estimator(model, provider="native", threads=1, **settings)
        python.backend = PreparedByPython(python.backend)
        ours = library.estimator(models[model], n, dx, dy, threads=1, **settings)
        for number in range(EACH):
            x, y, options = any_samples(rng, n, dx, dy)
            found = library.run(ours, x, y, **options)
            wanted = python.estimate_checked(Samples(x, y, redundant=None, **options))
            yield difference(found, wanted), (seed, number, model, x.shape, y.shape, settings)
        library.free("estimator", ours)
    for handle in models.values():
        library.free("model", handle)


if __name__ == "__main__":
    worst = 0.0
    total = int(sys.argv[2])
    for done, (off, what) in enumerate(compare(Library(sys.argv[1]), range(total // EACH)), 1):
        if not off <= worst:
            worst = off
            print(f"input {done}: {off:.2g} {what}", flush=True)
    print(f"{total} inputs, largest difference {worst:.2g}")
