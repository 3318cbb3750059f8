"""Measurements of slicing.py: slices, few samples and single windows that mislead.

The truth of every case is a closed form or a numerical integral.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv

from infoatlas_rt import Estimator, estimate

from .peers.classical import projections
from .tasks import Array

WIDTHS, COUNTS, MOST = (1, 2, 3, 5), (5, 25, 100), 100  # k, S and the largest S
WIDE = 64  # coordinates of the Gaussian that is sliced
SPARSE = (0.5, 0.8, 0.95, 0.999)  # correlations of the one pair of coordinates
RADII = ((2, 1, 3.0), (2, 1, 1.5), (2, 1, 1.01), (20, 5, 3.0), (20, 5, 1.2))  # d, k, ratio
SIZES = (32, 50, 100, 200, 400, 1000)
WINDOWS = (50, 100, 200, 500, 1000)

Row = dict[str, Any]


def summary(study: str, label: Row, truth: float, values: Sequence[float]) -> Row:
    return {
        "study": study,
        **label,
        "truth": truth,
        "mean": float(np.mean(values)),
        "spread": float(np.std(values, ddof=1)),
        "values": tuple(values),
    }


def gaussian(n: int, rho: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """x, y [n, d] whose coordinates correlate pair by pair, by rho [d]."""
    x, noise = rng.standard_normal((2, n, len(rho)))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


def sliced_truth(rho: Array, k: int, draws: int = 4000) -> float:
    """Mean over slices of the mutual information of `gaussian`, nats."""
    rng = np.random.default_rng(0)
    left, right = (projections(len(rho), k, draws, rng) for _ in range(2))
    cross = np.swapaxes(left, 1, 2) * rho @ right  # the sides of a slice are white
    inside = np.eye(k) - np.swapaxes(cross, 1, 2) @ cross
    return float(-np.linalg.slogdet(inside)[1].mean() / 2)


def slices(model: str, repeats: int, n: int) -> Iterator[Row]:
    """One Gaussian in wider and in more slices; each repeat has its own samples and slices."""
    rho = np.full(WIDE, np.sqrt(0.5))
    whole = -0.5 * float(np.log1p(-(rho**2)).sum())
    for k in WIDTHS:
        per_slice = []
        for repeat in range(repeats):
            x, y = gaussian(n, rho, np.random.default_rng([repeat, k]))
            found = estimate(x, y, model=model, k=k, slices=MOST, seed=repeat)
            per_slice.append(found.per_slice)
        truth = sliced_truth(rho, k)
        for count in COUNTS:
            values = [float(own[:count].mean()) for own in per_slice]
            yield summary(
                "slices", {"k": k, "S": count, "n": n, "unsliced_truth": whole}, truth, values
            )


def dense(rho: float) -> float:
    """Correlation of two pairs whose 1-sliced information is that of one pair with `rho`.

    Directions u and v are uniform on the circle, so the slices of the dense pair correlate by
    rho' cos of the angle between them, and their mean is -log((1 + sqrt(1 - rho'^2)) / 2).
    """
    inverse = 2 * np.exp(-circle(rho)) - 1
    return float(np.sqrt(1 - inverse**2))


def circle(rho: float) -> float:
    """1-sliced information of one pair of two, nats."""
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    # Over the second angle the mean of log(1 - c cos^2) is 2 log((1 + sqrt(1 - c)) / 2).
    return float(-np.log((1 + np.sqrt(1 - (rho * np.cos(angle)) ** 2)) / 2).mean())


def structures(model: str, repeats: int, n: int) -> Iterator[Row]:
    """Two Gaussians with equal mean information in slices and different information unsliced."""
    for rho in SPARSE:
        for kind, own in (("sparse", [rho, 0.0]), ("dense", [dense(rho)] * 2)):
            sides = [
                gaussian(n, np.array(own), np.random.default_rng([repeat, 1]))
                for repeat in range(repeats)
            ]
            truth = -0.5 * float(np.log1p(-np.square(own)).sum())
            for how, chosen, exact in (
                ("sliced", {"k": 1, "slices": MOST}, circle(rho)),
                ("unsliced", {}, truth),
            ):
                values = [estimate(x, y, model=model, **chosen).mi for x, y in sides]
                label = {"kind": kind, "rho": own[0], "of": rho, "how": how, "n": n}
                yield summary("structures", label, exact, values)


def radius(n: int, d: int, ratio: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Independent directions x, y [n, d] with a common length of 1 or `ratio` [n, 1]."""
    length = np.where(rng.random((n, 1)) < 0.5, 1.0, ratio)
    x, y = rng.standard_normal((2, n, d))
    x, y = (length * side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    return x, y, length


def radius_truth(d: int, k: int, ratio: float, points: int = 2000) -> float:
    """Information of a k-dimensional slice of `radius`, nats; it is equal for all slices.

    It is the information of the lengths of both slices. The squared length is Beta(k/2, (d - k)/2)
    times the squared radius; the integral uses the midpoint rule over the quantiles of both sides.
    """
    quantiles = betaincinv(k / 2, (d - k) / 2, (np.arange(points) + 0.5) / points)[:, None]
    squares = np.array([1.0, ratio]) ** 2
    total = 0.0
    for square in squares:
        inside = np.maximum(1 - quantiles * square / squares, 0)
        with np.errstate(divide="ignore"):
            density = np.where(inside > 0, inside ** ((d - k) / 2 - 1), 0) * squares ** (-k / 2)
        which = density / density.sum(1, keepdims=True)  # probability of each radius [points, 2]
        total += np.log(2 * which @ which.T).mean() / 2
    return float(total)


def vanishing(model: str, repeats: int, n: int) -> Iterator[Row]:
    """A common radius: log 2 nats unsliced, for any two different lengths."""
    for d, k, ratio in RADII:
        sides = [
            radius(n, d, ratio, np.random.default_rng([repeat, 2]))[:2] for repeat in range(repeats)
        ]
        label = {"d": d, "k": k, "ratio": ratio, "n": n, "unsliced_truth": float(np.log(2))}
        values = [estimate(x, y, model=model, k=k, slices=25).mi for x, y in sides]
        yield summary("vanishing", {**label, "how": "sliced"}, radius_truth(d, k, ratio), values)
        if d <= Estimator(model).model_file.dim:
            values = [estimate(x, y, model=model).mi for x, y in sides]
            yield summary("vanishing", {**label, "how": "unsliced"}, float(np.log(2)), values)


def samples(model: str, repeats: int, sizes: Sequence[int]) -> Iterator[Row]:
    """Estimates of 20 coordinates in slices of 5: independent, weakly and strongly dependent."""
    for square in (0.0, 0.1, 0.5):
        rho = np.full(20, np.sqrt(square))
        truth = sliced_truth(rho, 5)
        for n in sizes:
            values = [
                estimate(
                    *gaussian(n, rho, np.random.default_rng([r, 3])), model=model, k=5, slices=40
                ).mi
                for r in range(repeats)
            ]
            yield summary("samples", {"rho^2": square, "n": n}, truth, values)


def walk(steps: int, keep: float, rng: np.random.Generator) -> Array:
    """Three coordinates [steps, 3] of an autoregression; keep = 1 is a random walk."""
    path = np.zeros((steps, 3))
    for step in range(1, steps):
        path[step] = keep * path[step - 1] + rng.standard_normal(3)
    return path


def windows(model: str, repeats: int, lengths: Sequence[int]) -> Iterator[Row]:
    """Estimates of two independent robots in one window; the truth at every instant is 0."""
    for motion, keep in (("random walks", 1.0), ("autoregressions, 0.9", 0.9)):
        for length in lengths:
            values = []
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, 4])
                x, y = (walk(length + 200, keep, rng)[200:] for _ in range(2))
                values.append(estimate(x, y, model=model, time_series=True).mi)
            yield summary("windows", {"motion": motion, "n": length}, 0.0, values)
