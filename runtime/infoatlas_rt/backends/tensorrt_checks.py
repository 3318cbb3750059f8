"""Checks that an engine fits the machine, the graph's tensors, and the sizes of a call."""

from collections.abc import Sequence
from typing import Any

from ..errors import InputError, ModelError
from ..models.engine_file import REBUILD, EngineFile, Profile, output_dimensions
from ..models.model_file import INPUTS, OUTPUTS, ModelFile
from .cuda_device import Device

TYPES = {"x": "FLOAT", "y": "FLOAT", "shifts": "INT64", "sequence": "INT64"} | dict.fromkeys(
    OUTPUTS, "FLOAT"
)  # trt.DataType of inputs and outputs, for any precision within


def refuse_foreign(model: ModelFile, engine: EngineFile, version: str, device: Device) -> None:
    """Raise ModelError if an engine was built for another version or GPU, and name it."""
    wanted: dict[str, object] = {"version": version}
    if engine.gpu:  # otherwise it runs on any GPU of its compute capability
        wanted["gpu"] = device.name
    difference = engine.difference(**wanted, compute_capabilities=(device.compute_capability,))
    if difference is not None:
        raise ModelError(f"{model.path} does not fit this machine: its {difference}; {REBUILD}")


def check_tensors(trt: Any, engine: Any, path: Any, profiles: Sequence[Profile]) -> None:
    """Raise ModelError unless an engine has the graph's inputs and outputs, in device memory.

    An axis of an output has a fixed size only if a profile fixes it. (If a parser loses an axis,
    the engine evaluates a single slice.)
    """
    found = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        is_input = engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT
        on_device = engine.get_tensor_location(name) == trt.TensorLocation.DEVICE
        found[name] = engine.get_tensor_dtype(name).name, is_input, on_device
    expected = {name: (kind, name in INPUTS, True) for name, kind in TYPES.items()}
    if found != expected:
        raise ModelError(
            f"{path} has tensors {found} (type, whether input, whether on the GPU) instead of "
            f"{expected}: {REBUILD}"
        )
    choices = [output_dimensions(chosen) for chosen in (profiles, *([p] for p in profiles))]
    for name in OUTPUTS:
        shape = tuple(engine.get_tensor_shape(name))
        wanted = {choice[name] for choice in choices}
        if not any(_fits(shape, sizes) for sizes in wanted):
            shown = " or ".join(str(list(sizes)) for sizes in sorted(wanted))
            raise ModelError(
                f"{path} has {name} of dimensions {list(shape)}, and its profiles are for {shown} "
                f"(-1: any size): {REBUILD}"
            )


def _fits(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether every axis is open or has the size of the profiles."""
    return len(shape) == len(sizes) and all(
        size in (-1, wanted) for size, wanted in zip(shape, sizes, strict=True)
    )


def split(
    profiles: tuple[Profile, ...], slices: int, samples: int, shifts: int
) -> list[tuple[int, slice]]:
    """Choose profiles for all slices: (index of the profile, its slices), as few as possible.

    Among profiles for equally many slices in one call, the narrowest one is chosen. InputError if
    none is for these numbers of samples and shifts, or for so few slices.
    """
    parts = []
    first = 0
    while first < slices:
        left = slices - first
        fitting = [
            (-min(left, p.slices[2]), p.slices[2] * p.samples[2] * p.shifts[2], index)
            for index, p in enumerate(profiles)
            if p.holds(samples, shifts) and p.slices[0] <= left
        ]
        if not fitting:
            raise InputError(
                f"the engine does not accept {samples} samples in {left} slices with {shifts} "
                f"shifts; its profiles are {'; '.join(map(str, profiles))}: build it again with "
                f"--profile batch, or with --profile "
                f"slices={left},samples={samples},shifts={shifts}"
            )
        size, _, index = min(fitting)
        parts.append((index, slice(first, first - size)))
        first -= size
    return parts
