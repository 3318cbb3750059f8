"""Engines of TensorRT and TensorRT-RTX, with strict models of both and of CUDA."""

import functools
import logging
import sys
import threading

import numpy as np
import pytest

from fake_gpu import as_rtx, install
from fakes import OnDevice, graph_inputs
from infoatlas_rt import Estimator
from infoatlas_rt.backends import tensorrt as module
from infoatlas_rt.backends.choice import make_backend
from infoatlas_rt.backends.tensorrt import TensorRTBackend, split
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import model_file
from infoatlas_rt.models.engine_file import Profile
from refusals import fails

pytest.importorskip("onnx")
build = pytest.importorskip("infoatlas_export.tensorrt").build
pytest.importorskip("onnxruntime")


@pytest.fixture(params=["tensorrt", "tensorrt-rtx"])
def library(request):
    return request.param


@pytest.fixture
def world(monkeypatch):
    return install(monkeypatch)


@pytest.fixture
def engine(world, library, tmp_path):
    return made(library, tmp_path, "batch")


def made(library, folder, profile):
    """An engine of a library."""
    path = folder / "edge.engine"
    build("edge", path, profiles=[profile])
    return model_file.load(path if library == "tensorrt" else as_rtx(path))


@functools.cache
def on_cpu():
    return make_backend(model_file.load("edge"))


def expected(inputs):
    return on_cpu().run(*inputs)


def same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == np.float32
        np.testing.assert_allclose(a, b, atol=2e-4, rtol=1e-3)


def check(backend, *sizes):
    """The engine computes what the model does on inputs of these sizes, and of a seed."""
    inputs = graph_inputs(*sizes)
    same(backend.run(*inputs), expected(inputs))


def test_the_engine_computes_what_the_model_does(world, library, engine):
    backend = make_backend(engine, library)
    assert backend.provider == library and make_backend(engine, "auto").provider == library
    for seed, sizes in enumerate([(1, 64, 40), (3, 33, 32), (2, 600, 5)]):
        check(backend, *sizes, seed)
    assert world.stack == []  # the previous context is current again
    assert set(backend.milliseconds) == {"copy_in", "compute", "copy_out"}
    assert all(value > 0 for value in backend.milliseconds.values())


def test_a_shape_is_captured_on_its_second_call_and_replayed_with_new_data(world, engine):
    backend = TensorRTBackend(engine)
    for seed in range(4):
        check(backend, 2, 50, 5, seed)
    counts = world.counts
    assert (counts["context"], counts["capture"], counts["replay"]) == (1, 1, 3)
    assert counts["enqueue"] == 2  # the warm-up, and the captured one
    assert counts["graphs alive"] == 0  # instantiated graphs need no template


def on_device(world, values):
    world.allocations[values.ctypes.data] = values.view(np.uint8).reshape(-1)
    return OnDevice(values)


def test_arrays_on_the_gpu_are_copied_within_it(world, engine):
    backend = TensorRTBackend(engine)
    for seed in range(3):  # plain, captured, replayed
        x, y, *rest = graph_inputs(2, 50, seed=seed)
        same(backend.run(on_device(world, x), on_device(world, y), *rest), expected((x, y, *rest)))
    assert world.counts["memcpy_dtod_async"] == 6
    assert world.counts["memcpy_htod_async"] == 6  # shifts and sequence


def test_buffers_grow_and_graphs_of_the_old_addresses_are_dropped(world, engine):
    backend = TensorRTBackend(engine)
    for n in (40, 40, 300, 40, 40):
        check(backend, 2, n, 5, n)
    assert world.counts["executables alive"] == 1
    before = world.counts["mem_alloc"]
    backend.run(*graph_inputs(2, 300))
    assert world.counts["mem_alloc"] == before  # kept
    # x, y, shifts, sequence, four outputs and the activations
    assert len(world.allocations) == 9


def test_graphs_of_a_buffer_that_grew_alone_are_dropped(world, engine):
    backend = TensorRTBackend(engine)
    for n, shifts in [(40, 32), (40, 32), (64, 4), (40, 32)]:  # the activations do not grow
        check(backend, 2, n, shifts)


def test_the_number_of_graphs_is_bounded(world, engine, monkeypatch):
    monkeypatch.setattr(module, "KEPT_SHAPES", 3)
    backend = TensorRTBackend(engine)
    backend.run(*graph_inputs(2, 64))
    for n in (60, 61, 62, 63, 64, 60):
        for _ in range(2):
            backend.run(*graph_inputs(2, n))
    assert len(backend._executions) == 3 and world.counts["executables alive"] == 3


