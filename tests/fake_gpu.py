"""A simulated GPU: models of TensorRT, TensorRT-RTX, pycuda and cuda-python with their rules.

TensorRT's libraries need the driver of a GPU, so builder and backend are tested with these models.
The models detect errors that the real libraries do not report. Device memory is looked up by its
address, so an access to freed or foreign memory is an error. Work on a stream runs when it is
synchronised, so a result that is read too early is wrong. A graph replays the addresses of its
capture, and fails if its context has changed. An engine computes with ONNX Runtime. Names and
signatures are those of the recorded bindings (test_tensorrt_names.py compares them), of pycuda
2024.1 to 2026.1, and of cuda-python 12.9 and 13.0.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

MAGIC = b"fake plan\n"


@dataclass
class World:
    """The machine: its properties, its faults, and the calls."""

    version: str = "10.3.0"
    rtx: str = "1.7.1.116"  # version of TensorRT-RTX
    gpu: str = "Orin"
    capability: tuple[int, int] = (8, 7)
    gpus: int = 1
    memory: int = 2**34  # bytes
    build_error: str = ""
    inspector: str = "Half"  # name of FP16 in the inspector's answer; "": it reports FP32
    capturable: bool = True
    captures: int = 10**9  # samples up to which TensorRT-RTX does not allocate in a call
    lost: dict[str, tuple[int, ...]] = field(default_factory=dict)  # shapes that became numbers
    calls: list[str] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    settings: dict[str, Any] = field(default_factory=dict)  # of the last build
    allocations: dict[int, np.ndarray] = field(default_factory=dict)
    pinned: list[np.ndarray] = field(default_factory=list)
    stack: list[Any] = field(default_factory=list)
    streams: dict[int, Any] = field(default_factory=dict)

    def note(self, call: str) -> None:
        self.calls.append(call)
        self.counts[call] += 1

    def at(self, address: int, size: int) -> np.ndarray:
        """Device memory at an address, if it is allocated."""
        for start, memory in self.allocations.items():
            if start <= address and address + size <= start + memory.nbytes:
                return memory[address - start : address - start + size]
        raise AssertionError(f"illegal memory access: {size} bytes at {address:#x}")


@functools.cache
def session(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


@dataclass(frozen=True)
class Node:
    """A node of a graph, with the types of its inputs and outputs."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@functools.cache
def nodes(model: bytes) -> list[Node]:
    graph = onnx.shape_inference.infer_shapes(onnx.load_from_string(model)).graph
    values = (*graph.value_info, *graph.input, *graph.output)
    known = {value.name: value.type.tensor_type.elem_type for value in values}
    known |= {weight.name: weight.data_type for weight in graph.initializer}

    def types(names: Any) -> tuple[str, ...]:
        return tuple(DTYPES[known[name]] for name in names if name in known)

    return [Node(n.name, n.op_type, types(n.input), types(n.output)) for n in graph.node]


def working_memory(shapes: dict[str, list[list[int]]]) -> int:
    """Bytes that the kernels of a profile need at its largest sizes."""
    slices, n = shapes["x"][2][:2]
    return slices * n * shapes["shifts"][2][0] * 16


def install(monkeypatch: Any, **settings: Any) -> World:
    """Replace tensorrt, tensorrt_rtx, pycuda.driver and cuda.bindings.driver by the models."""
    world = World(**settings)
    pycuda, cuda, bindings = (types.ModuleType(n) for n in ("pycuda", "cuda", "cuda.bindings"))
    pycuda.driver, driver = make_pycuda(world), make_driver(world)
    cuda.bindings, bindings.driver = bindings, driver
    modules = {
        "tensorrt": make_tensorrt(world), "tensorrt_rtx": make_tensorrt(world, world.rtx),
        "pycuda": pycuda, "pycuda.driver": pycuda.driver,
        "cuda": cuda, "cuda.bindings": bindings, "cuda.bindings.driver": driver,
    }  # fmt: skip
    for name, module in modules.items():
        module.__spec__ = ModuleSpec(name, None)  # torch looks for it
        monkeypatch.setitem(sys.modules, name, module)
    return world


