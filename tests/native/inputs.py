"""Models, and canonical samples of all regimes as inputs of the graph."""

import threading
import time
from functools import cache

import numpy as np

from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_rt.models import model_file


@cache
def content(name):
    """The content of the file of a shipped model."""
    return model_file.load(name).bytes


def counted_meanwhile(call):
    """How far a Python thread counts while another thread is in a call."""
    counted, done = 0, threading.Event()

    def run():
        call()
        done.set()

    worker = threading.Thread(target=run)
    worker.start()
    while not done.is_set():
        counted += 1
        time.sleep(0)
    worker.join()
    return counted


def curved(rng, x):
    return np.sin(2 * x) + 0.5 * x**2 + 0.3 * rng.standard_normal(x.shape)


def sparse(rng, x):
    x[rng.random(x.shape) < 0.8] = 0
    return np.where(rng.random(x.shape) < 0.7, 0, x) + 0.1 * rng.standard_normal(x.shape)


def tied(rng, x):
    np.round(x, out=x)
    return x // 2 + rng.integers(0, 2, x.shape)


def rank_deficient(rng, x):
    """All columns of x are multiples of the first one, except the last, which is constant."""
    x[:, 1:] = x[:, :1] * np.arange(2, x.shape[1] + 1)
    x[:, -1] = 1
    return x[:, :1] + rng.standard_normal((len(x), 2))


def series(rng, x):
    """Slowly varying samples in order of time."""
    for t in range(1, len(x)):
        x[t] = 0.95 * x[t - 1] + 0.3 * x[t]
    return np.roll(x, 2, axis=0) + 0.2 * rng.standard_normal(x.shape)


def heavy(rng, x):
    x *= rng.standard_t(2, (len(x), 1))
    return x * rng.standard_t(2, (len(x), 1))


REGIMES = {
    "gaussian": lambda rng, x: 0.7 * x + rng.standard_normal(x.shape),
    "curved": curved,
    "strong": lambda rng, x: x + 1e-3 * rng.standard_normal(x.shape),
    "independent": lambda rng, x: rng.random(x.shape),
    "sparse": sparse,
    "tied": tied,
    "rank-deficient": rank_deficient,
    "copied": lambda rng, x: x.copy(),
    "one and one": lambda rng, x: np.sin(3 * x[:, :1]) + 0.2 * rng.standard_normal((len(x), 1)),
    "heavy tails": heavy,
    "series": series,
    "wider": lambda rng, x: np.tanh(x) + rng.standard_normal(x.shape),
}


def canonical(dim, n, slices, shifts, seed=0):
    """Inputs of the graph; the slices have the regimes in turn.

    Returns
    -------
    x, y : [slices, n, dim] float32
    shifts : [shifts] int64
    sequence : [n] int64
    """
    rng = np.random.default_rng([seed, n, slices])
    order = rng.permutation(n)
    sides = np.zeros((2, slices, n, dim), np.float32)
    names = list(REGIMES)
    for i in range(slices):
        name = names[(seed + i) % len(names)]
        width = 1 if name == "one and one" else dim if name == "wider" else min(dim, 3)
        x = rng.standard_normal((n, width))
        y = REGIMES[name](rng, x)
        data = canonicalise(x[None, order], y[None, order], dim)
        sides[:, i] = data.x[0], data.y[0]
    chosen = np.sort(rng.choice(np.arange(1, n), min(shifts, n - 1), replace=False))
    return *sides, chosen.astype(np.int64), np.argsort(order).astype(np.int64)
