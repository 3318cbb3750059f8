"""The command `infoatlas-rt bench`: measures the time of an update, by stage and provider.

The native engine and ONNX Runtime are measured in one run, and the ratio is printed.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ProviderError
from .arguments import add_estimator, add_json, make_estimator
from .console import progress, table, write_json

if TYPE_CHECKING:
    from .latency import Report

HELP = "time of one update, by stage"
DESCRIPTION = (
    "Measure the time of one update, by stage. The native engine is measured beside ONNX Runtime "
    "in one run, and the ratio is printed."
)
EXAMPLES = ("bench --provider native", "bench --compare old.json new.json")
SHOWN = ("mean", "median", "p90", "p95", "p99", "min", "max")
# Providers that are measured in turns. On a GPU, a second engine would change clocks and power.
IN_TURNS = {"native": ("native", "cpu"), "all": ("cpu", "native")}
ALL_PROVIDERS = ("cpu", "native", "cuda", "tensorrt", "tensorrt-rtx")  # providers of "all"
# Settings that have to be equal for a ratio of times to be a ratio of speeds.
SETTINGS = ("samples", "dims", "slices", "k", "model", "provider", "threads", "machine", "gpu")
HEADER = (
    "| device | model | on | n, coordinates, slices | median ms | p99 ms | memory MB | mJ |\n"
    "|---|---|---|---|---|---|---|---|"
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--samples", type=int, default=100, help="samples of an update")
    parser.add_argument(
        "--dims",
        type=int,
        nargs=2,
        default=(41, 41),
        metavar=("DX", "DY"),
        help="coordinates of the two sides",
    )
    parser.add_argument("--duration", type=float, default=3.0, help="seconds to measure, at least")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="measure nothing; print the ratios of two files that --json wrote",
    )
    parser.add_argument("--markdown", action="store_true", help="print rows for a table of devices")
    add_json(parser)
    add_estimator(parser, providers="native, cpu, cuda, tensorrt, tensorrt-rtx, auto, or all")


def run(arguments: Namespace) -> None:
    """Measure and print, or compare two results; ProviderError if no provider starts."""
    from . import latency

    if arguments.compare:
        compare(arguments)
        return
    wanted = arguments.provider
    turns = IN_TURNS.get(wanted, (wanted,))
    alone = [name for name in ALL_PROVIDERS if name not in turns] if wanted == "all" else []
    reports, refused = [], {}
    for names in (turns, *((name,) for name in alone)):
        estimators = []
        for name in names:
            try:
                own = Namespace(**{**vars(arguments), "provider": name})
                estimators.append(make_estimator(own))
            except ProviderError as error:
                if name == wanted:
                    raise
                refused[name] = str(error)
        if estimators:
            with progress(f"bench {', '.join(names)}") as advance:
                reports += latency.measure(
                    estimators,
                    samples=arguments.samples,
                    dims=tuple(arguments.dims),
                    duration=arguments.duration,
                    progress=advance,
                )
    if not reports:
        raise ProviderError("; ".join(f"{name}: {why}" for name, why in refused.items()))
    found: dict[str, Any] = reports[0].to_dict()
    if wanted in IN_TURNS:
        found = {"reports": [report.to_dict() for report in reports], "refused": refused}
    measured = {report.provider: report.to_dict() for report in reports}
    ratio = None
    if {"native", "cpu"} <= set(measured):
        ratio = _ratios(measured["cpu"], measured["native"])
        found["native_over_cpu"] = ratio
    if write_json(arguments.json, found):
        return
    if arguments.markdown:
        print(HEADER)
        for report in reports:
            print(row(report.to_dict()))
        return
    for report in reports:
        _print(report)
    if ratio is not None:
        shown = ", ".join(
            f"{stage} {value['median']:.3f}" for stage, value in ratio.items() if value["median"]
        )
        print(f"Native over cpu, medians of updates that took turns: {shown}")
    for name, why in refused.items():
        print(f"Not measured on {name}: {why}")


def row(report: Mapping[str, Any]) -> str:
    """One report as a row of a Markdown table of devices."""
    total, memory = report["stages"]["total"], report["peak_memory_mb"]
    energy, gpu = report["millijoules"], report["gpu"]
    on_cpu = report["provider"] in ("cpu", "native")
    sliced = "unsliced" if report["k"] is None else f"{report['slices']} of {report['k']}"
    cells = (
        report["machine"] if on_cpu else gpu or report["machine"],
        report["model"],
        report["provider"] + (f", {report['threads']} threads" * on_cpu),
        f"{report['samples']}, {report['dims'][0]} + {report['dims'][1]}, {sliced}",
        f"{total['median']:.2f}",
        f"{total['p99']:.2f}",
        "" if memory is None else f"{memory:.0f}",
        "" if energy is None else f"{energy:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def compare(arguments: Namespace) -> None:
    """Print ratios of two results of `bench --json`, and the settings in which they differ."""
    old, new = (_read(path) for path in arguments.compare)
    ratios = _ratios(old, new)
    differ = {
        name: [old.get(name), new.get(name)] for name in SETTINGS if old.get(name) != new.get(name)
    }
    unstable = [p for p, r in zip(arguments.compare, (old, new), strict=True) if r["unstable"]]
    found = {"ratios": ratios, "differ": differ, "unstable": unstable}
    if write_json(arguments.json, found):
        return
    table(
        f"{arguments.compare[1]} over {arguments.compare[0]}; below 1 is faster",
        ("", "old median", "new median", "ratio", "ratio of p99"),
        [
            (
                stage,
                f"{old['stages'][stage]['median']:.2f} ms",
                f"{new['stages'][stage]['median']:.2f} ms",
                *("-" if value is None else f"{value:.3f}" for value in ratio.values()),
            )
            for stage, ratio in ratios.items()
        ],
    )
    for name, (before, after) in differ.items():
        print(f"Not the same {name}: {before} / {after}")
    for path in unstable:
        print(f"Warning: the times in {path} vary too much; measure again on a quiet machine")


def _ratios(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Ratios of new to old for the stages that both have."""
    return {
        stage: {
            name: times[name] / old["stages"][stage][name] if old["stages"][stage][name] else None
            for name in ("median", "p99")
        }
        for stage, times in new["stages"].items()
        if stage in old["stages"]
    }


