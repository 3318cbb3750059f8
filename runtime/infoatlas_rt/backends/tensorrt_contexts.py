"""Execution contexts of TensorRT and of TensorRT-RTX, and the CUDA graphs of them.

TensorRT-RTX compiles the kernels of an engine on the machine that runs it. Its kernels for any
sizes come first; for sizes that are met, faster ones are compiled: in the background (LAZY, the
default), before the call goes on (EAGER), or never (NONE). EAGER is set here. With LAZY, the same
input would give other bits as soon as the compiler is done, at a time that nothing announces, and a
CUDA graph would hold the slow kernels for good. NONE keeps the slow ones. So the first call of a
shape takes longer, and later ones all run the same kernels. What was compiled is kept in memory
for the contexts of an engine, because contexts are dropped when buffers grow.

It can capture CUDA graphs by itself, too. That is off: one way for both libraries, in which copies
and times stay ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .cuda_device import Graph
from .tensorrt_libraries import Library


@dataclass
class Execution:
    """An execution context whose shapes and addresses are set, and the graph of it.

    Attributes
    ----------
    context : trt.IExecutionContext
    calls : int
        So far.
    graph : Graph, optional
    refused : str
        Why this context cannot be captured; "" if it can, or before that was asked.
    """

    context: Any
    calls: int = 0
    graph: Graph | None = field(default=None)
    refused: str = ""

    def close(self) -> None:
        """Free the graph. Nothing of it may be running."""
        if self.graph is not None:
            self.graph.close()


class Contexts:
    """Makes the execution contexts of an engine. Their working memory is given to them later.

    Parameters
    ----------
    library : Library
    trt : module
        Of that library.
    engine : trt.ICudaEngine
    """

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
            self._compiled = settings.create_runtime_cache()  # the settings only point at it
            settings.set_runtime_cache(self._compiled)
            self._settings = settings

    def make(self) -> Any:
        """A new context; None if the library cannot make one."""
        return self._engine.create_execution_context(self._settings)

    def refusal(self, context: Any, stream: int) -> str:
        """Why a context cannot be captured on a stream; "" if it can, as far as is known.

        TensorRT-RTX refuses sizes for which it would allocate memory within a call; `build` makes
        engines that need not. TensorRT has no such question: there the capture fails.
        """
        if not self._library.compiles or context.is_stream_capturable(stream):
            return ""
        return f"{self._library.title} cannot be captured at these sizes"
