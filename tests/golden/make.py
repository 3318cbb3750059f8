"""Write the outputs of each shipped model for some seeded inputs.

    python tests/golden/make.py [MODEL ...]

Run it when a model changes, and never to make a failing test pass. The checksum of the graph
distinguishes these cases in tests/runtime/models/test_golden.py.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.models import model_file, onnx_content

MODELS = ("edge", "base", "wide")


def file(model: str) -> Path:
    """The file with the outputs of a model."""
    return Path(__file__).with_name(f"{model}.json")


def cases() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], np.ndarray, np.ndarray]]:
    """Yield name, options of the estimator, options of the call, x and y."""
    rng = np.random.default_rng(2026)
    x = rng.standard_normal((100, 2))
    yield "gaussian 2 + 2, n=100", {}, {}, x, 0.8 * x + 0.6 * rng.standard_normal(x.shape)

    # Not 1 + 1 without ties: its normal scores are symmetric, so rounding would decide the signs.
    x = rng.standard_normal((500, 2))
    yield "sine 2 + 1, n=500", {}, {}, x, np.sin(2 * x[:, 0]) + 0.5 * rng.standard_normal(500)

    t = rng.standard_t(3, (200, 1)) * rng.standard_normal((200, 10))
    yield "common scale 5 + 5, n=200", {}, {}, t[:, :5], t[:, 5:]

    x = rng.integers(0, 4, (150, 1))
    yield "ties 1 + 3, n=150", {}, {}, x, x % [2, 3, 4] + rng.integers(0, 2, (150, 3))

    walk = np.zeros((302, 12))
    for i in range(1, 302):
        walk[i] = 0.9 * walk[i - 1] + rng.standard_normal(12)
    sliced = {"k": 5, "slices": 8}
    yield "sliced series 12 + 12", sliced, {"time_series": True}, walk[2:], walk[:-2]

    x = rng.standard_normal((100, 9))
    yield "one side sliced 9 + 1", {"k": 3, "slices": 6, "sides": "x"}, {}, x, x[:, :3].sum(1)

    yield "independent 3 + 1, n=1000", {}, {}, rng.random((1000, 3)), rng.standard_normal(1000)


def graph_checksum(model: model_file.ModelFile) -> str:
    """Checksum of the graph; metadata (accuracy, calibration) may change without it."""
    fields = onnx_content.fields(memoryview(model.bytes))
    return hashlib.sha256(dict(fields)[onnx_content.GRAPH]).hexdigest()


def outputs(model: str, provider: str = "cpu") -> dict[str, Any]:
    """Outputs of a shipped model: mi, noise and the first five pointwise values, nats."""
    found = {}
    for name, options, call, x, y in cases():
        estimator = Estimator(model, provider=provider, threads=1, **options)
        estimate = estimator.estimate(x, y, **call)
        found[name] = {
            "mi": round(estimate.mi, 6),
            "noise": round(estimate.noise, 6),
            "pointwise": [round(float(v), 6) for v in estimate.pointwise[:5]],
        }
    return {"model": model, "sha256": graph_checksum(model_file.load(model)), "outputs": found}


if __name__ == "__main__":
    for model in sys.argv[1:] or MODELS:
        file(model).write_text(json.dumps(outputs(model), indent=1) + "\n", encoding="utf-8")
        print(file(model))