@pytest.mark.parametrize("slices", [100, 1025])
def test_more_slices_than_a_profile_takes_are_divided(world, engine, slices):
    profiles = engine.engine.profiles
    parts = split(profiles, slices, 300, 5)
    sizes = [part.stop - part.start for _, part in parts]
    assert sum(sizes) == slices and max(sizes) == 64
    assert all(profiles[i].slices[0] <= size for (i, _), size in zip(parts, sizes, strict=True))
    assert [part.start for _, part in parts] == [0, *np.cumsum(sizes)[:-1]]


def test_divided_slices_come_back_in_order(world, library, tmp_path):
    backend = TensorRTBackend(made(library, tmp_path, "slices=1:2:3,samples=32:40:50"))
    inputs = graph_inputs(8, 40)
    same(backend.run(*inputs), expected(inputs))
    assert world.counts["enqueue"] == 3  # 3, 3 (captured and replayed), 2
    x, y, *rest = inputs
    same(backend.run(on_device(world, x), on_device(world, y), *rest), expected(inputs))


def test_the_narrowest_profile_is_chosen():
    wide = Profile("wide", (1, 1, 64), (32, 100, 5000), (4, 5, 40))
    narrow = Profile("narrow", (1, 1, 64), (32, 100, 512), (4, 5, 40))
    large = Profile("large", (65, 100, 1024), (32, 100, 512), (4, 5, 40))
    profiles = wide, narrow, large
    assert split(profiles, 40, 100, 8) == [(1, slice(0, 40))]
    assert split(profiles, 40, 1000, 8) == [(0, slice(0, 40))]
    assert split(profiles, 1100, 100, 8) == [(2, slice(0, 1024)), (2, slice(1024, 1100))]
    assert split(profiles, 1030, 100, 8) == [(2, slice(0, 1024)), (1, slice(1024, 1030))]


@pytest.mark.parametrize(("n", "shifts"), [(5001, 5), (31, 5), (100, 127), (100, 3)])
def test_sizes_outside_of_all_profiles_are_refused(world, engine, n, shifts):
    backend = TensorRTBackend(engine)
    with pytest.raises(InputError, match=rf"{n} samples.*{shifts} shifts.*batch.*--profile"):
        backend.run(*graph_inputs(1, n, shifts))
    check(backend, 1, 64)


def test_without_capture_it_goes_on_and_reports_why(world, library, engine, caplog):
    world.capturable = False
    backend = TensorRTBackend(engine)
    with caplog.at_level(logging.WARNING):
        for seed in range(3):
            check(backend, 2, 50, 5, seed)
    if library == "tensorrt":
        assert "not permitted in a capture" in backend.graphs
    assert caplog.text.count("no CUDA graph") == 1 and "slower" in caplog.text
    assert world.counts["replay"] == 0


def test_rtx_captures_the_sizes_that_it_can(world, tmp_path, caplog):
    """If it allocates memory within a call, only that size runs without a graph."""
    world.captures = 100
    backend = TensorRTBackend(made("tensorrt-rtx", tmp_path, "batch"))
    with caplog.at_level(logging.WARNING):
        for seed in range(3):
            for n in (200, 150, 50):
                check(backend, 2, n, 5, seed)
    assert backend.graphs == "available" and world.counts["capture"] == 1
    assert caplog.text.count("2 slices of 200 samples with 5 shifts") == 1
    assert "150 samples" not in caplog.text  # there is one warning only


