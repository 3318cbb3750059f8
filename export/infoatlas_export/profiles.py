"""Ranges of sizes that an engine is built for: named ones, or given as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infoatlas_rt.errors import InputError
from infoatlas_rt.models.engine_file import NAMED, Profile
from infoatlas_rt.models.model_file import ModelFile


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
        elements, tensor = largest_tensor(source.bytes, *largest)
        if elements > ELEMENTS:
            raise InputError(
                f"profile {profile} would have a tensor {tensor!r} of {elements} elements, and "
                f"TensorRT takes {ELEMENTS}: pass fewer slices, samples or shifts, in several "
                "profiles if need be (more slices than fit are divided)"
            )
