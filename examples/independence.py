"""Test whether two samples are independent, by a p-value that is valid at any sample size."""

import numpy as np

from infoatlas_tools import independence_test

rng = np.random.default_rng(0)
x = rng.standard_normal((80, 2))
radius = np.linalg.norm(x, axis=1, keepdims=True)
noisy = radius + 0.1 * rng.standard_normal((80, 1))
print("dependent:  ", independence_test(x, noisy, permutations=99))
other = rng.standard_normal((80, 2))
print("independent:", independence_test(x, other, permutations=99))

# Two time series: y is shifted cyclically, which keeps the autocorrelation of each series.
noise = rng.standard_normal((2, 300, 2))
for t in range(1, 300):
    noise[:, t] += 0.8 * noise[:, t - 1]
print("series:     ", independence_test(*noise, time_series=True, permutations=99))
