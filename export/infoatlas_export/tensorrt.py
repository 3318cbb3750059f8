"""ONNX -> engine, with TensorRT or TensorRT-RTX.

    infoatlas-rt build edge --profile control
    infoatlas-rt build edge --backend rtx --compute-capability 8.9 --profile control

TensorRT builds on the machine that will run the engine; TensorRT-RTX builds anywhere, without a
GPU. Neither torch nor onnx is needed: a robot has none of them. The precision is the graph's own:
the network is strongly typed, which is what all versions have in common (TensorRT 11 has no flag
for FP16), so an FP16 engine is built from an FP16 .onnx file.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infoatlas_export import engine_layers
from infoatlas_export.build_progress import monitor
from infoatlas_export.parser_check import parse
from infoatlas_export.targets import (
    choose_capabilities,
    file_precision,
    halved,
    make_profiles,
    refuse_large,
)
from infoatlas_rt.backends.cuda_device import Device
from infoatlas_rt.backends.tensorrt_checks import check_tensors
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, Library, load, messages
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import engine_file, model_file
from infoatlas_rt.models.engine_file import NAMED, EngineFile, Profile, output_dimensions
from infoatlas_rt.models.model_file import ModelFile

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Built:
    """What a build did.

    Attributes
    ----------
    path : Path
        The engine; its description is beside it.
    reason : str
        Why it was built; "" if the one that was there fits.
    seconds : float
        That the build took; 0.0 if there was none.
    layers : int
        Of the network that the parser made of the graph; 0 if there was no build.
    """

    path: Path
    reason: str
    seconds: float = 0.0
    layers: int = 0


def build(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    library: str = "tensorrt",
    compute_capabilities: Sequence[str] = (),
    profiles: Sequence[str] = ("control",),
    workspace: int | None = None,
    timing_cache: str | os.PathLike[str] | None = None,
    precision: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Built:
    """Build an engine and its description, unless they are there and fit.

    Parameters
    ----------
    model : str or path
        Name of a shipped model, or an .onnx file.
    out : path, optional
        The .engine file; NAME.engine in the current folder unless given.
    library : {"tensorrt", "tensorrt-rtx"}
        TensorRT builds for the GPU of this machine, TensorRT-RTX for named capabilities.
    compute_capabilities : sequence of str
        For TensorRT-RTX, as in "8.9"; all that it offers unless given. An engine for several is
        neither larger nor slower to build than one for one of them.
    profiles : sequence of str
        As in `make_profiles`.
    workspace : int, optional
        Limit of the engine's working memory in bytes; none unless given. A build fails if a
        profile needs more.
    timing_cache : path, optional
        For TensorRT: times of kernels, kept between builds: read if it is there, and written.
    precision : {"fp32", "fp16"}, optional
        The file's own unless given. "fp16" makes an FP16 graph of an FP32 file first, as
        `infoatlas-rt export --precision fp16` does, and needs what that needs.
    progress : callable, optional
        Called with the share done, 0 to 1.

    Returns
    -------
    Built

    Raises
    ------
    InputError, ModelError, ProviderError
    """
    source = model_file.load(model)
    if source.engine is not None:
        raise InputError(f"{model} is an engine already: pass the model that it was built from")
    if workspace is not None and workspace < 1:
        raise InputError(f"workspace is {workspace} bytes, but has to be at least 1")
    path = Path(out if out is not None else f"{source.path.stem}{engine_file.SUFFIX}")
    if path.suffix != engine_file.SUFFIX:
        raise InputError(f"{path} has to end in {engine_file.SUFFIX}, by which it is recognised")
    chosen = make_profiles(profiles, source)
    kind = LIBRARIES[library]
    capabilities = choose_capabilities(kind, compute_capabilities)
    if kind.anywhere and timing_cache is not None:
        raise InputError(
            f"{kind.title} times no kernels when it builds: leave out the timing cache"
        )
    try:
        trt = load(kind)
    except ProviderError as error:
        other = "" if kind.anywhere else "; for a GeForce or RTX board, pass --backend rtx"
        raise ProviderError(f"{error}{other}") from error
    refuse_large(source, [profile for profile in chosen if profile.name not in NAMED])
    own = file_precision(source.bytes)
    if (precision, own) == ("fp32", "fp16"):
        raise InputError(f"{source.path} is FP16: pass the FP32 file that it was made from")
    device = None if kind.anywhere else Device()
    shipped = source.path.parent == model_file.MODELS
    wanted = {
        "model_sha256": source.sha256,
        "library": kind.name,
        "version": trt.__version__,
        "gpu": device.name if device else "",
        "compute_capabilities": (device.compute_capability,) if device else capabilities,
        "precision": precision or own,
        "tf32": False,
        "profiles": chosen,
        "workspace": workspace,
    }
    reason = stale(path, wanted)
    if not reason:
        return Built(path, "")
    started = time.monotonic()
    graph = source.bytes if wanted["precision"] == own else halved(source)
    with device.current() if device else nullcontext():
        made = _compile(kind, trt, source, graph, wanted, timing_cache, progress)
        memory, tensors = _inspect(kind, trt, made, path, chosen)
    found = EngineFile(
        model=source.path.stem if shipped else str(source.path.absolute()),
        memory=memory,
        metadata=dict(source.metadata),
        tensors=tensors,
        engine_sha256=hashlib.sha256(made.content).hexdigest(),
        **wanted,
    )
    # The description goes last: an engine without one, or with an old one, is refused.
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_bytes(made.content)
        temporary.replace(path)
        found.write(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}): check the path") from error
    finally:
        temporary.unlink(missing_ok=True)
    return Built(path, reason, time.monotonic() - started, made.layers)


def stale(path: Path, wanted: Mapping[str, Any]) -> str:
    """Why an engine has to be built: it is missing or does not fit; "" if it fits."""
    if not path.exists():
        return "there is none yet"
    try:
        return engine_file.read(path, path.read_bytes()).difference(**wanted) or ""
    except (ModelError, OSError) as error:
        return str(error)


@dataclass(frozen=True)
class _Made:
    """A serialised engine, and what was seen while it was made."""

    content: bytes
    layers: int
    types: dict[str, set[str]]
    reports: tuple[str, ...]


def _compile(
    library: Library,
    trt: Any,
    source: ModelFile,
    graph: bytes,
    wanted: Mapping[str, Any],
    timing_cache: str | os.PathLike[str] | None,
    progress: Callable[[float], None] | None,
) -> _Made:
    reported, name = messages(trt), f"{library.title} {trt.__version__}"
    reported.errors.clear()
    reported.reports.clear()
    try:
        builder = trt.Builder(reported.logger)
    except (TypeError, RuntimeError) as error:  # pybind11: the factory returned nullptr
        raise ProviderError(
            f"{name} does not start ({error}; {reported.take()}): check the driver and the CUDA "
            "libraries"
        ) from error
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    # The parser owns the network's weights, and lives as long as the build does.
    _parser = parse(library, trt, network, graph, str(source.path))
    config = builder.create_builder_config()
    if wanted["workspace"] is not None:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, wanted["workspace"])
    config.clear_flag(trt.BuilderFlag.TF32)  # costs accuracy in covariances and the solve
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED  # types, for `_inspect`
    if library.anywhere:
        # Nothing is allocated within a call, which a CUDA graph could not do.
        config.set_flag(trt.BuilderFlag.REQUIRE_USER_ALLOCATION)
        capabilities = wanted["compute_capabilities"]
        config.num_compute_capabilities = len(capabilities)
        for i, capability in enumerate(capabilities):
            target = trt.ComputeCapability.__members__["SM" + capability.replace(".", "")]
            config.set_compute_capability(target, i)
    _add_profiles(library, builder, config, wanted["profiles"], source.dim)
    _read_timing_cache(config, timing_cache)
    watch = None if progress is None else monitor(trt, progress)
    if watch is not None:
        config.progress_monitor = watch
    serialised = builder.build_serialized_network(network, config)
    if watch is not None and watch.stopped:
        raise KeyboardInterrupt
    if serialised is None:
        raise ModelError(_failure(name, source, wanted["workspace"], reported.take()))
    _write_timing_cache(config, timing_cache)
    return _Made(
        bytes(memoryview(serialised)),
        network.num_layers,
        engine_layers.network_types(network),
        tuple(reported.reports),
    )


def _add_profiles(
    library: Library, builder: Any, config: Any, profiles: Sequence[Profile], dim: int
) -> None:
    for i, profile in enumerate(profiles):
        optimization = builder.create_optimization_profile()
        for name, (smallest, optimal, largest) in profile.shapes(dim).items():
            optimization.set_shape(name, smallest, optimal, largest)
        if config.add_optimization_profile(optimization) != i:
            raise ModelError(f"{library.title} refuses the profile {profile}: pass narrower ranges")


def _failure(name: str, source: ModelFile, workspace: int | None, reason: str) -> str:
    """What to do where no engine came out of a build."""
    if workspace is not None and re.search("OutOfMemory|workspace limit", reason):
        return (
            f"{name} cannot build {source.path} in a workspace of {workspace} bytes ({reason}): "
            "leave out --workspace, or pass a narrower --profile"
        )
    return (
        f"{name} cannot build {source.path}: {reason}; if memory is short, close other programs, "
        "or pass a narrower --profile"
    )


def _inspect(
    library: Library, trt: Any, made: _Made, path: Path, profiles: Sequence[Profile]
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Check an engine: inputs, outputs, profiles, types.

    Returns
    -------
    memory : tuple of int
        Bytes that each profile needs.
    tensors : dict of int
        How many tensors have which type.

    Raises
    ------
    ModelError
        The engine is not what the network was: the size of an axis is fixed, or a layer has another
        precision.
    """
    if library.anywhere:  # without a GPU the engine is seen through the builder's messages
        text = "\n".join(made.reports)
        memory = engine_layers.scratch(made.reports)
        ends = engine_layers.dimensions(text)
        # An engine of several profiles shows the sizes of the first one.
        changed = [
            f"{name} has dimensions {list(ends[name])} instead of {list(expected)}"
            for name, expected in output_dimensions(profiles[:1]).items()
            if name in ends and ends[name] != expected
        ]
    else:
        reported = messages(trt)
        engine = trt.Runtime(reported.logger).deserialize_cuda_engine(made.content)
        if engine is None:
            raise ModelError(
                f"{library.title} cannot load what it built: {reported.take()}; please report"
            )
        check_tensors(trt, engine, path, profiles)
        inspector = engine.create_engine_inspector()
        text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
        memory = tuple(
            int(engine.get_device_memory_size_for_profile_v2(i))
            for i in range(engine.num_optimization_profiles)
        )
        changed = []
    layers = engine_layers.parse(text)
    if not layers:
        log.warning("%s %s does not describe the layers that it built: their types are not checked",
                    library.title, trt.__version__)  # fmt: skip
    changed += engine_layers.changed_types(made.types, layers)
    if len(memory) != len(profiles):
        changed.append(f"{len(memory)} profiles instead of {len(profiles)}")
    if changed:
        raise ModelError(
            f"the engine that {library.title} {trt.__version__} built is not the model: "
            f"{'; '.join(changed[:3])} ({len(changed)} faults); please report"
        )
    return memory, engine_layers.counts(layers)


def _read_timing_cache(config: Any, file: str | os.PathLike[str] | None) -> None:
    """Give the builder the times of earlier builds; those of another GPU or version are dropped."""
    if file is None:
        return
    try:
        kept = Path(file).read_bytes() if Path(file).exists() else b""
    except OSError as error:
        raise InputError(f"timing cache {file} cannot be read ({error}): check the path") from error
    cache = config.create_timing_cache(kept)
    if cache is None or not config.set_timing_cache(cache, False):
        log.warning("timing cache %s belongs to another GPU or TensorRT: starting anew", file)
        config.set_timing_cache(config.create_timing_cache(b""), False)


def _write_timing_cache(config: Any, file: str | os.PathLike[str] | None) -> None:
    if file is None:
        return
    try:
        Path(file).write_bytes(bytes(memoryview(config.get_timing_cache().serialize())))
    except OSError as error:  # the engine is worth more than its times
        log.warning("timing cache %s cannot be written: %s", file, error)
