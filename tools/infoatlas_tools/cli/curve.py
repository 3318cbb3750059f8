"""The command curve: the paper's I(s_t; s_t-lag) over demonstrations, and its extrema."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infoatlas_rt.cli.arguments import add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import progress, table, write_json

from . import recording_arguments

HELP = "the paper's I(s_t; s_t-lag) over the time of demonstrations, and its extrema"
DESCRIPTION = (
    "Estimate I(s_t; s_t-lag), the mutual information of a state and an earlier one, over the time "
    "of demonstrations. Draw the curve and find its extrema."
)
POINTS = 100  # of a curve in normalised time
EXAMPLES = ("curve demos.npz --plot curve.png",)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DEMOS", help=recording_arguments.DATA_SET)
    recording_arguments.add_loading(parser)
    parser.add_argument("--lag", type=int, default=2, help="steps between a state and its past")
    recording_arguments.add_extrema(
        parser,
        None,
        "steps, or fractions of a trajectory, within which an extremum is reported (default: 20 "
        "points of the curve)",
    )
    recording_arguments.add_plot(parser)
    add_json(parser)
    add_estimator(parser)


def run(arguments: Namespace) -> None:
    from infoatlas_rt.streams.extrema import ExtremumDetector

    from ..curves.ensemble_curve import mi_curve

    recording_arguments.refuse_bags(arguments.data)
    # Checks --z and --delay before minutes of computing.
    ExtremumDetector(z=arguments.z, delay=1.0 if arguments.delay is None else arguments.delay)
    with recording_arguments.options_named():
        trajectories = recording_arguments.opened(arguments).trajectories
    estimator = make_estimator(arguments)
    with progress("curve") as advance:
        curve = mi_curve(
            trajectories,
            estimator,
            lag=arguments.lag,
            points=POINTS,
            progress=lambda done, total: advance(done / total),
        )
    extrema = curve.extrema(z=arguments.z, delay=arguments.delay)
    if arguments.plot:
        from ..plots.curve_plot import curve_figure

        figure = curve_figure(
            curve, extrema, title=Path(arguments.data).stem, lengths=trajectories.lengths.tolist()
        )
        figure.savefig(arguments.plot)
    result = {
        "data": str(arguments.data),
        **curve.to_dict(),
        "notes": list(trajectories.notes),
        "z": arguments.z,
        "delay": arguments.delay,
        "extrema": [asdict(extremum) for extremum in extrema],
    }
    if not write_json(arguments.json, result):
        _print(result, trajectories, arguments)


def extrema_rows(
    result: dict[str, Any], position: str, time: str, start: float = 0.0
) -> list[tuple[str, ...]]:
    """Rows of a table of extrema; times are since `start`, in the format `time`.

    `position` is the column of the curve that has the times.
    """
    from infoatlas_rt.estimation.result import value_text

    curve = result["curve"]
    bounds = dict(zip(curve[position], curve["at_least"], strict=True))
    return [
        (
            str(number),
            found["kind"],
            time.format(found["stamp"] - start),
            value_text(found["value"], None, bounds.get(found["stamp"])),
            f"{found['prominence']:+.3f} ({found['z']:.1f} s.e.)",
            time.format(found["detected_stamp"] - start),
        )
        for number, found in enumerate(result["extrema"], start=1)
    ]


def print_flags(curve: dict[str, Any]) -> None:
    """Print how many estimates of a curve have each flag, and what it means."""
    from infoatlas_rt.estimation.result import FLAGS

    for name, meaning in FLAGS.items():
        if count := sum(map(bool, curve[name])):
            print(f"{name.replace('_', ' ').capitalize()}: {count} ({meaning})")


def _print(result: dict[str, Any], trajectories: Any, arguments: Namespace) -> None:
    normalised = result["mode"] == "normalised"
    time = "{:.3f}" if normalised else "{:.1f}"
    unit = "fraction of the trajectory" if normalised else "steps"
    table(
        f"Extrema of I(s_t; s_t-lag) over {result['data']} (times: {unit})",
        ("", "kind", "time", "MI (nats)", "prominence", "reported at"),
        extrema_rows(result, "position", time),
        empty="none above the noise",
    )
    if result["dropped"]:
        names = trajectories.names or [f"column {i}" for i in range(trajectories.states.shape[1])]
        left_out = (names[i] for i in result["dropped"])
        print("Left out, constant within each trajectory or determined by others:", *left_out)
    for text in result["notes"]:
        print(text)
    print_flags(result["curve"])
    points = len(result["curve"]["position"])
    if normalised and points < POINTS:
        print(
            f"Points: {points} of {POINTS}; trajectories are so short that the others "
            "are the same steps."
        )
    if arguments.plot:
        print(f"Picture: {arguments.plot}")
