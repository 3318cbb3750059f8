"""The shipped models in both engines, and an installed libinfoatlas with programs that use it."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import infoatlas_native
import inputs
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.models import model_file
from library import PREFIX, Library

HERE = Path(__file__).parent

MODELS = ("edge", "base", "wide")


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def backends(name):
    """Backends of ONNX Runtime and of the native engine."""
    return _backends(name)


@cache
def _backends(name):
    file = model_file.load(name)
    return make_backend(file, "cpu", 2), make_backend(file, "native", 2)


@pytest.fixture(scope="session")
def library():
    if not PREFIX.exists():
        pytest.skip("libinfoatlas is not installed there")
    return Library(PREFIX / "lib/libinfoatlas.so")


@pytest.fixture(scope="session")
def programs(library, tmp_path_factory):
    """The folder of the consumers, and of the program of docs/cpp.md."""
    build, page = map(tmp_path_factory.mktemp, ("consumer", "page"))
    text = (HERE.parents[1] / "docs/cpp.md").read_text(encoding="utf-8")
    for name, language in (("main.cpp", "cpp"), ("CMakeLists.txt", "cmake")):
        (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[:1]
        (page / name).write_text(code, encoding="utf-8")
    for source, to in ((HERE / "consumer", build), (page, page / "build")):
        options = f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_BUILD_TYPE=Debug"
        subprocess.run(["cmake", "-S", source, "-B", to, *options], check=True)
        subprocess.run(["cmake", "--build", to, "--parallel", "2"], check=True)
    return build, page / "build"


@pytest.fixture
def engine():
    return infoatlas_native.Engine(inputs.content("edge"), threads=2)
