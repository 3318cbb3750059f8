"""Execution contexts of TensorRT and TensorRT-RTX, and their CUDA graphs.

TensorRT-RTX compiles the kernels of an engine on the machine that runs it. It has kernels for any
sizes, and compiles faster ones for the sizes of a call: in the background (LAZY, the default),
before the call continues (EAGER), or never (NONE). EAGER is set here. With LAZY, the same input
would result in other bits at an unknown time, when the compiler is done. A CUDA graph would contain
the slow kernels forever. NONE keeps the slow ones. With EAGER, the first call of a shape needs more
time, and all later ones run the same kernels. Compiled kernels are kept in memory for the contexts
of an engine, because contexts are dropped when buffers grow.

It can also capture CUDA graphs by itself. That is off, so that both libraries use the same code for
graphs, copies and times.
"""

from dataclasses import dataclass
from typing import Any

from .cuda_device import Graph
from .tensorrt_libraries import Library


@dataclass
class Execution:
    """An execution context whose shapes and addresses are set, and its graph."""

    context: Any  # trt.IExecutionContext
    calls: int = 0
    graph: Graph | None = None
    refused: str = ""  # why it cannot be captured; "" if it can, or if not known yet

    def close(self) -> None:
        """Free the graph, which must not be running."""
        if self.graph is not None:
            self.graph.close()


class Contexts:
    """Makes the execution contexts of an engine; their working memory is set later."""

    def __init__(self, library: Library, trt: Any, engine: Any) -> None:
        self._library, self._engine = library, engine
        strategy = trt.ExecutionContextAllocationStrategy.USER_MANAGED
        self._settings = strategy
        if library.compiles:
            settings = engine.create_runtime_config()
            settings.set_execution_context_allocation_strategy(strategy)
            eager = trt.DynamicShapesKernelSpecializationStrategy.EAGER
            settings.dynamic_shapes_kernel_specialization_strategy = eager
            settings.cuda_graph_strategy = trt.CudaGraphStrategy.DISABLED
            self._compiled = settings.create_runtime_cache()  # the settings keep only a pointer
            settings.set_runtime_cache(self._compiled)
            self._settings = settings

    def make(self) -> Any:
        """A new context; None if the library cannot make one."""
        return self._engine.create_execution_context(self._settings)

    def refusal(self, context: Any, stream: int) -> str:
        """Why a context cannot be captured on a stream; "" if it can, or if that is unknown.

        TensorRT-RTX refuses sizes for which it would allocate memory within a call; `build` makes
        engines that do not need to. TensorRT has no such query; there, the capture fails.
        """
        if not self._library.compiles or context.is_stream_capturable(stream):
            return ""
        return f"{self._library.title} cannot be captured at these sizes"
