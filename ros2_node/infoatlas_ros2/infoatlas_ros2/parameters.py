"""The parameters of the node: their table, and the objects that are made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.validate_full_topic_name import validate_full_topic_name

from infoatlas_rt import (
    CouplingDetector,
    Estimator,
    ExtremumDetector,
    KeyStateTracker,
)
from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_resolution
from infoatlas_rt.streams.sliding_window import SlidingWindow

MOST = 1_000_000


def setting(default: Any, text: str, low: Any = None, high: Any = MOST, live: bool = True) -> Any:
    """A parameter: default, description, range, and whether it may change at run time."""
    return field(default=default, metadata={"text": text, "low": low, "high": high, "live": live})


@dataclass(frozen=True)
class Settings:
    """Values of all parameters. Empty strings and zeros mean: not given."""

    topic: str = setting("joint_states", "topic of the states", live=False)
    message_type: str = setting("sensor_msgs/msg/JointState", "message type of `topic`", live=False)
    fields: tuple[str, ...] = setting(
        ("",),
        "coordinates of a state, as `position[:]`; if empty, the usual ones of the type",
        live=False,
    )
    joints: tuple[str, ...] = setting(
        ("",),
        "names of joints to take out of `position[:]` and `velocity[:]`; all if empty",
        live=False,
    )
    stamp_field: str = setting(
        "", "time of a message, and its unit, as `timestamp us`; the header's if empty", live=False
    )
    publisher: str = setting(
        "", "node whose messages on `topic` are read, as `/arm/driver`; the first one's if empty",
        live=False,
    )  # fmt: skip
    topic_b: str = setting(
        "", "second topic; if given, the estimate is I(A; B) of the two", live=False
    )
    message_type_b: str = setting("", "message type of `topic_b`", live=False)
    fields_b: tuple[str, ...] = setting(("",), "coordinates of `topic_b`", live=False)
    publisher_b: str = setting(
        "", "node whose messages on `topic_b` are read; the first one's if empty", live=False
    )
    sync_tolerance: float = setting(
        0.02, "seconds by which stamps of the two topics may differ", 1e-6, 10.0
    )

    lag: int = setting(
        10, "steps from a state to its past; 0: two topics at the same time", 0, 10_000
    )
    lag_seconds: float = setting(
        0.1,
        "duration of `lag` steps, seconds; past states are looked up by time stamp; "
        "0: count messages",
        0.0,
        3600.0,
    )
    lag_tolerance: float = setting(
        0.0,
        "tolerance of a past state's stamp, seconds; 0: half a step, more if states come slower",
        0.0,
        3600.0,
    )
    history: int = setting(1, "past states stacked", 1, 1000)
    window: int = setting(100, "steps of the sliding window", 1)
    reset_after: float = setting(
        1.0, "empty the window when stamps jump back by more than so many seconds", 1e-3, 3600.0
    )
    resolution: tuple[float, ...] = setting(
        (0.0,),
        "smallest difference that the sensors resolve, for all coordinates or for each; 0: none",
    )

    k: int = setting(
        0, "dimensions of a slice; 0: slice only sides that are wider than the model", 0, 1000
    )
    slices: int = setting(
        0,
        "random projections averaged; 0: 5 to 40 if anything is sliced, chosen from the time that "
        "the first estimates take",
        0,
        100_000,
    )
    seed: int = setting(0, "seed of projections and shuffle", 0, 2**31 - 1)
    model_file_path: str = setting("edge", "shipped model, .onnx file or .engine file", live=False)
    provider: str = setting(
        "auto",
        "cpu, native, cuda, tensorrt or tensorrt-rtx, never replaced silently; auto: the first of "
        "cuda, native and cpu that starts",
        live=False,
    )
    threads: int = setting(0, "CPU threads; chosen by the runtime if 0", 0, 1024, live=False)

    extremum_kinds: tuple[str, ...] = setting(("maximum", "minimum", "change"), "extrema to report")
    extremum_z: float = setting(3.5, "standard errors for a difference to count", 1e-3, 1e3)
    extremum_delay: float = setting(
        2.0,
        "seconds within which extrema are reported; an estimate is made each twentieth of it",
        0.01,
        3600.0,
    )

    coupling: bool = setting(
        False, "detect when two topics begin and stop to move together", live=False
    )
    coupling_resolution: tuple[float, ...] = setting(
        (0.0,),
        "smallest motion within a step that the sensors resolve, for both topics or for each; "
        "0: estimated for each coordinate from its noise at rest",
    )
    keystates_file: str = setting(
        "",
        "key states of demonstrations to follow, a file of `infoatlas-rt keystates --save`",
        live=False,
    )
    keystates_all: bool = setting(
        False, "report key states, too, that could not be followed in the demonstrations",
        live=False,
    )  # fmt: skip

    rate_limit: float = setting(
        0.0,
        "estimates published per second of stamps at most; 0: no limit, unless `slices` is 0 and "
        "5 slices are too slow",
        0.0,
        1e4,
    )
    queue: int = setting(1000, "messages kept while inference runs", 1, MOST, live=False)
    stall_after: float = setting(
        1.0, "seconds without a message that are reported as a stall", 1e-3, 3600.0
    )
    diagnostics_period: float = setting(1.0, "seconds between reports on /diagnostics", 0.05, 60.0)

    def check(self, estimator: Estimator | None = None, dims: Sequence[int | None] = ()) -> None:
        """Raise InputError for values that cannot work, together or with this model and states."""
        check_topic(self.topic, "topic")
        if self.topic_b:
            check_topic(self.topic_b, "topic_b")
            if self.topic_b == self.topic:
                raise InputError(f"topic_b is topic, {self.topic}: leave it empty, or take another")
        for name, parameter in ((self.publisher, "publisher"), (self.publisher_b, "publisher_b")):
            if name:
                check_topic(name, parameter, "node")
        if self.coupling and not self.topic_b:
            raise InputError("coupling is of two topics: set topic_b, or coupling to false")
        if self.coupling and len(self.coupling_resolution) > 2:
            raise InputError(
                f"coupling_resolution has {len(self.coupling_resolution)} numbers: pass one, or two"
            )
        if self.coupling and any(self.coupling_resolution) and not all(self.coupling_resolution):
            raise InputError(
                f"coupling_resolution is {list(self.coupling_resolution)}: pass 0 alone to have it "
                "estimated, or a number above 0 for each topic"
            )
        self.detector()
        if estimator is not None:
            self.couplings(estimator)
            self.tracker()
            if self.k > estimator.model_file.dim:
                raise InputError(
                    f"k is {self.k}, but model {estimator.model_file.name} accepts "
                    f"{estimator.model_file.dim} dimensions at most"
                )
            window = self.sliding_window(estimator)
            for dim in dims:
                if dim is None:
                    continue
                if self.k > dim:
                    raise InputError(f"k is {self.k}, but the states have {dim} coordinates")
                as_resolution(window.resolution, dim, "resolution")

    def estimator(self) -> Estimator:
        """The estimator, with its model loaded."""
        return Estimator(
            self.model_file_path,
            provider=self.provider,
            threads=self.threads or None,
            k=self.k or None,
            slices=self.slices or None,
            seed=self.seed,
        )

    def sliding_window(self, estimator: Estimator) -> SlidingWindow:
        """The window over the states."""
        timed = self.lag_seconds if self.lag else 0.0  # nothing to time at lag 0
        steps = self.resolution[0] if len(self.resolution) == 1 else list(self.resolution)
        return SlidingWindow(
            estimator.model_file,
            lag=self.lag,
            lag_seconds=timed or None,
            tolerance=self.lag_tolerance if timed and self.lag_tolerance else None,
            history=self.history,
            window=self.window,
            reset_after=self.reset_after,
            two_streams=bool(self.topic_b),
            resolution=steps or None,
        )

    def detector(self) -> ExtremumDetector:
        """The detector of extrema."""
        kinds, z = self.extremum_kinds, self.extremum_z
        return ExtremumDetector(kinds, z=z, delay=self.extremum_delay)

    def couplings(self, estimator: Estimator) -> CouplingDetector | None:
        """The detector of couplings, if there is one."""
        if not self.coupling:
            return None
        sizes = self.coupling_resolution if any(self.coupling_resolution) else ()
        return CouplingDetector(
            estimator,
            resolution=sizes[0] if len(sizes) == 1 else sizes or None,
            reset_after=self.reset_after,
        )

    def tracker(self) -> KeyStateTracker | None:
        """The tracker of key states, if there is one."""
        if not self.keystates_file:
            return None
        return KeyStateTracker(self.keystates_file, every=self.keystates_all)


def check_topic(name: str, parameter: str, what: str = "topic") -> None:
    """Raise InputError if a topic, or a node in its namespace, cannot be called this."""
    try:
        validate_full_topic_name(expand_topic_name(name, "node", "/"))
    except (ValueError, InvalidTopicNameException) as error:
        why = str(error).split("\n")[0].split(", at /")[0].rpartition("invalid: ")[2]
        raise InputError(f"{parameter} is {name!r}, no name of a {what}: {why}") from None


def declare(node: Any) -> None:
    """Declare all parameters on a node, with descriptions and ranges.

    Raises
    ------
    InputError, rclpy.exceptions.InvalidParameterTypeException
        A value from the command line or a file is of the wrong type or out of range.
    """
    for name, default in vars(Settings()).items():
        meta = Settings.__dataclass_fields__[name].metadata
        text = meta["text"] if meta["live"] else meta["text"] + " (fixed while configured)"
        # 1 for 1.0 and [] for no fields are fine, but not for rclpy: `_plain` checks these types.
        dynamic = isinstance(default, float | tuple)
        descriptor = ParameterDescriptor(name=name, description=text, dynamic_typing=dynamic)
        low, high = meta["low"], meta["high"]
        if low is not None and isinstance(default, int):
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=0)]
        elif low is not None:
            bounds = FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
            descriptor.floating_point_range = [bounds]
        node.declare_parameter(
            name, list(default) if isinstance(default, tuple) else default, descriptor
        )
    read(node)


def read(node: Any) -> Settings:
    """The present values of a node's parameters."""
    names = [f.name for f in fields(Settings)]
    return Settings(**{name: _plain(name, node.get_parameter(name).value) for name in names})


