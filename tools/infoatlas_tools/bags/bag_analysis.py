"""Analyses a bag: the curve of one topic or two, its extrema, couplings, and lags.

ROS is not needed. The estimates are those of the node, with the same settings.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.inputs.checks import as_seconds
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.coupling import CouplingDetector
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.sliding_window import SlidingWindow

from .bag_curve import StreamCurve, choose_grid, read, survey
from .bag_lags import has_places, scan_lags
from .part_samples import Part, PartSamples
from .states import Bag


def analyse_bag(
    path: str | os.PathLike[str],
    topic: str | None,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    fields: Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    with_topic: str | None = None,
    with_fields: Sequence[str] | None = None,
    part: Part | None = None,
    rate_limit: float | None = None,
    sync_tolerance: float = 0.02,
    coupling_resolution: Sequence[float] | None = None,
    lags: float | None = None,
    z: float = 3.5,
    delay: float = 2.0,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> StreamCurve:
    """Estimate mutual information along one robot's stream in a bag, and find extrema.

    Without a topic, the error lists all topics. `fields` and `joints` are as in `Extractor`.

    Parameters
    ----------
    with_topic, with_fields : str, sequence of str, optional
        A second topic: I(topic; past of this one), paired by stamps, and couplings.
    rate_limit : float, optional
        Largest number of estimates per second of stamps; 0 for no limit.
    sync_tolerance : float
        Largest difference between the stamps of a pair of two topics, seconds.
    coupling_resolution : sequence of float, optional
        Smallest motion within a step that the sensors resolve: one for both topics, or one for
        each; estimated unless given.
    lags : float, optional
        Compare velocities and forces of two topics at lags of up to so many seconds, of both signs
        (`scan_lags`).
    z, delay : float
        Standard errors and seconds of the `ExtremumDetector`.
    progress : callable, optional
        Called with the completed share, 0 to 1; with `lags`, half of it is for them.
    **options
        `lag`, `lag_seconds`, `window`, `every`, `reset_after` and others of `OnlineEstimator`. The
        lag is by default the steps in `lag_seconds`, by the first stamps; without these 2, or 0
        for two topics. Unless `every` or `rate_limit` is given, each pair of a short recording has
        an estimate, and a long recording has the grid of `choose_grid`.

    Raises
    ------
    InputError
        The bag cannot be read. A topic or a field is not in it. A setting is out of range, or is
        for two topics. The part is too short for an estimate.
    """
    if with_fields is not None and with_topic is None:
        raise InputError("--with-field is for the topic of --with-topic: give both")
    if lags is not None:
        as_seconds(lags, "lags")
        if with_topic is None:
            raise InputError("--lags compares two topics: give --with-topic too")
    part, estimator, again = part or Part(), as_estimator(estimator), options.get("reset_after", 1)
    report = progress or (lambda share: None)
    with Bag(path) as bag:
        if topic is None:
            raise InputError(f"name the topic to read, with --topic. {bag.listing()}")
        if topic == with_topic and fields == with_fields:
            raise InputError(
                f"--with-topic is --topic, {topic}, with the same fields: leave it out, take "
                "another, or choose two bodies with --field and --with-field"
            )
        read_by = [(topic, bag.extractor(topic, fields, joints or ()))]
        if with_topic is not None:
            read_by.append((with_topic, bag.extractor(with_topic, with_fields)))
        topics, two = [name for name, _ in read_by], with_topic is not None
        steps, counts = zip(*(survey(bag, *each) for each in read_by), strict=True)
        step = None if None in steps else max(steps)  # of the slower topic
        detector, grid = ExtremumDetector(z=z, delay=delay), 0.0
        if options.get("every") is None and rate_limit is None:
            grid = choose_grid(min(counts), step, part, detector)
        options = {name: value for name, value in options.items() if value is not None}
        options.setdefault("lag", _steps(options.get("lag_seconds"), step, two))
        window = SlidingWindow(estimator.model_file, two_streams=two, **options)
        coupling = None
        # Forces and velocities rarely rest, and the detector compares motion with rest.
        if two and all(has_places(extractor.names) for _, extractor in read_by):
            sizes: Any = coupling_resolution and tuple(coupling_resolution)
            sizes = sizes[0] if sizes and len(sizes) == 1 else sizes
            coupling = CouplingDetector(estimator, resolution=sizes, reset_after=again)
        stream = Stream(
            window,
            estimator,
            detector,
            sync=Synchroniser(sync_tolerance, reset_after=again) if two else None,
            rate_limit=rate_limit or 0.0,
            grid=grid,
            coupling=coupling,
        )
        receivers = [Receiver(own, i, again) for i, (_, own) in enumerate(read_by)]
        first = 1.0 if lags is None else 0.5  # share of the curve
        curve = read(bag, topics, receivers, stream, lambda done: report(first * done), part=part)
        if lags is not None:
            # A pair only shows that both go on, because each is interpolated at its own stamps.
            sync = Synchroniser(max(sync_tolerance, step or 0.0), reset_after=again)
            samples, show = PartSamples(bag, topics, receivers, part), lambda x: report(0.5 + x / 2)
            found = scan_lags(samples, receivers, sync, step, lags, estimator, show)
            curve = replace(curve, lags=found)
    if two:
        _report_coupling(curve, coupling, coupling_resolution is None)
    return curve


def _report_coupling(
    curve: StreamCurve, coupling: CouplingDetector | None, estimated: bool
) -> None:
    """Add the settings of the detector of couplings, or why there is none."""
    sides = (coupling.resolution if coupling else None) or ()
    curve.settings["coupling_window"] = coupling.window.length if coupling else None
    curve.settings["coupling_resolution"] = {
        "estimated": estimated,
        "values": [side.reshape(-1).tolist() for side in sides],
    }
    if coupling is None:
        name = next(topic.name for topic in curve.topics if not has_places(topic.coordinates))
        hint = "" if curve.lags else ": --lags 0.5 compares velocities and forces"
        curve.notices.append(f"{name} has no positions, so no couplings were looked for{hint}")


def _steps(lag_seconds: float | None, step: float | None, two: bool) -> int:
    """Steps of the lag unless given; `step` is the interval of the stamps in seconds."""
    if lag_seconds is None or step is None:
        return 0 if two else 2
    return max(1, round(min(as_seconds(lag_seconds, "lag_seconds") / step, 1e9)))
