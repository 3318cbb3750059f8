"""The command infoatlas-rt: estimate, test, keystates, bench, info, export.

Results go to stdout, progress to stderr. Exit codes: 0; 1 for a result that cannot be written; 2
for wrong usage or input; 3 for a model or a provider that cannot be used; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from . import __version__, independence_command
from .console import check_json, drop_output, open_output, progress, table, write_json
from .errors import InfoAtlasError, InputError, OutputError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process unless given.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        open_output()
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()
    except InputError as error:
        return _fail(error, 2)
    except OutputError as error:
        return _fail(error, 1)
    except InfoAtlasError as error:
        return _fail(error, 3)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except OSError as error:  # what is read has errors of its own
        drop_output()
        return _fail(f"the result cannot be written ({error})", 1)


def _run(argv: list[str]) -> int:
    if argv[:1] == ["export"]:
        return _export(argv[1:])
    arguments = _parser().parse_args(argv)
    check_json(arguments.json)
    arguments.run(arguments)
    return 0


def _fail(error: Exception | str, code: int) -> int:
    """Say what was wrong in one line, whatever the names of files are."""
    line = " ".join(str(error).split())
    print(f"infoatlas-rt: {line}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse drops the errors of a disk that is full."""
        if message and file is not None:
            file.write(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="infoatlas-rt", description="Mutual information at control-loop rate. Units are nats."
    )
    parser.add_argument("--version", action="version", version=f"infoatlas-rt {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    estimate = command("estimate", _estimate, "mutual information of two files of paired samples")
    estimate.add_argument("x", help=".npy or .csv [n, d] (or .npz with one array)")
    estimate.add_argument("y", help="the same, row by row")
    estimate.add_argument(
        "--time-series",
        action="store_true",
        help="rows are in time order and depend on their neighbours (wider standard error)",
    )
    _add_drop_missing(estimate)
    _add_estimator(estimate)
    _add_slicing(estimate)
    _add_json(estimate)

    states = command(
        "keystates",
        _keystates,
        "key states of recorded trajectories, or of one robot's stream in a ROS bag",
    )
    states.add_argument(
        "data",
        help="demonstrations: .npz with states [sum, d] and lengths [N], .csv, or a folder of ROS "
        "bags; or one ROS bag (folder, .mcap, .db3), which is one robot's stream",
    )
    states.add_argument("--lag", type=int, help="steps to the past state (2; of two topics: 0)")
    states.add_argument("--plot", metavar="FILE", help="picture (.png, .pdf or .svg)")
    _add_estimator(states)
    _add_slicing(states)
    _add_json(states)
    _add_trajectories(states.add_argument_group("trajectories"))
    _add_curves(states.add_argument_group("extrema of a curve (--method curve, and bags)"))
    _add_bags(states.add_argument_group("bags"))

    test = command("test", _test, "permutation test of independence of two files of paired samples")
    independence_command.add_arguments(test)
    _add_drop_missing(test)
    _add_estimator(test)
    _add_slicing(test)
    _add_json(test)

    bench = command("bench", _bench, "time of one update, by stage")
    bench.add_argument("--samples", type=int, default=100, help="n (100)")
    bench.add_argument(
        "--dims", type=int, nargs=2, default=(41, 41), metavar=("DX", "DY"), help="(41 41)"
    )
    bench.add_argument("--duration", type=float, default=3.0, help="seconds, at least (3)")
    _add_estimator(bench)
    _add_slicing(bench)
    _add_json(bench)

    info = command("info", _info, "what a model file says of itself")
    info.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    _add_json(info)
    commands.add_parser("export", help="write a trained checkpoint as a model file", add_help=False)
    return parser


def _add_trajectories(group: Any) -> None:
    group.add_argument(
        "--method",
        choices=("phase", "pointwise", "curve"),
        help="phase: boundaries of phases that all trajectories share. pointwise: minima of the "
        "model's local information. curve: the paper's I(s_t; s_t-lag) over t; its extrema are no "
        "nearer to events than evenly spaced steps (phase)",
    )
    group.add_argument("--count", metavar="K", help="key states besides the end, or auto (5)")
    group.add_argument("--save", metavar="FILE", help="file for KeyStateTracker and the ROS 2 node")
    group.add_argument(
        "--group",
        action="append",
        metavar="NAME=COLUMNS",
        help="report what begins or ceases to depend on what at each key state; give it twice or "
        "more, as tool=18:21 or cube=cube. (beginning of names)",
    )


def _add_curves(group: Any) -> None:
    group.add_argument("--history", type=int, help="past states stacked (1)")
    group.add_argument("--z", type=float, help="standard errors for a difference to count (3.5)")
    group.add_argument(
        "--delay",
        type=float,
        help="within this an extremum is reported: seconds of a bag (2), steps or fractions of a "
        "curve (20 of its points)",
    )
    group.add_argument(
        "--time",
        choices=("auto", "raw", "normalised"),
        help="curve: original steps, or fractions of each trajectory (auto: by whether lengths "
        "differ)",
    )
    group.add_argument("--points", type=int, help="curve: moments in normalised time (100)")
    group.add_argument(
        "--keep-constant",
        action="store_const",
        const=True,
        help="curve: keep coordinates that never move within a trajectory (goals)",
    )


def _add_bags(group: Any) -> None:
    group.add_argument("--topic", help="the robot's states")
    group.add_argument(
        "--stamp-field",
        metavar="'FIELD UNIT'",
        help="time of a message, and its unit (s, ms, us, ns), as in 'timestamp us' (the header's)",
    )
    group.add_argument(
        "--partial",
        action="store_true",
        default=None,
        help="read the intact part of an .mcap file that was cut off",
    )
    group.add_argument(
        "--field",
        action="append",
        help="as in 'position[:]', 'position[0:6]', pose.position.x; may be given several times "
        "(by the type: joints' positions and velocities, all numbers of a pose, ...)",
    )
    group.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="of whole arrays these elements, by the names in the messages (all)",
    )
    group.add_argument(
        "--with-topic", metavar="TOPIC", help="read I(topic; past of this one), paired by stamps"
    )
    group.add_argument("--with-field", action="append", metavar="FIELD", help="of that topic")
    group.add_argument(
        "--pair-tolerance", type=float, metavar="S", help="seconds between two topics (0.02)"
    )
    group.add_argument("--window", type=int, help="steps of a reading (100)")
    group.add_argument(
        "--resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest difference that means anything, for all coordinates or for each (none)",
    )
    group.add_argument(
        "--coupling-resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="of two topics: smallest motion within a step that means anything, for both or for "
        "each (1e-5)",
    )
    group.add_argument(
        "--reset-after",
        type=float,
        metavar="S",
        help="seconds by which stamps jump back for everything to be forgotten (1)",
    )
    group.add_argument(
        "--rate-limit", type=float, metavar="HZ", help="readings per second of stamps at most (all)"
    )
    group.add_argument("--every", type=int, metavar="N", help="a reading for each Nth pair (1)")
    group.add_argument(
        "--lag-seconds",
        type=float,
        metavar="S",
        help="what lag steps last: finds the past by its stamp, also where messages are lost",
    )
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="S",
        help="with --lag-seconds (half a step; more if states come slower than that)",
    )


