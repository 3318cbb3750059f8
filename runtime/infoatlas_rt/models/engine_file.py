"""The JSON file that describes a TensorRT engine: its model, and the machine it was built for.

An engine has no metadata of its own. It runs only with the version that it was built with, and only
on the GPU that it was built on. (An engine of TensorRT-RTX runs on any GPU of its compute
capability.) So `infoatlas-rt build` writes two files: `edge.engine`, the engine, and
`edge.engine.json`, the description. An engine without a description that fits is refused.

An engine is executable code: a checksum detects damage, not malice. Never load an engine that you
did not build.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ModelError

SUFFIX = ".engine"
DESCRIPTION_FORMAT = "2"
BUILDERS = "tensorrt", "tensorrt-rtx"
REBUILD = "build it again with 'infoatlas-rt build'"


@dataclass(frozen=True)
class Profile:
    """Ranges of sizes of the kernels: (smallest, optimal, largest) of each axis."""

    name: str = field(compare=False)  # of `infoatlas-rt build --profile`, or text of the ranges
    slices: tuple[int, int, int]  # S
    samples: tuple[int, int, int]  # n
    shifts: tuple[int, int, int]  # M

    def shapes(self, dim: int) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Shapes (smallest, optimal, largest) of each input of a graph with D = `dim`."""
        s, n, m = self.slices, self.samples, self.shifts
        side = tuple((s[i], n[i], dim) for i in range(3))
        return {
            "x": side,
            "y": side,
            "shifts": tuple((m[i],) for i in range(3)),
            "sequence": tuple((n[i],) for i in range(3)),  # has the axis of samples
        }

    def holds(self, samples: int, shifts: int) -> bool:
        """Whether the ranges contain n samples and M shifts."""
        n, m = self.samples, self.shifts
        return n[0] <= samples <= n[2] and m[0] <= shifts <= m[2]

    def __str__(self) -> str:
        s, n, m = self.slices, self.samples, self.shifts
        return f"{self.name} (slices {s[0]}..{s[2]}, samples {n[0]}..{n[2]}, shifts {m[0]}..{m[2]})"


def memory_text(size: int) -> str:
    """Text of a number of bytes: "69 MB", "3.2 GB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def output_dimensions(profiles: Sequence[Profile]) -> dict[str, tuple[int, ...]]:
    """Dimensions of the outputs of an engine; -1 for an axis that the profiles do not fix."""
    sizes = []
    for ranges in ([p.slices for p in profiles], [p.samples for p in profiles]):
        values = {size for axis in ranges for size in axis}
        sizes.append(values.pop() if len(values) == 1 else -1)
    slices, samples = sizes
    return {"mi": (slices,), "pointwise": (slices, samples), "influence": (slices, samples),
            "spread": (slices,)}  # fmt: skip


@dataclass(frozen=True)
class EngineFile:
    """The model, the machine and the settings that an engine was built for."""

    model: str  # name of the shipped model, or absolute path of the .onnx file
    model_sha256: str  # of that file
    graph_sha256: str  # of the graph that was built: that file, or the FP16 graph made from it
    library: str  # of `BUILDERS`: built the engine and runs it
    version: str  # of the library
    gpu: str  # "" for TensorRT-RTX, whose engines run on any GPU of the capability
    compute_capabilities: tuple[str, ...]  # as in "8.7"; a single one for TensorRT
    precision: str  # "fp32" or "fp16": the smallest type of the graph's weights
    tf32: bool  # whether FP32 products may be rounded to TF32
    profiles: tuple[Profile, ...]  # in the order of the engine's optimization profiles
    memory: tuple[int, ...]  # bytes of working memory of each profile at its largest sizes
    workspace: int | None  # limit of that memory in bytes, if one was set for the builder
    metadata: dict[str, str]  # the model's own, which the estimator needs
    tensors: dict[str, int]  # number of tensors by type, as the engine inspector reports it
    engine_sha256: str

    def difference(self, **wanted: Any) -> str | None:
        """The first field that differs from `wanted`, in words; None if all are equal.

        An engine may have more compute capabilities than those in `wanted`.
        """
        for name, value in wanted.items():
            found = getattr(self, name)
            if name == "compute_capabilities" and set(value) <= set(found):
                continue
            if found != value:
                words = name.replace("_", " ").replace("sha256", "SHA-256")
                verb = "are" if isinstance(found, tuple) else "is"
                other = "are" if isinstance(value, tuple) and len(value) > 1 else "is"
                return f"{words} {verb} {_words(found)}, and {_words(value)} {other} wanted"
        return None


def description(path: Path) -> Path:
    """The file that describes the engine at `path`."""
    return path.with_name(path.name + ".json")


def read(path: Path, content: bytes | None = None) -> EngineFile:
    """Read the description of the engine at `path`, and compare the checksum of its content.

    ModelError if the description is missing or unusable, or belongs to another engine.
    """
    file = description(path)
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if values.pop("format") != DESCRIPTION_FORMAT:
            raise ValueError("written by another version of infoatlas-rt")
        values["profiles"] = tuple(map(_profile, values["profiles"]))
        for name in ("compute_capabilities", "memory"):
            values[name] = tuple(values[name])
        found = EngineFile(**values)
        _check(found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(
            f"{path} has no usable description {file.name} beside it ({reason}): {REBUILD}, and "
            "copy both files"
        ) from error
    if content is not None and hashlib.sha256(content).hexdigest() != found.engine_sha256:
        raise ModelError(
            f"{path} is not the engine that {file.name} describes (another SHA-256): {REBUILD}"
        )
    return found


def _profile(values: Mapping[str, Any]) -> Profile:
    axes = {}
    for axis in ("slices", "samples", "shifts"):
        smallest, optimal, largest = (int(value) for value in values[axis])
        if not 1 <= smallest <= optimal <= largest:
            raise ValueError(f"profile with {axis} {values[axis]}")
        axes[axis] = smallest, optimal, largest
    return Profile(str(values["name"]), **axes)


def _check(found: EngineFile) -> None:
    """Raise ValueError or TypeError if a field has another type."""
    kinds = {"tf32": bool, "metadata": dict, "tensors": dict}
    kinds |= dict.fromkeys(("compute_capabilities", "profiles", "memory"), tuple)
    for name, value in vars(found).items():
        if name != "workspace" and type(value) is not kinds.get(name, str):
            raise TypeError(f"{name} is {value!r}")
    if found.library not in BUILDERS:
        raise ValueError(f"library is {found.library!r}")
    if type(found.workspace) not in (int, type(None)):
        raise TypeError(f"workspace is {found.workspace!r}")
    if not found.profiles or not found.compute_capabilities:
        raise ValueError("no profiles, or no compute capabilities")
    if len(found.memory) != len(found.profiles) or {type(size) for size in found.memory} != {int}:
        raise ValueError(f"memory is {list(found.memory)} for {len(found.profiles)} profiles")
    if not all(isinstance(value, str) for value in found.metadata.values()):
        raise TypeError("metadata that is no text")


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return repr(value) if isinstance(value, str) else str(value)