def as_rtx(path: Path, version: str = "1.7.1.116") -> Path:
    """Convert an engine of TensorRT, as the models build it, to one of TensorRT-RTX."""
    header, _, model = path.read_bytes().removeprefix(MAGIC).partition(b"\n")
    content = json.dumps({**json.loads(header), "version": version}).encode()
    path.write_bytes(MAGIC + content + b"\n" + model)
    file = path.with_name(path.name + ".json")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    values = json.loads(file.read_text())
    values |= {"library": "tensorrt-rtx", "version": version, "gpu": "", "engine_sha256": digest}
    file.write_text(json.dumps(values))
    return path


# ---------------------------------------------------------------------------------- pycuda.driver


def make_pycuda(world: World) -> types.ModuleType:
    """pycuda.driver with the signatures of wrap_cudadrv.cpp."""

    class Error(Exception):
        pass

    class MemoryError(Error):
        pass

    class LogicError(Error):
        pass

    def needs_context() -> None:
        if not world.stack:
            raise LogicError("no currently active context?")

    class Context:
        handle = 1

        def push(self) -> None:
            world.stack.append(self)

        @staticmethod
        def pop() -> None:
            if not world.stack:
                raise LogicError("cannot pop context from empty stack")
            world.stack.pop()

    primary = Context()

    class Device:
        def __init__(self, number: int) -> None:
            if number >= world.gpus:
                raise LogicError("cuDeviceGet failed: invalid device ordinal")

        def name(self) -> str:
            return world.gpu

        def compute_capability(self) -> tuple[int, int]:
            return world.capability

        def retain_primary_context(self) -> Context:
            return primary

    class Stream:
        def __init__(self, flags: int = 0) -> None:
            needs_context()
            self.flags, self.handle = flags, 100 + len(world.streams)
            self.queue: list[Callable[[], None]] = []
            self.capturing: list[Callable[[], None]] | None = None
            world.streams[self.handle] = self

        def put(self, work: Callable[[], None]) -> None:
            (self.queue if self.capturing is None else self.capturing).append(work)

        def synchronize(self) -> None:
            assert self.capturing is None, "synchronised within a capture"
            queue, self.queue = self.queue, []
            for work in queue:
                work()
            world.note("synchronize")

    class Event:
        def __init__(self, flags: int = 0) -> None:
            needs_context()
            self.time = -1

        def record(self, stream: Any = None) -> Event:
            stream.put(self._now)
            return self

        def _now(self) -> None:
            world.counts["tick"] += 1
            self.time = world.counts["tick"]

        def time_since(self, event: Event) -> float:
            assert min(self.time, event.time) > 0, "an event that was not waited for"
            return float(self.time - event.time)

    class DeviceAllocation:
        def __init__(self, memory: np.ndarray) -> None:
            self.address = memory.ctypes.data
            world.allocations[self.address] = memory

        def __int__(self) -> int:
            return self.address

        def __del__(self) -> None:
            world.allocations.pop(self.address, None)

    def mem_alloc(size: int) -> DeviceAllocation:
        needs_context()
        used = sum(memory.nbytes for memory in world.allocations.values())
        if used + size > world.memory:
            raise MemoryError("cuMemAlloc failed: out of memory")
        world.note("mem_alloc")
        return DeviceAllocation(np.full(size, 255, np.uint8))  # NaN if read as floats

    def pagelocked_empty(shape: int, dtype: Any, order: str = "C", mem_flags: int = 0) -> Any:
        needs_context()
        world.pinned.append(np.full(shape, 255, dtype))
        return world.pinned[-1]

    def is_pinned(host: np.ndarray) -> bool:
        return any(np.shares_memory(host, memory) for memory in world.pinned)

    def memcpy_htod_async(dest: int, src: np.ndarray, stream: Any = None) -> None:
        needs_context()
        world.note("memcpy_htod_async")
        assert is_pinned(src), "an asynchronous copy from memory that is not page-locked"

        def work() -> None:
            world.at(dest, src.nbytes)[:] = src.view(np.uint8).ravel()

        stream.put(work)

    def memcpy_dtoh_async(dest: np.ndarray, src: int, stream: Any = None) -> None:
        needs_context()
        assert is_pinned(dest), "an asynchronous copy to memory that is not page-locked"

        def work() -> None:
            dest.view(np.uint8).ravel()[:] = world.at(src, dest.nbytes)

        stream.put(work)

    def memcpy_dtod_async(dest: int, src: int, size: int, stream: Any = None) -> None:
        needs_context()
        world.note("memcpy_dtod_async")

        def work() -> None:
            world.at(dest, size)[:] = world.at(src, size)

        stream.put(work)

    def init(flags: int = 0) -> None:
        if not world.gpus:
            raise LogicError("cuInit failed: no CUDA-capable device is detected")

    copies = memcpy_htod_async, memcpy_dtoh_async, memcpy_dtod_async
    classes = Error, MemoryError, LogicError, Context, Device, Stream, Event
    return named("pycuda.driver", *classes, mem_alloc, pagelocked_empty, *copies, init)


