"""What the application benchmarks share: options, slices, and peers that see any dimension.

The library is used through its public interface alone; the peers share no code with it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.covariance import ledoit_wolf

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))

import report

Samples = NDArray[np.float64]
Score = Callable[[Samples, Samples], float]


def options(doc: str, quick: str) -> argparse.ArgumentParser:
    """The options that all of these benchmarks have; `quick` says what --quick does."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", type=Path, default=report.RESULTS, help="folder (%(default)s)")
    parser.add_argument("--model", default="edge", help="shipped model or .onnx file (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def pick(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """Rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def projections(d: int, k: int, slices: int, rng: np.random.Generator) -> Samples:
    """Orthonormal columns, uniform directions: [slices, d, k]."""
    return np.linalg.qr(rng.standard_normal((slices, d, k)))[0]


def sliced(score: Score, k: int, slices: int, seed: int = 0) -> Score:
    """The mean of `score` over random projections of both sides, the same ones at each call."""

    def mean(x: Samples, y: Samples) -> float:
        rng = np.random.default_rng(seed)
        x, y = ((side - side.mean(0)) / side.std(0) for side in (x, y))
        pairs = zip(
            projections(x.shape[1], k, slices, rng),
            projections(y.shape[1], k, slices, rng),
            strict=True,
        )
        return float(np.mean([score(x @ a, y @ b) for a, b in pairs]))

    return mean


def shrunk_copula(x: Samples, y: Samples) -> float:
    """Mutual information of the Gaussian copula, nats; covariance after Ledoit and Wolf (2004).

    Shrinkage keeps it finite where there are more coordinates than samples.
    """
    scores = ndtri(rankdata(np.hstack([x, y]), axis=0) / (len(x) + 1))
    covariance = ledoit_wolf(scores, assume_centered=True)[0]
    dx = x.shape[1]
    return gaussian_information(covariance[:dx, :dx], covariance[dx:, dx:], covariance[:dx, dx:])


def gaussian_information(xx: Samples, yy: Samples, xy: Samples) -> float:
    """Mutual information of a Gaussian with these blocks of its covariance, nats."""
    joint = np.block([[xx, xy], [xy.T, yy]])
    logdets = [np.linalg.slogdet(block)[1] for block in (xx, yy, joint)]
    return float(logdets[0] + logdets[1] - logdets[2]) / 2


def distance_correlation(x: Samples, y: Samples) -> float:
    """Squared distance correlation, corrected for its bias (Székely and Rizzo 2014)."""

    def centred(side: Samples) -> Samples:
        a = squareform(pdist(side))
        n = len(a)
        rows = a.sum(0) / (n - 2)
        a += a.sum() / ((n - 1) * (n - 2)) - rows - rows[:, None]
        np.fill_diagonal(a, 0)
        return a

    a, b = centred(x), centred(y)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def hsic(x: Samples, y: Samples) -> float:
    """Hilbert-Schmidt independence criterion (Gretton et al. 2005), Gaussian kernels.

    Their width is the median distance. Centred kernels, normalised as a correlation is.
    """

    def centred(side: Samples) -> Samples:
        squared = pdist(side, "sqeuclidean")
        kernel = squareform(np.exp(-squared / (2 * np.median(squared))))
        np.fill_diagonal(kernel, 1)
        means = kernel.mean(0)
        return kernel - means - means[:, None] + means.mean()

    a, b = centred(x), centred(y)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
