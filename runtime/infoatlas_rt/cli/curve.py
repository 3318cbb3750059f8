"""The command curve: the paper's I(s_t; s_t-lag) over demonstrations, and its extrema."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .arguments import (
    add_estimator,
    add_extrema,
    add_json,
    add_plot,
    check_data,
    make_estimator,
)
from .console import progress, table, write_json
from .loading import add_loading, load_data

HELP = "the paper's I(s_t; s_t-lag) over the time of demonstrations, and its extrema"
DESCRIPTION = (
    "Estimate I(s_t; s_t-lag), the mutual information of a state and an earlier one, over the time "
    "of demonstrations. Draw the curve and find its extrema."
)
EXAMPLES = ("curve demos.npz --plot curve.png",)


def add_arguments(parser: ArgumentParser) -> None:
    """Arguments of this command."""
    parser.add_argument(
        "data",
        metavar="DEMOS",
        help="a LeRobot folder, an .hdf5 of robomimic, MimicGen, Isaac Lab, ManiSkill, D4RL or "
        "Minari, a folder of ALOHA's .hdf5 files, a .csv or .parquet table, or an .npz. The .npz "
        "contains states, the rows of all demonstrations, and lengths, the number of rows of each",
    )
    add_loading(parser)
    parser.add_argument("--lag", type=int, default=2, help="steps between a state and its past")
    add_extrema(
        parser,
        None,
        "steps, or fractions of a trajectory, within which an extremum is reported (default: 20 "
        "points of the curve)",
    )
    parser.add_argument(
        "--time",
        choices=("auto", "raw", "normalised"),
        default="auto",
        help="raw: original steps. normalised: fractions of each trajectory. auto: normalised if "
        "lengths differ",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=100,
        help="points of the curve in normalised time; fewer if trajectories are shorter",
    )
    parser.add_argument(
        "--keep-constant",
        action="store_true",
        help="keep coordinates that are constant within every trajectory (goals)",
    )
    add_plot(parser)
    add_json(parser)
    add_estimator(parser)


def run(arguments: Namespace) -> None:
    """Run the command."""
    from ..curves.ensemble_curve import mi_curve
    from ..curves.extrema import KINDS, ExtremumDetector
    from .flags import compare_moments, flag_times, load_flags

    dataset = check_data(arguments.data, "curve")
    # Checks --z and --delay before minutes of computing.
    ExtremumDetector(z=arguments.z, delay=1.0 if arguments.delay is None else arguments.delay)
    trajectories = load_data(arguments, dataset)
    flags = load_flags(arguments.data)
    estimator = make_estimator(arguments)
    with progress("curve") as advance:
        curve = mi_curve(
            trajectories,
            estimator,
            lag=arguments.lag,
            history=arguments.history,
            mode=arguments.time,
            points=arguments.points,
            drop_constant=not arguments.keep_constant,
            progress=lambda done, total: advance(done / total),
        )
    extrema = curve.extrema(z=arguments.z, delay=arguments.delay)
    normalised = curve.mode == "normalised"
    found = (
        flag_times(name, flag, trajectories.lengths, normalised) for name, flag in flags.items()
    )
    events = sorted((e for e in found if e is not None), key=lambda e: e.median)
    if arguments.plot:
        from .curve_plot import curve_figure

        figure = curve_figure(
            curve,
            extrema,
            events,
            title=Path(arguments.data).stem,
            lengths=trajectories.lengths.tolist(),
        )
        figure.savefig(arguments.plot)
    timing = []
    for what, kinds in (("maximum", ("maximum",)), ("of any kind", KINDS)):
        moments = [extremum.stamp for extremum in extrema if extremum.kind in kinds]
        if moments and events:
            start, end = float(curve.position[0]), float(curve.position[-1])
            timing.append({"of": what, **compare_moments(events, moments, start, end)})
    result = {
        "data": str(arguments.data),
        "lag": curve.lag,
        "history": curve.history,
        "time": curve.mode,
        "dropped": list(curve.dropped),
        "notes": list(trajectories.notes),
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
        "extrema": [asdict(extremum) for extremum in extrema],
        "events": [asdict(e) for e in events],
        "timing": timing,
    }
    if not write_json(arguments.json, result):
        _print(result, trajectories, arguments)


def _print(result: dict[str, Any], trajectories: Any, arguments: Namespace) -> None:
    normalised = result["time"] == "normalised"
    time = "{:.3f}" if normalised else "{:.1f}"
    unit = "fraction of the trajectory" if normalised else "steps"
    table(
        f"Extrema of I(s_t; s_t-lag) over {result['data']} (times: {unit})",
        ("", "kind", "time", "MI (nats)", "prominence", "reported at"),
        [
            (
                str(number),
                extremum["kind"],
                time.format(extremum["stamp"]),
                f"{extremum['value']:.3f}",
                f"{extremum['prominence']:+.3f} ({extremum['z']:.1f} s.e.)",
                time.format(extremum["detected_stamp"]),
            )
            for number, extremum in enumerate(result["extrema"], start=1)
        ],
        empty="none above the noise",
    )
    if result["dropped"]:
        names = trajectories.names or [f"column {i}" for i in range(trajectories.states.shape[1])]
        print("Left out, constant within each trajectory:", *(names[i] for i in result["dropped"]))
    for text in result["notes"]:
        print(text)
    points = len(result["curve"]["position"])
    if normalised and points < arguments.points:
        print(
            f"Points: {points} of {arguments.points}; trajectories are so short that the others "
            "are the same steps."
        )
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
        table(
            "Flags in the file (first time true), no input of the estimator",
            headers,
            rows,
        )
        print("Distances; uniform: from as many moments, evenly spaced over the curve.")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")
