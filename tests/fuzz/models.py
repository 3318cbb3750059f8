"""Bit flips of a model file: the file is refused, or gives the same estimates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from calls import check
from values import Rng, pick

from infoatlas_rt import Estimator, InfoAtlasError
from infoatlas_rt.errors import ModelError
from infoatlas_rt.models.model_file import MODELS


@cache
def content(name: str) -> bytes:
    return (MODELS / f"{name}.onnx").read_bytes()


@cache
def expected(name: str) -> float:
    return reading(Estimator(name, threads=1))


def reading(estimator: Estimator) -> float:
    x = np.random.default_rng(0).standard_normal((60, 2))
    return estimator.estimate(x, x + np.roll(x, 1, axis=1)).mi


def flip(rng: Rng, folder: Path) -> str:
    """A file with one to three flipped bits, or truncated."""
    name = pick(rng, ("edge", "edge", "base", "wide"))
    damaged = bytearray(content(name))
    if rng.random() < 0.1:
        damaged = damaged[: rng.integers(len(damaged))]
    else:
        for _ in range(rng.integers(1, 4)):
            # A third of the flips are near the ends, where the metadata is.
            near = rng.random() < 1 / 3
            at = rng.integers(min(20_000, len(damaged))) if near else rng.integers(len(damaged))
            damaged[-1 - at] ^= 1 << rng.integers(8)
    path = folder / "damaged.onnx"
    path.write_bytes(damaged)
    try:
        found = reading(Estimator(path, threads=1))
    except InfoAtlasError as error:
        check(isinstance(error, ModelError), f"{name}: {type(error).__name__}: {error}")
        return "refused"
    check(found == expected(name), f"{name}: {found} instead of {expected(name)}")
    return "ok"
