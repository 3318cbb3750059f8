"""The parameters of the node, and the objects that are made from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.validate_full_topic_name import validate_full_topic_name

from infoatlas_rt import CouplingDetector, Estimator, ExtremumDetector, KeyStateTracker
from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_resolution
from infoatlas_rt.streams.sliding_window import SlidingWindow

MOST = 1_000_000


def setting(default: Any, text: str, low: Any = None, high: Any = MOST, live: bool = True) -> Any:
    """A parameter: default, description, range, and whether it may change at run time."""
    return field(default=default, metadata={"text": text, "low": low, "high": high, "live": live})


@dataclass(frozen=True)
class Settings:
    """Values of all parameters. Empty strings and zeros mean that a value is not set."""

    topic: str = setting("joint_states", "topic of the states", live=False)
    message_type: str = setting("sensor_msgs/msg/JointState", "message type of `topic`", live=False)
    fields: tuple[str, ...] = setting(
        ("",),
        "coordinates of a state, as `position[:]`; if empty, the usual ones of the message type",
        live=False,
    )
    joints: tuple[str, ...] = setting(
        ("",),
        "names of the joints in `position[:]` and `velocity[:]`, in this order; if empty, all",
        live=False,
    )
    stamp_field: str = setting(
        "",
        "field of the time stamp and its unit, as `timestamp us`; if empty, the header's stamp",
        live=False,
    )
    publisher: str = setting(
        "",
        "node whose messages on `topic` are used, as `/arm/driver`; if empty, the first publisher",
        live=False,
    )
    topic_b: str = setting(
        "", "second topic; if given, the estimate is I(A; B) of the two topics", live=False
    )
    message_type_b: str = setting("", "message type of `topic_b`", live=False)
    fields_b: tuple[str, ...] = setting(("",), "coordinates of `topic_b`", live=False)
    publisher_b: str = setting(
        "", "node whose messages on `topic_b` are used; if empty, the first publisher", live=False
    )
    sync_tolerance: float = setting(
        0.02, "largest difference between stamps of the two topics in a pair, seconds", 1e-6, 10.0
    )

    lag: int = setting(
        10, "steps between a state and its past; 0: two topics at the same time", 0, 10_000
    )
    lag_seconds: float = setting(
        0.1,
        "duration of `lag` steps, seconds; past states are looked up by time stamp; "
        "0: messages are counted",
        0.0,
        3600.0,
    )
    lag_tolerance: float = setting(
        0.0,
        "tolerance of a past state's stamp, seconds; 0: half a step, more if states arrive slower",
        0.0,
        3600.0,
    )
    history: int = setting(1, "number of past states stacked", 1, 1000)
    window: int = setting(100, "length of the sliding window, steps", 1)
    reset_after: float = setting(
        1.0, "the window is emptied when stamps jump back by more than this, seconds", 1e-3, 3600.0
    )
    resolution: tuple[float, ...] = setting(
        (0.0,),
        "smallest difference that the sensors resolve, for all coordinates or for each; 0: none",
    )

    k: int = setting(
        0, "dimensions of a slice; 0: only sides wider than the model are sliced", 0, 1000
    )
    slices: int = setting(
        0,
        "number of random projections averaged; 0: 5 to 40, chosen by the duration of the first "
        "estimates",
        0,
        100_000,
    )
    seed: int = setting(0, "seed of projections and shuffle", 0, 2**31 - 1)
    model: str = setting("edge", "shipped model, .onnx file or .engine file", live=False)
    provider: str = setting(
        "auto",
        "engine: cpu, native, cuda, tensorrt, tensorrt-rtx; auto: the first of cuda, native and "
        "cpu that starts. An engine that does not start is an error",
        live=False,
    )
    threads: int = setting(0, "number of CPU threads; 0: chosen by the engine", 0, 1024, live=False)

    extremum_kinds: tuple[str, ...] = setting(
        ("maximum", "minimum", "change"), "kinds of extrema to report"
    )
    extremum_z: float = setting(3.5, "smallest significant difference, standard errors", 1e-3, 1e3)
    extremum_delay: float = setting(
        2.0,
        "delay within which extrema are reported, seconds; one estimate is made in each twentieth "
        "of it",
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
    image_topic: str = setting(
        "",
        "topic of a camera, Image, or CompressedImage if the name ends in /compressed: "
        "/diagnostics reports by how much its pictures follow the states",
        live=False,
    )
    task_file: str = setting(
        "",
        "file of `--save` (`infoatlas-rt keystates`, `annotate`) with the task to follow",
        live=False,
    )
    recorders: tuple[str, ...] = setting(
        ("",),
        "nodes of rosbag2, as `/rosbag2_recorder`: each begins a new bag after an execution, or, "
        "in snapshot mode, writes a snapshot of each failure and stall; with `task_file`",
        live=False,
    )
    follow_all: bool = setting(
        False, "also report key states and sub-tasks that cannot be followed well", live=False
    )

    rate_limit: float = setting(
        0.0,
        "most estimates published per second of stamps; 0: no limit, unless `slices` is 0 and "
        "5 slices are too slow",
        0.0,
        1e4,
    )
    queue: int = setting(1000, "most messages kept while inference runs", 1, MOST, live=False)
    stall_after: float = setting(
        1.0, "time without a message that is reported as a stall, seconds", 1e-3, 3600.0
    )
    diagnostics_period: float = setting(
        1.0, "interval between reports on /diagnostics, seconds", 0.05, 60.0
    )

    def check(self, estimator: Estimator | None = None, dims: Sequence[int | None] = ()) -> None:
        """Raise InputError for values that contradict each other, the model or the states."""
        check_topic(self.topic, "topic")
        if self.topic_b:
            check_topic(self.topic_b, "topic_b")
            if self.topic_b == self.topic:
                raise InputError(f"topic_b equals topic, {self.topic}: leave it empty or change it")
        for parameter in ("image_topic", "publisher", "publisher_b"):
            if name := getattr(self, parameter):
                check_topic(name, parameter, "topic" if "topic" in parameter else "node")
        for name in filter(None, self.recorders):
            check_topic(name, "recorders", "node")
            if not self.task_file:
                raise InputError(f"recorders is {list(self.recorders)}: set task_file, too")
        if self.coupling and not self.topic_b:
            raise InputError("coupling needs two topics: set topic_b, or set coupling to false")
        if self.coupling and len(self.coupling_resolution) > 2:
            raise InputError(
                f"coupling_resolution has {len(self.coupling_resolution)} numbers: set one or two"
            )
        if self.coupling and any(self.coupling_resolution) and not all(self.coupling_resolution):
            raise InputError(
                f"coupling_resolution is {list(self.coupling_resolution)}: set it to 0, which "
                "estimates it, or to a number above 0 for each topic"
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
            self.model,
            provider=self.provider,
            threads=self.threads or None,
            k=self.k or None,
            slices=self.slices or None,
            seed=self.seed,
        )

    def sliding_window(self, estimator: Estimator) -> SlidingWindow:
        """The window over the states."""
        timed = self.lag_seconds if self.lag else 0.0  # without a lag there is no past state
        steps = self.resolution[0] if len(self.resolution) == 1 else list(self.resolution)
        return SlidingWindow(
            estimator.model_file,
            lag=self.lag,
            lag_seconds=timed or None,
            lag_tolerance=self.lag_tolerance if timed and self.lag_tolerance else None,
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
        """The detector of couplings; None if `coupling` is false."""
        if not self.coupling:
            return None
        sizes = self.coupling_resolution if any(self.coupling_resolution) else ()
        return CouplingDetector(
            estimator,
            resolution=sizes[0] if len(sizes) == 1 else sizes or None,
            reset_after=self.reset_after,
        )

    def tracker(self) -> KeyStateTracker | None:
        """The tracker of key states; None without `task_file`."""
        if not self.task_file:
            return None
        return KeyStateTracker(self.task_file, follow_all=self.follow_all)


def check_topic(name: str, parameter: str, what: str = "topic") -> None:
    """Raise InputError if `name` is no valid name of a topic, or of a node with its namespace."""
    try:
        validate_full_topic_name(expand_topic_name(name, "node", "/"))
    except (ValueError, InvalidTopicNameException) as error:
        why = str(error).split("\n")[0].split(", at /")[0].rpartition("invalid: ")[2]
        raise InputError(f"{parameter} is {name!r}, not a valid name of a {what}: {why}") from None


def declare(node: Any) -> None:
    """Declare all parameters on a node, with descriptions and ranges.

    InputError or rclpy's InvalidParameterTypeException if a value from the command line or a file
    has the wrong type or is out of range, or if there is no such parameter.
    """
    for name, default in vars(Settings()).items():
        meta = Settings.__dataclass_fields__[name].metadata
        text = meta["text"] if meta["live"] else meta["text"] + " (fixed while configured)"
        # rclpy would refuse 1 for 1.0 and [] for no fields, so `_plain` checks these types.
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
    for name in getattr(node, "_parameter_overrides", ()):
        if not node.has_parameter(name) and not name.startswith("qos_overrides."):
            near = get_close_matches(name, vars(Settings()), 1)
            raise InputError(
                f"there is no parameter {name}: "
                + (f"is it {near[0]}?" if near else "leave it out, or set it for its own node only")
            )


def read(node: Any) -> Settings:
    """The current values of a node's parameters."""
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
    """Raise InputError if a parameter differs that is fixed while the node is configured."""
    fixed = {f.name for f in fields(Settings) if not f.metadata["live"]} & differ(now, new)
    if fixed:
        raise InputError(
            f"{', '.join(sorted(fixed))}: fixed while the node is configured; use the transition "
            "cleanup first"
        )


def _plain(name: str, value: Any) -> Any:
    """Convert a value to its type in `Settings`; arrays of ROS are `array.array`, or None if empty.

    InputError if the type is wrong, or a number is out of range.
    """
    field = Settings.__dataclass_fields__[name]
    default, low, high = field.default, field.metadata["low"], field.metadata["high"]
    if isinstance(default, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is {value!r}: set a number")
        if not low <= value <= high:
            raise InputError(f"{name} is {value}: set a number from {low} to {high}")
        return float(value)
    if isinstance(default, tuple):
        kind, what = (str, "strings") if isinstance(default[0], str) else (int | float, "numbers")
        if value is None or isinstance(value, str | bytes | bool | int | float):
            value = () if value is None else (value,)
        if not all(isinstance(item, kind) and not isinstance(item, bool) for item in value):
            raise InputError(f"{name} is {list(value)!r}: set a list of {what}")
        return tuple(value) if kind is str else tuple(map(float, value))
    return value
