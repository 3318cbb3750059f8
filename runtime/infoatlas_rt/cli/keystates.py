"""The command keystates: of recorded trajectories, and of a robot's stream in a bag."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .console import check_json, progress, table, write_json
from .errors import InputError

# Options of one kind of data or method alone, and what they are unless given.
DISCOVERY = {"count": None, "save": None, "group": None, "resolution": None}
CURVE = {"time": "auto", "points": 100, "keep_constant": False}
KINDS = {
    "bag": "bags",
    "curve": "trajectories with --method curve",
    "phase": "key states of trajectories",
    "pointwise": "key states of trajectories",
}
EXTREMA = {"history": 1, "z": 3.5, "delay": None}
BAGS = {
    "topic": None,
    "field": None,
    "with_topic": None,
    "with_field": None,
    "joints": None,
    "pair_tolerance": 0.02,
    "window": 100,
    "every": 1,
    "rate_limit": 0.0,
    "lag_seconds": None,
    "tolerance": None,
    "resolution": None,
    "coupling_resolution": [1e-5],
    "reset_after": 1.0,
    "partial": False,
    "stamp_field": "",
}


def run(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    """Run the command; `make_estimator` makes what the arguments ask for."""
    from .bags import is_bag
    from .demonstrations import bags_in

    if arguments.plot:
        from .plots import check_file

        check_file(arguments.plot)  # before minutes of computing, not after
    if not Path(arguments.data).exists():
        raise InputError(f"{arguments.data} does not exist: check the path")
    folder = bool(bags_in(arguments.data))  # demonstrations, one bag each
    bag = is_bag(arguments.data) and not folder
    if bag and arguments.method is not None:
        raise InputError(
            f"--method is for trajectories, but {arguments.data} is a bag: leave it out"
        )
    method = arguments.method = "bag" if bag else arguments.method or "phase"
    takes: dict[str, tuple[dict[str, Any], Callable[..., None]]] = {
        "bag": ({**BAGS, **EXTREMA}, _bag),
        "curve": ({**CURVE, **EXTREMA}, _trajectories),
        "phase": (DISCOVERY, _discover),
        "pointwise": (DISCOVERY, _discover),
    }
    options, command = takes[method]
    if folder:
        if method == "curve":
            raise InputError(
                f"--method curve is for files of trajectories, but {arguments.data} is a folder "
                "of bags: leave it out"
            )
        options = {**options, **{name: BAGS[name] for name in ("topic", "field", "joints")}}
    for name in {**DISCOVERY, **CURVE, **EXTREMA, **BAGS}:
        if name not in options and getattr(arguments, name) is not None:
            kinds = [KINDS[kind] for kind in takes if name in takes[kind][0]]
            raise InputError(
                f"--{name.replace('_', '-')} is for {' and '.join(dict.fromkeys(kinds))}, and this "
                f"is {'a bag' if bag else f'--method {method}'}: leave it out"
            )
    for name, value in options.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    command(arguments, make_estimator)


def _discover(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    from . import discovery_command

    check_json(arguments.save)
    count = "5" if arguments.count is None else arguments.count
    if count != "auto" and not count.isdecimal():
        raise InputError(f"--count is {count!r}: pass a number of key states, or auto")
    arguments.count = count if count == "auto" else int(count)
    arguments.lag = 2 if arguments.lag is None else arguments.lag
    discovery_command.run(arguments, make_estimator)


def _trajectories(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    from .curve import mi_curve
    from .data import load_trajectories
    from .events import compare, event, load_flags
    from .extrema import KINDS, KeyStateDetector, find

    options = {"z": arguments.z, "delay": arguments.delay}
    KeyStateDetector(z=arguments.z, delay=1.0 if arguments.delay is None else arguments.delay)
    trajectories = load_trajectories(arguments.data)
    flags = load_flags(arguments.data)
    estimator = make_estimator(arguments)
    with progress("curve") as advance:
        curve = mi_curve(
            trajectories,
            estimator,
            lag=2 if arguments.lag is None else arguments.lag,
            history=arguments.history,
            mode=arguments.time,
            points=arguments.points,
            drop_constant=not arguments.keep_constant,
            progress=lambda done, total: advance(done / total),
        )
    states = find(curve, **options)
    normalised = curve.mode == "normalised"
    found = (event(name, flag, trajectories.lengths, normalised) for name, flag in flags.items())
    events = sorted((e for e in found if e is not None), key=lambda e: e.median)
    if arguments.plot:
        from .plots import keystates_figure

        figure = keystates_figure(
            curve,
            states,
            events,
            title=Path(arguments.data).stem,
            lengths=trajectories.lengths.tolist(),
        )
        figure.savefig(arguments.plot)
    timing = []
    for what, kinds in (("maximum", ("maximum",)), ("of any kind", KINDS)):
        moments = [state.stamp for state in states if state.kind in kinds]
        if moments and events:
            start, end = float(curve.position[0]), float(curve.position[-1])
            timing.append({"of": what, **compare(events, moments, start, end)})
    result = {
        "data": str(arguments.data),
        "lag": curve.lag,
        "history": curve.history,
        "time": curve.mode,
        "dropped": list(curve.dropped),
        "z": arguments.z,
        "delay": arguments.delay,
        "how": curve.how,
        "curve": {
            "position": curve.position.tolist(),
            "mi": curve.mi.tolist(),
            "stderr": curve.stderr.tolist(),
            "noise": curve.noise.tolist(),
            "samples": curve.samples.tolist(),
        },
        "keystates": [asdict(state) for state in states],
        "events": [asdict(e) for e in events],
        "timing": timing,
    }
    if not write_json(arguments.json, result):
        _print_trajectories(result, trajectories, arguments.plot)


def _print_trajectories(result: dict[str, Any], trajectories: Any, plot: str | None) -> None:
    normalised = result["time"] == "normalised"
    time = "{:.3f}" if normalised else "{:.1f}"
    unit = "fraction of the trajectory" if normalised else "steps"
    table(
        f"Extrema of I(s_t; s_t-lag) over {result['data']} (times: {unit})",
        ("", "kind", "time", "MI (nats)", "stands out by", "reported at"),
        [
            (
                str(number),
                state["kind"],
                time.format(state["stamp"]),
                f"{state['value']:.3f}",
                f"{state['prominence']:+.3f} (certain by {state['z']:.1f} s.e.)",
                time.format(state["detected_stamp"]),
            )
            for number, state in enumerate(result["keystates"], start=1)
        ],
        empty="none: nothing stands out above the noise",
    )
    if result["dropped"]:
        names = trajectories.names or [f"column {i}" for i in range(trajectories.states.shape[1])]
        print("Left out, constant within each trajectory:", *(names[i] for i in result["dropped"]))
    if result["events"]:
        headers, timing = ["event", "median", "quartiles"], result["timing"]
        for row in timing:
            headers += [f"nearest {row['of']} ({row['count']})", f"uniform ({row['count']})"]
        rows = []
        for i, e in enumerate(result["events"]):
            row = [
                e["name"],
                time.format(e["median"]),
                f"{time.format(e['q1'])} to {time.format(e['q3'])}",
            ]
            rows.append(
                row + [time.format(t[k][i]) for t in timing for k in ("distance", "uniform")]
            )
        if timing:
            means = [sum(t[k]) / len(t[k]) for t in timing for k in ("distance", "uniform")]
            rows.append(["mean", "", "", *(time.format(mean) for mean in means)])
        table("The simulator's flags (first time true), never seen by the estimator", headers, rows)
        print("Distances; uniform: from as many guesses, evenly spaced over the curve.")
    if plot:
        print(f"Picture: {plot}")


def _bag(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    from .bags import Bag, read
    from .coupling import CouplingDetector
    from .extrema import DELAY, KeyStateDetector
    from .fields import Extractor
    from .online import OnlineEstimator
    from .stream import Stream
    from .sync import Synchroniser

    two = arguments.with_topic is not None
    if arguments.with_field is not None and not two:
        raise InputError("--with-field is for the topic of --with-topic: give both")
    with Bag(arguments.data, partial=arguments.partial) as bag:
        if arguments.topic is None:
            raise InputError(f"say which topic to read, with --topic. {bag.listing()}")
        topics = [arguments.topic, arguments.with_topic] if two else [arguments.topic]
        if two and topics[0] == topics[1]:
            raise InputError(f"--with-topic is --topic, {topics[0]}: leave it out, or take another")
        joints, dated = arguments.joints or (), arguments.stamp_field
        extractors = [Extractor(arguments.field, bag.schema(topics[0]), joints, dated)]
        if two:
            extractors.append(Extractor(arguments.with_field, bag.schema(topics[1]), (), dated))
        delay = DELAY if arguments.delay is None else arguments.delay
        detector = KeyStateDetector(z=arguments.z, delay=delay)
        again = arguments.reset_after
        sync = Synchroniser(arguments.pair_tolerance, reset_after=again) if two else None
        online = OnlineEstimator(
            make_estimator(arguments),
            lag=(0 if two else 2) if arguments.lag is None else arguments.lag,
            lag_seconds=arguments.lag_seconds,
            tolerance=arguments.tolerance,
            history=arguments.history,
            window=arguments.window,
            every=arguments.every,
            reset_after=again,
            two_streams=two,
            resolution=arguments.resolution,
        )
        coupling = None
        if two:
            sizes = arguments.coupling_resolution
            coupling = CouplingDetector(
                online.estimator,
                resolution=sizes[0] if len(sizes) == 1 else tuple(sizes),
                reset_after=again,
            )
        stream = Stream(
            online,
            detector,
            *extractors,
            sync=sync,
            rate_limit=arguments.rate_limit,
            coupling=coupling,
        )
        with progress("bag") as advance:
            curve = read(bag, topics, stream, advance)
        kinds = [bag.topics[topic].type for topic in topics]
    if arguments.plot:
        from .plots import stream_figure

        figure = stream_figure(
            curve,
            title=Path(arguments.data).stem,
            topics=topics,
            lag=online.lag,
            history=online.history,
            window=online.window,
        )
        figure.savefig(arguments.plot)
    result = {
        "data": str(arguments.data),
        "topics": [
            {"name": name, "type": kind, "fields": list(e.fields), "coordinates": list(names)}
            for name, kind, e, names in zip(topics, kinds, extractors, curve.names, strict=True)
        ],
        "lag": online.lag,
        "lag_seconds": online.lag_seconds,
        "history": online.history,
        "window": online.window,
        "every": online.every,
        "z": arguments.z,
        "rate_limit": arguments.rate_limit,
        "delay": delay,
        "how": curve.how,
        "counts": stream.counts,
        "notices": curve.notices,
        "start": curve.start,
        "curve": {
            name: getattr(curve, name).tolist()
            for name in ("stamp", "mi", "stderr", "noise", "local", "fill", "saturated")
        },
        "keystates": [asdict(state) for state in curve.keystates],
    }
    if two:
        stamps, mi = curve.motions
        result["motions"] = {"stamp": stamps.tolist(), "mi": mi.tolist()}
        result["coupling"] = [asdict(event) for event in curve.coupling]
    if not write_json(arguments.json, result):
        _print_bag(result, arguments.plot)


def _print_bag(result: dict[str, Any], plot: str | None) -> None:
    stamps, start = result["curve"]["stamp"], result["start"]
    table(
        f"Extrema of the curve of {result['data']} (times: seconds since the first message)",
        ("", "kind", "time", "MI (nats)", "stands out by", "reported at"),
        [
            (
                str(number),
                state["kind"],
                f"{state['stamp'] - start:.2f}",
                f"{state['value']:.3f}",
                f"{state['prominence']:+.3f} (certain by {state['z']:.1f} s.e.)",
                f"{state['detected_stamp'] - start:.2f}",
            )
            for number, state in enumerate(result["keystates"], start=1)
        ],
        empty="none: nothing stands out above the noise",
    )
    if "coupling" in result:
        table(
            "Coupling: when the two topics begin to move together, and stop",
            ("", "event", "time", "MI of the motions (nats)", "detected at"),
            [
                (
                    str(number),
                    event["kind"],
                    f"{event['stamp'] - start:.2f}",
                    f"{event['value']:.3f} ({event['z']:.1f} times its noise)",
                    f"{event['detected_stamp'] - start:.2f}",
                )
                for number, event in enumerate(result["coupling"], start=1)
            ],
            empty="none: they never do for certain",
        )
    for topic in result["topics"]:
        names = topic["coordinates"]
        shown = names if len(names) < 5 else [*names[:2], "...", names[-1]]
        print(f"{topic['name']}: {len(names)} coordinates ({', '.join(shown)})")
    fates = ", ".join(f"{n} {kind}" for kind, n in result["counts"].items() if n)
    print(f"Messages by fate: {fates}")
    for notice in result["notices"]:
        print(f"Notice: {notice}")
    mi = np.array(result["curve"]["mi"])
    print(
        f"Readings: {len(mi)}, {stamps[0] - start:.2f} to {stamps[-1] - start:.2f} s, "
        f"{mi.min():.2f} to {mi.max():.2f} nats (median {np.median(mi):.2f}); each is an average "
        f"over {result['window']} steps"
    )
    saturated = sum(result["curve"]["saturated"])
    if saturated:
        print(f"Saturated: {saturated} (one side determines the other; the truth may be larger)")
    if plot:
        print(f"Picture: {plot}")
