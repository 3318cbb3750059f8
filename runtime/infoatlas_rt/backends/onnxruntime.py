"""ONNX Runtime, on the CPU, CUDA or through its TensorRT provider."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..bundle import OUTPUTS
from ..errors import ModelError, ProviderError
from ..inputs import as_count
from . import Floats, Indices

log = logging.getLogger(__name__)

# What to ask ONNX Runtime for. TF32 costs accuracy in the covariances and in the solved read-out.
PROVIDERS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "cpu": [("CPUExecutionProvider", {})],
    "cuda": [("CUDAExecutionProvider", {"use_tf32": "0"}), ("CPUExecutionProvider", {})],
    "tensorrt": [
        ("TensorrtExecutionProvider", {}),
        ("CUDAExecutionProvider", {"use_tf32": "0"}),
        ("CPUExecutionProvider", {}),
    ],
}


# Pairs of samples in one call on the CPU: their tensors stay in the cache, and the rest of the
# slices go to the other threads. Twice as fast as one call for all slices on two cores.
CALL_PAIRS = 16_000


def default_threads() -> int:
    """Two, or one where this process may use a single core; more do not pay for one window."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return min(2, cores)


class OnnxRuntimeBackend:
    """One ONNX Runtime session.

    Parameters
    ----------
    model : bytes
        Content of the .onnx file.
    provider : {"cpu", "cuda", "tensorrt"}
        It is used or refused; there is no silent fall-back to the CPU.
    threads : int, optional
        On the CPU: slices are shared out among this many threads, so one slice uses one. They
        sleep between calls. Two by default, for the robot has other work to do.

    Raises
    ------
    ProviderError
        The provider is unknown, not in the ONNX Runtime that is installed, or does not start.
    ModelError
        ONNX Runtime cannot load the model.
    InputError
        `threads` is not a positive integer.
    """

    def __init__(self, model: bytes, provider: str = "cpu", threads: int | None = None) -> None:
        if not isinstance(provider, str) or provider not in PROVIDERS:
            raise ProviderError(f"unknown provider {provider!r}: use one of {list(PROVIDERS)}")
        self.provider = provider
        self.threads = (
            default_threads() if threads is None else as_count(threads, "threads", 1, 4096)
        )
        # Here and not at the top: the core installs no engine, and importing one takes a while.
        try:
            import onnxruntime
        except ImportError as error:
            raise ProviderError(
                "ONNX Runtime is not installed: pip install 'infoatlas-rt[cpu]' or "
                "'infoatlas-rt[gpu]' (one of them: they share an import name)"
            ) from error

        wanted = PROVIDERS[provider]
        offered = onnxruntime.get_available_providers()
        if wanted[0][0] not in offered:
            raise ProviderError(
                f"provider {provider!r} needs {wanted[0][0]}, and onnxruntime "
                f"{onnxruntime.__version__} as installed offers {offered}: uninstall onnxruntime "
                "and pip install 'infoatlas-rt[gpu]' (they share an import name), "
                "or use provider='cpu'"
            )
        options = onnxruntime.SessionOptions()
        # One thread a call: threads over slices never wait for each other, threads within an
        # operator do after every one of a thousand small ones.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 3  # errors; the fall-backs it would warn about are raised here
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=wanted)
        except Exception as error:  # its exceptions share no base class
            if provider == "cpu":
                raise ModelError(
                    f"ONNX Runtime {onnxruntime.__version__} cannot load the model: {error}; "
                    "copy the file again, or update onnxruntime if it is older than the model"
                ) from error
            raise ProviderError(
                f"provider {provider!r} did not start: {error}; check the driver and the CUDA "
                "libraries, or use provider='cpu'"
            ) from error
        # ONNX Runtime drops a provider whose libraries are missing, and goes on without it.
        running = self._session.get_providers()
        if running[0] != wanted[0][0]:
            raise ProviderError(
                f"provider {provider!r} did not start; ONNX Runtime would use {running} instead: "
                "check the driver and the CUDA libraries, or use provider='cpu'"
            )
        self._session.disable_fallback()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # whose pool it is
        log.info("ONNX Runtime %s on %s", onnxruntime.__version__, running)

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph; see `Backend.run`."""
        slices, n = x.shape[:2]
        size = slices
        if self.provider == "cpu":
            size = max(1, min(CALL_PAIRS // (n * len(shifts)), -(-slices // self.threads)))
        if size == slices:
            mi, pointwise, influence, spread = self._call(x, y, shifts, sequence)
            return mi, pointwise, influence, spread
        parts = [slice(first, first + size) for first in range(0, slices, size)]
        workers = self._workers()
        results = workers.map(lambda part: self._call(x[part], y[part], shifts, sequence), parts)
        mi, pointwise, influence, spread = map(np.concatenate, zip(*results, strict=True))
        return mi, pointwise, influence, spread

    def _workers(self) -> ThreadPoolExecutor:
        """Threads of this process: a fork copies the pool and none of its threads."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.threads, "infoatlas")
            self._process = os.getpid()
        return self._pool

    def _call(self, x: Floats, y: Floats, shifts: Indices, sequence: Indices) -> list[Floats]:
        inputs = {"x": x, "y": y, "shifts": shifts, "sequence": sequence}
        try:
            return self._session.run(OUTPUTS, inputs)
        except Exception as error:  # its exceptions share no base class
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ModelError(
                f"ONNX Runtime cannot evaluate the model for {x.shape[1]} samples in "
                f"{x.shape[0]} slices on {self.provider}: {first}; if memory is short, pass fewer "
                "samples, slices or shifts; else export the model again, and please report"
            ) from error
