"""Demonstrations of the example, recorded once for all tests."""

import os
import runpy
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "maniskill"
sys.path.insert(0, str(EXAMPLES))  # as for a script in that folder

from infoatlas_tools.generation import headless  # noqa: E402, F401  (makes mani_skill importable)


def run_example(name, *arguments):
    """Run an example as from the command line, but in this process: imports last seconds."""
    before = sys.argv
    sys.argv = [name, *map(str, arguments)]
    try:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    finally:
        sys.argv = before


@pytest.fixture(scope="session")
def demonstrations(tmp_path_factory):
    """trajectory.h5 with ten episodes of PickCube."""
    folder = tmp_path_factory.mktemp("demos")
    run_example("collect.py", "PickCube-v1", "--number", "10", "--out", folder)
    return folder / "trajectory.h5"


@pytest.fixture
def example():
    return run_example
