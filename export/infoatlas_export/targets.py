"""Targets of the build of an engine: ranges of sizes, compute capabilities and precision."""

from collections.abc import Sequence

from infoatlas_rt.backends.tensorrt_libraries import LIBRARIES, Library
from infoatlas_rt.errors import InputError, ProviderError
from infoatlas_rt.models.engine_file import Profile
from infoatlas_rt.models.model_file import LEAST_SHIFTS, ModelFile
from infoatlas_rt.models.onnx_content import GRAPH, fields

# Numbers in onnx.proto: a field of a graph, a field of a weight, a type.
INITIALIZER, DATA_TYPE, FLOAT16 = 5, 2, 10

# Slices and samples: (smallest, optimal, largest). One window of a robot is `control`.
#
# A profile needs memory for its largest sizes while it is built, mostly for one tensor of slices x
# samples x shifts x samples. Few slices of few samples have many shifts, so one profile of 1 to 64
# slices and 32 to 512 samples would need 7.4 GB. These need 3.2 GB (`control`) and 9 GB (`batch`)
# for edge. The backend uses the profile with which a call has the fewest parts, and divides the
# slices if they are too many. With `control`, 40 slices of 512 samples are ten calls.
NAMED_PROFILES: dict[str, tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...]] = {
    "control": (((1, 1, 4), (32, 100, 512)), ((5, 40, 64), (32, 100, 256))),
    "batch": (
        ((1, 1, 4), (32, 100, 512)),
        ((5, 40, 64), (32, 100, 256)),
        ((5, 40, 64), (257, 400, 512)),
        ((65, 256, 1024), (32, 100, 256)),
        ((1, 1, 4), (513, 1000, 5000)),
        ((5, 16, 16), (513, 1000, 5000)),
    ),
}


def make_profiles(names: Sequence[str], model: ModelFile) -> tuple[Profile, ...]:
    """Profiles of an engine, which cover the model's default numbers of shifts.

    Names are those in `NAMED_PROFILES`, or ranges as in "slices=1:40:64,samples=32:100:512":
    smallest, optimal and largest size, or one number for all three. A range of "shifts" is
    optional. Each profile is there once, those with variable sizes first. An engine reports its
    inputs and outputs with the sizes of the first profile. If that had one slice, the report would
    not show whether the axis is variable. InputError if a name or a range is invalid for the model.
    """
    found: dict[Profile, Profile] = {}
    for name in names:
        if name in NAMED_PROFILES:
            made = [Profile(name, s, n, model.shift_range(s, n)) for s, n in NAMED_PROFILES[name]]
        else:
            made = [_given(name, model)]
        for profile in made:
            found.setdefault(profile, profile)
    if not found:
        raise InputError(f"an engine needs a profile: pass one of {', '.join(NAMED_PROFILES)}")

    def order(profile: Profile) -> tuple[bool, bool, int]:
        slices, samples = profile.slices, profile.samples
        fixed = slices[0] == slices[2]
        return fixed, samples[0] == samples[2], -slices[2] if fixed else 0

    return tuple(sorted(found.values(), key=order))


