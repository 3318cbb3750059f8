"""Scales of motion: their sums over millions of steps."""

import numpy as np

from infoatlas_tools.keystates.motion.motion_scales import root_mean_square


def test_squares_of_float32_are_added_as_float64():
    states = [(np.arange(6000).reshape(3000, 2) % 4 + 100).astype(np.float32)] * 1000
    expected = np.sqrt([(100**2 + 102**2) / 2, (101**2 + 103**2) / 2])
    np.testing.assert_allclose(root_mean_square(states, 0), expected, rtol=1e-9)
