"""Imports go downwards: from the sources alone, without importing anything."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "runtime" / "infoatlas_rt",
    ROOT / "train" / "infoatlas_train",
    ROOT / "export" / "infoatlas_export",
    ROOT / "ros2_node" / "infoatlas_ros2" / "infoatlas_ros2",
)

# Top to bottom: a module imports modules of lower rows only. A folder stands for its modules. A
# module that is in no row still has to be free of circles.
RUNTIME = """
    cli
    messages
    explanation maniskill
    vector_tracker vector_windows
    discovery tracker coupling
    keystates
    segmentation pointwise phase_filter
    phases extrema
    ensemble_curve extremum_search sliding_window independence
    pair_window lagged_pairs parallel increments vector_streams
    estimator
    written_critic forward
    result prepare
    slicing preprocess discrete
    backends
    model_file
    engine_file onnx_content data_files pace uncertainty
    checks
    gpu_arrays
    reals
    tables
    errors
"""
TRAIN = """
    build
    compare localiser
    differentiable
    fit_correction
    diagnose
    calibrate
    pretrain
    model
    data
    config curves
"""

# Known inversions: (importing module, imported module, why). None may be added.
KNOWN = {
    (
        "infoatlas_rt.keystates.result.discovery",
        "infoatlas_train.localiser",
    ): "one function for all methods",
    ("infoatlas_rt.cli.main", "infoatlas_export.cli"): "one program for all commands",
    ("infoatlas_rt.cli.main", "infoatlas_export.build_cli"): "one program for all commands",
    (
        "infoatlas_rt.keystates.result",
        "infoatlas_rt.keystates.result.explanation",
    ): "methods of KeyStates explain it",
    ("infoatlas_train.build", "infoatlas_export.onnx"): "it runs all stages, and export is one",
}


def modules(folder: Path) -> dict[str, Path]:
    """Modules of a package by their dotted names."""
    found = {}
    for path in folder.rglob("*.py"):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


ALL = {name: path for folder in PACKAGES for name, path in modules(folder).items()}


def imports(name: str, source: str) -> set[str]:
    """Modules of this project that a module imports anywhere, but for annotations alone."""
    tree = ast.parse(source)
    typing = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    skipped = {id(inner) for node in typing for part in node.body for inner in ast.walk(part)}
    package = name if ALL.get(name, Path()).name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level]
            start = ".".join([*(base if node.level else []), *filter(None, [node.module])])
            found |= {f"{start}.{alias.name}" for alias in node.names}
    return {module for target in found if (module := _module(target))} - {name}


def _module(target: str) -> str:
    """The module that holds an imported name; empty if it is none of this project."""
    while target and target not in ALL:
        target = target.rpartition(".")[0]
    return target


GRAPH = {
    name: {
        target
        for target in imports(name, path.read_text(encoding="utf-8"))
        if (name, target) not in KNOWN
    }
    for name, path in ALL.items()
}


def part(name: str) -> str:
    """The module or folder below the package."""
    return name.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize(
    ("package", "order"), [("infoatlas_rt", RUNTIME), ("infoatlas_train", TRAIN)]
)
def test_modules_import_lower_rows(package, order):
    rows = {name: i for i, names in enumerate(order.split("\n")) for name in names.split()}
    upwards = [
        f"{name} imports {target}"
        for name, targets in GRAPH.items()
        for target in targets
        if name.startswith(f"{package}.")
        and target.startswith(f"{package}.")
        and part(name) != part(target)
        and rows.get(part(name), -1) >= rows.get(part(target), len(rows))
    ]
    assert not upwards
    assert set(rows) <= {part(name) for name in ALL if name.startswith(f"{package}.")}


def test_no_circles():
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_packages_import_lower_ones():
    """The node uses the runtime alone, and the runtime neither training nor export."""
    lower = {
        "infoatlas_rt": set(),
        "infoatlas_ros2": {"infoatlas_rt"},
        "infoatlas_train": {"infoatlas_rt"},
        "infoatlas_export": {"infoatlas_rt", "infoatlas_train"},
    }
    upwards = [
        f"{name} imports {target}"
        for name, targets in GRAPH.items()
        for target in targets
        if (own := name.partition(".")[0]) != (other := target.partition(".")[0])
        and other not in lower[own]
    ]
    assert not upwards


def test_known_inversions_are_there():
    """What has been put right is no exception any more."""
    for name, target in KNOWN:
        assert target in imports(name, ALL[name].read_text(encoding="utf-8"))
