"""Tests of conditional independence of tigramite (Runge 2018), if it is installed."""

from collections.abc import Callable

from numpy.typing import NDArray

Test = Callable[[NDArray, NDArray, NDArray], float]


def tests(permutations: int) -> dict[str, Test]:
    """P-values of samples x, y, z [n, d] by name; empty without tigramite."""
    try:
        from tigramite.independence_tests.cmiknn import CMIknn
        from tigramite.independence_tests.parcorr import ParCorr
    except ModuleNotFoundError:
        return {}
    neighbours = CMIknn(sig_samples=permutations, workers=1)
    return {
        "ParCorr": lambda *sides: float(ParCorr().run_test_raw(*sides)[1]),
        "CMIknn": lambda *sides: float(neighbours.run_test_raw(*sides)[1]),
    }
