"""TensorRT and TensorRT-RTX: the differences between two libraries with nearly the same API.

TensorRT builds on the GPU that will run the engine. TensorRT-RTX, for GeForce and RTX boards,
builds for a named compute capability on any machine, without a GPU, and compiles the kernels when
an engine is loaded.
"""

import importlib
import logging
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..errors import ProviderError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Library:
    """One of the two libraries."""

    name: str  # as a provider
    title: str  # in messages
    modules: tuple[str, ...]  # import names; the first one that is installed is used
    oldest: tuple[int, int]  # the oldest supported version,
    oldest_has: str  # and software that includes it
    install: str
    # Compute capabilities that it builds for without a GPU, as in "8.9"; empty if it only builds
    # for the GPU of the machine.
    builds_for: tuple[str, ...] = ()
    # Capabilities that it offers but that cannot run the models, with the reason.
    refused: dict[str, str] = field(default_factory=dict)
    compiles: bool = False  # kernels are compiled on the machine that runs the engine

    @property
    def anywhere(self) -> bool:
        """Whether it builds without the GPU that will run the engine."""
        return bool(self.builds_for)


LIBRARIES = {
    library.name: library
    for library in (
        Library(
            name="tensorrt",
            title="TensorRT",
            modules=("tensorrt",),
            oldest=(10, 3),
            oldest_has="JetPack 6.1",
            install="pip install 'infoatlas-rt[tensorrt]' (pycuda is compiled: it needs the CUDA "
            "toolkit); on a Jetson it comes with JetPack, and the environment has to be made with "
            "--system-site-packages",
        ),
        Library(
            name="tensorrt-rtx",
            title="TensorRT-RTX",
            modules=("tensorrt_rtx", "tensorrt_rtx_bindings"),
            oldest=(1, 7),
            oldest_has="the package index",
            install="pip install 'infoatlas-rt[tensorrt-rtx]' (x86-64, Linux)",
            builds_for=("8.0", "8.6", "8.9", "12.0", "12.1"),
            refused={"7.5": "it has no FP32 matrix products on Turing, which the solve needs"},
            compiles=True,
        ),
    )
}


def load(library: Library) -> Any:
    """The library's module; ProviderError if it or a file of it is missing, or if it is too old."""
    reasons = []
    for name in library.modules:
        try:
            trt = importlib.import_module(name)
            break
        except (ImportError, OSError) as error:
            reasons.append(str(error))
    else:
        raise ProviderError(
            f"{library.title} cannot be imported ({'; '.join(reasons)}): {library.install}"
        )
    version: str = trt.__version__
    if tuple(int(part) for part in version.split(".")[:2]) < library.oldest:
        raise ProviderError(
            f"{library.title} {version} is too old: "
            f"{'.'.join(map(str, library.oldest))} or later is needed, which "
            f"{library.oldest_has} has"
        )
    return trt


# Messages of the builder about the engine that it has made, and a warning that can be ignored:
# inputs of 64-bit integers have buffers of 64-bit integers, which `check_tensors` checks.
REPORTS = "Layers:", "Max Scratch Memory:"
EXPECTED = "has Int64 binding"


class Messages:
    """Messages of a library: errors for exceptions, the rest for Python's logging.

    `reports` are those of builds: the layers of the engine, and the memory of each profile.
    """

    def __init__(self, trt: Any) -> None:
        self.errors: list[str] = []
        self.reports: list[str] = []
        levels = {
            trt.ILogger.INTERNAL_ERROR: logging.ERROR,
            trt.ILogger.ERROR: logging.ERROR,
            trt.ILogger.WARNING: logging.WARNING,
            trt.ILogger.INFO: logging.DEBUG,
        }
        messages = self

        class Logger(trt.ILogger):  # type: ignore[misc]
            def __init__(self) -> None:
                trt.ILogger.__init__(self)

            def log(self, severity: Any, msg: str) -> None:
                level = levels.get(severity)
                if level == logging.ERROR:
                    messages.errors.append(msg)
                    return
                if msg.startswith(REPORTS):
                    messages.reports.append(msg)
                if level is not None:
                    log.log(logging.DEBUG if EXPECTED in msg else level, "TensorRT: %s", msg)

        self.logger = Logger()

    def take(self) -> str:
        """Return and remove the errors so far, most recent last."""
        text = "; ".join(self.errors[-3:]) or "no reason was given"
        self.errors.clear()
        return text


@cache
def messages(trt: Any) -> Messages:
    """The messages of a library, shared by its builders and runtimes, which use one logger."""
    return Messages(trt)
