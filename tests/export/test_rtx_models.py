"""Engines of the shipped models from the real builder of TensorRT-RTX."""

import re

import pytest

pytest.importorskip("tensorrt_rtx_bindings", reason="the extra tensorrt-rtx is not installed")

from infoatlas_export.tensorrt import build
from infoatlas_rt.models.engine_file import read

FIXED = "slices=40,samples=100"
THREE = ("8.0", "8.9", "12.0")
SMALL = "slices=2,samples=64"


@pytest.mark.parametrize(
    ("model", "precision", "profile", "capabilities"),
    [
        # `make engines` builds all models in all profiles; it needs an hour.
        ("edge", "fp16", FIXED, THREE),
        ("edge", "fp32", SMALL, ("8.9",)),
    ],
)
def test_shipped_models_build(half, tmp_path, caplog, model, precision, profile, capabilities):
    """Axes stay dynamic, and types are those of the network: otherwise `build` raises an error."""
    file = half(model) if precision == "fp16" else model
    built = build(
        file,
        tmp_path / "a.engine",
        library="tensorrt-rtx",
        profiles=[profile],
        compute_capabilities=capabilities,
    )
    found = read(built.path, built.path.read_bytes())
    assert (found.library, found.gpu, found.compute_capabilities) == (
        "tensorrt-rtx",
        "",
        capabilities,
    )
    assert found.precision == precision and ("fp16" in found.tensors) == (precision == "fp16")
    assert len(found.memory) == len(found.profiles) == 1
    assert 1e6 < max(found.memory) < 2e8
    assert built.layers > 3000 and built.seconds > 0
    content = built.path.read_bytes()
    assert b"tf32=0" in content and b"tf32=1" not in content
    targets = set(re.findall(rb"\bsm(\d+)\b", content))
    assert targets == {capability.replace(".", "").encode() for capability in capabilities}
    assert [record.message for record in caplog.records] == []  # no warnings
