"""ONNX Runtime's plugin for TensorRT-RTX: registration, choice of the GPU, refusals."""

import importlib.metadata
import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

from infoatlas_rt import backends
from infoatlas_rt.backends import make_backend, onnxruntime_rtx
from infoatlas_rt.backends.onnxruntime_rtx import EXECUTION, PACKAGE
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES
from infoatlas_rt.errors import ProviderError
from infoatlas_rt.models import model_file

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def model():
    return model_file.load("edge")


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Replaces the package of the plugin."""
    module = ModuleType(PACKAGE)
    module.__spec__, module.__version__ = ModuleSpec(PACKAGE, None), "0.5.0"
    module.get_library_path = lambda: str(tmp_path / "libplugin.so")
    monkeypatch.setitem(sys.modules, PACKAGE, module)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return module


class Runtime:
    """Replaces the functions of ONNX Runtime for plugins, with the signatures of 1.32."""

    def __init__(self, devices=1, starts=(EXECUTION, "CPUExecutionProvider"), error=None):
        device = SimpleNamespace(ep_name=EXECUTION)
        self.found = [device] * devices
        self.starts, self.error, self.registered = starts, error, []
        self.added, self.entries, self.providers = None, {}, "none yet"

    def register_execution_provider_library(self, name, path):
        if self.error is not None:
            raise self.error
        self.registered.append((name, path))

    def get_ep_devices(self):
        cpu = SimpleNamespace(ep_name="CPUExecutionProvider")
        return [cpu, *(self.found if self.registered or self.error else [])]

    def make_options(self):
        return SimpleNamespace(
            add_provider_for_devices=lambda devices, settings: setattr(
                self, "added", (devices, settings)
            ),
            add_session_config_entry=self.entries.__setitem__,
        )

    def make_session(self, model, options, providers):
        self.providers = providers
        if isinstance(self.starts, Exception):
            raise self.starts
        return SimpleNamespace(get_providers=lambda: list(self.starts), disable_fallback=str)

    def install(self, monkeypatch, version="1.32.0"):
        monkeypatch.setattr(onnxruntime, "__version__", version)
        for name, value in {
            "register_execution_provider_library": self.register_execution_provider_library,
            "get_ep_devices": self.get_ep_devices,
            "SessionOptions": self.make_options,
            "InferenceSession": self.make_session,
        }.items():
            monkeypatch.setattr(onnxruntime, name, value, raising=False)
        return self


def test_options_of_the_session(model, package, monkeypatch, tmp_path):
    runtime = Runtime(devices=2).install(monkeypatch)
    assert make_backend(model, "tensorrt-rtx").provider == "tensorrt-rtx"
    assert runtime.registered == [(EXECUTION, str(tmp_path / "libplugin.so"))]
    devices, settings = runtime.added
    assert devices == runtime.found[:1]
    assert settings["nv_profile_min_shapes"] == "x:1x32x5,y:1x32x5,shifts:4,sequence:32"
    assert settings["nv_profile_opt_shapes"] == "x:40x100x5,y:40x100x5,shifts:5,sequence:100"
    assert settings["nv_profile_max_shapes"].startswith("x:64x512x5,y:64x512x5,shifts:")
    folder = tmp_path / "infoatlas-rt" / "tensorrt-rtx"
    assert settings["nv_runtime_cache_path"] == str(folder)
    assert folder.stat().st_mode & 0o077 == 0
    # A list of providers would replace the devices, and nodes on the CPU would remain unnoticed.
    assert runtime.providers is None
    assert runtime.entries == {"session.disable_cpu_ep_fallback": "1"}


def test_a_second_session_needs_no_second_registration(model, package, monkeypatch):
    error = RuntimeError("EP library is already registered under NvTensorRTRTXExecutionProvider")
    Runtime(error=error).install(monkeypatch)
    assert make_backend(model, "tensorrt-rtx").provider == "tensorrt-rtx"


@pytest.mark.parametrize(
    ("settings", "version", "message"),
    [
        ({}, "1.24.4", r"needs onnxruntime 1\.25 or later, and 1\.24\.4 is .*pip install"),
        ({"devices": 0}, "1.32.0", r"finds no GPU of compute capability 8\.6.*0\.5\.0.*'cpu'"),
        ({"error": RuntimeError("libcuda.so.1: cannot")}, "1.32.0", r"libcuda\.so\.1.*nvidia-smi"),
        ({"starts": RuntimeError("fallback disabled")}, "1.32.0", r"start: fallback disabled"),
        ({"starts": ("CPUExecutionProvider",)}, "1.32.0", r"did not start.*instead"),
    ],
)
def test_it_is_refused_and_never_replaced(model, package, monkeypatch, settings, version, message):
    Runtime(**settings).install(monkeypatch, version)
    with pytest.raises(ProviderError, match=message):
        make_backend(model, "tensorrt-rtx")


def test_the_package_is_missing(model, monkeypatch):
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    Runtime().install(monkeypatch)
    with pytest.raises(ProviderError, match=r"pip install .*onnxruntime-ep-nv-tensorrt-rtx-cu12"):
        make_backend(model, "tensorrt-rtx")


def test_installed_packages(package, monkeypatch):
    modules = LIBRARIES["tensorrt-rtx"].modules
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    assert backends.installed()["tensorrt-rtx"] == EXECUTION
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    assert backends.installed()["tensorrt-rtx"] == f"no {EXECUTION} is installed"
    library = ModuleType(modules[-1])
    library.__spec__ = ModuleSpec(modules[-1], None)
    monkeypatch.setitem(sys.modules, modules[-1], library)
    assert backends.installed()["tensorrt-rtx"].endswith("; TensorRT-RTX is installed, for engines")


def test_onnxruntime_takes_the_calls(model, package, monkeypatch):
    """The real ONNX Runtime, with its CPU in place of the plugin, which it finally refuses."""
    if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < onnxruntime_rtx.OLDEST:
        pytest.skip("an older onnxruntime is installed")
    monkeypatch.setattr(onnxruntime_rtx, "EXECUTION", "CPUExecutionProvider")
    monkeypatch.setattr(onnxruntime, "register_execution_provider_library", lambda name, path: None)
    with pytest.raises(ProviderError, match=r"did not start: .*disabled fallback to the CPU EP"):
        make_backend(model, "tensorrt-rtx")


def test_a_library_that_cannot_be_loaded(model, package):
    """The real ONNX Runtime, without a plugin at the path of the package."""
    if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < onnxruntime_rtx.OLDEST:
        pytest.skip("an older onnxruntime is installed")
    with pytest.raises(ProviderError, match=r"did not start: .*libplugin\.so.*use provider='cpu'"):
        make_backend(model, "tensorrt-rtx")


RUN = """
from infoatlas_rt.backends import make_backend
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES
from infoatlas_rt.errors import ProviderError
from infoatlas_rt.models import model_file
try:
    make_backend(model_file.load("edge"), "tensorrt-rtx")
except ProviderError as error:
    print(error)
"""


def test_the_real_plugin():
    """In a separate process, because it loads 200 MB of libraries."""
    try:
        importlib.metadata.version("onnxruntime-ep-nv-tensorrt-rtx-cu12")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the plugin is not installed")
    done = subprocess.run([sys.executable, "-c", RUN], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    # Without a driver registration fails; without a GPU there are no devices.
    assert not done.stdout or "libcuda.so.1" in done.stdout or "finds no GPU" in done.stdout
