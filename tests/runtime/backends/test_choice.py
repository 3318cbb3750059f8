"""The engine of each provider: it runs or is refused; "auto" logs its choice."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.backends import choice, native, onnxruntime as onnxruntime_backend
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.backends.interface import Preparing
from infoatlas_rt.cli.main import OWN, make_parser
from infoatlas_rt.errors import ModelError, ProviderError
from infoatlas_rt.models import model_file
from refusals import fails

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def model():
    return model_file.load("edge")


class Engine:
    """Replaces infoatlas_native.Engine."""

    refuses: Exception | None = None
    target = "avx9"
    missing_threads = ""

    def __init__(self, content, threads, interface):
        if self.refuses is not None:
            raise self.refuses
        self.content, self.threads, self.interface = content, threads, interface

    def run(self, x, y, shifts, sequence):
        if self.refuses is not None:
            raise self.refuses
        assert all(values.flags.c_contiguous for values in (x, y, shifts, sequence))
        mi = np.zeros(len(x), np.float32)
        return mi, np.zeros(x.shape[:2], np.float32), np.zeros(x.shape[:2], np.float32), mi + 1

    def estimating(self, **settings):
        return SimpleNamespace(run=self.estimate)

    def estimate(self, x, y, *options):
        if self.refuses is not None:
            raise self.refuses
        return None  # Python prepares the samples

    def canonicalise(self, x, y, projections_x, projections_y, score_table):
        assert projections_x is projections_y is None
        assert x.flags.c_contiguous and y.flags.c_contiguous and len(score_table) == 2 * len(x) - 1
        sides, correlations = np.zeros((2, 1, len(x), 5), np.float32), np.zeros((1, 5))
        return *sides, correlations, *np.ones((2, 1), np.int64), np.zeros(1, bool)


@pytest.fixture
def package(monkeypatch):
    """Replaces the module infoatlas_native."""
    module = ModuleType("infoatlas_native")
    module.__spec__ = ModuleSpec("infoatlas_native", None)
    module.INTERFACE, module.__version__ = native.INTERFACE, "9.9"
    module.Engine = Engine
    monkeypatch.setattr(Engine, "refuses", None)
    monkeypatch.setitem(sys.modules, "infoatlas_native", module)
    return module


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "infoatlas_native", None)


@pytest.fixture
def cuda(monkeypatch):
    """An ONNX Runtime that lists CUDA, whose sessions do not start."""
    there = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: there)
    monkeypatch.setattr(onnxruntime_backend, "has_cuda", lambda: True)
    start = onnxruntime.InferenceSession

    def session(content, options, providers):
        if providers[0][0] == "CUDAExecutionProvider":
            raise RuntimeError("CUDA failure 35")
        return start(content, options, providers=providers)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)


@pytest.mark.parametrize("provider", ["gpu", None, 3])
def test_unknown_provider(model, provider):
    fails(ProviderError, r"'cpu', 'native', 'cuda', 'tensorrt'", make_backend, model, provider)


def test_native_gets_the_bytes_that_were_checked(model, package, caplog):
    with caplog.at_level("INFO"):
        backend = make_backend(model, "native", 3)
    engine = backend._engine
    assert (engine.content, engine.threads, engine.interface) == (model.bytes, 3, native.INTERFACE)
    assert backend.provider == "native" and backend.threads == 3 and backend.milliseconds == {}
    assert "C++ engine 9.9" in caplog.text and "avx9" in caplog.text
    estimate = Estimator(provider="native").estimate(*np.random.default_rng(0).random((2, 50)))
    assert estimate.provider == "native" and estimate.mi == 0 and estimate.rank_x == 1


def test_native_has_fewer_threads_than_asked_for(model, package, monkeypatch, caplog):
    class Fewer(Engine):
        missing_threads = "Resource temporarily unavailable"

        def __init__(self, content, threads, interface):
            super().__init__(content, 3, interface)

    monkeypatch.setattr(package, "Engine", Fewer)
    assert make_backend(model, "native", 8).threads == 3
    (warning,) = (r.getMessage() for r in caplog.records if r.levelname == "WARNING")
    for part in ("3 of 8 threads", "temporarily unavailable", "ulimit -u", "threads=3"):
        assert part in warning


def test_native_does_not_fit_into_memory(model, package, monkeypatch):
    monkeypatch.setattr(Engine, "refuses", MemoryError())
    fails(ModelError, r"edge\.onnx does not fit into memory", make_backend, model, "native")


def test_native_has_another_interface(model, package):
    package.INTERFACE += 1
    own = native.INTERFACE
    message = rf"9\.9 has interface {own + 1}.* calls {own}: install .*again"
    fails(ProviderError, message, make_backend, model, "native")


def test_native_does_not_take_the_model(model, package, monkeypatch):
    monkeypatch.setattr(Engine, "refuses", RuntimeError("readout 'generated' is not implemented"))
    with pytest.raises(ProviderError, match=r"edge\.onnx: readout 'generated'.*provider='cpu'"):
        make_backend(model, "native")


def test_native_runs_out_of_memory(model, package, monkeypatch):
    estimator = Estimator(provider="native")
    monkeypatch.setattr(Engine, "refuses", MemoryError("std::bad_alloc"))
    with pytest.raises(RuntimeError, match="estimate from 50 samples: out of memory"):
        estimator.estimate(*np.random.default_rng(0).random((2, 50)))


def test_auto_takes_the_cpu_where_there_is_nothing_else(model, no_package, caplog):
    with caplog.at_level("INFO"):
        assert make_backend(model, "auto").provider == "cpu"
    for line in ("over 'cuda', which is not", "over 'native', which is not", "chooses 'cpu'"):
        assert line in caplog.text
    found = choice.find_libraries()
    assert tuple(found) == choice.PROVIDERS and found["auto"] == "cpu"
    assert found["cpu"] == "CPUExecutionProvider" and "not built" in found["native"]


def test_auto_is_the_default_and_takes_native_before_the_cpu(model, package, caplog):
    with caplog.at_level("INFO"):
        assert make_backend(model).provider == "native"
    assert Estimator().backend.provider == "native"
    assert make_parser(OWN).parse_args(["bench"]).provider == "auto"
    assert "'auto' chooses 'native'" in caplog.text and choice.find_libraries()["auto"] == "native"


def test_cuda_is_found_by_the_library_of_its_provider(tmp_path, monkeypatch):
    assert not onnxruntime_backend.has_cuda()  # the ONNX Runtime of the tests is that for CPUs
    spec = ModuleSpec("onnxruntime", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(onnxruntime_backend, "find_spec", lambda name: spec)
    assert not onnxruntime_backend.has_cuda()
    (tmp_path / "capi").mkdir()
    (tmp_path / "capi" / "libonnxruntime_providers_cuda.so").touch()
    assert onnxruntime_backend.has_cuda()
    monkeypatch.setattr(onnxruntime_backend, "find_spec", lambda name: None)
    assert not onnxruntime_backend.has_cuda()


def test_a_broken_onnxruntime_does_not_stop_the_engine(model, package, monkeypatch, caplog):
    """As the folder that is left when one of two packages with this name is removed."""
    left = ModuleType("onnxruntime")
    left.__spec__ = ModuleSpec("onnxruntime", None, is_package=True)
    monkeypatch.setitem(sys.modules, "onnxruntime", left)
    assert make_backend(model).provider == "native" and choice.find_libraries()["auto"] == "native"
    assert "ONNX Runtime is broken" in caplog.text
    fails(ProviderError, "cannot be imported", make_backend, model, "cpu")


@pytest.mark.parametrize("left_out", [False, True])
def test_the_slower_engine_is_announced_once(model, no_package, monkeypatch, caplog, left_out):
    monkeypatch.delenv("INFOATLAS_ENGINE", raising=False)
    if left_out:
        monkeypatch.setenv("INFOATLAS_ENGINE", "0")
    choice._warn_once.cache_clear()
    for provider in ("cpu", "auto", "auto"):
        assert make_backend(model, provider).provider == "cpu"
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == (not left_out)
    assert all("not built" in text and "provider='cpu'" in text for text in warnings)


def test_a_compiler_that_is_there_need_not_be_got(model, no_package, monkeypatch):
    monkeypatch.setattr(native.shutil, "which", lambda name: name)
    monkeypatch.setattr(native.Path, "is_file", lambda path: True)
    with pytest.raises(ProviderError, match=r"not built .*: run pip install .*-v") as raised:
        make_backend(model, "native")
    assert "get a C++" not in str(raised.value)


def test_without_any_engine_all_ways_to_get_one_are_named(model, no_package, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    with pytest.raises(ProviderError) as raised:
        make_backend(model)
    for part in ("edge.onnx", "'infoatlas-rt[cpu]'", "not built", "C++20 compiler"):
        assert part in str(raised.value)
    assert "provider='cpu'" not in str(raised.value)
    found = choice.find_libraries()
    assert found["auto"].startswith("none") and "'.[cpu]'" in found["cpu"]
    assert "not built" in found["native"]


def test_auto_logs_why_cuda_and_native_do_not_start(model, cuda, package, monkeypatch, caplog):
    monkeypatch.setattr(Engine, "refuses", RuntimeError("no such readout"))
    assert make_backend(model, "auto").provider == "cpu"
    assert "CUDA failure 35" in caplog.text and "no such readout" in caplog.text
    assert "over 'cuda'" in caplog.text and "over 'native'" in caplog.text


def test_auto_takes_cuda_first(model, cuda, package, monkeypatch):
    class Started:
        def __init__(self, content, provider, threads, options):
            self.provider = provider

    monkeypatch.setattr("infoatlas_rt.backends.onnxruntime.OnnxRuntimeBackend", Started)
    backend = make_backend(model, "auto")
    assert backend.provider == "cuda" and isinstance(backend, Preparing)  # by the C++ engine
    monkeypatch.setattr(Engine, "refuses", RuntimeError("no such graph"))
    assert not isinstance(make_backend(model, "cuda"), Preparing)
    found = choice.find_libraries()
    assert found["auto"] == "cuda if it starts, else native"
    assert found["cuda"] == "CUDAExecutionProvider" and "no Tensorrt" in found["tensorrt"]
