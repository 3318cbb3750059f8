"""What every fuzz test checks: a result that keeps its contract, or one error of the library."""

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st

from infoatlas_rt import Estimator, InfoAtlasError

REFUSED = object()
LEAST = -0.1  # nats; no estimate is lower
ORDINARY = 100  # examples of hypothesis without a profile


def fuzzed(examples: int) -> Callable[[Any], Any]:
    """Settings of a test: a third of the examples, always the same ones; or, in `make fuzz`, new
    ones and 20 times as many as `examples`."""
    percent = settings().max_examples
    return settings(
        max_examples=max(1, examples * percent // (3 * ORDINARY)), derandomize=percent <= ORDINARY,
        database=None, deadline=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def outcome(call: Callable[[], Any], *named: object) -> Any:
    """The result of a call, or REFUSED: an error of one line that names one of `named`."""
    try:
        return call()
    except InfoAtlasError as error:
        text = str(error)
        assert 10 < len(text) < 3000 and "\n" not in text, text[:3000]
        assert not named or any(str(name) in text for name in named), f"{named}: {text}"
        text.encode()  # no lone surrogates, which a terminal cannot print
        return REFUSED


def chosen(values: Iterable[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values))


seeds = st.integers(0, 2**16).map(np.random.default_rng)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}


ESTIMATOR = Estimator(threads=1)
SLICED = Estimator(k=2, slices=4, threads=1)


def entropy(side: Any) -> float:
    """Entropy of the rows of a side in nats, an upper bound of the mutual information."""
    _, often = np.unique(np.asarray(side), axis=0, return_counts=True)
    share = often / often.sum()
    return float(-(share * np.log(share)).sum())


def check_estimate(result: Any, x: Any, y: Any) -> None:
    """Check the contract of an estimate of any samples."""
    n = len(x)
    for name, value in result.to_dict(arrays=True).items():
        if name != "seed" and not isinstance(value, str | None):
            assert np.isfinite(value).all(), name
    assert result.samples == n == len(result.pointwise) == len(result.influence)
    assert result.mi >= LEAST and result.stderr >= 0 and result.noise >= 0
    assert 0 < result.effective_samples <= n
    assert math.isclose(result.per_slice.mean(), result.mi, abs_tol=1e-9)
    for most in map(entropy, (x, y)):
        if most < 0.7 * math.log(n):  # a discrete side
            assert result.mi <= most + 2 * result.stderr + 0.02, most
    constant = any(len(np.unique(np.asarray(side), axis=0)) == 1 for side in (x, y))
    assert constant == result.degenerate
    assert not constant or result.mi == result.stderr == 0
