"""TensorRT, on an engine that `infoatlas-rt build` made on this machine.

The graph is over 1,000 small operators, so starting them one by one takes longer than computing
them. Each (slices, samples, shifts) therefore gets an execution context of its own, and from its
second call on a CUDA graph, which starts everything at once. A graph holds the addresses of the
tensors and the state of its context, so contexts share buffers that only grow, and one that grows
takes the graphs with it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ModelError, ProviderError
from ..inputs.gpu_arrays import Array, device_pointer
from ..models.engine_file import REBUILD, EngineFile, Profile
from ..models.model_file import INPUTS, OUTPUTS, ModelFile
from .cuda_device import CaptureError, Device, Graph
from .protocol import Floats, Indices
from .tensorrt_libraries import LIBRARIES, load, messages

log = logging.getLogger(__name__)

SHAPES = 16  # contexts and graphs kept; the one that was not used for longest goes first
TYPES = {"x": "FLOAT", "y": "FLOAT", "shifts": "INT64", "sequence": "INT64"} | dict.fromkeys(
    OUTPUTS, "FLOAT"
)  # trt.DataType of what goes in and out, whatever the precision within

Shape: TypeAlias = tuple[int, int, int]  # S, n, M


@dataclass
class Buffer:
    """Memory of one tensor on both sides."""

    device: Any
    host: NDArray[np.uint8]
    size: int


@dataclass
class Execution:
    """An execution context whose shapes and addresses are set, and the graph of it."""

    context: Any
    calls: int = 0
    graph: Graph | None = field(default=None)


class TensorRTBackend:
    """One engine on one GPU.

    Parameters
    ----------
    model : ModelFile
        Of an engine.

    Attributes
    ----------
    provider : str
        "tensorrt".
    threads : int
        1; calls of several threads run one after the other.
    graphs : str
        "available", or why CUDA graphs are not used.
    milliseconds : dict of float
        Where the GPU's time of the last call went: "copy_in", "compute", "copy_out", by CUDA
        events.

    Raises
    ------
    ProviderError
        TensorRT or pycuda is not installed, or there is no GPU.
    ModelError
        The engine was built for another GPU or TensorRT version, or from another file, or cannot
        be loaded.
    """

    provider = "tensorrt"
    threads = 1

    def __init__(self, model: ModelFile) -> None:
        if model.engine is None:
            raise ProviderError(
                f"{model.path} is no TensorRT engine: build one with 'infoatlas-rt build "
                f"{model.path}' and pass the .engine file"
            )
        trt = load(LIBRARIES["tensorrt"])
        self._device = Device()
        self._trt, self._messages = trt, messages(trt)
        self._profiles = model.engine.profiles
        self._dim = model.dim
        refuse_foreign(model, model.engine, trt.__version__, self._device)
        with self._device.current():
            try:
                self._runtime = trt.Runtime(self._messages.logger)
                engine = self._runtime.deserialize_cuda_engine(model.bytes)
            except (TypeError, RuntimeError) as error:  # pybind11: a factory returned nullptr
                raise ProviderError(
                    f"TensorRT {trt.__version__} does not start ({error}; "
                    f"{self._messages.take()}): check the driver and the CUDA libraries"
                ) from error
            if engine is None:
                raise ModelError(
                    f"TensorRT {trt.__version__} cannot load {model.path} "
                    f"({self._messages.take()}): {REBUILD}"
                )
            check_tensors(trt, engine, model.path)
            self._engine = engine
            self._events = [self._device.cuda.Event() for _ in range(4)]
        self._lock = threading.Lock()
        self._buffers: dict[str, Buffer] = {}
        self._scratch: Buffer | None = None
        self._executions: OrderedDict[tuple[int, Shape], Execution] = OrderedDict()
        self.graphs = self._device.graphs
        if self.graphs != "available":
            log.warning("no CUDA graphs, which is slower: %s", self.graphs)
        self.milliseconds: dict[str, float] = {}
        log.info("TensorRT %s on %s, profiles: %s", trt.__version__, self._device.name,
                 ", ".join(map(str, self._profiles)))  # fmt: skip

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph; see `Backend.run`.

        Raises
        ------
        InputError
            No profile of the engine takes so many samples or shifts.
        ModelError
            TensorRT cannot evaluate the engine; most often the GPU's memory is short.
        """
        slices, n = x.shape[:2]
        results = []
        with self._lock, self._device.current():
            self.milliseconds = dict.fromkeys(("copy_in", "compute", "copy_out"), 0.0)
            for index, part in split(self._profiles, slices, n, len(shifts)):
                inputs: dict[str, Array] = {
                    "x": x[part], "y": y[part], "shifts": shifts, "sequence": sequence
                }  # fmt: skip
                results.append(self._call(index, inputs))
        if len(results) == 1:
            mi, pointwise, influence, spread = results[0]
        else:
            mi, pointwise, influence, spread = map(np.concatenate, zip(*results, strict=True))
        return mi, pointwise, influence, spread

    def _call(self, index: int, inputs: dict[str, Array]) -> list[Floats]:
        """One enqueue under the profile of that index."""
        shape = (*inputs["x"].shape[:2], len(inputs["shifts"]))
        slices, n = shape[:2]
        sizes = {"mi": (slices,), "pointwise": (slices, n), "influence": (slices, n),
                 "spread": (slices,)}  # fmt: skip
        stream = self._device.stream
        pointers = {name: device_pointer(values) for name, values in inputs.items()}
        try:
            execution = self._prepared(index, shape, inputs, sizes)
            self._events[0].record(stream)
            for name, values in inputs.items():
                buffer, pointer = self._buffers[name], pointers[name]
                if pointer is not None:  # graphs hold the buffer's address, so a copy remains
                    self._device.copy_within(int(buffer.device), pointer, values.nbytes)
                    continue
                host = buffer.host[: values.nbytes]
                np.copyto(host.view(values.dtype).reshape(values.shape), values)
                self._device.copy_in(int(buffer.device), host)
            self._events[1].record(stream)
            self._enqueue(execution, shape)
            self._events[2].record(stream)
            results = []
            for name in OUTPUTS:
                buffer = self._buffers[name]
                host = buffer.host[: 4 * int(np.prod(sizes[name]))]
                self._device.copy_out(host, int(buffer.device))
                results.append(host.view(np.float32).reshape(sizes[name]))
            self._events[3].record(stream)
            stream.synchronize()
        except (self._device.cuda.Error, CaptureError) as error:
            self._abandon()
            raise ModelError(_failure(shape, f"{error}; {self._messages.take()}")) from error
        for i, stage in enumerate(self.milliseconds):
            self.milliseconds[stage] += self._events[i + 1].time_since(self._events[i])
        return [values.copy() for values in results]  # the buffers are written again

    def _enqueue(self, execution: Execution, shape: Shape) -> None:
        """Start the computation: the first call of a shape plainly, later ones as a graph."""
        handle = int(self._device.stream.handle)

        def plainly() -> bool:
            return bool(execution.context.execute_async_v3(handle))

        execution.calls += 1
        if execution.calls > 1 and execution.graph is None and self.graphs == "available":
            try:
                execution.graph = self._device.capture(plainly)
            except CaptureError as error:
                self.graphs = f"{error}; {self._messages.take()}"
                log.warning("no CUDA graphs, which is slower: %s", self.graphs)
        if execution.graph is not None:
            execution.graph.launch(handle)
        elif not plainly():
            raise CaptureError("the enqueue failed")

    def _prepared(
        self,
        index: int,
        shape: Shape,
        inputs: dict[str, Array],
        outputs: dict[str, tuple[int, ...]],
    ) -> Execution:
        """The execution of a shape, kept or new."""
        key = index, shape
        if key in self._executions:
            self._executions.move_to_end(key)
            return self._executions[key]
        needed = {name: values.nbytes for name, values in inputs.items()}
        needed |= {name: 4 * int(np.prod(size)) for name, size in outputs.items()}
        for name, size in needed.items():
            if name not in self._buffers or self._buffers[name].size < size:
                self._forget()  # graphs hold addresses
                self._buffers.pop(name, None)
                size = 1 << (size - 1).bit_length()  # a power of two, so that growth is rare
                memory = self._device.allocate(size), self._device.pinned(size)
                self._buffers[name] = Buffer(*memory, size)

        trt, handle = self._trt, int(self._device.stream.handle)
        strategy = trt.ExecutionContextAllocationStrategy.USER_MANAGED
        context = self._engine.create_execution_context(strategy)
        if context is None:
            raise ModelError(_failure(shape, self._messages.take()))
        good = bool(context.set_optimization_profile_async(index, handle))
        for name, values in inputs.items():
            good = good and bool(context.set_input_shape(name, tuple(values.shape)))
        if not good or context.infer_shapes() != []:
            raise ModelError(_failure(shape, self._messages.take()))
        for name, expected in outputs.items():
            found = tuple(context.get_tensor_shape(name))
            if found != expected:
                raise ModelError(
                    f"the engine gives {name} of shape {found} instead of {expected}: {REBUILD}"
                )
        # Activations of this shape alone: those of the largest of a wide profile fill any GPU.
        size = int(context.update_device_memory_size_for_shapes())
        if self._scratch is None or self._scratch.size < size:
            self._forget()
            self._scratch = None
            memory = self._device.allocate(size)
            self._scratch = Buffer(memory, np.empty(0, np.uint8), max(size, 1))
        context.set_device_memory(int(self._scratch.device), self._scratch.size)
        for name in needed:
            if not context.set_tensor_address(name, int(self._buffers[name].device)):
                raise ModelError(_failure(shape, self._messages.take()))
        while len(self._executions) >= SHAPES:
            _close(self._executions.popitem(last=False)[1])
        execution = self._executions[key] = Execution(context)
        return execution

    def _forget(self) -> None:
        """Drop all contexts and graphs; nothing is running between two calls."""
        while self._executions:
            _close(self._executions.popitem()[1])

    def _abandon(self) -> None:
        """Wait for what a failed call has started, and drop all contexts and graphs."""
        try:
            self._device.stream.synchronize()
        except self._device.cuda.Error:  # the same fault again
            pass
        self._forget()


