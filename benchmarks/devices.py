"""Table of devices, with a row for each file of `infoatlas-rt bench --json`.

infoatlas-rt bench --json benchmarks/results/devices/NAME.json
python -m benchmarks.devices
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infoatlas_rt.cli.bench import HEADER, row

FOLDER = Path(__file__).parent / "results" / "devices"
TOP = """# Latency by device

Each row is the time of one update. Unless the row states otherwise, a window has 100 states of 41
coordinates and their past, in 40 slices of 5 dimensions. To add a row, run on an idle machine:

```console
$ infoatlas-rt bench --provider PROVIDER --json benchmarks/results/devices/NAME.json
$ python -m benchmarks.devices
```

NAME consists of the board, the provider and the power mode, as `orin-nx-tensorrt-25w`. Power modes
of a Jetson are in [Jetson](../../../docs/jetson.md). Commit the file and this page. The file
contains all versions. A result is unstable if its coefficient of variation is above 2.5%.

"""


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
    heads, rule = HEADER.splitlines()
    lines = [f"| file {heads}", f"|---{rule}"]
    for name, report in read(folder):
        mark = " (unstable)" if report["unstable"] else ""
        lines.append(f"| {name}{mark} {row(report)}")
    return TOP + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(FOLDER))
