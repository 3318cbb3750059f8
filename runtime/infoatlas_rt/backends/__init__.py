"""Engines that evaluate the graph, one module each, behind the protocol in `protocol.py`.

`provider` says what computes: "cpu", "cuda" or "tensorrt". The model's file says what drives it: an
.onnx file goes through ONNX Runtime and its provider of that name, a TensorRT .engine file goes to
TensorRT directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine_file import CONTROL, Profile, shift_range
from ..errors import ProviderError
from .protocol import Backend

if TYPE_CHECKING:
    from ..model_file import ModelFile


def make_backend(model: ModelFile, provider: str = "cpu", threads: int | None = None) -> Backend:
    """Load a model into the engine that `provider` and the file's kind ask for.

    Parameters
    ----------
    model : ModelFile
    provider : {"cpu", "cuda", "tensorrt", "auto"}
        Used or refused, never replaced silently. A TensorRT engine takes "tensorrt" or "auto".
    threads : int, optional
        On the CPU.

    Returns
    -------
    Backend

    Raises
    ------
    ProviderError, ModelError, InputError
    """
    # Here and not at the top: an engine is imported where it is used.
    if model.engine is None:
        from .onnxruntime import OnnxRuntimeBackend, profile_options

        options = None
        if provider == "tensorrt":
            control = Profile("control", *CONTROL, shift_range(model, *CONTROL))
            options = profile_options(control.shapes(model.dim))
        return OnnxRuntimeBackend(model.bytes, provider, threads, options)
    if provider not in ("tensorrt", "auto"):
        raise ProviderError(
            f"{model.path} is a TensorRT engine, and provider is {provider!r}: pass "
            f"provider='tensorrt', or the model that it was built from ({model.engine.model})"
        )
    from .tensorrt import TensorRTBackend

    return TensorRTBackend(model)
