"""Messages for missing packages of an extra: the package, and the command to install it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = """
import runpy, sys
sys.modules[{!r}] = None
example = lambda name: runpy.run_path(f"examples/{{name}}.py")
"""

# Without the packages of all extras: the public names, as tools and people look at them.
PUBLIC = """
import inspect, pydoc, sys
for name in ("sklearn", "pandas", "matplotlib", "h5py", "pyarrow", "rosbags", "mcap", "av", "cv2",
             "rerun", "onnxruntime", "gymnasium", "rich", "torch", "scipy"):
    sys.modules[name] = None
import infoatlas_rt, infoatlas_tools
for package in (infoatlas_rt, infoatlas_tools):
    assert len(inspect.getmembers(package)) > 5 and pydoc.render_doc(package)
    exec(f"from {package.__name__} import *")
InformationSelector(2)
"""


def test_public_names_without_any_extra():
    done = subprocess.run([sys.executable, "-c", PUBLIC], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert "InputError: InformationSelector needs scikit-learn" in last and "pip install" in last


@pytest.mark.parametrize(
    ("package", "code", "way_out"),
    [
        ("torch", "import infoatlas_train.differentiable", "pip install 'infoatlas-rt[train]'"),
        ("scipy", "import benchmarks.peers", "pip install -e '.[bench]'"),
        ("torch", "example('maximise')", "pip install '.[train]'"),
        ("rosbags", "example('make_bag')", "pip install '.[bags]'"),
        ("sapien", "import infoatlas_tools.generation.headless", "infoatlas-rt[maniskill]'"),
    ],
)
def test_the_extra_is_named(package, code, way_out):
    command = [sys.executable, "-c", BLOCK.format(package) + code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and package in last and way_out in last
