"""Mutual information of two samples, and of samples that are not independent of each other."""

import numpy as np

from infoatlas_rt import Estimator

rng = np.random.default_rng(0)
estimator = Estimator()  # the model "edge", with the first provider that starts

# Independent samples. The true value is 3 log(1 + 1 / 0.36) / 2 = 1.99 nats, because strictly
# monotone maps of single coordinates do not change mutual information.
x = rng.standard_normal((500, 3))
y = np.exp(x + 0.6 * rng.standard_normal((500, 3)))
found = estimator.estimate(x, y)
low, high = found.mi - 1.645 * found.stderr, found.mi + 1.645 * found.stderr
print(found)
print(f"90% interval: {low:.2f} to {high:.2f} nats; strongest pair: {found.pointwise.argmax()}")

# Two independent robots. Neighbouring steps of each are autocorrelated.
a, b = rng.standard_normal((2, 200, 3)).cumsum(axis=1)
print("as independent samples:", estimator.estimate(a, b))
print("as a time series:      ", estimator.estimate(a, b, time_series=True))

# 200 trajectories of 10 steps. Each has a goal and a start, which are independent of each other.
trajectory = np.repeat(np.arange(200), 10)
goal = rng.standard_normal((200, 2))[trajectory]
start = rng.standard_normal((200, 2))[trajectory]
print("pooled:   ", estimator.estimate(goal, start))
print("in groups:", estimator.estimate(goal, start, groups=trajectory))