def changed(settings: Settings, parameters: list[Any]) -> Settings:
    """Settings as they would be after a change."""
    names = {f.name for f in fields(Settings)}
    return replace(
        settings, **{p.name: _plain(p.name, p.value) for p in parameters if p.name in names}
    )


def differ(now: Settings, new: Settings) -> set[str]:
    """Names of the parameters that differ."""
    return {name for name, value in vars(now).items() if value != getattr(new, name)}


def refuse_fixed(now: Settings, new: Settings) -> None:
    """Raise InputError if a parameter would change that cannot while the node is configured."""
    fixed = {f.name for f in fields(Settings) if not f.metadata["live"]} & differ(now, new)
    if fixed:
        raise InputError(
            f"{', '.join(sorted(fixed))}: fixed while the node is configured; clean up first"
        )


def _plain(name: str, value: Any) -> Any:
    """A value as `Settings` has it; ROS hands arrays over as `array.array`, empty ones as None.

    Raises
    ------
    InputError
        The wrong type, or a number out of range.
    """
    field = Settings.__dataclass_fields__[name]
    default, low, high = field.default, field.metadata["low"], field.metadata["high"]
    if isinstance(default, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is {value!r}: pass a number")
        if not low <= value <= high:
            raise InputError(f"{name} is {value}: let it be from {low} to {high}")
        return float(value)
    if isinstance(default, tuple):
        kind, what = (str, "strings") if isinstance(default[0], str) else (int | float, "numbers")
        if value is None or isinstance(value, str | bytes | bool | int | float):
            value = () if value is None else (value,)
        if not all(isinstance(item, kind) and not isinstance(item, bool) for item in value):
            raise InputError(f"{name} is {list(value)!r}: pass a list of {what}")
        return tuple(value) if kind is str else tuple(map(float, value))
    return value
