"""A bias correction with support by neighbours: distances, cells, and the kept share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import inputs
from infoatlas_native import Engine
from test_parity import compare

FILE = Path(__file__).parents[2] / "build" / "native" / "supported.onnx"  # make test-native


@pytest.fixture(scope="module")
def engines():
    """Backends of ONNX Runtime and of the native engine."""
    content = FILE.read_bytes()
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]), Engine(
        content
    )


def ties(given):
    """The same samples rounded to few values, as flags and counts have."""
    x, y, *rest = given
    return (np.round(x), np.round(y), *rest)


@pytest.mark.parametrize(
    "slices, n, shifts", [(2, 40, 39), (3, 257, 13), (2, 1000, 5), (1, 3000, 5)]
)
@pytest.mark.parametrize("change", [lambda given: given, ties], ids=["continuous", "ties"])
def test_the_outputs_are_those_of_onnxruntime(engines, slices, n, shifts, change):
    session, engine = engines
    given = change(inputs.canonical(engine.dim, n, slices, shifts))
    names = (i.name for i in session.get_inputs())
    compare(engine.run(*given), session.run(None, dict(zip(names, given, strict=True))))


@pytest.mark.parametrize("strength", [0.0, 0.99])
def test_the_third_neighbour_is_the_last_diagnostic(engines, strength):
    """If it exceeds the bound it supports the prediction; for independent sides it does not."""
    _, engine = engines
    x, noise = np.random.default_rng(0).standard_normal((2, 1, 500, engine.dim)).astype(np.float32)
    y = np.float32(strength) * x + np.float32(np.sqrt(1 - strength**2)) * noise
    shifts, sequence = np.arange(1, 9), np.arange(500)
    diagnostics = engine.diagnose(x, y, shifts, sequence)[0]
    assert (diagnostics[-1] > 1) == (strength > 0)
    correction = engine.run(x, y, shifts, sequence)[0][0] - diagnostics[0]
    trusted, most = 0.3, max(diagnostics[-1] - diagnostics[0], 0) + 0.3
    assert trusted < correction < most + 0.8
