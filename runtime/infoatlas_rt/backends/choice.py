"""Chooses the engine that evaluates the graph; a new engine is added here.

An .onnx file is evaluated by the C++ engine ("native"), or by ONNX Runtime with its provider of
that name ("cpu", "cuda", "tensorrt"). An .engine file is evaluated by the library that built it,
TensorRT ("tensorrt") or TensorRT-RTX ("tensorrt-rtx").
"""

import logging
import re
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

from ..errors import ProviderError
from ..models.engine_file import Profile
from ..models.model_file import ModelFile
from .interface import Backend
from .tensorrt_libraries import LIBRARIES

log = logging.getLogger(__name__)

# Slices and samples (smallest, optimal, largest) of engines that ONNX Runtime builds, in one range.
CONTROL = (1, 40, 64), (32, 100, 512)
PROVIDERS = ("auto", "cpu", "native", "cuda", "tensorrt", "tensorrt-rtx")


def make_backend(model: ModelFile, provider: str = "auto", threads: int | None = None) -> Backend:
    """Load a model into the engine for `provider` and the kind of file.

    "auto" is the first of "cuda", "native" and "cpu" that starts; the choice and its reason are
    logged. Any other is used or refused, never replaced. An .engine file needs the library that
    built it ("tensorrt" or "tensorrt-rtx"), or "auto"; "tensorrt-rtx" needs an .engine file. The
    threads are those on the CPU.
    """
    # Imports are not at the top, so that an engine is only imported when it is used.
    if model.engine is not None and provider not in (model.engine.library, "auto"):
        library = model.engine.library
        raise ProviderError(
            f"{model.path} is an engine of {LIBRARIES[library].title}, and provider is "
            f"{provider!r}: pass provider={library!r}, or the model that it was built from "
            f"({model.engine.model})"
        )
    if model.engine is not None or provider == "tensorrt-rtx":
        from .tensorrt import TensorRTBackend

        return TensorRTBackend(model)
    if not isinstance(provider, str) or provider not in PROVIDERS:
        raise ProviderError(f"unknown provider {provider!r}: use one of {list(PROVIDERS)}")
    if provider == "auto":
        return _automatic(model, threads)
    if provider == "native":
        from .native import NativeBackend

        return NativeBackend(model, threads)
    from .onnxruntime import OnnxRuntimeBackend, profile_options

    options = None
    if provider == "tensorrt":
        control = Profile("control", *CONTROL, model.shift_range(*CONTROL))
        options = profile_options(control.shapes(model.dim))
    backend = OnnxRuntimeBackend(model.bytes, provider, threads, options)
    if provider != "cpu":
        with suppress(ProviderError):  # the C++ engine prepares samples faster than NumPy
            native = make_backend(model, "native", threads)
            backend.canonicalise = native.canonicalise  # type: ignore[attr-defined]
    return backend


def _automatic(model: ModelFile, threads: int | None) -> Backend:
    """The first of "cuda", "native" and "cpu" that starts; otherwise ProviderError with advice."""
    from .native import NOT_BUILT, how_to_build, is_installed, left_out
    from .onnxruntime import EXECUTION, INSTALL_ONNXRUNTIME, has_cuda, list_providers

    missing = list[str]()
    there = {"cuda": has_cuda(), "native": is_installed()}
    for provider, is_there in there.items():
        if not is_there:
            log.info("provider 'auto' passes over '%s', which is not installed", provider)
            continue
        try:
            backend = make_backend(model, provider, threads)
        except ProviderError as error:
            log.warning("provider 'auto' passes over '%s': %s", provider, error)
            missing.append(str(error))
            continue
        log.info("provider 'auto' chooses '%s'", provider)
        return backend
    if not there["native"]:
        missing.append(f"{NOT_BUILT}: {how_to_build()}")
    if EXECUTION["cpu"] not in list_providers():
        why = re.sub("(, or|;) use provider='cpu'", "", "; ".join(missing))
        raise ProviderError(
            f"no engine for {model.path}: get ONNX Runtime with {INSTALL_ONNXRUNTIME}; or: {why}"
        )
    log.info("provider 'auto' chooses 'cpu'")
    if not there["native"] and not left_out():
        _warn_once(f"{NOT_BUILT}, so ONNX Runtime is used, which is slower: {how_to_build()}")
    return make_backend(model, "cpu", threads)


@cache
def _warn_once(text: str) -> None:
    log.warning("%s, or choose provider='cpu', which does not warn", text)


def find_libraries() -> dict[str, str]:
    """Library of each provider on this machine, or why it cannot be used; none is started."""
    from .native import load_native
    from .onnxruntime import EXECUTION, INSTALL_ONNXRUNTIME, list_providers

    there = list_providers()
    found = {}
    for provider, execution in EXECUTION.items():
        found[provider] = execution if execution in there else f"no {execution} is installed"
    if not there:
        found["cpu"] = f"ONNX Runtime is not installed: {INSTALL_ONNXRUNTIME}"
    found["auto"] = "cpu" if there else "none: neither 'native' nor 'cpu' is installed"
    for name, library in LIBRARIES.items():
        if any(map(find_spec, library.modules)):
            engines = f"{library.title} is installed, for engines"
            found[name] = f"{found[name]}; {engines}" if name in found else engines
        found.setdefault(name, f"no {library.title} is installed, which runs engines")
    try:
        native = load_native()
    except ProviderError as error:
        found["native"] = str(error)
    else:
        found["native"] = f"the C++ engine {native.__version__}"
        found["auto"] = "native"
    if EXECUTION["cuda"] in there:
        found["auto"] = f"cuda if it starts, else {found['auto']}"
    return {provider: found[provider] for provider in PROVIDERS}
