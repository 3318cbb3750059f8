"""ONNX Runtime on the CPU, on CUDA, or with its provider of TensorRT."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import ModelError, ProviderError
from ..inputs.gpu_arrays import device_pointer
from ..models.model_file import OUTPUTS
from .interface import Floats, Indices
from .threads import cpu_threads

log = logging.getLogger(__name__)

EXECUTION = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
INSTALL_ONNXRUNTIME = "pip install 'infoatlas-rt[cpu]' (in a checkout: '.[cpu]')"

# Pairs of samples in one call on the CPU: their tensors fit in the cache, and other threads compute
# the other slices. On two cores, this is twice as fast as one call for all slices.
CALL_PAIRS = 16_000


def list_providers() -> list[str]:
    """Execution providers of the ONNX Runtime that is installed, not loaded; empty if none is."""
    try:
        import onnxruntime

        return list(onnxruntime.get_available_providers())
    except ImportError:
        return []
    except Exception as error:  # two packages share the import name, and one was removed
        log.warning("ONNX Runtime is broken (%s): remove it, and %s", error, INSTALL_ONNXRUNTIME)
        return []


def has_cuda() -> bool:
    """Whether an ONNX Runtime with CUDA is installed; its import, which needs 0.5 s, is avoided."""
    spec = find_spec("onnxruntime")
    folders = spec.submodule_search_locations if spec is not None else None
    return any(
        next(Path(folder, "capi").glob("*onnxruntime_providers_cuda.*"), None) is not None
        for folder in folders or ()
    )


def load_onnxruntime() -> Any:
    """The module onnxruntime; ProviderError if it is not installed, or broken."""
    try:
        import onnxruntime

        onnxruntime.__version__  # noqa: B018, the remains of a removed package have none
    except Exception as error:
        raise ProviderError(
            f"ONNX Runtime cannot be imported ({error}): {INSTALL_ONNXRUNTIME}, or "
            "'infoatlas-rt[gpu]' (one of them: they share an import name)"
        ) from error
    return onnxruntime


class OnnxRuntimeBackend:
    """One ONNX Runtime session: "cpu", "cuda" or "tensorrt", without a silent fallback to the CPU.

    `model` is the content of the .onnx file. Slices are divided among the threads on the CPU, which
    sleep between calls; a single slice uses one. Two by default, because the robot has other work
    to do. For "tensorrt", `profiles` are provider options of `profile_options`. Without them, ONNX
    Runtime builds a new engine for each new shape, which needs a minute or more.

    ProviderError if the provider is not in the installed ONNX Runtime, or does not start;
    ModelError if ONNX Runtime cannot load the model.
    """

    def __init__(
        self,
        model: bytes,
        provider: str = "cpu",
        threads: int | None = None,
        profiles: dict[str, str] | None = None,
    ) -> None:
        self.threads = cpu_threads(threads)
        self.milliseconds: dict[str, float] = {}
        # Not at the top: ONNX Runtime is optional, and its import needs time.
        onnxruntime = load_onnxruntime()
        self._onnxruntime = onnxruntime
        self._session = _session(onnxruntime, model, provider, profiles or {})
        self.provider = provider
        self._device = "cpu" if provider == "cpu" else "cuda"
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # process of the pool
        log.info("ONNX Runtime %s on %s", onnxruntime.__version__, self._session.get_providers())

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph, as described in `Backend.run`."""
        if self.provider != "cpu":
            return self._on_device(x, y, shifts, sequence)
        slices, n = x.shape[:2]
        size = max(1, min(CALL_PAIRS // (n * len(shifts)), -(-slices // self.threads)))
        if size >= slices:
            mi, pointwise, influence, spread = self._call(x, y, shifts, sequence)
            return mi, pointwise, influence, spread
        parts = [slice(first, first + size) for first in range(0, slices, size)]
        workers = self._workers()
        results = workers.map(lambda part: self._call(x[part], y[part], shifts, sequence), parts)
        mi, pointwise, influence, spread = map(np.concatenate, zip(*results, strict=True))
        return mi, pointwise, influence, spread

    def _workers(self) -> ThreadPoolExecutor:
        """Threads of this process; a fork copies the pool without its threads."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.threads, "infoatlas")
            self._process = os.getpid()
        return self._pool

    def _call(self, x: Floats, y: Floats, shifts: Indices, sequence: Indices) -> list[Floats]:
        inputs = {"x": x, "y": y, "shifts": shifts, "sequence": sequence}
        try:
            outputs: list[Floats] = self._session.run(OUTPUTS, inputs)
            return outputs
        except Exception as error:  # its exceptions share no base class
            raise self._failure(error, x.shape) from error

    def _on_device(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the graph on a GPU; sides that are already there are not copied.

        Times are those of the host's clock around synchronised steps.
        """
        begin = perf_counter()
        binding = self._session.io_binding()
        inputs: dict[str, Any] = {"x": x, "y": y, "shifts": shifts, "sequence": sequence}
        kept = []  # bound values must exist until the end of the call
        try:
            for name, values in inputs.items():
                pointer = device_pointer(values)
                if pointer is None:
                    copied = self._onnxruntime.OrtValue.ortvalue_from_numpy(values, self._device, 0)
                    binding.bind_ortvalue_input(name, copied)
                    kept.append(copied)
                else:
                    kind = np.float32 if name in ("x", "y") else np.int64
                    shape = tuple(values.shape)
                    binding.bind_input(name, self._device, 0, kind, shape, pointer)
            for name in OUTPUTS:
                binding.bind_output(name, self._device, 0)
            binding.synchronize_inputs()
            copied_in = perf_counter()
            self._session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            computed = perf_counter()
            mi, pointwise, influence, spread = binding.copy_outputs_to_cpu()
        except Exception as error:  # its exceptions share no base class
            raise self._failure(error, x.shape) from error
        end = perf_counter()
        self.milliseconds = {
            "copy_in": 1e3 * (copied_in - begin),
            "compute": 1e3 * (computed - copied_in),
            "copy_out": 1e3 * (end - computed),
        }
        return mi, pointwise, influence, spread

    def _failure(self, error: Exception, shape: tuple[int, ...]) -> ModelError:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        return ModelError(
            f"ONNX Runtime cannot evaluate the model for {shape[1]} samples in {shape[0]} slices "
            f"on {self.provider}: {first}. If out of memory, pass fewer samples, slices or "
            "shifts; else export the model again, and please report"
        )


def _session(onnxruntime: Any, model: bytes, provider: str, profiles: dict[str, str]) -> Any:
    """A session that runs on the provider, or an error."""
    wanted = _requests(provider, profiles)
    offered = onnxruntime.get_available_providers()
    if wanted[0][0] not in offered:
        raise ProviderError(
            f"provider {provider!r} needs {wanted[0][0]}, and onnxruntime "
            f"{onnxruntime.__version__} as installed offers {offered}: uninstall onnxruntime "
            "and pip install 'infoatlas-rt[gpu]' (they share an import name), "
            "or use provider='cpu'"
        )
    if provider in ("cuda", "tensorrt") and hasattr(onnxruntime, "preload_dlls"):
        # The libraries in the wheels of CUDA and cuDNN are not on the loader's path: load them, or
        # those of torch, by name.
        onnxruntime.preload_dlls()
    options = onnxruntime.SessionOptions()
    # One thread for each call: threads over slices never wait for each other. Threads within
    # operators would wait after each of a thousand small operators.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3  # errors only; fallbacks, its warnings, raise an error here
    try:
        session = onnxruntime.InferenceSession(model, options, providers=wanted)
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
    # ONNX Runtime drops a provider whose libraries are missing, and continues without it.
    running = session.get_providers()
    if running[0] != wanted[0][0]:
        raise ProviderError(
            f"provider {provider!r} did not start; ONNX Runtime would use {running} instead: "
            "check the driver and the CUDA libraries, or use provider='cpu'"
        )
    session.disable_fallback()
    return session


def _requests(provider: str, profiles: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Providers to request: this one, and those for operators that it does not support."""
    # TF32 reduces the accuracy of the covariances and of the solved readout.
    cuda = EXECUTION["cuda"], {"use_tf32": "0"}
    cpu: tuple[str, dict[str, str]] = EXECUTION["cpu"], {}
    if provider == "cpu":
        return [cpu]
    if provider == "cuda":
        return [cuda, cpu]
    folder = str(cache_folder())
    tensorrt = {  # has no option for TF32
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": folder,
        "trt_timing_cache_enable": "1",
        "trt_timing_cache_path": folder,
        **profiles,
    }
    return [(EXECUTION["tensorrt"], tensorrt), cuda, cpu]


def profile_options(shapes: dict[str, tuple[tuple[int, ...], ...]]) -> dict[str, str]:
    """Options of "tensorrt" for shapes (smallest, optimal, largest) of each input."""
    return {
        f"trt_profile_{size}_shapes": ",".join(
            f"{name}:{'x'.join(map(str, shape[i]))}" for name, shape in shapes.items()
        )
        for i, size in enumerate(("min", "opt", "max"))
    }


def cache_folder() -> Path:
    """Folder for engines of ONNX Runtime; they are code, so it belongs to this user."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "infoatlas-rt" / "tensorrt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ProviderError(
            f"provider 'tensorrt' keeps engines in {folder}, which cannot be made ({error}): "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    return folder
