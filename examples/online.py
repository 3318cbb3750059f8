"""Estimate mutual information in a sliding window of a robot's stream, and detect its extrema.

The robot is simulated: three joints move at random, and swing together between 6 s and 14 s. While
they swing, the past is more informative about the present.
"""

import numpy as np

from infoatlas_rt import ExtremumDetector, OnlineEstimator

online = OnlineEstimator(lag=2, window=100)
detector = ExtremumDetector(delay=2.0)  # seconds
rng = np.random.default_rng(0)
state = np.zeros(3)

for step in range(1000):
    held = 300 <= step < 700
    push = np.sin(0.1 * step + np.arange(3)) if held else np.zeros(3)
    state = 0.8 * state + 0.3 * push + (0.1 if held else 0.3) * rng.standard_normal(3)

    update = online.push(state, stamp=0.02 * step)
    if update is None:
        if step % 50 == 0:
            print(f"{0.02 * step:5.2f} s: {online.reason}")
        continue
    if step % 50 == 0:
        print(f"{update.stamp:5.2f} s: {update.estimate}")
    for found in detector.push(update):
        print(f"{update.stamp:5.2f} s: {found.kind} at {found.stamp:.2f} s")