def _given(text: str, model: ModelFile) -> Profile:
    """Parse a profile that is given by its ranges."""
    axes: dict[str, tuple[int, int, int]] = {}
    try:
        for part in text.split(","):
            axis, _, numbers = part.partition("=")
            values = [int(number) for number in numbers.split(":")]
            smallest, optimal, largest = values * 3 if len(values) == 1 else values
            if axis in axes or not 1 <= smallest <= optimal <= largest < 2**31:
                raise ValueError(part)
            axes[axis] = smallest, optimal, largest
        if not {"slices", "samples"} <= set(axes) <= {"slices", "samples", "shifts"}:
            raise ValueError(text)
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"profile is {text!r}: use one of {', '.join(NAMED_PROFILES)}, or "
            "smallest:optimal:largest of both axes, as in slices=1:40:64,samples=32:100:512 "
            "(shifts may be added)"
        ) from error
    slices, samples = axes["slices"], axes["samples"]
    if samples[2] < model.n_min:
        raise InputError(
            f"profile {text!r} has up to {samples[2]} samples, and {model.name} needs "
            f"{model.n_min} or more: pass larger ones"
        )
    shifts = axes.get("shifts") or model.shift_range(slices, samples)
    if shifts[0] < LEAST_SHIFTS or shifts[2] >= samples[2]:
        raise InputError(
            f"profile {text!r} has {shifts[0]} to {shifts[2]} shifts, and the model accepts "
            f"{LEAST_SHIFTS} to {samples[2] - 1}, one less than there are samples: leave them out, "
            "or pass others"
        )
    return Profile(text, slices, samples, shifts)


def refuse_large(source: ModelFile, profiles: Sequence[Profile]) -> None:
    """Raise InputError for a profile with too large a tensor, minutes before TensorRT would.

    Without onnx, as on a robot, only TensorRT checks.
    """
    try:
        from infoatlas_export.limits import ELEMENTS, largest_tensor
    except ImportError:
        return
    for profile in profiles:
        largest = (axis[2] for axis in (profile.slices, profile.samples, profile.shifts))
        try:
            elements, tensor = largest_tensor(source.bytes, *largest)
        except Exception:  # ONNX Runtime refuses the graph; TensorRT's parser reports the reason
            return
        if elements > ELEMENTS:
            raise InputError(
                f"profile {profile} would have a tensor {tensor!r} of {elements} elements, and "
                f"{ELEMENTS} is TensorRT's limit: pass fewer slices, samples or shifts. Slices "
                "that do not fit are divided"
            )


def choose_library(name: str) -> Library:
    """The library of this name in `LIBRARIES`; InputError for another name."""
    if name not in LIBRARIES:
        raise InputError(f"library is {name!r}: pass one of {', '.join(LIBRARIES)}")
    return LIBRARIES[name]


def choose_precision(source: ModelFile, wanted: str | None) -> tuple[str, bool]:
    """The precision of the graph to build, and whether it has to be converted to FP16 first.

    InputError if the precision is unknown, or FP32 is wanted of an FP16 file.
    """
    if wanted not in (None, "fp32", "fp16"):
        raise InputError(f"precision is {wanted!r}: pass 'fp32' or 'fp16'")
    own = file_precision(source.bytes)
    if (wanted, own) == ("fp32", "fp16"):
        raise InputError(f"{source.path} is FP16: pass the FP32 file that it was made from")
    return wanted or own, (wanted, own) == ("fp16", "fp32")


def file_precision(content: bytes) -> str:
    """The precision of an .onnx file: "fp16" if any weight is FP16, otherwise "fp32"."""
    for number, message in fields(memoryview(content)):
        if number == GRAPH and not isinstance(message, int):
            for kind, weight in fields(message):
                if kind == INITIALIZER and dict(fields(weight)).get(DATA_TYPE) == FLOAT16:
                    return "fp16"
    return "fp32"


def half_graph(source: ModelFile) -> bytes:
    """The FP16 graph of an FP32 file; `fp16.refuse_inexact` compares them."""
    try:
        from infoatlas_export.fp16 import converted
    except ImportError as error:
        raise ProviderError(
            f"an FP16 graph cannot be made here ({error}): pip install 'infoatlas-rt[export]', or "
            f"run 'infoatlas-rt export {source.path.stem} --precision fp16 --out "
            f"{source.path.stem}-fp16.onnx' elsewhere and build that file"
        ) from error
    return converted(source.bytes)


def choose_capabilities(library: Library, given: Sequence[str]) -> tuple[str, ...]:
    """Compute capabilities to build for, in ascending order; empty for the GPU of this machine.

    InputError if the library does not build for one of the given capabilities.
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
