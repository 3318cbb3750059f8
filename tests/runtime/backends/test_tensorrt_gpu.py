"""Engines on a real GPU: results equal the model's, with CUDA graphs, and beside torch.

TensorRT and TensorRT-RTX are tested if they are installed and build for the GPU.
"""

import subprocess
import sys
from time import sleep

import numpy as np
import pytest

from gpus import needs_gpu
from infoatlas_rt import Estimator
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.backends.cuda_device import CaptureError, Device
from infoatlas_rt.backends.tensorrt import TensorRTBackend
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, load
from infoatlas_rt.errors import ProviderError
from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import read
from refusals import fails

pytestmark = needs_gpu
TOLERANCE = 0.01  # nats of mi, as for all providers
SHAPES = [(1, 32, 31), (1, 100, 99), (40, 100, 5), (64, 512, 5), (1, 1000, 16), (16, 5000, 5)]


@pytest.fixture(scope="module", params=["tensorrt", "tensorrt-rtx"])
def library(request):
    """Name of a library that can build engines for the GPU of this machine."""
    try:
        load(LIBRARIES[request.param])
        capability = Device().compute_capability
    except ProviderError as error:
        pytest.skip(str(error))
    targets = LIBRARIES[request.param].builds_for
    if targets and capability not in targets:
        pytest.skip(f"{request.param} does not build for compute capability {capability}")
    return request.param


def made(library, model, path, *options):
    """An engine with all profiles."""
    backend = {"tensorrt": "tensorrt", "tensorrt-rtx": "rtx"}[library]
    command("build", model, "--backend", backend, "--profile", "batch", "--out", path, *options)
    assert read(path).library == library
    return path


def command(*arguments):
    subprocess.run([sys.executable, "-m", "infoatlas_rt", *map(str, arguments)], check=True)


@pytest.fixture(scope="module")
def engine(library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    times = ["--timing-cache", folder / "times"] if library == "tensorrt" else []
    return made(library, "edge", folder / "edge.engine", *times)


@pytest.fixture(scope="module")
def half(library, tmp_path_factory):
    """The engine of the mixed-precision graph."""
    folder = tmp_path_factory.mktemp("engines")
    command("export", "edge", "--precision", "fp16", "--out", folder / "half.onnx")
    path = made(library, folder / "half.onnx", folder / "half.engine")
    assert read(path).precision == "fp16" and read(path).tensors.get("fp16", 0) > 0
    return path


def data(slices, n, shifts, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((slices, n, 3))
    y = np.sin(x) + 10 ** rng.uniform(-3, 1, (slices, 1, 1)) * rng.standard_normal(x.shape)
    found = canonicalise(x, y, 5)
    order = rng.permutation(n)
    return (
        np.ascontiguousarray(found.x),
        np.ascontiguousarray(found.y),
        1 + np.arange(shifts),
        order,
    )


def test_work_becomes_a_graph_without_an_engine():
    pytest.importorskip("pycuda")
    device = Device()
    cuda, stream = device.cuda, device.stream
    with device.current():
        memory, found = cuda.mem_alloc(64), cuda.pagelocked_zeros(64, np.uint8)
        graph = device.capture(lambda: cuda.memset_d8_async(int(memory), 7, 64, stream) is None)
        fails(CaptureError, "cannot be enqueued", device.capture, lambda: False)
        graph.launch(int(stream.handle))
        cuda.memcpy_dtoh_async(found, int(memory), stream)
        stream.synchronize()
        graph.close()
    assert set(found) == {7}


@pytest.mark.parametrize(("precision", "tolerance"), [("engine", TOLERANCE), ("half", 0.02)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_engine_agrees_with_the_cpu(request, precision, tolerance, shape):
    inputs = data(*shape)
    path = request.getfixturevalue(precision)
    found = TensorRTBackend(model_file.load(path)).run(*inputs)
    wanted = make_backend(model_file.load("edge"), "cpu").run(*inputs)
    np.testing.assert_allclose(found[0], wanted[0], atol=tolerance)
    if precision == "engine":
        np.testing.assert_allclose(found[1].mean(axis=1), found[0], atol=1e-3)
    assert all(np.isfinite(values).all() for values in found)


def test_graphs_replay_what_plain_calls_compute(engine):
    backend, plain = (TensorRTBackend(model_file.load(engine)) for _ in range(2))
    plain.graphs = "switched off by the test"
    for seed in range(5):
        for shape in ((40, 100, 5), (1, 64, 40)):
            inputs = data(*shape, seed=seed)
            for a, b in zip(backend.run(*inputs), plain.run(*inputs), strict=True):
                np.testing.assert_array_equal(a, b)
    assert backend.graphs == "available"
    assert all(execution.graph is not None for execution in backend._executions.values())


def test_buffers_grow_and_small_shapes_still_agree(engine):
    backend = TensorRTBackend(model_file.load(engine))
    small = data(2, 40, 8)
    first = backend.run(*small)
    for n in (100, 1000, 5000):
        backend.run(*data(2, n, 8))
    for _ in range(3):
        for a, b in zip(backend.run(*small), first, strict=True):
            np.testing.assert_array_equal(a, b)


def test_torch_goes_on_in_the_same_process(engine):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    a = torch.randn(512, 512, device="cuda")
    before = (a @ a).cpu()
    backend = TensorRTBackend(model_file.load(engine))
    inputs = data(40, 100, 5)
    wanted = make_backend(model_file.load("edge"), "cpu").run(*inputs)
    for _ in range(4):  # plain, captured, replayed
        pending = a @ a
        found = backend.run(*inputs)
        torch.testing.assert_close(pending.cpu(), before)
        np.testing.assert_allclose(found[0], wanted[0], atol=TOLERANCE)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.testing.assert_close((a @ a).cpu(), before)


def test_an_estimator_on_the_engine(library, engine):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 41))
    y = x @ rng.standard_normal((41, 41)) / 6 + rng.standard_normal((100, 41))
    found = Estimator(engine, provider=library).estimate(x, y)
    wanted = Estimator("edge", provider="cpu").estimate(x, y)
    assert found.mi == pytest.approx(wanted.mi, abs=TOLERANCE)


def test_the_first_call_of_a_shape_gives_the_bits_of_later_ones(engine):
    """TensorRT-RTX compiles kernels for a shape before its first call, not afterwards."""
    backend = TensorRTBackend(model_file.load(engine))
    inputs = data(40, 100, 5)
    first = backend.run(*inputs)
    for pause in (0.0, 2.0):
        sleep(pause)
        for a, b in zip(backend.run(*inputs), first, strict=True):
            np.testing.assert_array_equal(a, b)
