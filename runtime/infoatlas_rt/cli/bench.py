"""The command `infoatlas-rt bench`: measures the time of an update, by stage and provider.

The native engine and ONNX Runtime are measured in one run, and the ratio is printed.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import ProviderError
from .arguments import add_estimator, add_json, make_estimator
from .console import progress, table, write_json

if TYPE_CHECKING:
    from .latency import Report

HELP = "time of one update, by stage"
DESCRIPTION = (
    "Measure the time of one update, by stage. The native engine is measured beside ONNX Runtime "
    "in one run, and the ratio is printed."
)
EXAMPLES = ("bench --provider native",)
SHOWN = ("mean", "median", "p90", "p95", "p99", "min", "max")
# Providers that are measured in turns. On a GPU, a second engine would change clocks and power.
IN_TURNS = {"native": ("native", "cpu"), "all": ("cpu", "native")}
ALL_PROVIDERS = ("cpu", "native", "cuda", "tensorrt", "tensorrt-rtx")  # providers of "all"


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
    parser.add_argument(
        "--duration",
        type=float,
        default=3.0,
        help="seconds to measure, at least; if updates are slow, up to a minute for ten of them. "
        "Ctrl-C prints what has been measured",
    )
    add_json(parser)
    add_estimator(parser, providers="native, cpu, cuda, tensorrt, tensorrt-rtx, auto, or all")


def run(arguments: Namespace) -> None:
    """Measure and print; ProviderError if no provider starts."""
    from . import latency

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
            if reports[-1].interrupted:
                break
    if not reports:
        raise ProviderError("; ".join(f"{name}: {why}" for name, why in refused.items()))
    found: dict[str, Any] = asdict(reports[0])
    if wanted in IN_TURNS:
        found = {"reports": [asdict(report) for report in reports], "refused": refused}
    measured = {report.provider: asdict(report) for report in reports}
    ratio = None
    if {"native", "cpu"} <= set(measured):
        ratio = _ratios(measured["cpu"], measured["native"])
        found["native_over_cpu"] = ratio
    if not write_json(arguments.json, found):
        _print_all(reports, ratio, refused)
    if reports[-1].interrupted:
        raise KeyboardInterrupt


def _print_all(
    reports: "Sequence[Report]", ratio: Mapping[str, Any] | None, refused: Mapping[str, str]
) -> None:
    for report in reports:
        _print(report)
    if ratio is not None:
        shown = ", ".join(
            f"{stage} {value['median']:.3f}" for stage, value in ratio.items() if value["median"]
        )
        print(f"Native over cpu, medians of updates that took turns: {shown}")
    for name, why in refused.items():
        print(f"Not measured on {name}: {why}")


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


def _print(report: "Report") -> None:
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
    load = "unknown" if report.load is None else f"{report.load:.2f} processes for each core"
    print(f"Spread of the total: {report.stages['total'].cv:.1%} of its mean; load before: {load}")