def named(name: str, *values: Any) -> types.ModuleType:
    """A module with these classes and functions."""
    module = types.ModuleType(name)
    vars(module).update({value.__name__: value for value in values})
    return module


# --------------------------------------------------------------------------- cuda.bindings.driver


def make_driver(world: World) -> types.ModuleType:
    """The calls of cuda.bindings.driver for capturing; they return (error, result)."""

    class CUresult(IntEnum):
        CUDA_SUCCESS = 0
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901

    class CUstreamCaptureMode(IntEnum):
        CU_STREAM_CAPTURE_MODE_GLOBAL = 0
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1

    class CUstream:
        def __init__(self, init_value: int = 0) -> None:
            self.stream = world.streams[init_value]

    def cuStreamBeginCapture(hStream: CUstream, mode: CUstreamCaptureMode) -> tuple:
        assert hStream.stream.capturing is None and hStream.stream.flags == 1
        assert mode == CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        hStream.stream.capturing = []
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamEndCapture(hStream: CUstream) -> tuple:
        work, hStream.stream.capturing = hStream.stream.capturing, None
        if not world.capturable:
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, None
        world.counts["graphs alive"] += 1
        return CUresult.CUDA_SUCCESS, work

    def cuGraphDestroy(hGraph: Any) -> tuple:
        assert hGraph is not None
        world.counts["graphs alive"] -= 1
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphInstantiate(hGraph: Any, flags: int) -> tuple:
        world.note("capture")
        world.counts["executables alive"] += 1
        return CUresult.CUDA_SUCCESS, list(hGraph)

    def cuGraphLaunch(hGraphExec: Any, hStream: CUstream) -> tuple:
        world.note("replay")
        for work in hGraphExec:
            hStream.stream.put(work)
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphExecDestroy(hGraphExec: Any) -> tuple:
        hGraphExec.clear()
        world.counts["executables alive"] -= 1
        return (CUresult.CUDA_SUCCESS,)

    classes = CUresult, CUstreamCaptureMode, CUstream
    calls = cuStreamBeginCapture, cuStreamEndCapture, cuGraphDestroy, cuGraphInstantiate
    return named("cuda.bindings.driver", *classes, *calls, cuGraphLaunch, cuGraphExecDestroy)


# --------------------------------------------------------------------------------------- tensorrt

DTYPES = {1: "FLOAT", 10: "HALF", 16: "BF16", 6: "INT32", 7: "INT64", 9: "BOOL"}


