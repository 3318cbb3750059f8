"""Smoothing of values over time, without a delay."""

from __future__ import annotations

import numpy as np

from ...array_types import Float


def gaussian_smooth(values: Float, deviation: float) -> Float:
    """Values [T, p] smoothed by a Gaussian; `deviation` in steps."""
    reach = max(1, round(4 * deviation))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(
        values, ((reach, reach), (0, 0)), "symmetric" if len(values) > reach else "edge"
    )
    return np.asarray(sum(k * padded[i : i + len(values)] for i, k in enumerate(kernel.tolist())))
