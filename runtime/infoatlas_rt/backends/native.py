"""The C++ engine, on the CPU."""

import logging
import os
import shutil
import sysconfig
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, ProviderError
from ..installation import install_again
from ..models.model_file import ModelFile
from .interface import Floats, Indices
from .threads import cpu_threads

log = logging.getLogger(__name__)

INTERFACE = 7  # version of the interface of infoatlas_native; that module has the same number
KEPT_WIDTHS = 16  # pairs of widths (dx, dy) whose projections are kept between estimates
KEPT_NUMBERS = 10**6  # samples x coordinates of an estimate whose memory is kept
NOT_BUILT = "the C++ engine was not built when infoatlas-rt was installed"


def how_to_build() -> str:
    """How to build the engine: what it needs if that is missing, and the command."""
    command = f"run {install_again('-v --no-deps --no-cache-dir')} (-v prints why it is not built)"
    compilers = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if any(map(shutil.which, compilers)) and headers.is_file():
        return command
    return f"get a C++20 compiler and Python's headers (python3-dev), and {command}"


def left_out() -> bool:
    """Whether INFOATLAS_ENGINE=0 states that the engine is left out on purpose."""
    return os.environ.get("INFOATLAS_ENGINE", "").lower() in ("0", "off", "no")


def is_installed() -> bool:
    """Whether the engine was built; importing it may still fail."""
    return find_spec("infoatlas_native") is not None


def load_native() -> Any:
    """The module infoatlas_native; ProviderError if it is missing or has another interface."""
    try:
        import infoatlas_native
    except ImportError as error:
        what = f"the C++ engine cannot be loaded ({error})" if is_installed() else NOT_BUILT
        raise ProviderError(
            f"provider 'native': {what}: {how_to_build()}, or use provider='cpu'"
        ) from error
    if infoatlas_native.INTERFACE != INTERFACE:
        raise ProviderError(
            f"provider 'native': the C++ engine {infoatlas_native.__version__} has interface "
            f"{infoatlas_native.INTERFACE}, and this version of infoatlas-rt calls {INTERFACE}: "
            f"install both again ({install_again()}), or use provider='cpu'"
        )
    return infoatlas_native


class NativeBackend:
    """The C++ engine with one model, whose weights are read from an .onnx file.

    Slices, or the rows of a single slice, are divided among the threads, which sleep between calls.
    Two by default, because the robot has other work to do. If a limit of processes or memory allows
    fewer than requested, a warning is logged.

    ProviderError if the engine was not built, has another interface, or does not support the graph
    of this model; ModelError if out of memory.
    """

    provider = "native"

    def __init__(self, model: ModelFile, threads: int | None = None) -> None:
        self._asked = asked = cpu_threads(threads)
        self.milliseconds: dict[str, float] = {}
        self._free: dict[tuple[int, ...], list[Any]] = {}  # by settings, widths
        native = load_native()
        try:
            self._engine = native.Engine(model.bytes, threads=asked, interface=INTERFACE)
            self._check_threads()
        except RuntimeError as error:
            raise ProviderError(
                f"provider 'native' does not take {model.path}: {error}; use provider='cpu'"
            ) from error
        except MemoryError as error:
            raise ModelError(
                f"{model.path} does not fit into memory: free some, or use a smaller model"
            ) from error
        log.info("C++ engine %s for %s", native.__version__, self._engine.target)

    def _check_threads(self) -> None:
        """Count the threads of this process (a child has its own); warn if some are missing."""
        self._process, self.threads = os.getpid(), int(self._engine.threads)
        if self.threads < self._asked:
            log.warning(
                "the native engine runs with %d of %d threads, as no more can be made (%s): "
                "raise the limits of processes and memory (ulimit -u, -v), or pass "
                "threads=%d",
                *(self.threads, self._asked, self._engine.missing_threads, self.threads),
            )

    def run(
        self, x: Floats, y: Floats, shifts: Indices, sequence: Indices
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Evaluate the model, as described in `Backend.run`; ModelError if out of memory."""
        what = f"evaluate the model for {x.shape[1]} samples in {x.shape[0]} slices"
        inputs = x, y, shifts, sequence
        found: tuple[Floats, Floats, Floats, Floats] = self._call(what, self._engine.run, *inputs)
        return found

    def canonicalise(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        projections_x: NDArray[np.float64] | None,
        projections_y: NDArray[np.float64] | None,
        score_table: NDArray[np.float64],
    ) -> tuple[NDArray[Any], ...]:
        """Slices in canonical form, as described in `Preparing`; ModelError if out of memory."""
        sides = projections_x, projections_y
        projections = [None if side is None else np.swapaxes(side, -1, -2) for side in sides]
        slices = max([1, *(len(side) for side in projections if side is not None)])
        what = f"prepare {len(x)} samples in {slices} slices"
        inputs = x, y, *projections, score_table
        found: tuple[NDArray[Any], ...] = self._call(what, self._engine.canonicalise, *inputs)
        return found

    def estimate(
        self, settings: Mapping[str, int], *samples: Any
    ) -> tuple[dict[str, Any], dict[str, float]] | None:
        """A complete estimate, as described in `SampleEstimator`; ModelError if out of memory."""
        # Each call has one of its own, which is kept, because it has projections and memory.
        x, y = samples[:2]
        if len(self._free) > KEPT_WIDTHS:
            self._free.clear()
        free = self._free.setdefault((*settings.values(), x.shape[1], y.shape[1]), [])
        try:
            own = free.pop()
        except IndexError:
            try:
                own = self._engine.estimating(**settings)
            except (RuntimeError, TypeError):  # out of range
                return None
        found: tuple[dict[str, Any], dict[str, float]] | None
        found = self._call(f"estimate from {len(x)} samples", own.run, *samples)
        if x.size + y.size <= KEPT_NUMBERS:
            free.append(own)
        return found

    def _call(self, what: str, function: Any, *given: Any) -> Any:
        """Result of a function of the engine; ModelError if out of memory."""
        # Those that a worker of Dask receives are not aligned.
        own = [np.require(v, None, ("C", "A")) if isinstance(v, np.ndarray) else v for v in given]
        try:
            if os.getpid() != self._process:
                self._check_threads()
            return function(*own)
        except (MemoryError, RuntimeError) as error:
            reason = "out of memory" if isinstance(error, MemoryError) else error
            raise ModelError(
                f"the native engine cannot {what}: {reason}; pass fewer samples, slices or shifts"
            ) from error
