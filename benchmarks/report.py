"""What the accuracy benchmarks share: running the estimators, and writing down what came out.

The library is used through its public interface alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from peers import gaussian_copula, kde, ksg

from infoatlas_rt import Estimator
from infoatlas_rt.console import progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESULTS = Path("benchmarks/results")
OURS, COPULA, KSG, KDE = "infoatlas-rt", "Gaussian copula", "KSG (k=5)", "KDE"
Peer = Callable[[NDArray[np.float64], NDArray[np.float64]], float]
PEERS: dict[str, Peer] = {COPULA: gaussian_copula, KSG: ksg}
FOUR: dict[str, Peer] = {**PEERS, KDE: kde}

INK, QUIET, GRID = "#1c2733", "#6b7785", "#e6e9ed"
# Told apart by the colour-blind; a second model of ours is darker.
BLUES = ("#1f5f99", "#0c2f52", "#5b93c4")
COLOURS = {COPULA: "#e08a00", KSG: "#8a95a1", KDE: "#b5495b"}


@dataclass(frozen=True)
class Case:
    """Samples of known mutual information.

    Attributes
    ----------
    label : dict
        What tells it from other cases.
    truth : float, nats
    n : int
        Samples of a draw.
    draws : int
    draw : callable
        Number of the draw -> (x [n, dx], y [n, dy]).
    time_series : bool
        The samples are states of one path in order of time, and we say so to our estimator.
    """

    label: dict[str, Any]
    truth: float
    n: int
    draws: int
    draw: Callable[[int], tuple[NDArray[np.floating], NDArray[np.floating]]]
    time_series: bool = False


@dataclass(frozen=True)
class Row:
    """One estimator on all draws of one case, nats; `seconds` is the median of an estimate."""

    label: dict[str, Any]
    n: int
    truth: float
    estimator: str
    estimates: tuple[float, ...]
    seconds: float
    stderr: float | None = None  # the mean of what the estimator said; peers say nothing

    @property
    def mean(self) -> float:
        return float(np.mean(self.estimates))

    @property
    def bias(self) -> float:
        return self.mean - self.truth

    @property
    def spread(self) -> float:
        """Standard deviation over draws; zero for a single one."""
        return float(np.std(self.estimates, ddof=1)) if len(self.estimates) > 1 else 0.0


def options(doc: str, quick: str) -> argparse.ArgumentParser:
    """The options that all of the benchmarks have; `quick` says what --quick does."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help=f"folder ({RESULTS})")
    parser.add_argument(
        "--model", nargs="+", default=["edge"], help="shipped models or .onnx files (edge)"
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def load(models: Sequence[str]) -> dict[str, Estimator]:
    """Estimators by the name they have in the tables: the library's, and the model's if several."""
    if len(models) == 1:
        return {OURS: Estimator(models[0])}
    return {f"{OURS} {Path(model).stem}": Estimator(model) for model in models}


def measure(
    what: str,
    cases: Sequence[Case],
    estimators: Mapping[str, Estimator],
    peers: Mapping[str, Peer] = PEERS,
    draws: Mapping[str, int] | None = None,
) -> list[Row]:
    """Every estimator on the same draws, in the same process, with the time of each.

    `draws` limits the draws of slow peers to the first few, by name.
    """
    rows = []
    names = [*estimators, *peers]
    most = {name: (draws or {}).get(name, sys.maxsize) for name in names}
    total, done = sum(case.n * case.draws for case in cases), 0
    with progress(what) as advance:
        for case in cases:
            values: dict[str, list[float]] = {name: [] for name in names}
            seconds: dict[str, list[float]] = {name: [] for name in names}
            stderr: dict[str, list[float]] = {name: [] for name in estimators}
            for i in range(case.draws):
                x, y = (np.asarray(side, np.float64) for side in case.draw(i))
                for name in names:
                    if i >= most[name]:
                        continue
                    start = perf_counter()
                    if name in estimators:
                        estimate = estimators[name].estimate(x, y, time_series=case.time_series)
                        value = estimate.mi
                        stderr[name].append(estimate.stderr)
                    else:
                        value = peers[name](x, y)
                    seconds[name].append(perf_counter() - start)
                    values[name].append(value)
                done += case.n
                advance(done / total)
            for name in names:
                rows.append(
                    Row(
                        case.label,
                        case.n,
                        case.truth,
                        name,
                        tuple(values[name]),
                        float(np.median(seconds[name])),
                        float(np.mean(stderr[name])) if name in estimators else None,
                    )
                )
    return rows


def names(rows: Iterable[Row]) -> list[str]:
    """The estimators, ours first."""
    return list(dict.fromkeys(row.estimator for row in rows))


def ours(name: str) -> bool:
    return name.startswith(OURS)


def colours(names: Sequence[str]) -> dict[str, str]:
    blues = iter(BLUES)
    return {name: next(blues) if ours(name) else COLOURS[name] for name in names}


def mean_seconds(rows: Iterable[Row]) -> float:
    return float(np.mean([row.seconds for row in rows]))


def nearest(rows: Iterable[Row], by: str) -> dict[str, Row]:
    """By a label, the row with the smallest absolute bias."""
    best: dict[str, Row] = {}
    for row in rows:
        name = row.label[by]
        if name not in best or abs(row.bias) < abs(best[name].bias):
            best[name] = row
    return best


def pick(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Rows whose attributes or labels have these values."""
    return [
        row
        for row in rows
        if all(row.label.get(key, getattr(row, key, None)) == v for key, v in wanted.items())
    ]


def mean_absolute_bias(rows: Sequence[Row]) -> float:
    return float(np.mean([abs(row.bias) for row in rows]))


def provenance(*estimators: Estimator) -> dict[str, Any]:
    """What has to be known to measure the same again."""
    models = []
    for estimator in estimators:
        bundle = estimator.bundle
        models.append({f.name: getattr(bundle, f.name) for f in fields(bundle)})
        del models[-1]["bytes"], models[-1]["path"]
    script = Path(sys.argv[0]).resolve()
    optional = [name for name in ("torch", "sklearn") if name in sys.modules]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": shlex.join(
            ["python", f"benchmarks/{script.parent.name}/{script.name}", *sys.argv[1:]]
        ),
        "machine": {
            "cpu": _cpu(),
            "cores_used": estimators[0].backend.threads,
            "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "provider": estimators[0].backend.provider,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("infoatlas-rt", "numpy", "scipy")},
            "onnxruntime": onnxruntime.__version__,  # one module, distributions of several names
            **{name: sys.modules[name].__version__ for name in optional},
        },
        "models": models,
        "units": "nats, seconds",
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def byline(about: dict[str, Any]) -> str:
    """The provenance in a paragraph of Markdown."""
    machine = about["machine"]
    models = "; ".join(
        f"model {model['name']} {model['version']} after {model['steps']:,} steps and "
        f"{model['datasets']:,} data sets, sha256 {model['sha256'][:12]}"
        for model in about["models"]
    )
    return (
        f"Measured {about['date']} with `{about['command']}` on one {machine['cpu']}, "
        f"{machine['cores_used']} thread(s), load average {machine['load_average']} at the start "
        f"(other work ran on it if that is above the threads, so times are upper bounds); "
        f"{models}. All in nats."
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float, digits: int = 3) -> str:
    """Fixed digits, and no minus before a zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def write(
    out: Path, name: str, about: dict[str, Any], rows: Sequence[Row], page: str, figure: Figure
) -> None:
    """Write NAME.json, NAME.md and NAME.png, and say where."""
    values = [
        {
            **row.label,
            "n": row.n,
            "truth": row.truth,
            "estimator": row.estimator,
            "mean": row.mean,
            "spread": row.spread,
            "bias": row.bias,
            "seconds": row.seconds,
            **({} if row.stderr is None else {"mean_stderr": row.stderr}),
            "estimates": row.estimates,
        }
        for row in rows
    ]
    save(out, name, about, values, page, figure)


def save(
    out: Path,
    name: str,
    about: dict[str, Any],
    values: Sequence[dict[str, Any]],
    page: str,
    figure: Figure | None = None,
) -> None:
    """As `write`, of rows of any form, and with or without a picture."""
    out.mkdir(parents=True, exist_ok=True)
    # A line for each row: readable, and a re-run shows up as such in a diff.
    head = json.dumps({**about, "rows": []}, indent=1, allow_nan=False)
    lines = ",\n  ".join(json.dumps(_rounded(v), allow_nan=False) for v in values)
    text = head.removesuffix("[]\n}") + f"[\n  {lines}\n ]\n}}\n"
    (out / f"{name}.json").write_text(text, encoding="utf-8")
    (out / f"{name}.md").write_text(page.rstrip() + "\n", encoding="utf-8")
    if figure is not None:
        figure.savefig(out / f"{name}.png")
    print(f"{out}/{name}.json and .md" if figure is None else f"{out}/{name}.json, .md and .png")


def _rounded(value: Any) -> Any:
    """Six digits after the point: more than any figure here means."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, tuple) else value


def quiet(axes: Axes) -> None:
    """Take what is not data off a plot."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9, length=3)
    axes.set_axisbelow(True)


def heading(figure: Figure, title: str, words: str) -> None:
    """A title and a line under it, at the same distance from the top of any figure."""
    height = figure.get_figheight()
    figure.text(
        0.012, 1 - 0.3 / height, title, color=INK, fontsize=14, fontweight="bold", va="center"
    )
    figure.text(0.012, 1 - 0.58 / height, words, color=QUIET, fontsize=9.5, va="center")


def truth_legend(figure: Figure, colours: dict[str, str]) -> None:
    """The mark of the truth and a dot for each estimator, on a line under the heading."""
    from matplotlib.lines import Line2D

    figure.legend(
        handles=[Line2D([], [], color=INK, marker="|", ms=13, mew=2.2, ls="", label="truth")]
        + [
            Line2D([], [], color=colour, marker="o", linestyle="", label=name)
            for name, colour in colours.items()
        ],
        loc="upper right",
        bbox_to_anchor=(0.988, 1 - 0.62 / figure.get_figheight()),
        ncols=1 + len(colours),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        handletextpad=0.2,
        columnspacing=1.2,
    )
