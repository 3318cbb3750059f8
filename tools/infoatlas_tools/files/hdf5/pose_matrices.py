"""Converts poses in files from matrices to positions and quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.live import quaternions as live

MATRICES = live.Group(live.MATRIX, tuple(range(9)))
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def pose_columns(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns [T, 7] in the order of `POSE` of poses [T, 4, 4]."""
    return np.concatenate([matrices[:, :3, 3], quaternions(matrices[:, :3, :3])], axis=1)


def quaternions(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions w, x, y, z [T, 4] of rotations [T, 3, 3].

    w >= 0 at the first step, and the sign is kept from each step to the next.
    """
    unit = live.quaternions(MATRICES, rotation.reshape(-1, 9))
    turns = np.ones(len(unit))
    turns[:1] = np.where(unit[:1, 0] < 0, -1.0, 1.0)
    turns[1:] = np.where((unit[1:] * unit[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    return np.asarray(unit * np.cumprod(turns)[:, None])
