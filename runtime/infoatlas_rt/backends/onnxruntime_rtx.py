"""ONNX Runtime's plugin for TensorRT-RTX: finds it, registers it, and adds it to a session.

A plugin is a library that ONNX Runtime loads on request. It is not in the list of providers that
ONNX Runtime was built with. After registration its devices are listed, and a session is given
devices. The package contains TensorRT-RTX's own libraries.
"""

from __future__ import annotations

import ctypes
import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ProviderError

EXECUTION = "NvTensorRTRTXExecutionProvider"
PACKAGE = "onnxruntime_ep_nv_tensorrt_rtx"
# From 1.25 on, the plugin also accepts arrays on "cuda", in any build of ONNX Runtime.
OLDEST = (1, 25)
INSTALL = (
    "pip install 'onnxruntime>=1.25' onnxruntime-ep-nv-tensorrt-rtx-cu12 (170 MB, x86-64, Linux or "
    "Windows)"
)


def is_installed() -> bool:
    """Whether the plugin's package is installed; it is not loaded."""
    return find_spec(PACKAGE) is not None


def add_plugin(onnxruntime: Any, options: Any, settings: dict[str, str]) -> None:
    """Make a session run on the plugin alone.

    Parameters
    ----------
    onnxruntime : module
    options : onnxruntime.SessionOptions
        Changed in place. Its sessions fail if the plugin leaves a node to the CPU, where it would
        run unnoticed, with copies to and from the GPU.
    settings : dict of str
        Options of the provider.

    Raises
    ------
    ProviderError
        The plugin is not installed, cannot be loaded, or finds no GPU.
    """
    version = onnxruntime.__version__
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise ProviderError(
            f"provider 'tensorrt-rtx' needs onnxruntime {'.'.join(map(str, OLDEST))} or later, and "
            f"{version} is installed: {INSTALL}"
        )
    try:
        plugin = importlib.import_module(PACKAGE)
    except (ImportError, OSError) as error:
        raise ProviderError(
            f"provider 'tensorrt-rtx' needs a plugin for ONNX Runtime, which cannot be imported "
            f"({error}): {INSTALL}"
        ) from error
    library = str(plugin.get_library_path())
    _load_cudart(Path(library).parent)
    try:
        onnxruntime.register_execution_provider_library(EXECUTION, library)
    except Exception as error:  # its exceptions have no common base class
        if "already registered" not in str(error):
            raise ProviderError(
                f"provider 'tensorrt-rtx' did not start: {error}; check the driver (nvidia-smi), "
                "or use provider='cpu'"
            ) from error
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == EXECUTION]
    if not devices:
        raise ProviderError(
            f"provider 'tensorrt-rtx' finds no GPU of compute capability 8.6, 8.9, 12.0 or later "
            f"({EXECUTION} {plugin.__version__}): check nvidia-smi and CUDA_VISIBLE_DEVICES, or "
            "use provider='cpu'"
        )
    options.add_provider_for_devices(devices[:1], settings)
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")


def _load_cudart(folder: Path) -> None:
    """Load the CUDA runtime of the package, which its library needs but does not search there."""
    for file in sorted(folder.glob("libcudart.so.*"))[:1]:
        try:
            ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
        except OSError:  # registration reports what is missing
            pass
