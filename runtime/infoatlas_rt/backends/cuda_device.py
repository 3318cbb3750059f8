"""The GPU, by pycuda on the primary context, and CUDA graphs by cuda-python.

The primary context is the one that torch, CuPy and CUDA's runtime use. It is made current for each
call, and the former context is restored afterwards, so that all of them work in the same process.

pycuda has neither stream capture nor graphs, so only those calls use cuda-python's
`cuda.bindings.driver`. Both libraries use the driver's own handles. Without cuda-python, everything
works, but slower.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ProviderError

INSTALL_PYCUDA = (
    "pip install 'pycuda>=2024.1' 'cuda-bindings>=12.8' (pycuda is compiled: it needs the CUDA "
    "toolkit)"
)
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: torch's default stream does not wait for this one


class CaptureError(Exception):
    """Work on the stream cannot become a CUDA graph."""


class Graph:
    """A captured CUDA graph, ready to launch."""

    def __init__(self, driver: Any, handle: Any) -> None:
        self._driver, self._handle = driver, handle

    def launch(self, stream: int) -> None:
        """Launch the graph on a stream; CaptureError if the driver refuses."""
        driver = self._driver
        _checked(driver, driver.cuGraphLaunch(self._handle, driver.CUstream(stream)))

    def close(self) -> None:
        """Free the graph, which must not be running."""
        if self._handle is not None:
            self._driver.cuGraphExecDestroy(self._handle)
            self._handle = None


class Device:
    """One GPU, its primary context and a stream of its own.

    `compute_capability` is as in "8.7"; `graphs` is "available", or why graphs are not available.
    ProviderError if pycuda is not installed, or finds no GPU.
    """

    def __init__(self) -> None:
        try:
            import pycuda.driver as cuda
        except ImportError as error:
            raise ProviderError(
                f"an engine needs pycuda, which cannot be imported ({error}): {INSTALL_PYCUDA}"
            ) from error
        try:
            cuda.init()
            device = cuda.Device(0)
            self.name = str(device.name())
            self.compute_capability = ".".join(map(str, device.compute_capability()))
            self._context = device.retain_primary_context()
        except cuda.Error as error:
            raise ProviderError(
                f"an engine needs a GPU, and the driver reports: {error}; check nvidia-smi and "
                "CUDA_VISIBLE_DEVICES, or use provider='cpu'"
            ) from error
        self.cuda = cuda
        self._process = os.getpid()
        with self.current():
            self.stream = cuda.Stream(NON_BLOCKING)
        try:
            from cuda.bindings import driver
        except ImportError as error:
            self._driver, self.graphs = None, f"cuda-python cannot be imported ({error})"
        else:
            self._driver, self.graphs = driver, "available"

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the primary context current in this thread, and restore the former one."""
        if os.getpid() != self._process:
            raise ProviderError(
                "CUDA does not survive a fork: make the estimator in the process that uses it, or "
                "start processes with multiprocessing's 'spawn'"
            )
        self._context.push()
        try:
            yield
        finally:
            self.cuda.Context.pop()

    def capture(self, work: Callable[[], bool]) -> Graph:
        """Record what `work` puts on the stream as a graph, without running it, or CaptureError.

        `work` returns whether it succeeded.
        """
        driver = self._driver
        if driver is None:
            raise CaptureError(self.graphs)
        stream = driver.CUstream(int(self.stream.handle))
        # Other threads, such as those of torch, may allocate memory meanwhile.
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        _checked(driver, driver.cuStreamBeginCapture(stream, mode))
        good = False
        try:
            good = work()
        finally:  # always end the capture, because the stream cannot be used during it
            error, recorded = driver.cuStreamEndCapture(stream)
        if not good:
            if error == driver.CUresult.CUDA_SUCCESS:
                driver.cuGraphDestroy(recorded)
            raise CaptureError("the engine cannot be enqueued within a capture")
        _checked(driver, (error,))
        try:
            (handle,) = _checked(driver, driver.cuGraphInstantiate(recorded, 0))
        finally:
            driver.cuGraphDestroy(recorded)
        return Graph(driver, handle)


def _checked(driver: Any, answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results of a call without its error code; CaptureError if that is an error."""
    error, *rest = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise CaptureError(f"the driver reports {error}")
    return tuple(rest)
