"""What an engine is built for: ranges of sizes, compute capabilities, precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infoatlas_rt.backends.tensorrt_libraries import Library
from infoatlas_rt.errors import InputError, ProviderError
from infoatlas_rt.models.engine_file import NAMED, Profile
from infoatlas_rt.models.model_file import ModelFile
from infoatlas_rt.models.onnx_content import GRAPH, fields

INITIALIZER, DATA_TYPE, FLOAT16 = 5, 2, 10  # of onnx.proto: fields of a graph, of a weight; a type


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
        try:
            elements, tensor = largest_tensor(source.bytes, *largest)
        except Exception:  # a graph that ONNX Runtime refuses: TensorRT's parser gives the reason
            return
        if elements > ELEMENTS:
            raise InputError(
                f"profile {profile} would have a tensor {tensor!r} of {elements} elements, and "
                f"TensorRT takes {ELEMENTS}: pass fewer slices, samples or shifts, in several "
                "profiles if need be (more slices than fit are divided)"
            )


def file_precision(content: bytes) -> str:
    """The smallest type of the weights of an .onnx file: "fp16" or "fp32"."""
    for number, message in fields(memoryview(content)):
        if number == GRAPH and not isinstance(message, int):
            for kind, weight in fields(message):
                if kind == INITIALIZER and dict(fields(weight)).get(DATA_TYPE) == FLOAT16:
                    return "fp16"
    return "fp32"


def halved(source: ModelFile) -> bytes:
    """The FP16 graph of an FP32 file."""
    try:
        from infoatlas_export import fp16
    except ImportError as error:
        raise ProviderError(
            f"an FP16 graph cannot be made here ({error}): pip install 'infoatlas-rt[export]', or "
            f"run 'infoatlas-rt export {source.path.stem} --precision fp16 --out "
            f"{source.path.stem}-fp16.onnx' elsewhere and build that file"
        ) from error
    return fp16.halved(source.bytes)[0]


def choose_capabilities(library: Library, given: Sequence[str]) -> tuple[str, ...]:
    """The compute capabilities to build for, in ascending order; empty for this machine's GPU.

    Raises
    ------
    InputError
        The library does not build for one of those that are given.
    """
    if given and not library.anywhere:
        raise InputError(
            f"{library.title} builds for the GPU of this machine, and --compute-capability is "
            f"{', '.join(given)}: leave it out, or pass --backend rtx"
        )
    for capability in given:
        if capability in library.refused:
            raise InputError(
                f"{library.title} cannot build the models for compute capability {capability}: "
                f"{library.refused[capability]}; on such a GPU use provider='cuda'"
            )
        if capability not in library.builds_for:
            raise InputError(
                f"{library.title} has no compute capability {capability!r}: it builds for "
                f"{', '.join(library.builds_for)}; on a Jetson, or on a GPU of a server such as "
                "H100, run --backend tensorrt there"
            )
    return tuple(c for c in library.builds_for if c in given or not given)