def _read(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        stages = found["stages"]
        for times in stages.values():
            float(times["median"]), float(times["p99"])
        bool(found["unstable"]), stages["total"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is no result of one provider ({type(error).__name__}: {error}): write one "
            "with 'infoatlas-rt bench --json FILE'"
        ) from error
    return dict(found)


def _print(report: Report) -> None:
    how = "unsliced" if report.k is None else f"{report.slices} slices of {report.k}"
    stages = {**report.stages, **{f"  {name}": t for name, t in report.transfers.items()}}
    table(
        f"One update: n={report.samples}, {report.dims[0]} + {report.dims[1]} coordinates, {how}",
        ("milliseconds", *SHOWN),
        [
            (stage, *(f"{getattr(times, name):.2f}" for name in SHOWN))
            for stage, times in stages.items()
        ],
    )
    memory, gpu_memory, energy = report.peak_memory_mb, report.gpu_memory_mb, report.millijoules
    print(f"Throughput: {report.throughput:.1f} updates/s over {report.iterations} updates")
    print(f"Model {report.model} on {report.provider}, {report.threads} threads")
    print(f"Peak memory: {'unknown' if memory is None else f'{memory:.0f} MB'}")
    if report.gpu is not None:
        print(f"GPU: {report.gpu}" + ("" if gpu_memory is None else f", {gpu_memory:.0f} MB used"))
    if energy is not None:
        print(f"Energy: {energy:.1f} mJ per update")
    print(f"Machine: {report.machine}; {', '.join(map(' '.join, report.versions.items()))}")
    if report.unstable:
        print(
            f"Warning: the total varies by {report.stages['total'].cv:.1%} (coefficient of "
            "variation, limit 2.5%): is something else using this machine?"
        )