def make_tensorrt(world: World, version: str | None = None) -> types.ModuleType:
    """tensorrt of one version, with the recorded enumerations, and classes with the same rules.

    Versions before 10 are those of TensorRT-RTX.
    """
    from tensorrt_bindings import RECORD

    record = json.loads(RECORD.read_text())
    versions = {key.split(".")[0]: value for key, value in record.items()}
    version = version or world.version
    api = versions[version.split(".")[0]]
    rtx = int(version.split(".")[0]) < 10
    module = types.ModuleType("tensorrt_rtx" if rtx else "tensorrt")
    module.__version__ = version
    for name, members in api["enums"].items():
        setattr(module, name, IntEnum(name, {member: i for i, member in enumerate(members)}))
    trt: Any = module

    class ILogger:
        INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)

        def __init__(self) -> None:
            self.ready = True  # without this call, a subclass crashes the real library

        def log(self, severity: Any, msg: str) -> None:
            raise NotImplementedError

    class IProgressMonitor:
        def __init__(self) -> None:
            self.ready = True

    def host_memory(content: bytes) -> Any:
        """Replaces IHostMemory. Only its buffer is used (no class can offer one)."""
        return np.frombuffer(content, np.uint8)

    class ILayer:
        def __init__(self, node: Node) -> None:
            self.node, self.name = node, node.name
            self.metadata = f"[ONNX Layer: {node.name}]"
            self.num_inputs, self.num_outputs = len(node.inputs), len(node.outputs)

        def get_input(self, index: int) -> Any:
            return types.SimpleNamespace(dtype=trt.DataType[self.node.inputs[index]])

        def get_output(self, index: int) -> Any:
            return types.SimpleNamespace(dtype=trt.DataType[self.node.outputs[index]])

    class INetworkDefinition:
        def __init__(self, flags: int) -> None:
            strong = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
            assert flags & strong, "precision would be the builder's choice"
            self.model: bytes | None = None

        def load(self, content: bytes) -> None:
            self.model = content
            self.layers = [ILayer(node) for node in nodes(content)]
            self.num_layers = len(self.layers)

        def get_layer(self, index: int) -> ILayer:
            return self.layers[index]

    class OnnxParser:
        def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
            assert logger.ready
            self.network = network

        def parse(self, model: bytes, path: str | None = None) -> bool:
            world.note("parse")
            self.network.load(model)
            return True

    class IOptimizationProfile:
        def __init__(self) -> None:
            self.shapes: dict[str, list[list[int]]] = {}

        def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:
            if not all(a <= b <= c for a, b, c in zip(min, opt, max, strict=True)):
                raise ValueError("inconsistent shapes")
            self.shapes[input] = [list(min), list(opt), list(max)]

    class ITimingCache:
        def __init__(self, content: bytes) -> None:
            self.content = content

        def serialize(self) -> Any:
            return host_memory(self.content + b"+build")

    class IBuilderConfig:
        def __init__(self) -> None:
            self.profiles: list[dict] = []
            self.flags_cleared: list[Any] = []
            self.pools: dict[Any, int] = {}
            self.cache: ITimingCache | None = None
            self.profiling_verbosity = trt.ProfilingVerbosity.LAYER_NAMES_ONLY
            self.progress_monitor: Any = None

        def set_memory_pool_limit(self, pool: Any, pool_size: int) -> None:
            self.pools[pool] = pool_size

        def clear_flag(self, flag: Any) -> None:
            self.flags_cleared.append(flag)

        def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
            if set(profile.shapes) != {"x", "y", "shifts", "sequence"}:
                return -1
            self.profiles.append(profile.shapes)
            return len(self.profiles) - 1

        def create_timing_cache(self, serialized_timing_cache: bytes) -> ITimingCache:
            return ITimingCache(bytes(serialized_timing_cache))

        def set_timing_cache(self, cache: ITimingCache, ignore_mismatch: bool) -> bool:
            if cache.content and not ignore_mismatch and world.gpu.encode() not in cache.content:
                return False
            self.cache = cache
            return True

        def get_timing_cache(self) -> ITimingCache:
            assert self.cache is not None
            return self.cache

        if rtx:
            num_compute_capabilities = 0

            def set_compute_capability(self, compute_capability: Any, index: int) -> bool:
                assert index < self.num_compute_capabilities
                return bool(compute_capability in trt.ComputeCapability)

    class Builder:
        def __init__(self, logger: ILogger) -> None:
            assert logger.ready and (rtx or world.stack), (
                "the builder would take a context of its own"
            )
            self.logger = logger

        def create_network(self, flags: int = 0) -> INetworkDefinition:
            return INetworkDefinition(flags)

        def create_builder_config(self) -> IBuilderConfig:
            return IBuilderConfig()

        def create_optimization_profile(self) -> IOptimizationProfile:
            return IOptimizationProfile()

        def build_serialized_network(self, network: Any, config: IBuilderConfig) -> Any:
            world.note("build")
            assert config.profiles, "dynamic shapes without a profile"
            assert config.progress_monitor.ready
            if world.build_error:
                self.logger.log(ILogger.ERROR, world.build_error)
                return None
            world.settings = {
                "profiles": config.profiles, "cleared": config.flags_cleared, "pools": config.pools,
                "verbosity": config.profiling_verbosity,
                "cache": None if config.cache is None else config.cache.content,
            }  # fmt: skip
            header = {"version": version, "gpu": world.gpu, "profiles": config.profiles}
            return host_memory(MAGIC + json.dumps(header).encode() + b"\n" + network.model)

    class EngineInspector:
        def __init__(self, model: bytes) -> None:
            self.model = model

        def get_engine_information(self, format: Any) -> str:
            words = {"FLOAT": "Float", "HALF": world.inspector or "Float", "INT64": "Int64"}

            def tensors(types: tuple[str, ...]) -> list[dict]:
                return [{"Name": "t", "Format/Datatype": words.get(t, t)} for t in types]

            layers = [
                {
                    "Name": node.operator, "LayerType": "kernel",
                    "Inputs": tensors(node.inputs), "Outputs": tensors(node.outputs),
                    "Metadata": f"[ONNX Layer: {node.name}]",
                }
                for node in nodes(self.model)
            ]  # fmt: skip
            return json.dumps({"Layers": layers, "Bindings": []})

    class IExecutionContext:
        def __init__(self, engine: ICudaEngine) -> None:
            self.engine = engine
            self.profile: int | None = None
            self.shapes: dict[str, tuple[int, ...]] = {}
            self.addresses: dict[str, int] = {}
            self.scratch = (0, 0)
            self.state = 0  # changes with each setting
            self.warm = -1  # the state at the last plain enqueue that has run

        def set_optimization_profile_async(self, profile_index: int, stream_handle: int) -> bool:
            assert stream_handle in world.streams
            self.profile = profile_index
            self.state += 1
            return profile_index < self.engine.num_optimization_profiles

        def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
            assert self.profile is not None, "the profile comes first"
            low, _, high = self.engine.header["profiles"][self.profile][name]
            self.state += 1
            self.shapes[name] = tuple(shape)
            return all(a <= b <= c for a, b, c in zip(low, shape, high, strict=True))

        def infer_shapes(self) -> list[str]:
            return [name for name in ("x", "y", "shifts", "sequence") if name not in self.shapes]

        def get_tensor_shape(self, name: str) -> tuple[int, ...]:
            slices, n = self.shapes["x"][:2]
            return self.shapes.get(name, (slices,) if name in ("mi", "spread") else (slices, n))

        def update_device_memory_size_for_shapes(self) -> int:
            slices, n = self.shapes["x"][:2]
            return slices * n * self.shapes["shifts"][0] * 16

        def set_device_memory(self, memory: int, size: int) -> None:
            self.scratch = memory, size
            self.state += 1

        def set_tensor_address(self, name: str, memory: int) -> bool:
            self.addresses[name] = memory
            self.state += 1
            return True

        def execute_async_v3(self, stream_handle: int) -> bool:
            world.note("enqueue")
            stream = world.streams[stream_handle]
            tensors = {"x", "y", "shifts", "sequence", "mi", "pointwise", "influence", "spread"}
            if set(self.addresses) != tensors or self.infer_shapes():
                self.engine.logger.log(ILogger.ERROR, "shapes or addresses are missing")
                return False
            if self.scratch[1] < self.update_device_memory_size_for_shapes():
                self.engine.logger.log(ILogger.ERROR, "too little device memory")
                return False
            captured = stream.capturing is not None
            if captured and (self.warm != self.state or not self._capturable()):
                self.engine.logger.log(ILogger.ERROR, "operation not permitted in a capture")
                return False
            stream.put(self._work(captured))
            return True

        def _capturable(self) -> bool:
            return world.capturable and (not rtx or self.shapes["x"][1] <= world.captures)

        if rtx:

            def is_stream_capturable(self, stream: int) -> bool:
                assert stream in world.streams and self.warm == self.state, "not run yet"
                return self._capturable()

        def _work(self, captured: bool) -> Callable[[], None]:
            state, shapes, addresses = self.state, dict(self.shapes), dict(self.addresses)
            scratch = self.scratch

            def work() -> None:
                assert self.state == state, "the context was changed after the capture or enqueue"
                world.at(*scratch)[:] = 7
                inputs = {}
                for name, shape in shapes.items():
                    kind = np.float32 if name in "xy" else np.int64
                    size = int(np.prod(shape)) * np.dtype(kind).itemsize
                    inputs[name] = world.at(addresses[name], size).view(kind).reshape(shape)
                names = ["mi", "pointwise", "influence", "spread"]
                for name, values in zip(names, self.engine.session.run(names, inputs), strict=True):
                    world.at(addresses[name], values.nbytes)[:] = values.view(np.uint8).ravel()
                if not captured:
                    self.warm = state

            return work

    class ICudaEngine:
        def __init__(self, header: dict, model: bytes, logger: ILogger) -> None:
            self.header, self.model, self.logger = header, model, logger
            self.session = session(model)
            self.inputs = [v.name for v in self.session.get_inputs()]
            self.names = self.inputs + [v.name for v in self.session.get_outputs()]
            self.num_io_tensors = len(self.names)
            self.num_optimization_profiles = len(header["profiles"])

        def get_device_memory_size_for_profile_v2(self, profile_index: int) -> int:
            return working_memory(self.header["profiles"][profile_index])

        def get_tensor_name(self, index: int) -> str:
            return self.names[index]

        def get_tensor_mode(self, name: str) -> Any:
            return trt.TensorIOMode["INPUT" if name in self.inputs else "OUTPUT"]

        def get_tensor_location(self, name: str) -> Any:
            return trt.TensorLocation.DEVICE

        def get_tensor_shape(self, name: str) -> tuple[int, ...]:
            """-1 for an open axis: neither a number in the graph nor fixed by all profiles."""
            profiles = self.header["profiles"]
            sizes = [[size for p in profiles for size in (shape[i] for shape in p["x"])]
                     for i in range(2)]  # fmt: skip
            sizes.append([shape[0] for p in profiles for shape in p["shifts"]])
            s, n, m = (found[0] if len(set(found)) == 1 else -1 for found in sizes)
            shapes = {"shifts": (m,), "sequence": (n,), "mi": (s,), "spread": (s,)}
            dim = profiles[0]["x"][0][2]
            shape = (s, n, dim) if name in ("x", "y") else shapes.get(name, (s, n))
            return world.lost.get(name, shape)

        def get_tensor_dtype(self, name: str) -> Any:
            kinds = {v.name: v.type for v in
                     (*self.session.get_inputs(), *self.session.get_outputs())}  # fmt: skip
            words = {"tensor(float)": "FLOAT", "tensor(int64)": "INT64", "tensor(float16)": "HALF"}
            return trt.DataType[words[kinds[name]]]

        def create_engine_inspector(self) -> EngineInspector:
            return EngineInspector(self.model)

        def create_execution_context(self, strategy: Any = None) -> IExecutionContext:
            if rtx:
                assert isinstance(strategy, IRuntimeConfig)
                assert strategy.cache() is not None, "the cache is gone"
                kernels = strategy.dynamic_shapes_kernel_specialization_strategy
                assert kernels == trt.DynamicShapesKernelSpecializationStrategy.EAGER
                assert strategy.cuda_graph_strategy == trt.CudaGraphStrategy.DISABLED
                strategy = strategy.allocation
            assert strategy == trt.ExecutionContextAllocationStrategy.USER_MANAGED
            world.note("context")
            return IExecutionContext(self)

        if rtx:

            def create_runtime_config(self) -> IRuntimeConfig:
                return IRuntimeConfig()

    class IRuntimeCache:
        pass

    class IRuntimeConfig:
        def __init__(self) -> None:
            self.allocation: Any = None
            self.cache: Callable[[], IRuntimeCache | None] = lambda: None
            self.dynamic_shapes_kernel_specialization_strategy: Any = None
            self.cuda_graph_strategy: Any = None

        def set_execution_context_allocation_strategy(self, strategy: Any) -> None:
            self.allocation = strategy

        def create_runtime_cache(self) -> IRuntimeCache:
            return IRuntimeCache()

        def set_runtime_cache(self, cache: IRuntimeCache) -> bool:
            self.cache = weakref.ref(cache)
            return True

    class Runtime:
        def __init__(self, logger: ILogger) -> None:
            assert logger.ready and world.stack
            self.logger = logger

        def deserialize_cuda_engine(self, serialized_engine: bytes) -> ICudaEngine | None:
            content = bytes(serialized_engine)
            header, _, model = content.removeprefix(MAGIC).partition(b"\n")
            if not content.startswith(MAGIC) or json.loads(header)["version"] != version:
                self.logger.log(ILogger.ERROR, "the engine plan file is not compatible")
                return None
            return ICudaEngine(json.loads(header), model, self.logger)

    for value in (ILogger, IProgressMonitor, ILayer, INetworkDefinition,
                  OnnxParser, IOptimizationProfile, ITimingCache, IBuilderConfig, Builder,
                  EngineInspector, IExecutionContext, ICudaEngine, Runtime,
                  *((IRuntimeCache, IRuntimeConfig) if rtx else ())):  # fmt: skip
        setattr(module, value.__name__, value)
    return module
