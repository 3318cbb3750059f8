"""Command line of the benchmarks, provenance of a measurement, and writing of result pages."""

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress
from infoatlas_rt.cli.latency import processor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = Path("benchmarks/results")
Job = TypeVar("Job")


class Options(argparse.ArgumentParser):
    """Command line of a benchmark; the parsed arguments have the complete command as `command`.

    The first line of its docstring is shown as the description; `quick` is the help of --quick.
    With `several`, --model accepts more than one model.
    """

    def __init__(self, module: str, doc: str, quick: str, several: bool = False) -> None:
        super().__init__(prog=f"python -m {module}", description=doc.splitlines()[0])
        self.add_argument("--out", type=Path, default=RESULTS, help="folder (%(default)s)")
        self.add_argument(
            "--model",
            nargs="+" if several else None,
            default=["edge"] if several else "edge",
            help=f"shipped model{'s' if several else ''} or .onnx file (edge)",
        )
        self.add_argument("--quick", action="store_true", help=quick)

    def parse_args(self, arguments: Sequence[Any] | None = None) -> Any:  # type: ignore[override]
        words = sys.argv[1:] if arguments is None else list(map(str, arguments))
        chosen = super().parse_args(words)
        chosen.command = shlex.join([*self.prog.split(), *words])
        return chosen


def tracked(what: str, jobs: Iterable[Job]) -> Iterator[Job]:
    """The jobs, with a bar of progress."""
    every = list(jobs)
    with progress(what) as advance:
        for done, job in enumerate(every, start=1):
            yield job
            advance(done / len(every))


def provenance(command: str, *estimators: Estimator) -> dict[str, Any]:
    """Date, command, machine, versions and models: what a repetition of a measurement needs."""
    import onnxruntime  # make demo prints tables without it

    models = []
    for estimator in estimators:
        model_file = estimator.model_file
        models.append({f.name: getattr(model_file, f.name) for f in fields(model_file)})
        del models[-1]["bytes"], models[-1]["path"]
    optional = [
        name for name in ("torch", "sklearn", "mani_skill", "gymnasium") if name in sys.modules
    ]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": command,
        "machine": {
            "cpu": processor(),
            "cores_used": estimators[0].backend.threads if estimators else 1,
            "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "provider": estimators[0].backend.provider if estimators else None,
        "versions": {
            "python": platform.python_version(),
            "infoatlas-rt": sys.modules["infoatlas_rt"].__version__,
            **{name: version(name) for name in ("numpy", "scipy")},
            "onnxruntime": onnxruntime.__version__,  # one module, distributions of several names
            **{name: sys.modules[name].__version__ for name in optional},
        },
        "models": models,
        "units": "nats, seconds",
    }


def byline(about: dict[str, Any], nats: bool = True) -> str:
    """The provenance in a paragraph of Markdown; `nats`: whether the page has information."""
    machine = about["machine"]
    threads = machine["cores_used"]
    models = "; ".join(
        f"{model['name']} {model['version']} ({model['steps']:,} training steps, "
        f"{model['datasets']:,} data sets, sha256 {model['sha256'][:12]})"
        for model in about["models"]
    )
    return (
        f"Measured {about['date']} with `{about['command']}` on one {machine['cpu']}, "
        f"{threads} thread{'s' * (threads != 1)}. "
        f"The load average at the start was {machine['load_average']}. A load above the number of "
        "threads means that other work ran at the same time; times are then upper bounds."
        + (f" Model{'s' * (len(about['models']) > 1)}: {models}." if models else "")
        + " Information is in nats." * nats
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: first column aligned left, the others right."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float, digits: int = 3) -> str:
    """Fixed number of digits, without a minus sign before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def save(
    out: Path,
    name: str,
    about: dict[str, Any],
    entries: Sequence[dict[str, Any]],
    page: str,
    figure: "Figure | None" = None,
) -> None:
    """Write rows of any form as NAME.json, the page as NAME.md, and a figure as NAME.png."""
    out.mkdir(parents=True, exist_ok=True)
    # One line for each row, so that a diff shows which rows of a new run differ.
    head = json.dumps({**about, "rows": []}, indent=1, allow_nan=False)
    lines = ",\n  ".join(json.dumps(_rounded(v), allow_nan=False) for v in entries)
    text = head.removesuffix("[]\n}") + f"[\n  {lines}\n ]\n}}\n"
    (out / f"{name}.json").write_text(text, encoding="utf-8")
    (out / f"{name}.md").write_text(page.rstrip() + "\n", encoding="utf-8")
    if figure is not None:
        figure.savefig(out / f"{name}.png")
    print(f"{out}/{name}.json and .md" if figure is None else f"{out}/{name}.json, .md and .png")


def _rounded(value: Any) -> Any:
    """Six decimals, more than are significant in any result."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, tuple) else value
