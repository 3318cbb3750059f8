"""ONNX -> TensorRT engine, on the machine that will run it.

    infoatlas-rt build edge --profile control

It needs TensorRT and pycuda, and neither torch nor onnx: a robot has none of them. The precision
is the graph's own: the network is strongly typed, which is what TensorRT 10 and 11 have in common
(11 has no flag for FP16), so an FP16 engine is built from an FP16 .onnx file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infoatlas_export.parser_check import parse
from infoatlas_rt.backends.cuda_device import Device
from infoatlas_rt.backends.tensorrt import check_tensors
from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, Messages, load, messages
from infoatlas_rt.errors import InputError, ModelError, ProviderError
from infoatlas_rt.models import engine_file, model_file
from infoatlas_rt.models.engine_file import NAMED, EngineFile, Profile
from infoatlas_rt.models.model_file import ModelFile

log = logging.getLogger(__name__)

WORKSPACE = 2**30  # bytes


def make_profiles(names: Sequence[str], model: ModelFile) -> tuple[Profile, ...]:
    """Profiles of an engine.

    Parameters
    ----------
    names : sequence of str
        Of `NAMED`, or ranges as in "slices=1:40:64,samples=32:100:512": smallest, optimal and
        largest, or one number for all three; "shifts" may be given too.
    model : ModelFile
        Its default numbers of shifts are covered.

    Returns
    -------
    tuple of Profile, each once

    Raises
    ------
    InputError
    """
    found: dict[tuple[Any, ...], Profile] = {}
    for name in names:
        if name in NAMED:
            made = [Profile(name, s, n, model.shift_range(s, n)) for s, n in NAMED[name]]
        else:
            made = [_given(name, model)]
        for profile in made:
            found.setdefault((profile.slices, profile.samples, profile.shifts), profile)
    if not found:
        raise InputError(f"an engine needs a profile: pass one of {', '.join(NAMED)}")
    return tuple(found.values())


def _given(text: str, model: ModelFile) -> Profile:
    """A profile from its ranges, written out."""
    axes: dict[str, tuple[int, int, int]] = {}
    try:
        for part in text.split(","):
            axis, _, numbers = part.partition("=")
            values = [int(number) for number in numbers.split(":")]
            smallest, optimal, largest = values * 3 if len(values) == 1 else values
            if axis in axes or not 1 <= smallest <= optimal <= largest:
                raise ValueError(part)
            axes[axis] = smallest, optimal, largest
        if not {"slices", "samples"} <= set(axes) <= {"slices", "samples", "shifts"}:
            raise ValueError(text)
        if axes["samples"][0] < 2:
            raise ValueError("fewer than two samples")
    except ValueError as error:
        raise InputError(
            f"profile is {text!r}: use one of {', '.join(NAMED)}, or smallest:optimal:largest of "
            "both axes, as in slices=1:40:64,samples=32:100:512 (shifts may be added)"
        ) from error
    slices, samples = axes["slices"], axes["samples"]
    return Profile(text, slices, samples, axes.get("shifts", model.shift_range(slices, samples)))


def build(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    profiles: Sequence[str] = ("control",),
    workspace: int = WORKSPACE,
    timing_cache: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Path, str]:
    """Build an engine and its description, unless they are there and fit.

    Parameters
    ----------
    model : str or path
        Name of a shipped model, or an .onnx file.
    out : path, optional
        The .engine file; NAME.engine in the current folder unless given.
    profiles : sequence of str
        As in `make_profiles`.
    workspace : int
        Bytes that a kernel may use while it runs.
    timing_cache : path, optional
        Times of kernels, kept between builds: read if it is there, and written.
    progress : callable, optional
        Called with the share done, 0 to 1.

    Returns
    -------
    path : Path
        The engine.
    reason : str
        Why it was built, or "" if the one that was there fits.

    Raises
    ------
    InputError, ModelError, ProviderError
    """
    source = model_file.load(model)
    if source.engine is not None:
        raise InputError(f"{model} is an engine already: pass the model that it was built from")
    if workspace < 1:
        raise InputError(f"workspace is {workspace} bytes, but has to be at least 1")
    path = Path(out if out is not None else f"{source.path.stem}{engine_file.SUFFIX}")
    if path.suffix != engine_file.SUFFIX:
        raise InputError(f"{path} has to end in {engine_file.SUFFIX}, by which it is recognised")
    chosen = make_profiles(profiles, source)
    trt = load(LIBRARIES["tensorrt"])
    refuse_large(source, [profile for profile in chosen if profile.name not in NAMED])
    device = Device()
    shipped = source.path.parent == model_file.MODELS
    wanted = {
        "model_sha256": source.sha256,
        "tensorrt": trt.__version__,
        "gpu": device.name,
        "compute_capability": device.compute_capability,
        "tf32": False,
        "profiles": chosen,
        "workspace": workspace,
    }
    reason = stale(path, wanted)
    if not reason:
        return path, ""
    reported = messages(trt)
    with device.current():
        content, precision = _compile(
            trt, reported, source, chosen, workspace, timing_cache, progress
        )
        tensors = _inspect(trt, reported, content, path, precision, len(chosen))
    found = EngineFile(
        model=source.path.stem if shipped else str(source.path.absolute()),
        precision=precision,
        metadata=dict(source.metadata),
        tensors=tensors,
        engine_sha256=hashlib.sha256(content).hexdigest(),
        **wanted,
    )
    # The description goes last: an engine without one, or with an old one, is refused.
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
        found.write(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}): check the path") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path, reason


def refuse_large(source: ModelFile, profiles: Sequence[Profile]) -> None:
    """Raise InputError for a profile in which a tensor is too large, minutes before TensorRT would.

    A robot has no onnx: there TensorRT alone checks.
    """
    try:
        from infoatlas_export.limits import ELEMENTS, largest_tensor
    except ImportError:
        return
    for profile in profiles:
        largest = (axis[2] for axis in (profile.slices, profile.samples, profile.shifts))
        elements, tensor = largest_tensor(source.bytes, *largest)
        if elements > ELEMENTS:
            raise InputError(
                f"profile {profile} would have a tensor {tensor!r} of {elements} elements, and "
                f"TensorRT takes {ELEMENTS}: pass fewer slices, samples or shifts, in several "
                "profiles if need be (more slices than fit are divided)"
            )


def stale(path: Path, wanted: Mapping[str, Any]) -> str:
    """Why an engine has to be built: it is missing or does not fit; "" if it fits."""
    if not path.exists():
        return "there is none yet"
    try:
        return engine_file.read(path, path.read_bytes()).difference(**wanted) or ""
    except (ModelError, OSError) as error:
        return str(error)


def _compile(
    trt: Any,
    messages: Messages,
    source: ModelFile,
    profiles: Sequence[Profile],
    workspace: int,
    timing_cache: str | os.PathLike[str] | None,
    progress: Callable[[float], None] | None,
) -> tuple[bytes, str]:
    """The serialised engine, and the precision of its network."""
    try:
        builder = trt.Builder(messages.logger)
    except (TypeError, RuntimeError) as error:  # pybind11: the factory returned nullptr
        raise ProviderError(
            f"TensorRT {trt.__version__} does not start ({error}; {messages.take()}): check the "
            "driver and the CUDA libraries"
        ) from error
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parse(LIBRARIES["tensorrt"], trt, network, source.bytes, str(source.path))
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, workspace)
    config.clear_flag(trt.BuilderFlag.TF32)  # costs accuracy in covariances and the solve
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED  # types, for `_inspect`
    for i, profile in enumerate(profiles):
        optimization = builder.create_optimization_profile()
        for name, (smallest, optimal, largest) in profile.shapes(source.dim).items():
            optimization.set_shape(name, smallest, optimal, largest)
        if config.add_optimization_profile(optimization) != i:
            raise ModelError(
                f"TensorRT refuses the profile {profile} ({messages.take()}): pass narrower ranges"
            )
    _read_timing_cache(config, timing_cache)
    monitor = None if progress is None else _monitor(trt, progress)
    if monitor is not None:
        config.progress_monitor = monitor
    serialised = builder.build_serialized_network(network, config)
    if monitor is not None and monitor.stopped:
        raise KeyboardInterrupt
    if serialised is None:
        raise ModelError(
            f"TensorRT {trt.__version__} cannot build {source.path}: {messages.take()}; if memory "
            "is short, close other programs, or pass a narrower --profile or a smaller --workspace"
        )
    _write_timing_cache(config, timing_cache)
    return bytes(memoryview(serialised)), _precision(network)


def _precision(network: Any) -> str:
    """The smallest type of the floating-point tensors of a strongly typed network."""
    types = set()
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        types |= {layer.get_output_type(j).name for j in range(layer.num_outputs)}
    return "fp16" if "HALF" in types else "bf16" if "BF16" in types else "fp32"


def _inspect(
    trt: Any, messages: Messages, content: bytes, path: Path, precision: str, profiles: int
) -> dict[str, int]:
    """Check an engine: inputs, outputs, profiles, types. Returns how many tensors have which type.

    Raises
    ------
    ModelError
        Also if the network has FP16 tensors, and the engine none.
    """
    engine = trt.Runtime(messages.logger).deserialize_cuda_engine(content)
    if engine is None:
        raise ModelError(f"TensorRT cannot load what it built: {messages.take()}; please report")
    check_tensors(trt, engine, path)
    if engine.num_optimization_profiles != profiles:
        raise ModelError(
            f"the engine has {engine.num_optimization_profiles} profiles instead of {profiles}: "
            "please report"
        )
    inspector = engine.create_engine_inspector()
    text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    tensors = tensor_types(text)
    if tensors and precision == "fp16" and "fp16" not in tensors:
        raise ModelError(
            f"the network has FP16 tensors, and the engine has none ({tensors}): please report"
        )
    return tensors


def tensor_types(text: str) -> dict[str, int]:
    """How many tensors have which type, from the engine inspector's JSON.

    Words differ between versions ("Half", "Row major linear FP16 format"); empty if there are none.
    """
    words = {"BFLOAT16": "bf16", "BF16": "bf16", "HALF": "fp16", "FP16": "fp16", "FLOAT": "fp32",
             "FP32": "fp32", "INT64": "int64", "INT32": "int32", "BOOL": "bool"}  # fmt: skip
    found: Counter[str] = Counter()

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            kind = str(value.get("Format/Datatype", value.get("Datatype", ""))).upper()
            found.update([next((short for word, short in words.items() if word in kind), "")])
        if isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                visit(part)

    try:
        visit(json.loads(text))
    except (ValueError, RecursionError):
        return {}
    return {kind: found[kind] for kind in sorted(found) if kind}


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


def _monitor(trt: Any, progress: Callable[[float], None]) -> Any:
    """A progress monitor that reports one share for nested phases; Ctrl-C cancels the build."""

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.phases: dict[str, list[int]] = {}  # name -> [steps done, steps], outermost first
            self.stopped = False

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            self.phases[phase_name] = [0, max(num_steps, 1)]
            self.report()

        def phase_finish(self, phase_name: str) -> None:
            self.phases.pop(phase_name, None)

        def step_complete(self, phase_name: str, step: int) -> bool:
            if phase_name in self.phases:
                self.phases[phase_name][0] = step + 1
            self.report()
            return not self.stopped  # False cancels the build

        def report(self) -> None:
            try:
                share, unit = 0.0, 1.0
                for done, steps in self.phases.values():
                    share += unit * min(done, steps) / steps
                    unit /= steps
                progress(min(share, 1.0))
            except KeyboardInterrupt:  # TensorRT would print and drop it
                self.stopped = True

    return Monitor()