def test_without_cuda_python_it_goes_on_and_reports_why(world, engine, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with caplog.at_level(logging.WARNING):
        backend = TensorRTBackend(engine)
        for seed in range(2):
            check(backend, 2, 50, 5, seed)
    assert "cuda-python" in backend.graphs and "no CUDA graphs" in caplog.text


def test_short_memory_is_an_error_with_a_way_out_and_not_the_end(world, library, engine):
    backend = TensorRTBackend(engine)
    backend.run(*graph_inputs(1, 64))
    world.memory = sum(memory.nbytes for memory in world.allocations.values()) + 100
    title = {"tensorrt": "TensorRT", "tensorrt-rtx": "TensorRT-RTX"}[library]
    message = rf"^{title} cannot evaluate.*400 samples in 8 slices.*out of memory.*fewer"
    fails(ModelError, message, backend.run, *graph_inputs(8, 400))
    world.memory = 2**34
    assert world.stack == []
    check(backend, 8, 400)


@pytest.mark.parametrize(
    ("library", "change", "message"),
    [
        ("tensorrt", {"version": "10.7.0"}, r"version is '10.3.0', and '10.7.0' .*build it again"),
        ("tensorrt", {"gpu": "H800"}, r"gpu is 'Orin', and 'H800' is wanted"),
        ("tensorrt", {"capability": (9, 0)}, r"compute capabilities are .*8\.7.*9\.0.* is wanted"),
        ("tensorrt-rtx", {"rtx": "1.8.0"}, r"version is '1.7.1.116', and '1.8.0' is wanted"),
        ("tensorrt-rtx", {"capability": (8, 9)}, r"capabilities are .*8\.7.*8\.9.* is wanted"),
    ],
)
def test_another_machine_is_refused(world, monkeypatch, tmp_path, library, change, message):
    engine = made(library, tmp_path, "control")
    install(monkeypatch, **change)
    fails(ModelError, message, TensorRTBackend, engine)


def test_an_engine_of_rtx_takes_any_gpu_of_its_capability(world, monkeypatch, tmp_path):
    engine = made("tensorrt-rtx", tmp_path, "control")
    install(monkeypatch, gpu="GeForce of the same capability", version="10.7.0")
    check(TensorRTBackend(engine), 1, 64)


@pytest.mark.parametrize(
    ("profile", "lost"),
    [
        ("batch", {"mi": (1,)}),  # the parser lost the batch
        ("batch", {"pointwise": (-1,)}),
        ("slices=2,samples=50", {"mi": (1,)}),
    ],
)
def test_an_engine_of_other_shapes_is_refused(world, library, tmp_path, profile, lost):
    world.lost = lost
    (name,) = lost
    if library == "tensorrt":  # the builder checks this, too
        with pytest.raises(ModelError, match=rf"{name} of dimensions \[.*profiles are for"):
            made(library, tmp_path, profile)
    world.lost = {}
    engine = made(library, tmp_path, profile)
    world.lost = lost
    with pytest.raises(
        ModelError, match=rf"{name} of dimensions \[.*profiles are for .*build it again"
    ):
        TensorRTBackend(engine)


def test_no_gpu(engine, monkeypatch):
    install(monkeypatch, gpus=0)
    fails(ProviderError, r"no CUDA-capable device.*provider='cpu'", TensorRTBackend, engine)


@pytest.mark.parametrize(
    ("library", "missing", "message"),
    [
        ("tensorrt", "tensorrt", r"TensorRT cannot be .*infoatlas-rt\[tensorrt\].*JetPack"),
        ("tensorrt-rtx", "tensorrt_rtx", r"TensorRT-RTX cannot be .*infoatlas-rt\[tensorrt-rtx\]"),
        ("tensorrt", "pycuda.driver", r"pycuda.*compiled"),
        ("tensorrt-rtx", "pycuda.driver", r"pycuda.*compiled"),
    ],
)
def test_missing_packages_are_named(engine, monkeypatch, missing, message):
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "tensorrt_rtx":
        monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", None)
    fails(ProviderError, message, TensorRTBackend, engine)


@pytest.mark.parametrize("provider", ["cpu", "tensorrt", "tensorrt-rtx"])
def test_an_engine_takes_no_other_provider(engine, library, provider):
    if provider == library:
        return
    with pytest.raises(ProviderError, match=rf"edge\.engine is an engine of.*'{library}'.*edge"):
        make_backend(engine, provider)


def test_a_model_is_no_engine(world):
    with pytest.raises(ProviderError, match=r"infoatlas-rt build .*edge\.onnx --backend rtx"):
        make_backend(model_file.load("edge"), "tensorrt-rtx")


def test_a_forked_process_is_refused(world, engine, monkeypatch):
    backend = TensorRTBackend(engine)
    monkeypatch.setattr("os.getpid", lambda: -1)
    fails(ProviderError, "fork", backend.run, *graph_inputs(1, 64))


def test_threads_take_turns(world, engine):
    backend = TensorRTBackend(engine)
    inputs = [graph_inputs(2, 40 + 10 * i, seed=i) for i in range(4)]
    found = [None] * 4

    def work(i):
        for _ in range(3):
            found[i] = backend.run(*inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        same(found[i], expected(inputs[i]))


def test_an_estimator_takes_an_engine(world, library, engine, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2))
    y = x + rng.standard_normal((200, 2))
    estimator = Estimator(tmp_path / "edge.engine", provider=library)
    found, wanted = estimator.estimate(x, y), Estimator("edge").estimate(x, y)
    assert found.provider == library and found.model == "edge"
    assert found.mi == pytest.approx(wanted.mi, abs=1e-3)
    assert found.stderr == pytest.approx(wanted.stderr, rel=1e-2)
