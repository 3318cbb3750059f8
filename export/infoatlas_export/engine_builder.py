"""Build a serialised engine from a graph, with TensorRT or TensorRT-RTX."""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infoatlas_export import engine_layers
from infoatlas_export.build_progress import interruptible, monitor
from infoatlas_export.parser_check import parse
from infoatlas_rt.backends.tensorrt_libraries import Library, load, messages
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models.engine_file import Profile

log = logging.getLogger(__name__)

BUILDING = threading.Lock()  # one build at a time: messages do not identify their build


@dataclass(frozen=True)
class Order:
    """What to build."""

    library: Library
    graph: bytes  # the .onnx file
    name: str  # of the graph, for errors
    dim: int  # D of the graph's inputs
    profiles: Sequence[Profile]
    compute_capabilities: Sequence[str] = ()  # used by TensorRT-RTX
    workspace: int | None = None  # limit of the working memory in bytes
    timing_cache: str | os.PathLike[str] | None = None  # used by TensorRT


@dataclass(frozen=True)
class Made:
    """A serialised engine, and information from its build."""

    content: bytes
    layers: int  # number of layers of the parsed network
    types: dict[str, set[str]]  # result of `engine_layers.network_types`
    reports: tuple[str, ...]  # messages of the builder about the engine
    seconds: float  # duration of the build


def make(
    order: Order,
    context: Callable[[], AbstractContextManager[None]] = nullcontext,
    progress: Callable[[float], None] | None = None,
) -> Made:
    """Build an engine; only one thread builds at a time.

    `context` makes the GPU's context current in the thread that builds, which is not the caller's.
    `progress` is called with the share done, 0 to 1; an exception cancels the build. ModelError if
    the parser or the builder refuses the graph; ProviderError if the library does not start.
    """
    trt = load(order.library)
    report = progress or (lambda share: None)
    watch = monitor(trt, report)

    def work() -> Made:
        with context():
            return _compile(order, trt, watch)

    with BUILDING:
        made = interruptible(work, watch)
    report(1.0)  # the builder ends some phases before their last step
    return made


def _compile(order: Order, trt: Any, watch: Any) -> Made:
    started = time.monotonic()
    library, reported = order.library, messages(trt)
    title = f"{library.title} {trt.__version__}"
    reported.errors.clear()
    reported.reports.clear()
    try:
        builder = trt.Builder(reported.logger)
    except (TypeError, RuntimeError) as error:  # pybind11: the factory returned nullptr
        raise ProviderError(
            f"{title} does not start ({error}; {reported.take()}): check the driver and the CUDA "
            "libraries"
        ) from error
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    # The parser owns the network's weights, so it is kept until the end of the build.
    _parser = parse(library, trt, network, order.graph, order.name)
    config = builder.create_builder_config()
    if order.workspace is not None:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, order.workspace)
    config.clear_flag(trt.BuilderFlag.TF32)  # inaccurate in covariances and the solve
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED  # for the types of layers
    if library.anywhere:
        # No allocation within a call, which a CUDA graph would not allow.
        config.set_flag(trt.BuilderFlag.REQUIRE_USER_ALLOCATION)
        config.num_compute_capabilities = len(order.compute_capabilities)
        for i, capability in enumerate(order.compute_capabilities):
            target = trt.ComputeCapability.__members__["SM" + capability.replace(".", "")]
            config.set_compute_capability(target, i)
    for i, profile in enumerate(order.profiles):
        optimization = builder.create_optimization_profile()
        for name, (smallest, optimal, largest) in profile.shapes(order.dim).items():
            optimization.set_shape(name, smallest, optimal, largest)
        if config.add_optimization_profile(optimization) != i:
            raise ModelError(f"{library.title} refuses the profile {profile}: pass narrower ranges")
    _read_timing_cache(config, order.timing_cache)
    config.progress_monitor = watch
    serialised = builder.build_serialized_network(network, config)
    watch.check()
    if serialised is None:
        raise ModelError(_failure(title, order, reported.take()))
    _write_timing_cache(config, order.timing_cache)
    return Made(
        bytes(memoryview(serialised)),
        network.num_layers,
        engine_layers.network_types(network),
        tuple(reported.reports),
        time.monotonic() - started,
    )


def _failure(title: str, order: Order, reason: str) -> str:
    """Message for a build without a result: the reason, and what to change."""
    if order.workspace is not None and re.search("OutOfMemory|workspace limit", reason):
        return (
            f"{title} cannot build {order.name} in a workspace of {order.workspace} bytes "
            f"({reason}): leave out --workspace, or pass a narrower --profile"
        )
    return (
        f"{title} cannot build {order.name}: {reason}; if out of memory, close other programs, "
        "or pass a narrower --profile"
    )


def _read_timing_cache(config: Any, file: str | os.PathLike[str] | None) -> None:
    """Give the builder the kernel times of earlier builds with the same GPU and version."""
    if file is None:
        return
    try:
        kept = Path(file).read_bytes() if Path(file).exists() else b""
    except OSError as error:
        raise InputError(f"timing cache {file} cannot be read ({error}): check the path") from error
    cache = config.create_timing_cache(kept)
    if cache is None or not config.set_timing_cache(cache, False):
        log.warning("timing cache %s belongs to another GPU or TensorRT: it is replaced", file)
        config.set_timing_cache(config.create_timing_cache(b""), False)


def _write_timing_cache(config: Any, file: str | os.PathLike[str] | None) -> None:
    if file is None:
        return
    try:
        Path(file).write_bytes(bytes(memoryview(config.get_timing_cache().serialize())))
    except OSError as error:  # not fatal: the engine was built
        log.warning("timing cache %s cannot be written: %s", file, error)
