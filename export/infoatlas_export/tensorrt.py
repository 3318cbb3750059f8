"""Build an engine from an ONNX file, with TensorRT or TensorRT-RTX.

    infoatlas-rt build edge --profile control
    infoatlas-rt build edge --backend rtx --compute-capability 8.9 --profile control

TensorRT builds on the machine that will run the engine. TensorRT-RTX builds on any machine, without
a GPU. A build needs no torch or onnx, which robots lack. The precision is that of the graph,
because the network is strongly typed: all versions of TensorRT support that, and TensorRT 11 has no
flag for FP16. An FP16 engine is therefore built from an FP16 .onnx file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infoatlas_export import targets
from infoatlas_export.engine_builder import Order, make
from infoatlas_export.inspection import inspect
from infoatlas_rt.backends.cuda_device import Device
from infoatlas_rt.backends.tensorrt_libraries import Library, load
from infoatlas_rt.cli.console import check_target
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import engine_file, model_file
from infoatlas_rt.models.engine_file import DESCRIPTION_FORMAT, EngineFile, description


@dataclass(frozen=True)
class Built:
    """Result of a build."""

    path: Path  # of the engine
    engine: EngineFile  # description of the engine
    reason: str  # why the engine was built; "" if an existing engine fits
    seconds: float = 0.0  # duration of the build; 0.0 if an existing engine fits
    # Number of layers of the parsed network; None if an existing engine fits.
    layers: int | None = None


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
    """Build an engine and its description, unless existing files fit.

    Parameters
    ----------
    model : str or path
        Name of a shipped model, or an .onnx file.
    out : path, optional
        The .engine file; NAME.engine in the current folder unless given.
    library : {"tensorrt", "tensorrt-rtx"}
        TensorRT builds for the GPU of this machine, TensorRT-RTX for named capabilities.
    compute_capabilities : sequence of str
        Used by TensorRT-RTX, as in "8.9"; by default all that it supports. An engine for several
        is as large, and built as fast, as an engine for one of them.
    profiles : sequence of str
        Names or ranges of sizes, see `make_profiles`.
    workspace : int, optional
        Limit of the engine's working memory in bytes; by default there is none. A build fails if a
        profile needs more.
    timing_cache : path, optional
        Used by TensorRT: file for times of kernels, which is read if it exists, and written.
    precision : {"fp32", "fp16"}, optional
        By default that of the file. "fp16" first converts an FP32 file, as `infoatlas-rt export
        --precision fp16` does, and needs the same packages.
    progress : callable, optional
        Called with the share done, 0 to 1.

    Returns
    -------
    Built

    Raises
    ------
    InputError
        If an argument is invalid.
    ModelError
        If the model cannot be built, or the engine differs from it.
    ProviderError
        If the library is missing or does not start.
    """
    source = model_file.load(model)
    if source.engine is not None:
        raise InputError(f"{model} is an engine already: pass the model that it was built from")
    if workspace is not None and not (type(workspace) is int and 0 < workspace < 2**63):
        raise InputError(f"workspace is {workspace!r}: pass bytes, an integer from 1 to 2^63 - 1")
    path = Path(out if out is not None else f"{source.path.stem}{engine_file.SUFFIX}")
    if path.suffix != engine_file.SUFFIX:
        raise InputError(f"{path} has to end in {engine_file.SUFFIX}, by which it is recognised")
    check_target(path)
    kind = targets.choose_library(library)
    capabilities = targets.choose_capabilities(kind, compute_capabilities)
    if kind.anywhere and timing_cache is not None:
        raise InputError(
            f"{kind.title} times no kernels when it builds: leave out the timing cache"
        )
    precision, converted = targets.choose_precision(source, precision)
    chosen = targets.make_profiles(profiles, source)
    trt = _load_library(kind)
    targets.refuse_large(
        source, [profile for profile in chosen if profile.name not in targets.NAMED_PROFILES]
    )
    device = None if kind.anywhere else Device()
    graph = targets.half_graph(source) if converted else source.bytes
    wanted = {
        "model_sha256": source.sha256,
        "precision": precision,
        "graph_sha256": hashlib.sha256(graph).hexdigest(),
        "library": kind.name,
        "version": trt.__version__,
        "gpu": device.name if device else "",
        "compute_capabilities": (device.compute_capability,) if device else capabilities,
        "tf32": False,
        "profiles": chosen,
        "workspace": workspace,
    }
    there, reason = fitting(path, wanted)
    if there is not None:
        return Built(path, there, "")
    if converted:
        from infoatlas_export.fp16 import refuse_inexact

        refuse_inexact(source.bytes, graph)
    context = device.current if device else nullcontext
    order = Order(
        kind, graph, str(source.path), source.dim, chosen, capabilities, workspace, timing_cache
    )
    made = make(order, context, progress)
    with context():
        memory, tensors = inspect(kind, trt, made, path, chosen)
    shipped = source.path.parent == model_file.MODELS
    found = EngineFile(
        model=source.path.stem if shipped else str(source.path.absolute()),
        memory=memory,
        metadata=dict(source.metadata),
        tensors=tensors,
        engine_sha256=hashlib.sha256(made.content).hexdigest(),
        **wanted,
    )
    _write(path, made.content, found)
    return Built(path, found, reason, made.seconds, made.layers)


def _load_library(kind: Library) -> Any:
    """The module of a library; ProviderError if it is missing or does not start."""
    try:
        return load(kind)
    except ProviderError as error:
        other = "" if kind.anywhere else "; for a GeForce or RTX board, pass --backend rtx"
        raise ProviderError(f"{error}{other}") from error


def fitting(path: Path, wanted: Mapping[str, Any]) -> tuple[EngineFile | None, str]:
    """The description of an existing engine that fits; or None, and why one has to be built."""
    if not path.exists():
        return None, "there was none"
    try:
        found = engine_file.read(path, path.read_bytes())
    except (ModelError, OSError) as error:
        return None, str(error)
    difference = found.difference(**wanted)
    return (found, "") if difference is None else (None, difference)


def _write(path: Path, content: bytes, found: EngineFile) -> None:
    """Write engine and description."""
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
        # The description is written last: an engine without one, or with an old one, is refused.
        values = {"format": DESCRIPTION_FORMAT, **asdict(found)}
        description(path).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}): check the path") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
