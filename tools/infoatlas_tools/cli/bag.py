"""The command bag: the curve of one robot's stream in a ROS bag, its extrema, couplings, lags."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import Target, add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import progress, write_json
from infoatlas_rt.errors import InputError

from .recording_arguments import add_extrema, add_plot, add_resolution, add_topic, check_data

if TYPE_CHECKING:
    from infoatlas_rt.messages.fields import Extractor

    from ..bags.part_samples import Part
    from ..bags.states import Bag

HELP = "mutual information of one robot's stream in a ROS bag; of two topics also couplings"
DESCRIPTION = (
    "Estimate mutual information along one robot's stream in a ROS bag, and find extrema. "
    "With two topics, also find couplings: times at which their motions begin and stop to depend "
    "on each other; and, with --lags, at which lag velocities and forces do. ROS is not "
    "needed."
)
EXAMPLES = (
    "bag pick_bag --topic /joint_states",
    "bag pick_bag --topic /tool_pose --with-topic /cube_pose --plot bag.png",
    "bag pick_bag --topic /cube_pose --with-topic /wrench --lags 0.5",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="BAG", help="a ROS bag: its folder, or a .mcap, .db3 or .bag file"
    )
    add_plot(parser)
    add_json(parser)
    parser.add_argument(
        "--csv",
        action=Target,
        metavar="FILE",
        help="table of estimates, extrema and couplings in order of time (lags: --json)",
    )
    _add_part(parser.add_argument_group("part of the bag"))
    _add_messages(parser.add_argument_group("messages"))
    _add_two_topics(parser.add_argument_group("two topics"))
    _add_window(parser.add_argument_group("window and extrema"))
    add_estimator(parser)


def _add_part(group: Any) -> None:
    group.add_argument(
        "--start",
        type=float,
        default=0.0,
        metavar="S",
        help="first second to read, counted from the first message by the stamps",
    )
    group.add_argument(
        "--duration", type=float, metavar="S", help="seconds to read (default: to the end)"
    )


def _add_messages(group: Any) -> None:
    add_topic(group)
    group.add_argument(
        "--stamp-field",
        metavar="'FIELD UNIT'",
        default="",
        help="time of a message, and its unit (s, ms, us, ns), as in 'timestamp us' (default: the "
        "header's)",
    )
    add_resolution(group)


def _add_two_topics(group: Any) -> None:
    group.add_argument(
        "--with-topic",
        metavar="TOPIC",
        help="estimate I(topic; past of this one), paired by stamps, and detect couplings",
    )
    group.add_argument(
        "--with-field", action="append", metavar="FIELD", help="as --field, for that topic"
    )
    group.add_argument(
        "--sync-tolerance",
        type=float,
        default=0.02,
        metavar="S",
        help="largest difference between the stamps of a pair, seconds",
    )
    group.add_argument(
        "--coupling-resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest motion within a step that the sensors resolve, for both topics or for each "
        "(default: estimated for each coordinate from its noise at rest)",
    )
    group.add_argument(
        "--lags",
        type=float,
        metavar="S",
        help="also compare velocities and forces of both topics at lags of up to S "
        "seconds, of both signs",
    )


def _add_window(group: Any) -> None:
    group.add_argument(
        "--lag",
        type=int,
        help="steps between a state and its past (default: the steps in --lag-seconds, by the "
        "first stamps; without that option 2, or 0 for two topics)",
    )
    group.add_argument(
        "--lag-seconds",
        type=float,
        metavar="S",
        help="duration of --lag steps, seconds; past states are looked up by time stamp, so lost "
        "messages do not change the lag",
    )
    group.add_argument(
        "--lag-tolerance",
        type=float,
        metavar="S",
        help="tolerance of a past state's stamp, seconds, with --lag-seconds (default: half a "
        "step, more if states arrive slower)",
    )
    group.add_argument("--window", type=int, default=100, help="length of the window, steps")
    group.add_argument(
        "--every",
        type=int,
        metavar="N",
        help="an estimate for each Nth pair; 1: for all. Default: all up to 1500 messages, else a "
        "grid of about 1500 estimates. In a recording longer than 75 times --delay, the grid has "
        "10 estimates within --delay",
    )
    group.add_argument(
        "--rate-limit",
        type=float,
        metavar="HZ",
        help="most estimates per second of stamps, instead of that grid; 0: no limit",
    )
    group.add_argument(
        "--reset-after",
        type=float,
        default=1.0,
        metavar="S",
        help="the window is emptied when stamps jump back by more than this, seconds",
    )
    add_extrema(group, 2.0, "seconds within which an extremum is reported")


def run(arguments: Namespace) -> None:
    from infoatlas_rt.inputs.checks import as_seconds
    from infoatlas_rt.messages.receiver import Receiver
    from infoatlas_rt.messages.stream import Stream
    from infoatlas_rt.messages.sync import Synchroniser
    from infoatlas_rt.streams.coupling import CouplingDetector
    from infoatlas_rt.streams.extrema import ExtremumDetector
    from infoatlas_rt.streams.sliding_window import SlidingWindow

    from ..bags.bag_curve import choose_grid, read, survey
    from ..bags.bag_lags import has_places
    from ..bags.part_samples import Part
    from ..bags.states import Bag
    from .bag_text import print_bag, write_csv

    check_data(arguments.data, "bag")
    if arguments.lags is not None:
        as_seconds(arguments.lags, "lags")
    part = Part(arguments.start, arguments.duration)
    two = arguments.with_topic is not None
    if arguments.with_field is not None and not two:
        raise InputError("--with-field is for the topic of --with-topic: give both")
    if arguments.lags is not None and not two:
        raise InputError("--lags compares two topics: give --with-topic too")
    with Bag(arguments.data) as bag:
        if arguments.topic is None:
            raise InputError(f"name the topic to read, with --topic. {bag.listing()}")
        topics = [arguments.topic, arguments.with_topic] if two else [arguments.topic]
        if two and topics[0] == topics[1] and arguments.field == arguments.with_field:
            raise InputError(
                f"--with-topic is --topic, {topics[0]}, with the same fields: leave it out, take "
                "another, or choose two bodies with --field and --with-field"
            )
        joints, dated = arguments.joints or (), arguments.stamp_field
        extractors = [bag.extractor(topics[0], arguments.field, joints, dated)]
        if two:
            extractors.append(bag.extractor(topics[1], arguments.with_field, (), dated))
        surveys = [survey(bag, t, e) for t, e in zip(topics, extractors, strict=True)]
        steps = [step for step, _ in surveys]
        step = None if None in steps else max(filter(None, steps))  # two topics: the slower one
        detector = ExtremumDetector(z=arguments.z, delay=arguments.delay)
        grid = 0.0
        if arguments.every is None and arguments.rate_limit is None:
            grid = choose_grid(min(states for _, states in surveys), step, part, detector)
        again = arguments.reset_after
        sync = Synchroniser(arguments.sync_tolerance, reset_after=again) if two else None
        estimator = make_estimator(arguments)
        window = SlidingWindow(
            estimator.model_file,
            lag=_lag(arguments, step),
            lag_seconds=arguments.lag_seconds,
            lag_tolerance=arguments.lag_tolerance,
            history=arguments.history,
            window=arguments.window,
            every=1 if arguments.every is None else arguments.every,
            reset_after=again,
            two_streams=two,
            resolution=arguments.resolution,
        )
        coupling = None
        # Forces and velocities rarely rest, and the detector compares motion with rest.
        pairs = zip(topics, extractors, strict=True)
        placeless = [topic for topic, e in pairs if two and not has_places(e.names)]
        if two and not placeless:
            sizes = arguments.coupling_resolution
            coupling = CouplingDetector(
                estimator,
                resolution=sizes[0] if sizes and len(sizes) == 1 else sizes and tuple(sizes),
                reset_after=again,
            )
        stream = Stream(
            window,
            estimator,
            detector,
            sync=sync,
            rate_limit=0.0 if arguments.rate_limit is None else arguments.rate_limit,
            grid=grid,
            coupling=coupling,
        )
        receivers = [Receiver(extractor, i, again) for i, extractor in enumerate(extractors)]
        with progress("bag") as advance:
            curve = read(bag, topics, receivers, stream, advance, part=part)
        if placeless:
            hint = "" if arguments.lags else ": --lags 0.5 compares velocities and forces"
            curve.notices.append(
                f"{placeless[0]} has no positions, so no couplings were looked for{hint}"
            )
        lags = None
        if arguments.lags is not None:
            lags = _lags(arguments, bag, topics, extractors, part, step)
        kinds = [bag.topics[topic].type for topic in topics]
    if arguments.plot:
        from ..plots.stream_plot import stream_figure

        figure = stream_figure(
            curve,
            title=Path(arguments.data).name,
            topics=topics,
            lag=window.lag,
            lag_seconds=window.lag_seconds,
            z=detector.z,
            delay=detector.delay,
            history=window.history,
            window=window.length,
            reset_after=again,
        )
        figure.savefig(arguments.plot)
    if arguments.csv:
        write_csv(arguments.csv, curve)
    result = {
        "data": str(arguments.data),
        "topics": [
            {"name": name, "type": kind, "fields": list(e.fields), "coordinates": list(names)}
            for name, kind, e, names in zip(topics, kinds, extractors, curve.names, strict=True)
        ],
        "lag": window.lag,
        "lag_seconds": window.lag_seconds,
        "history": window.history,
        "window": window.length,
        "every": window.every,
        "z": arguments.z,
        "rate_limit": stream.rate_limit,
        "grid": grid or None,
        "extremum_grid": detector.period,
        "part": asdict(part),
        "delay": arguments.delay,
        "counts": stream.counts,
        **curve.to_dict(),
    }
    if two:
        sides = (coupling.resolution if coupling else None) or ()
        result["coupling_resolution"] = {
            "estimated": arguments.coupling_resolution is None,
            "values": [side.reshape(-1).tolist() for side in sides],
        }
        result["coupling_window"] = coupling.window.length if coupling else None
        result["lags"] = lags
        result["sync_tolerance"] = arguments.sync_tolerance
    if not write_json(arguments.json, result):
        print_bag(result, arguments.plot, arguments.csv)


def _lags(
    arguments: Namespace,
    bag: Bag,
    topics: list[str],
    extractors: list[Extractor],
    part: Part,
    step: float | None,
) -> dict[str, Any]:
    """Dependence of the two topics at lags."""
    from infoatlas_rt.messages.receiver import Receiver
    from infoatlas_rt.messages.sync import Synchroniser

    from ..bags.bag_lags import SLICES, scan_lags
    from ..bags.part_samples import PartSamples

    again = arguments.reset_after
    receivers = [Receiver(extractor, i, again) for i, extractor in enumerate(extractors)]
    for receiver in receivers:
        receiver.forget()
    samples = PartSamples(bag, topics, receivers, part)
    # A pair only shows that both topics go on, because each is interpolated at its own stamps.
    sync = Synchroniser(max(arguments.sync_tolerance, step or 0.0), reset_after=again)
    slices = arguments.slices or SLICES
    estimator = make_estimator(Namespace(**vars(arguments) | {"slices": slices}))
    with progress("lags") as advance:
        return scan_lags(samples, receivers, sync, step, arguments.lags, estimator, advance)


def _lag(arguments: Namespace, step: float | None) -> int:
    """Steps of the lag; `step` is the interval of the stamps in seconds."""
    from infoatlas_rt.inputs.checks import as_seconds

    if arguments.lag is not None:
        return int(arguments.lag)
    if arguments.lag_seconds is None or step is None:
        return 2 if arguments.with_topic is None else 0
    return max(1, round(min(as_seconds(arguments.lag_seconds, "lag_seconds") / step, 1e9)))