def refuse_foreign(model: ModelFile, engine: EngineFile, version: str, device: Device) -> None:
    """Raise ModelError where an engine was built for something else, and say for what."""
    difference = engine.difference(
        version=version, gpu=device.name, compute_capability=device.compute_capability
    )
    if difference is not None:
        raise ModelError(f"{model.path} does not fit this machine: its {difference}; {REBUILD}")


def check_tensors(trt: Any, engine: Any, path: Any) -> None:
    """Raise ModelError unless an engine has the graph's inputs and outputs, in device memory."""
    found = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        is_input = engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT
        on_device = engine.get_tensor_location(name) == trt.TensorLocation.DEVICE
        found[name] = engine.get_tensor_dtype(name).name, is_input, on_device
    expected = {name: (kind, name in INPUTS, True) for name, kind in TYPES.items()}
    if found != expected:
        raise ModelError(
            f"{path} has tensors {found} (type, whether input, whether on the GPU) instead of "
            f"{expected}: {REBUILD}"
        )


def split(
    profiles: tuple[Profile, ...], slices: int, samples: int, shifts: int
) -> list[tuple[int, slice]]:
    """Choose profiles for all slices: (index of the profile, its slices), as few as possible.

    Of the profiles that take as many slices in one call, the narrowest one is chosen.

    Raises
    ------
    InputError
        No profile takes the numbers of samples and of shifts, or so few slices.
    """
    parts = []
    first = 0
    while first < slices:
        left = slices - first
        fitting = [
            (-min(left, p.slices[2]), p.slices[2] * p.samples[2] * p.shifts[2], index)
            for index, p in enumerate(profiles)
            if p.holds(samples, shifts) and p.slices[0] <= left
        ]
        if not fitting:
            raise InputError(
                f"the engine takes no {samples} samples in {left} slices with {shifts} shifts; its "
                f"profiles are {'; '.join(map(str, profiles))}: build it again with --profile "
                f"batch, or with --profile slices={left},samples={samples},shifts={shifts}"
            )
        size, _, index = min(fitting)
        parts.append((index, slice(first, first - size)))
        first -= size
    return parts


def _failure(shape: Shape, reason: str) -> str:
    return (
        f"TensorRT cannot evaluate the model for {shape[1]} samples in {shape[0]} slices with "
        f"{shape[2]} shifts: {reason}; if memory is short, pass fewer of them, else {REBUILD}"
    )


def _close(execution: Execution) -> None:
    if execution.graph is not None:
        execution.graph.close()
