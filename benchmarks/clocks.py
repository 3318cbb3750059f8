"""Offsets of cameras and grippers: shifts that are put in, intervals and false alarms.

python -m benchmarks.clocks --set examples/data/stack front    # -> benchmarks/results/clocks.*
python -m benchmarks.clocks --set FOLDER CAMERA --set OTHER CAMERA state actions
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress
from infoatlas_tools import lag_scan
from infoatlas_tools.annotations.clock_offsets import clock_offsets
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.clocks.offsets import find_offset

from . import report
from .report import number, table
from .tasks import Array

DRAWS, SUBSETS, SCANS = 40, 40, 4  # shifts of each kind, aligned subsets, and lag scans
MOST = 10.0  # frames that are put in
DELAYS = 0.6  # s of a gripper
SIZES = (10, 1)  # episodes


def later(values: Array, steps: float) -> tuple[Array, slice]:
    """A series `steps` later, and the steps of the others that it is of."""
    at = np.arange(len(values)) - steps
    inside = np.flatnonzero((at >= 0) & (at <= len(values) - 1))
    return np.interp(at[inside], np.arange(len(values)), values), slice(inside[0], inside[-1] + 1)


def put_in(row: Any, which: Sequence[int], steps: float) -> tuple[list[Array], list[Array]]:
    """Speeds of some episodes, and the other series `steps` later."""
    moved = [later(row.other[i], steps) for i in which]
    return [row.moved[i][own] for i, (_, own) in zip(which, moved, strict=True)], [
        values for values, _ in moved
    ]


def measure(name: str, row: Any, limits: tuple[float, float], draws: int) -> list[dict[str, Any]]:
    """Rows of a series: its offset in all episodes is taken as the truth."""
    rate, rng, found = row.rate, np.random.default_rng(76), []
    for count in (n for n in SIZES if n <= len(row.moved)):
        kept: list[tuple[float, float, float]] = []
        begin, unknown = time.process_time(), 0
        for draw in range(draws):
            which = rng.choice(len(row.moved), count, replace=False).tolist()
            steps = rng.uniform(*limits)
            own = find_offset(*put_in(row, which, steps), rate, seed=draw)
            unknown += bool(own.why)
            if not own.why:
                truth = row.offset.steps + steps
                kept.append((own.steps - truth, *(end - truth for end in own.interval)))
        seconds = (time.process_time() - begin) / draws
        errors = np.array(kept).reshape(-1, 3)
        found.append(
            {"series": name, "episodes": count, "draws": draws, "unknown": unknown}
            | {"inside": int(((errors[:, 1] <= 0) & (errors[:, 2] >= 0)).sum())}
            | {"half": float(np.median(np.ptp(errors[:, 1:], axis=1)) / 2) if kept else np.nan}
            | {"error": float(np.median(np.abs(errors[:, 0]))) if kept else np.nan}
            | {"seconds": seconds}
        )
    return found


def scan(name: str, row: Any, estimator: Estimator, scans: int) -> dict[str, Any]:
    """The same by `lag_scan` of ten episodes."""
    rng, reach, found = np.random.default_rng(77), round(MOST + 5), []
    begin = time.process_time()
    for _ in range(scans):
        which = rng.choice(len(row.moved), min(10, len(row.moved)), replace=False).tolist()
        steps = rng.uniform(-MOST, MOST)
        around = round(row.offset.steps)
        x, y = put_in(row, which, steps - around)
        own = lag_scan(x, y, range(-reach, reach + 1), estimator, permutations=0)
        truth = row.offset.steps - around + steps
        ends = own.interval
        found.append((abs(own.best - truth), ends[0] <= truth <= ends[1], np.ptp(ends) / 2))
    errors, inside, half = np.array(found, float).T
    return {
        "series": name, "scans": scans, "inside": int(inside.sum()),
        "half": float(np.median(half)), "error": float(np.median(errors)),
        "seconds": (time.process_time() - begin) / scans,
    }  # fmt: skip


def alarms(row: Any, subsets: int) -> int:
    """Aligned subsets of ten episodes whose offset is called other than 0."""
    rng, count = np.random.default_rng(78), min(10, len(row.moved))
    picks = [rng.choice(len(row.moved), count, replace=False).tolist() for _ in range(subsets)]
    return sum(find_offset(*put_in(row, own, -row.offset.steps), row.rate).apart for own in picks)


def page(about: dict[str, Any], rows: list[dict[str, Any]], scans: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    known, inside = (sum(r[k] for r in rows) for k in ("draws", "inside"))
    known -= sum(r["unknown"] for r in rows)
    cells = [
        [r["series"], str(r["episodes"]), f"{r['inside']} of {r['draws'] - r['unknown']}"]
        + [str(r["unknown"])]
        + [f"{r[k]:.2f}" for k in ("half", "error", "seconds")]
        for r in rows
    ]
    others = [
        [r["series"], f"{r['inside']} of {r['scans']}"]
        + [f"{r[k]:.2f}" for k in ("half", "error", "seconds")]
        + [f"{r['alarms']} of {r['subsets']}"]
        for r in scans
    ]
    return "\n\n".join(
        [
            "# Clocks: shifts that are put in",
            f"Pictures are moved by -{MOST:g} to {MOST:g} frames, and a gripper's commands by 0 to "
            f"{DELAYS} s before its states. The offset of all episodes, without a shift, is taken "
            f"as the truth. Of the 90% intervals of known offsets, {inside} of {known} "
            f"({number(100 * inside / max(known, 1))}%) contain it. Half-widths and errors are "
            "medians in frames; seconds are of one processor.",
            report.byline(about),
            table(["series", "episodes", "inside", "not known", "half", "error", "s"], cells),
            "## `lag_scan` of ten episodes, and aligned subsets of ten that are called apart",
            table(["series", "inside", "half", "error", "s", "alarms"], others),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "4 draws", several=False)
    parser.add_argument("--set", nargs="+", action="append", required=True, metavar="WORD")
    parser.add_argument("--budget", type=float, default=240.0, help="s for the images of a camera")
    chosen = parser.parse_args(arguments)
    estimator = Estimator(chosen.model, slices=10, provider="auto", threads=1)
    about = report.provenance(chosen.command, estimator)
    draws, scans = (4, 1) if chosen.quick else (DRAWS, SCANS)
    rows, others = [], []
    with progress("clocks") as advance:
        for done, (path, camera, *features) in enumerate(chosen.set):
            options = {"features": features[:1]} if features else {}
            clocks = clock_offsets(
                open_recording(path, camera=camera, **options), budget=chosen.budget
            )
            print(path, clocks, sep="\n")
            for row in clocks.rows:
                if row.offset.why or "arm" in row.name or row.name == "commands":
                    continue
                name = f"{path.rstrip('/').rpartition('/')[2]}, {row.name}"
                gripper = "gripper" in row.name
                limits = (-DELAYS * row.rate, 0.0) if gripper else (-MOST, MOST)
                rows += measure(name, row, limits, draws)
                found = scan(name, row, estimator, scans)
                found |= {"alarms": alarms(row, draws), "subsets": draws}
                others.append(found)
            advance((done + 1) / len(chosen.set))
    report.save(chosen.out, "clocks", about, [*rows, *others], page(about, rows, others))


if __name__ == "__main__":
    main()
