"""Benchmarks use models only by the public names of the library."""

import ast
from pathlib import Path

import pytest

import infoatlas_rt

FOLDER = Path(__file__).parents[2] / "benchmarks"
SERIES = ("find_offset", "picture_change", "speeds")
ALLOWED = {
    (module, name)
    for module, names in {
        # The progress bar of the command line.
        "infoatlas_rt.cli.console": ["progress"],
        # A recording of two topics at different rates is paired like a bag.
        "infoatlas_rt.messages.sync": ["Synchroniser"],
        # Offsets are computed from series that are put together here.
        "infoatlas_rt.streams.offsets": ["WINDOW", "Offset", *SERIES],
        # Times name the processor, or the GPU that they need.
        "infoatlas_rt.cli.latency": ["processor"],
        "infoatlas_rt.backends.onnxruntime": ["has_cuda"],
        "infoatlas_rt.cli.board": ["Board"],
        # Engines are built as by `infoatlas-rt build`, and their layers are parsed.
        "infoatlas_rt.backends.tensorrt_libraries": ["LIBRARIES", "load"],
        "infoatlas_rt.errors": ["InfoAtlasError"],
        "infoatlas_rt.models": ["engine_file", "model_file"],
    }.items()
    for name in names
}
MODULES = sorted(FOLDER.rglob("*.py"))


def imports(path):
    """Imports as (module, name); the name is None for `import module`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_imports(path):
    public = {("infoatlas_rt", name) for name in infoatlas_rt.__all__}
    found = {(m, n) for m, n in imports(path) if m.split(".")[0] == "infoatlas_rt"}
    assert found <= public | ALLOWED
    assert "sys.path" not in path.read_text(encoding="utf-8")


def test_training_is_read_for_held_out_draws_gradients_and_the_localiser_alone():
    users = {(path.name, m) for path in MODULES for m, _ in imports(path) if "infoatlas_train" in m}
    assert users == {
        ("calibration.py", "infoatlas_train.calibrate"),
        ("gradients.py", "infoatlas_train.differentiable"),
        ("localiser.py", "infoatlas_train.localiser"),
        ("arms.py", "infoatlas_train.localiser"),
    }
