"""Imports go downwards and not in circles, including those for annotations and in functions.

There are no exceptions.
"""

import ast
from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = "runtime tools train export ros2_node/infoatlas_ros2 ."  # folders of packages, in order
PACKAGES = "infoatlas_rt infoatlas_tools infoatlas_train infoatlas_export infoatlas_ros2 benchmarks"
# From top to bottom: a module imports only modules of its own line and of those below.
ORDER = """
    benchmarks infoatlas_export infoatlas_train
    infoatlas_tools.generation infoatlas_tools.cli infoatlas_tools.plots infoatlas_tools.label
    infoatlas_tools.cut infoatlas_tools.annotations
    infoatlas_tools.bags infoatlas_tools.files infoatlas_tools.keystates infoatlas_tools.curves
    infoatlas_tools.clocks infoatlas_tools.analysis infoatlas_tools.trajectories
    infoatlas_tools.cameras infoatlas_tools
    infoatlas_ros2
    infoatlas_rt.__main__ infoatlas_rt.cli infoatlas_rt.messages infoatlas_rt.vector
    infoatlas_rt.live infoatlas_rt.streams infoatlas_rt.estimation infoatlas_rt.backends
    infoatlas_rt.models infoatlas_rt.inputs infoatlas_rt.errors infoatlas_rt
""".split()
ALL = {
    ".".join(path.relative_to(ROOT / folder).with_suffix("").parts).removesuffix(".__init__"): path
    for folder, package in zip(FOLDERS.split(), PACKAGES.split(), strict=True)
    for path in (ROOT / folder / package).rglob("*.py")
}


def imports(name: str) -> set[str]:
    """Modules of this project that a module imports anywhere."""
    package = name if ALL[name].name == "__init__.py" else name.rpartition(".")[0]
    return imported(ALL[name], package) & ALL.keys() - {name}


def imported(path: Path, package: str = "") -> set[str]:
    """Names that a file imports anywhere, and the modules that they are imported from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            start = [*(parents if node.level else []), *filter(None, [node.module])]
            found |= {".".join([*start, alias.name]) for alias in node.names}
            found.add(".".join(start))
    return found


GRAPH = {name: imports(name) for name in ALL}


def room(name: str) -> int:
    return next(i for i, top in enumerate(ORDER) if f"{name}.".startswith(f"{top}."))


def closure(name: str) -> set[str]:
    """Modules that importing a module imports, those in functions included."""
    found, waiting = set(), {name}
    while waiting:
        one = waiting.pop()
        found.add(one)
        parents = {".".join(one.split(".")[:n]) for n in range(1, one.count(".") + 1)}
        waiting |= (GRAPH[one] | parents & ALL.keys()) - found
    return found


def test_imports_go_downwards():
    pairs = [(name, target) for name, targets in GRAPH.items() for target in targets]
    assert len(pairs) > 300
    assert not [f"{a} imports {b}" for a, b in pairs if room(a) > room(b)]


def test_there_are_no_circles():
    TopologicalSorter(GRAPH).prepare()  # raises CycleError


@pytest.mark.parametrize("top", ["live.tracker", "estimation.estimator", "messages.stream", "cli"])
def test_a_robot_loads_nothing_of_the_tools(top):
    loaded = closure(f"infoatlas_rt.{top}")
    assert not {name for name in loaded if not name.startswith("infoatlas_rt")}


def test_the_node_loads_the_runtime_alone():
    node = [name for name in ALL if name.startswith("infoatlas_ros2")]
    assert {one.split(".")[0] for name in node for one in closure(name)} == {
        "infoatlas_ros2", "infoatlas_rt",
    }  # fmt: skip


def test_tests_of_the_runtime_need_the_runtime_alone():
    """Their helpers, too. Tests that build engines skip without the export (importorskip)."""
    helpers = {path.stem: path for path in (ROOT / "tests").glob("*.py")}
    waiting, read = {helpers["conftest"], *(ROOT / "tests" / "runtime").rglob("*.py")}, set()
    while waiting:
        path = waiting.pop()
        read.add(path)
        names = {name.split(".")[0] for name in imported(path)}
        above = names & {"infoatlas_tools", "infoatlas_train", "infoatlas_export"}
        assert not above, f"{path.relative_to(ROOT)} imports {', '.join(above)}"
        waiting |= {helpers[name] for name in names & helpers.keys()} - read
    assert len(read) > 50


def lines(names: Iterable[str]) -> int:
    return sum(len(ALL[name].read_text("utf-8").splitlines()) for name in names)


def test_the_runtime_stays_small():
    """What a robot runs can be read in a day, and its tracker in an hour.

    If a limit is exceeded, move to the tools what works on recordings, or delete what no robot
    calls. The limits are 9% and 14% above the sizes of November 2026.
    """
    assert lines(name for name in ALL if name.startswith("infoatlas_rt")) <= 13_500
    assert lines(closure("infoatlas_rt.live.tracker")) <= 2_700
