"""False alarms of `infoatlas-rt bag --lags`, and how many intervals contain the true lag.

python -m benchmarks.lags        # -> benchmarks/results/lags.*
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_tools import lag_scan
from infoatlas_tools.bags.bag_lags import LAGS, SLICES, moving, significant

from . import report
from .measure import figures, mean, one
from .report import number, table
from .tasks import Array

RATE, SECONDS, DIMS = 20, 30, 3  # Hz, s of each recording, coordinates of each side
DRAWS = 60  # unrelated pairs of each kind
NOISE = 2e-4  # m, of a position
STEPS, REACH, FINE = 300, 10, 6  # steps of a follower, largest lag, parts of a step
LATE = (0, 1, 2, 3)  # parts of a step by which a follower is later than 5 steps
SHARES = (0.02, 0.2)  # noise of a follower, of its standard deviation
FOLLOWERS = 40  # of each kind, noise and lag


def white(rng: np.random.Generator) -> Array:
    return rng.standard_normal((SECONDS * RATE, DIMS))


def smooth(rng: np.random.Generator) -> Array:
    """Noise averaged over a second."""
    window = np.hanning(RATE + 2)[1:-1]
    raw = rng.standard_normal((SECONDS * RATE + RATE - 1, DIMS))
    return np.stack([np.convolve(column, window, "valid") for column in raw.T], axis=1)


def velocities(rng: np.random.Generator) -> Array:
    """Of a tool that moves between places, and stays at each for a while; with noise."""
    place, parts = rng.uniform(-0.3, 0.3, DIMS), []
    while sum(map(len, parts)) <= SECONDS * RATE:
        share = np.linspace(0, 1, int(RATE * rng.uniform(0.6, 2.0)))[:, None]
        goal = rng.uniform(-0.3, 0.3, DIMS)
        parts.append(place + (goal - place) * (10 * share**3 - 15 * share**4 + 6 * share**5))
        parts.append(np.tile(goal, (int(RATE * rng.uniform(0.3, 1.5)), 1)))
        place = goal
    path = np.concatenate(parts)[: SECONDS * RATE + 1]
    return np.diff(path + NOISE * rng.standard_normal(path.shape), axis=0) * RATE


KINDS: dict[str, Callable[[np.random.Generator], Array]] = {
    "white noise": white,
    "velocities of smooth motions": smooth,
    "velocities of a tool with rests": velocities,
}


# What white noise is averaged with, at FINE parts of a step; and coordinates.
TRACKS: dict[str, tuple[Array, int]] = {
    "smooth, means over 4 steps": (np.hanning(4 * FINE + 2)[1:-1], 1),
    "smooth, means over 12 steps": (np.hanning(12 * FINE + 2)[1:-1], 1),
    "rough, memory of 8 steps": (np.exp(-np.arange(64 * FINE) / (8 * FINE)), 1),
    "smooth, 8 steps, 3 coordinates": (np.hanning(8 * FINE + 2)[1:-1], 3),
    "rough, 4 steps, 3 coordinates": (np.exp(-np.arange(32 * FINE) / (4 * FINE)), 3),
}


def follower(
    rng: np.random.Generator, track: tuple[Array, int], late: int, noise: float
) -> tuple[Array, Array]:
    """x, and y that follows it after `late` parts of a step; both [STEPS, d]."""
    kernel, dims = track
    raw = rng.standard_normal(((STEPS + REACH) * FINE + len(kernel) - 1, dims))
    path = np.stack([np.convolve(column, kernel, "valid") for column in raw.T], axis=1)
    at = FINE * np.arange(REACH, STEPS + REACH)
    x, y = path[at], path[at - late]
    return x, y + noise * y.std(axis=0) * rng.standard_normal(y.shape)


def intervals(estimator: Estimator, draws: int) -> list[dict[str, Any]]:
    """A row for each kind of follower, noise and lag: how many intervals contain the lag."""
    rows = []
    for kind, noise, late in report.tracked("intervals", product(TRACKS, SHARES, LATE)):
        lag, found = 5 + late / FINE, []
        for draw in range(draws):
            rng = np.random.default_rng([draw, late, 58])
            x, y = follower(rng, TRACKS[kind], 5 * FINE + late, noise)
            found.append(lag_scan(x, y, range(REACH + 1), estimator, permutations=0))
        ends = np.array([one.interval for one in found])
        inside = (ends[:, 0] <= lag) & (lag <= ends[:, 1])
        rows.append(
            {"kind": kind, "noise": noise, "lag": lag, "draws": draws}
            | {"inside": int(inside.sum()), "width": float(np.median(np.ptp(ends, axis=1)))}
            | {"error": float(np.median([abs(one.best - lag) for one in found]))}
        )
    return rows


def measure(estimator: Estimator, draws: int) -> list[dict[str, Any]]:
    """A row for each kind: the number of unrelated pairs that are called dependent."""
    rows = []
    for kind, make in report.tracked("lags", KINDS.items()):
        alarms = 0
        for draw in range(draws):
            sides = [make(np.random.default_rng([draw, side, 57])) for side in (0, 1)]
            x, y, _ = moving(sides[:1], sides[1:], LAGS)
            alarms += significant(lag_scan(x, y, range(-LAGS, LAGS + 1), estimator))
        rows.append({"kind": kind, "pairs": draws, "alarms": alarms})
    return rows


def page(about: dict[str, Any], rows: list[dict[str, Any]], found: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    pairs, alarms = (sum(row[key] for row in rows) for key in ("pairs", "alarms"))
    lines = [[r["kind"], str(r["pairs"]), str(r["alarms"])] for r in rows]
    inside, draws = (sum(row[key] for row in found) for key in ("inside", "draws"))
    counts = {
        f"lag {5 + late / FINE:.3g}": lambda own, late=late: str(
            one(own, lag=5 + late / FINE)["inside"]
        )
        for late in LATE
    }
    sizes = {key: lambda own, key=key: f"{mean(own, key):.2f}" for key in ("width", "error")}
    shown = [{**row, "series": row["kind"], "noise": f"{row['noise']:.0%}"} for row in found]
    return "\n\n".join(
        [
            "# Lags: false alarms and intervals",
            f"Pairs of independent signals of {DIMS} coordinates, {SECONDS} s at {RATE} Hz, that "
            f"are called dependent at one of {2 * LAGS + 1} lags: {alarms} of {pairs} "
            f"({number(100 * alarms / pairs)}%).",
            report.byline(about),
            table(["signals", "pairs", "called dependent"], lines),
            "## Intervals of the best lag",
            f"Series of {STEPS} steps that follow others, with noise. The 90% interval of "
            f"`lag_scan` contains the true lag in {inside} of {draws} "
            f"({number(100 * inside / draws)}%); the counts are of {found[0]['draws']} each. "
            "Width and error are in steps: medians, and their mean over the four lags.",
            figures(shown, ["series", "noise"], counts | sizes),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "1 pair of each kind")
    chosen = parser.parse_args(arguments)
    estimator = Estimator(chosen.model, slices=SLICES, provider="auto", threads=1)
    about = report.provenance(chosen.command, estimator)
    rows = measure(estimator, 1 if chosen.quick else DRAWS)
    found = intervals(estimator, 1 if chosen.quick else FOLLOWERS)
    report.save(chosen.out, "lags", about, [*rows, *found], page(about, rows, found))


if __name__ == "__main__":
    main()
