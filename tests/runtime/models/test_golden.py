"""Outputs of each shipped model equal its golden outputs, with both engines."""

import json

import pytest

from golden import make

# Nats. The graph is float32, and engines and machines sum in different orders. Without graph
# optimisations, mi and noise of the three models change by up to 4e-4, and single pointwise values
# by up to 7e-3; on other machines the latter change by up to 2e-2. A change of the preprocessing or
# of the readout causes much larger differences.
TOLERANCE = {"mi": 1e-3, "noise": 1e-3, "pointwise": 5e-2}


@pytest.mark.parametrize(
    ("provider", "package"), [("cpu", "onnxruntime"), ("native", "infoatlas_native")]
)
@pytest.mark.parametrize("model", make.MODELS)
def test_outputs(model, provider, package):
    pytest.importorskip(package)
    remedy = f"if that is intended, run 'python tests/golden/make.py {model}' and commit the file"
    golden = json.loads(make.file(model).read_text(encoding="utf-8"))
    found = make.outputs(model, provider)
    assert found["sha256"] == golden["sha256"], f"the graph of {model} has changed: {remedy}"
    assert list(found["outputs"]) == list(golden["outputs"]), f"other inputs: {remedy}"
    for name, expected in golden["outputs"].items():
        for key, tolerance in TOLERANCE.items():
            close = pytest.approx(expected[key], abs=tolerance)
            assert found["outputs"][name][key] == close, f"{key} of {name!r} in nats: {remedy}"
