"""Converts poses in files from matrices to positions and quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def pose_columns(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns [T, 7] in the order of `POSE` of poses [T, 4, 4]."""
    return np.concatenate([matrices[:, :3, 3], quaternions(matrices[:, :3, :3])], axis=1)


def quaternions(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions w, x, y, z [T, 4] of rotations [T, 3, 3].

    w >= 0 at the first step, and the sign is kept from each step to the next.
    """
    r = rotation
    trace = r[:, 0, 0] + r[:, 1, 1] + r[:, 2, 2]
    # Four candidates, each 4 q times one component of q: the longest is the most exact.
    w = np.stack(
        [1 + trace, r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], -1
    )
    candidates = [w]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        own = np.empty_like(w)
        own[:, 0] = r[:, k, j] - r[:, j, k]
        own[:, 1 + i] = 1 + 2 * r[:, i, i] - trace
        own[:, 1 + j] = r[:, j, i] + r[:, i, j]
        own[:, 1 + k] = r[:, k, i] + r[:, i, k]
        candidates.append(own)
    table = np.stack(candidates, axis=1)  # [T, 4, 4]
    norms = np.linalg.norm(table, axis=-1)
    best = table[np.arange(len(r)), norms.argmax(axis=1)]
    unit = best / np.maximum(np.linalg.norm(best, axis=-1, keepdims=True), 1e-12)
    turns = np.ones(len(unit))
    turns[:1] = np.where(unit[:1, 0] < 0, -1.0, 1.0)
    turns[1:] = np.where((unit[1:] * unit[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    signed: NDArray[np.float64] = unit * np.cumprod(turns)[:, None]
    return signed
