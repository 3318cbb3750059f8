"""The command infoatlas-rt: estimate, keystates, bench, info, export.

Results go to stdout, progress to stderr. Exit codes: 0; 2 for wrong usage or input; 3 for a model
or a provider that cannot be used; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import __version__
from .console import progress, table, write_json
from .errors import InfoAtlasError, InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process unless given.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        if argv[:1] == ["export"]:
            return _export(argv[1:])
        arguments = _parser().parse_args(argv)
        arguments.run(arguments)
        sys.stdout.flush()
    except InputError as error:
        return _fail(error, 2)
    except InfoAtlasError as error:
        return _fail(error, 3)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _fail(error: Exception, code: int) -> int:
    print(f"infoatlas-rt: {error}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
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
    _add_estimator(estimate)
    _add_slicing(estimate, None, None)
    _add_json(estimate)

    states = command(
        "keystates",
        _keystates,
        "moments that stand out in recorded trajectories, by I(s_t; s_t-lag)",
    )
    states.add_argument("data", help=".npz with states [sum, d] and lengths [N], or .csv")
    states.add_argument("--lag", type=int, default=2, help="steps to the past state (2)")
    states.add_argument("--history", type=int, default=1, help="past states stacked (1)")
    states.add_argument(
        "--time",
        choices=("auto", "raw", "normalised"),
        default="auto",
        help="original steps, or fractions of each trajectory (auto: by whether lengths differ)",
    )
    states.add_argument("--points", type=int, default=100, help="moments in normalised time (100)")
    states.add_argument(
        "--keep-constant",
        action="store_true",
        help="keep coordinates that never move within a trajectory (goals)",
    )
    states.add_argument(
        "--z", type=float, default=3.5, help="standard errors for a difference to count (3.5)"
    )
    states.add_argument(
        "--delay", type=int, default=20, help="readings after which a key state is told (20)"
    )
    states.add_argument("--plot", metavar="FILE", help="picture (.png, .pdf or .svg)")
    _add_estimator(states)
    _add_slicing(states, 5, 40)
    _add_json(states)

    bench = command("bench", _bench, "time of one update, by stage")
    bench.add_argument("--samples", type=int, default=100, help="n (100)")
    bench.add_argument(
        "--dims", type=int, nargs=2, default=(41, 41), metavar=("DX", "DY"), help="(41 41)"
    )
    bench.add_argument("--duration", type=float, default=3.0, help="seconds, at least (3)")
    _add_estimator(bench)
    _add_slicing(bench, 5, 40)
    _add_json(bench)

    info = command("info", _info, "what a model file says of itself")
    info.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    _add_json(info)
    commands.add_parser("export", help="write a trained checkpoint as a model file", add_help=False)
    return parser


def _add_estimator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    parser.add_argument("--provider", default="cpu", help="cpu, cuda or tensorrt (cpu)")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--seed", type=int, default=0, help="of projections and shuffle (0)")


def _add_slicing(parser: argparse.ArgumentParser, k: int | None, slices: int | None) -> None:
    parser.add_argument("--k", type=int, default=k, help=f"dimensions of a slice ({k or 'model'})")
    parser.add_argument("--slices", type=int, default=slices, help=f"how many ({slices or 'auto'})")


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
        seed=arguments.seed,
    )


def _estimate(arguments: argparse.Namespace) -> None:
    from .data import load_samples

    x, y = load_samples(arguments.x), load_samples(arguments.y)
    result = _make_estimator(arguments).estimate(x, y, time_series=arguments.time_series)
    if not write_json(arguments.json, result.to_dict()):
        print(result)


def _keystates(arguments: argparse.Namespace) -> None:
    from .curve import mi_curve
    from .data import load_trajectories
    from .events import compare, event, load_flags
    from .keystates import KINDS, KeyStateDetector, find

    if arguments.plot:
        from .plots import check_file

        check_file(arguments.plot)  # before minutes of computing, not after
    options = {"z": arguments.z, "delay": arguments.delay}
    KeyStateDetector(**options)
    trajectories = load_trajectories(arguments.data)
    estimator = _make_estimator(arguments)
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
    states = find(curve, **options)
    normalised = curve.mode == "normalised"
    found = (
        event(name, flag, trajectories.lengths, normalised)
        for name, flag in load_flags(arguments.data).items()
    )
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
            "samples": curve.samples.tolist(),
        },
        "keystates": [asdict(state) for state in states],
        "events": [asdict(e) for e in events],
        "timing": timing,
    }
    if not write_json(arguments.json, result):
        _print_keystates(result, trajectories, arguments.plot)


def _print_keystates(result: dict[str, Any], trajectories: Any, plot: str | None) -> None:
    normalised = result["time"] == "normalised"
    time = "{:.3f}" if normalised else "{:.1f}"
    unit = "fraction of the trajectory" if normalised else "steps"
    table(
        f"Key states of {result['data']} (times: {unit})",
        ("", "kind", "time", "MI (nats)", "stands out by", "told at"),
        [
            (
                str(number),
                state["kind"],
                time.format(state["stamp"]),
                f"{state['value']:.3f}",
                f"{state['prominence']:+.3f} ({state['z']:.1f} s.e.)",
                time.format(result["curve"]["position"][state["detected_at"]]),
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
