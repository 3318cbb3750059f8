"""The command infoatlas-rt: estimate, test, keystates, bench, info, build, export.

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

from .. import __version__
from ..errors import InfoAtlasError, InputError, OutputError
from . import bench, independence, keystates
from .arguments import add_drop_missing, add_estimator, add_json, add_slicing, make_estimator
from .console import check_json, drop_output, open_output, table, write_json


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
    if argv[:1] == ["build"]:
        return _build(argv[1:])
    arguments = _parser().parse_args(argv)
    check_json(arguments.json)
    arguments.run(arguments)
    return 0


def _fail(error: Exception | str, code: int) -> int:
    """Print an error in one line, whatever the names of files are."""
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
    add_drop_missing(estimate)
    add_estimator(estimate)
    add_slicing(estimate)
    add_json(estimate)

    states = command(
        "keystates",
        _keystates,
        "key states of recorded trajectories, or of one robot's stream in a ROS bag",
    )
    keystates.add_arguments(states)
    add_estimator(states)
    add_slicing(states)
    add_json(states)
    keystates.add_groups(states)

    test = command("test", _test, "permutation test of independence of two files of paired samples")
    independence.add_arguments(test)
    add_drop_missing(test)
    add_estimator(test)
    add_slicing(test)
    add_json(test)

    timing = command("bench", _bench, "time of one update, by stage")
    bench.add_arguments(timing)
    add_estimator(timing)
    add_slicing(timing)
    add_json(timing)

    info = command("info", _info, "description of a model file, and the providers of this machine")
    info.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    add_json(info)
    commands.add_parser(
        "build", help="build a TensorRT engine of a model, on this machine", add_help=False
    )
    commands.add_parser("export", help="write a trained checkpoint as a model file", add_help=False)
    return parser


def _estimate(arguments: argparse.Namespace) -> None:
    from ..files.load import load_pairs

    x, y, dropped = load_pairs(arguments.x, arguments.y, drop_missing=arguments.drop_missing)
    result = make_estimator(arguments).estimate(x, y, time_series=arguments.time_series)
    if not write_json(arguments.json, {**result.to_dict(), "dropped": dropped}):
        print(result)
        if dropped:
            print(f"Dropped: {dropped} pairs with a missing value")


def _keystates(arguments: argparse.Namespace) -> None:
    keystates.run(arguments, make_estimator)


def _test(arguments: argparse.Namespace) -> None:
    independence.run(arguments, make_estimator)


def _bench(arguments: argparse.Namespace) -> None:
    bench.run(arguments, make_estimator)


def _info(arguments: argparse.Namespace) -> None:
    from ..backends import installed
    from ..models.model_file import load

    model_file = load(arguments.model)
    left_out = "bytes", "metadata", "engine"
    values = {key: value for key, value in vars(model_file).items() if key not in left_out}
    values["path"] = str(model_file.path)
    if model_file.engine is not None:
        values["engine"] = asdict(model_file.engine)
        del values["engine"]["metadata"]
    values["providers"] = installed()
    if not write_json(arguments.json, values):
        rows = [
            (key, json.dumps(value) if isinstance(value, dict | tuple) else str(value))
            for key, value in values.items()
            if key != "providers"
        ]
        rows += [(f"provider {name}", text) for name, text in values["providers"].items()]
        table(f"Model {model_file.name}", ("", ""), rows)


def _export(argv: list[str]) -> int:
    try:
        from infoatlas_export.cli import main as export
    except ImportError as error:
        raise InputError(
            f"export needs more than the runtime ({error}): pip install 'infoatlas-rt[export]'"
        ) from error
    export(argv)
    return 0


def _build(argv: list[str]) -> int:
    from infoatlas_export.build_cli import main as build  # needs neither torch nor onnx

    build(argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
