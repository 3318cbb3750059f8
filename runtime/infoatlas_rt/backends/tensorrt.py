"""Evaluates engines that `infoatlas-rt build` made, with TensorRT or TensorRT-RTX.

The graph has over 1,000 small operators, and starting them one by one needs more time than
computing them. So each (slices, samples, shifts) has its own execution context, and from its second
call on a CUDA graph, which starts all operators at once. A CUDA graph contains the addresses of the
tensors and the state of its context. Contexts share buffers that only grow; when one grows, all
graphs are dropped.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, ProviderError
from ..inputs.gpu_arrays import Array, device_pointer
from ..models.engine_file import REBUILD
from ..models.model_file import OUTPUTS, ModelFile
from .cuda_device import CaptureError, Device
from .interface import Floats, Indices
from .tensorrt_checks import check_tensors, refuse_foreign, split
from .tensorrt_contexts import Contexts, Execution
from .tensorrt_libraries import LIBRARIES, load, messages

log = logging.getLogger(__name__)

KEPT_SHAPES = 16  # contexts and graphs that are kept: the most recently used ones
Shape: TypeAlias = tuple[int, int, int]  # S, n, M


@dataclass
class Buffer:
    """Memory of one tensor on the device and on the host."""

    device: Any
    host: NDArray[np.uint8]
    size: int


class TensorRTBackend:
    """An engine of TensorRT on a GPU, from its file.

    `graphs` is "available", or why CUDA graphs are not used. Sizes that cannot be captured run
    without them. ProviderError if the library or pycuda is not installed, or there is no GPU.
    ModelError if the engine was built for another GPU, capability or version, or from another file,
    or cannot be loaded.
    """

    threads = 1  # calls from several threads run one after the other

    def __init__(self, model: ModelFile) -> None:
        if model.engine is None:
            raise ProviderError(
                f"provider 'tensorrt-rtx' needs an engine, and {model.path} is none: build one "
                f"with 'infoatlas-rt build {model.path} --backend rtx' and pass the .engine file"
            )
        library = LIBRARIES[model.engine.library]
        trt = load(library)
        self._device = Device()
        self.provider, self._title, self._messages = library.name, library.title, messages(trt)
        self._profiles = model.engine.profiles
        refuse_foreign(model, model.engine, trt.__version__, self._device)
        with self._device.current():
            try:
                self._runtime = trt.Runtime(self._messages.logger)
                engine = self._runtime.deserialize_cuda_engine(model.bytes)
            except (TypeError, RuntimeError) as error:  # pybind11: a factory returned nullptr
                raise ProviderError(
                    f"{self._title} {trt.__version__} does not start ({error}; "
                    f"{self._messages.take()}): check the driver and the CUDA libraries"
                ) from error
            if engine is None:
                raise ModelError(
                    f"{self._title} {trt.__version__} cannot load {model.path} "
                    f"({self._messages.take()}): {REBUILD}"
                )
            check_tensors(trt, engine, model.path, self._profiles)
            self._contexts = Contexts(library, trt, engine)
            self._events = [self._device.cuda.Event() for _ in range(4)]
        self._lock = threading.Lock()
        self._buffers: dict[str, Buffer] = {}
        self._scratch: Buffer | None = None
        self._executions: OrderedDict[tuple[int, Shape], Execution] = OrderedDict()
        self._warned = False  # about sizes that cannot be captured
        self.graphs = self._device.graphs
        if self.graphs != "available":
            log.warning("no CUDA graphs, which is slower: %s", self.graphs)
        self.milliseconds: dict[str, float] = {}
        log.info("%s %s on %s, profiles: %s", self._title, trt.__version__, self._device.name,
                 ", ".join(map(str, self._profiles)))  # fmt: skip

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph, as described in `Backend.run`.

        InputError if no profile of the engine is for so many samples or shifts; ModelError if the
        library cannot evaluate the engine, most often for lack of memory.
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
        cuda, stream = self._device.cuda, self._device.stream
        pointers = {name: device_pointer(values) for name, values in inputs.items()}
        try:
            execution = self._prepared(index, shape, inputs, sizes)
            self._events[0].record(stream)
            for name, values in inputs.items():
                buffer, pointer = self._buffers[name], pointers[name]
                if pointer is not None:  # graphs contain the buffer's address, so a copy is needed
                    cuda.memcpy_dtod_async(int(buffer.device), pointer, values.nbytes, stream)
                    continue
                host = buffer.host[: values.nbytes]
                np.copyto(host.view(values.dtype).reshape(values.shape), values)
                cuda.memcpy_htod_async(int(buffer.device), host, stream)
            self._events[1].record(stream)
            self._enqueue(execution, shape)
            self._events[2].record(stream)
            results = []
            for name in OUTPUTS:
                buffer = self._buffers[name]
                host = buffer.host[: 4 * int(np.prod(sizes[name]))]
                cuda.memcpy_dtoh_async(host, int(buffer.device), stream)
                results.append(host.view(np.float32).reshape(sizes[name]))
            self._events[3].record(stream)
            stream.synchronize()
        except (cuda.Error, CaptureError) as error:
            self._abandon()
            raise self._failure(shape, f"{error}; ") from error
        for i, stage in enumerate(self.milliseconds):
            self.milliseconds[stage] += self._events[i + 1].time_since(self._events[i])
        return [values.copy() for values in results]  # the buffers are reused

    def _enqueue(self, execution: Execution, shape: Shape) -> None:
        """Start the computation: the first call of a shape directly, later ones as a graph."""
        handle = int(self._device.stream.handle)

        def plainly() -> bool:
            return bool(execution.context.execute_async_v3(handle))

        execution.calls += 1
        fresh = execution.graph is None and not execution.refused
        if execution.calls > 1 and fresh and self.graphs == "available":
            execution.refused = self._contexts.refusal(execution.context, handle)
            if execution.refused:
                level = logging.DEBUG if self._warned else logging.WARNING
                log.log(level, "no CUDA graph for %d slices of %d samples with %d shifts, which "
                        "is slower: %s", *shape, execution.refused)  # fmt: skip
                self._warned = True
            else:
                self._capture(execution, plainly)
        if execution.graph is not None:
            execution.graph.launch(handle)
        elif not plainly():
            raise CaptureError("the enqueue failed")

    def _capture(self, execution: Execution, work: Callable[[], bool]) -> None:
        """Make the graph of an execution; if that fails, no more graphs are used."""
        try:
            execution.graph = self._device.capture(work)
        except CaptureError as error:
            self.graphs = f"{error}; {self._messages.take()}"
            log.warning("no CUDA graphs, which is slower: %s", self.graphs)

    def _prepared(
        self,
        index: int,
        shape: Shape,
        inputs: dict[str, Array],
        outputs: dict[str, tuple[int, ...]],
    ) -> Execution:
        """The execution of a shape, kept or new."""
        key, cuda = (index, shape), self._device.cuda
        if key in self._executions:
            self._executions.move_to_end(key)
            return self._executions[key]
        needed = {name: values.nbytes for name, values in inputs.items()}
        needed |= {name: 4 * int(np.prod(size)) for name, size in outputs.items()}
        for name, size in needed.items():
            if name not in self._buffers or self._buffers[name].size < size:
                self._forget()  # graphs contain addresses
                self._buffers.pop(name, None)
                size = 1 << (size - 1).bit_length()  # a power of two, so that growth is rare
                host = cuda.pagelocked_empty(size, np.uint8)
                self._buffers[name] = Buffer(cuda.mem_alloc(size), host, size)

        context = self._contexts.make()
        if context is None:
            raise self._failure(shape)
        handle = int(self._device.stream.handle)
        good = bool(context.set_optimization_profile_async(index, handle))
        for name, values in inputs.items():
            good = good and bool(context.set_input_shape(name, tuple(values.shape)))
        try:
            good = good and context.infer_shapes() == []
        except RuntimeError as error:
            raise self._failure(shape, f"{error}; ") from error
        if not good:
            raise self._failure(shape)
        for name, expected in outputs.items():
            found = tuple(context.get_tensor_shape(name))
            if found != expected:
                raise ModelError(
                    f"the engine gives {name} of shape {found} instead of {expected}: {REBUILD}"
                )
        # Memory for this shape alone: that for the largest shape of a wide profile would fill any
        # GPU.
        size = int(context.update_device_memory_size_for_shapes())
        if self._scratch is None or self._scratch.size < size:
            self._forget()
            self._scratch = None
            size = max(size, 1)
            self._scratch = Buffer(cuda.mem_alloc(size), np.empty(0, np.uint8), size)
        context.set_device_memory(int(self._scratch.device), self._scratch.size)
        for name in needed:
            if not context.set_tensor_address(name, int(self._buffers[name].device)):
                raise self._failure(shape)
        while len(self._executions) >= KEPT_SHAPES:
            self._executions.popitem(last=False)[1].close()
        execution = self._executions[key] = Execution(context)
        return execution

    def _forget(self) -> None:
        """Drop all contexts and graphs; nothing is running between two calls."""
        while self._executions:
            self._executions.popitem()[1].close()

    def _abandon(self) -> None:
        """Wait for the work of a failed call, and drop all contexts and graphs."""
        try:
            self._device.stream.synchronize()
        except self._device.cuda.Error:  # the same error again
            pass
        self._forget()

    def _failure(self, shape: Shape, reason: str = "") -> ModelError:
        return ModelError(
            f"{self._title} cannot evaluate the model for {shape[1]} samples in {shape[0]} slices "
            f"with {shape[2]} shifts: {reason}{self._messages.take()}; if out of memory, pass "
            f"fewer of them, else {REBUILD}"
        )
