"""Table of devices, with a row for each file of `infoatlas-rt bench --json`.

infoatlas-rt bench --json benchmarks/results/devices/NAME.json
python -m benchmarks.devices
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report import table

FOLDER = Path(__file__).parent / "results" / "devices"
HEADS = (
    *("file", "device", "model", "on", "n, coordinates, slices", "median ms", "p99 ms"),
    *("spread", "load", "memory MB", "mJ"),
)
TOP = """# Latency by device

Each row is the time of one update. Unless the row states otherwise, a window has 100 states of 41
coordinates and their past, in 40 slices of 5 dimensions. To add a row, run on an idle machine:

```console
$ infoatlas-rt bench --provider PROVIDER --json benchmarks/results/devices/NAME.json
$ python -m benchmarks.devices
```

NAME consists of the board, the provider and the power mode, as `orin-nx-tensorrt-25w`. Power modes
of a Jetson are in [Jetson](../../../docs/jetson.md). Commit the file and this page. The file
contains all versions. Spread: standard deviation of the times, as a share of their mean. Load:
processes for each core before the measurement, if the file has it.

"""


def row(name: str, report: Mapping[str, Any]) -> list[str]:
    """One report as a row of the table of devices."""
    total, memory = report["stages"]["total"], report["peak_memory_mb"]
    energy, gpu = report["millijoules"], report["gpu"]
    on_cpu = report["provider"] in ("cpu", "native")
    sliced = "unsliced" if report["k"] is None else f"{report['slices']} of {report['k']}"
    return [
        name,
        report["machine"] if on_cpu else gpu or report["machine"],
        report["model"],
        report["provider"] + (f", {report['threads']} threads" * on_cpu),
        f"{report['samples']}, {report['dims'][0]} + {report['dims'][1]}, {sliced}",
        f"{total['median']:.2f}",
        f"{total['p99']:.2f}",
        f"{total['cv']:.0%}",
        "" if report.get("load") is None else f"{report['load']:.2f}",
        "" if memory is None else f"{memory:.0f}",
        "" if energy is None else f"{energy:.0f}",
    ]


def read(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Names and reports of a folder, in the order of names; all providers of a file."""
    found = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        for report in content.get("reports", [content]):
            found.append((path.stem, report))
    return found


def page(folder: Path) -> str:
    """The page, in Markdown."""
    return TOP + table(HEADS, [row(name, report) for name, report in read(folder)]) + "\n"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(FOLDER))