def _add_drop_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out pairs in which a value is missing (NaN; blank row, empty cell or NA in a "
        ".csv); without it they are errors",
    )


def _add_estimator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    parser.add_argument("--provider", default="cpu", help="cpu, cuda or tensorrt (cpu)")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--seed", type=int, default=0, help="of projections and shuffle (0)")


def _add_slicing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--k", type=int, help="dimensions of a slice (as many as the model takes: edge, base 5)"
    )
    parser.add_argument("--slices", type=int, help="how many, where there are any (40)")
    parser.add_argument(
        "--sides",
        default="auto",
        help="which are sliced: both, x or y (auto: both with --k, else those that are wider than "
        "the model)",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="result as JSON (stdout without FILE)"
    )


def _make_estimator(arguments: argparse.Namespace) -> Any:
    from .estimator import Estimator

    return Estimator(
        arguments.model,
        provider=arguments.provider,
        threads=arguments.threads,
        k=arguments.k,
        slices=arguments.slices,
        sides=arguments.sides,
        seed=arguments.seed,
    )


def _estimate(arguments: argparse.Namespace) -> None:
    from .data import load_pairs

    x, y, dropped = load_pairs(arguments.x, arguments.y, drop_missing=arguments.drop_missing)
    result = _make_estimator(arguments).estimate(x, y, time_series=arguments.time_series)
    if not write_json(arguments.json, {**result.to_dict(), "dropped": dropped}):
        print(result)
        if dropped:
            print(f"Dropped: {dropped} pairs with a missing value")


def _keystates(arguments: argparse.Namespace) -> None:
    from . import keystates_command

    keystates_command.run(arguments, _make_estimator)


def _test(arguments: argparse.Namespace) -> None:
    independence_command.run(arguments, _make_estimator)


def _bench(arguments: argparse.Namespace) -> None:
    from . import bench

    estimator = _make_estimator(arguments)
    with progress("bench") as advance:
        report = bench.measure(
            estimator,
            samples=arguments.samples,
            dims=tuple(arguments.dims),
            duration=arguments.duration,
            progress=advance,
        )
    if write_json(arguments.json, report.to_dict()):
        return
    how = "unsliced" if report.k is None else f"{report.slices} slices of {report.k}"
    table(
        f"One update: n={report.samples}, {report.dims[0]} + {report.dims[1]} coordinates, {how}",
        ("milliseconds", "mean", "median", "p90", "p95", "p99", "min", "max"),
        [
            (stage, *(f"{getattr(times, name):.2f}" for name in list(asdict(times))[:-1]))
            for stage, times in report.stages.items()
        ],
    )
    memory = report.peak_memory_mb
    print(f"Throughput: {report.throughput:.1f} updates/s over {report.iterations} updates")
    print(f"Model {report.model} on {report.provider}, {report.threads} threads")
    print(f"Peak memory: {'unknown' if memory is None else f'{memory:.0f} MB'}")
    print(f"Machine: {report.machine}; {', '.join(map(' '.join, report.versions.items()))}")
    if report.unstable:
        print(
            f"Warning: the total varies by {report.stages['total'].cv:.1%} (coefficient of "
            "variation, limit 2.5%): is something else using this machine?"
        )


def _info(arguments: argparse.Namespace) -> None:
    from .bundle import load

    bundle = load(arguments.model)
    values = {key: value for key, value in vars(bundle).items() if key != "bytes"}
    values["path"] = str(bundle.path)
    if not write_json(arguments.json, values):
        table(
            f"Model {bundle.name}",
            ("", ""),
            [
                (key, json.dumps(value) if isinstance(value, dict | tuple) else str(value))
                for key, value in values.items()
            ],
        )


def _export(argv: list[str]) -> int:
    try:
        from infoatlas_export.cli import main as export
    except ImportError as error:
        raise InputError(
            f"export needs more than the runtime ({error}): pip install 'infoatlas-rt[export]'"
        ) from error
    return int(export(argv) or 0)


if __name__ == "__main__":
    sys.exit(main())
