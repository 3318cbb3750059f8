"""ONNX Runtime: the requested provider runs, and outputs follow the contract of the graph."""

import numpy as np
import pytest

from fakes import OnDevice, graph_inputs
from infoatlas_rt.backends import onnxruntime as onnxruntime_backend
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.backends.onnxruntime import OnnxRuntimeBackend
from infoatlas_rt.backends.threads import default_threads
from infoatlas_rt.errors import ModelError, ProviderError
from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_rt.inputs.gpu_arrays import device_pointer
from infoatlas_rt.models import model_file
from refusals import fails

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def model():
    return model_file.load("edge")


@pytest.fixture(scope="module")
def backend(model):
    return OnnxRuntimeBackend(model.bytes, threads=1)


@pytest.mark.parametrize(("slices", "n", "shifts"), [(1, 64, 4), (3, 33, 32), (40, 100, 16)])
def test_shapes_types_and_the_readout(backend, slices, n, shifts):
    outputs = backend.run(*graph_inputs(slices, n, shifts))
    mi, pointwise, influence, spread = outputs
    assert (mi.shape, pointwise.shape, influence.shape) == ((slices,), (slices, n), (slices, n))
    assert spread.shape == (slices,) and (spread > 0).all()
    assert {values.dtype for values in outputs} == {np.dtype(np.float32)}
    assert all(np.isfinite(values).all() for values in (mi, influence, spread))
    np.testing.assert_allclose(pointwise.mean(axis=1), mi, atol=1e-4)


@pytest.mark.parametrize("provider", ["cuda", "tensorrt"])
def test_a_missing_provider_names_what_is_there(model, provider, monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(ProviderError, match=r"CPUExecutionProvider.*infoatlas-rt\[gpu\].*'cpu'"):
        OnnxRuntimeBackend(model.bytes, provider)


class Recorder:
    """Replaces onnxruntime.InferenceSession: starts with any provider."""

    starts: tuple[str, ...] = ("CPUExecutionProvider",)

    def __init__(self, model, options, providers):
        Recorder.options, Recorder.providers, Recorder.fallback = options, providers, True

    def get_providers(self):
        return list(self.starts)

    def disable_fallback(self):
        Recorder.fallback = False


@pytest.fixture
def recorder(monkeypatch):
    everything = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: everything)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Recorder)
    monkeypatch.setattr(Recorder, "starts", ("CPUExecutionProvider",))
    return Recorder


@pytest.mark.parametrize(
    ("provider", "starts"),
    [
        ("cuda", ("CPUExecutionProvider",)),
        ("tensorrt", ("CUDAExecutionProvider", "CPUExecutionProvider")),
    ],
)
def test_a_silent_fall_back_is_an_error(recorder, monkeypatch, provider, starts):
    monkeypatch.setattr(recorder, "starts", starts)
    fails(ProviderError, r"did not start.*instead", OnnxRuntimeBackend, b"", provider)


def test_session_settings(recorder, monkeypatch):
    monkeypatch.setattr(recorder, "starts", ("CUDAExecutionProvider", "CPUExecutionProvider"))
    assert OnnxRuntimeBackend(b"", "cuda", threads=3).threads == 3
    assert OnnxRuntimeBackend(b"", "cuda").threads == default_threads()
    options = recorder.options
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert options.enable_cpu_mem_arena
    assert ("CUDAExecutionProvider", {"use_tf32": "0"}) in recorder.providers
    assert recorder.fallback is False


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("slices", [1, 2, 7])
def test_slices_are_shared_out_and_come_back_in_order(model, monkeypatch, threads, slices):
    monkeypatch.setattr(onnxruntime_backend, "CALL_PAIRS", 2 * 40 * 8)  # two slices per call
    data = canonicalise(*np.random.default_rng(0).standard_normal((2, slices, 40, 3)), model.dim)
    shifts = np.arange(1, 9)
    backend = OnnxRuntimeBackend(model.bytes, threads=threads)
    together = backend.run(data.x, data.y, shifts, np.arange(40))
    for i in range(slices):
        alone = backend.run(data.x[i : i + 1], data.y[i : i + 1], shifts, np.arange(40))
        # Single samples depend more on the rounding of a solve than their mean.
        for whole, part, atol in zip(together, alone, (1e-4, 2e-3, 1e-3, 1e-4), strict=True):
            np.testing.assert_allclose(whole[i], part[0], atol=atol, rtol=1e-4)


def test_a_damaged_model(model):
    # The file is valid, so only the engine can detect it: the operator that shifts y is unknown.
    damaged = model.bytes.replace(b"Gather", b"NoSuch")
    assert damaged != model.bytes
    for content in (b"", b"not a model", model.bytes[: len(model.bytes) // 2], damaged):
        fails(ModelError, "cannot load the model", OnnxRuntimeBackend, content)


@pytest.mark.parametrize("place", [np.asarray, OnDevice])
def test_bound_inputs_give_the_same_outputs(model, place):
    data = canonicalise(*np.random.default_rng(0).standard_normal((2, 3, 40, 3)), model.dim)
    shifts, sequence = np.arange(1, 9), np.arange(40)
    backend = OnnxRuntimeBackend(model.bytes, threads=1)
    assert backend.milliseconds == {}
    x, y = (np.ascontiguousarray(side) for side in (data.x, data.y))
    bound = backend._on_device(place(x), place(y), shifts, sequence)
    for found, expected in zip(bound, backend.run(x, y, shifts, sequence), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert list(backend.milliseconds) == ["copy_in", "compute", "copy_out"]
    assert all(value > 0 for value in backend.milliseconds.values())


def test_an_array_on_the_gpu_has_to_be_contiguous():
    values = np.zeros((4, 6), np.float32)
    assert device_pointer(OnDevice(values)) == values.ctypes.data
    fails(ProviderError, "contiguous", device_pointer, OnDevice(values.T))


def test_tensorrt_provider_keeps_its_engines(model, recorder, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    everything = tuple(f"{name}ExecutionProvider" for name in ("Tensorrt", "CUDA", "CPU"))
    monkeypatch.setattr(recorder, "starts", everything)
    make_backend(model, "tensorrt")
    name, options = recorder.providers[0]
    assert name == "TensorrtExecutionProvider"
    assert options["trt_engine_cache_enable"] == options["trt_timing_cache_enable"] == "1"
    assert options["trt_engine_cache_path"] == str(tmp_path / "infoatlas-rt" / "tensorrt")
    assert options["trt_profile_min_shapes"] == "x:1x32x5,y:1x32x5,shifts:4,sequence:32"
    assert options["trt_profile_opt_shapes"] == "x:40x100x5,y:40x100x5,shifts:5,sequence:100"
    assert options["trt_profile_max_shapes"].startswith("x:64x512x5,y:64x512x5,shifts:")
    assert not any("fp16" in option for option in options)  # precision is in the graph
    assert ("CUDAExecutionProvider", {"use_tf32": "0"}) in recorder.providers
    assert (tmp_path / "infoatlas-rt" / "tensorrt").stat().st_mode & 0o077 == 0
