"""False alarms of `infoatlas-rt bag --lags`: unrelated signals that are called dependent.

python -m benchmarks.lags        # -> benchmarks/results/lags.*
python -m benchmarks.lags --quick --out build/results
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress
from infoatlas_tools import lag_scan
from infoatlas_tools.bags.bag_lags import LAGS, SLICES, moving, significant

from . import report
from .report import number, table
from .tasks import Array

RATE, SECONDS, DIMS = 20, 30, 3  # Hz, s of each recording, coordinates of each side
DRAWS = 60  # unrelated pairs of each kind
NOISE = 2e-4  # m, of a position


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


def measure(estimator: Estimator, draws: int) -> list[dict[str, Any]]:
    """A row for each kind: the number of unrelated pairs that are called dependent."""
    rows = []
    with progress("lags") as advance:
        for done, (kind, make) in enumerate(KINDS.items()):
            alarms = 0
            for draw in range(draws):
                sides = [make(np.random.default_rng([draw, side, 57])) for side in (0, 1)]
                x, y, _ = moving(sides[:1], sides[1:], LAGS)
                alarms += significant(lag_scan(x, y, range(-LAGS, LAGS + 1), estimator))
                advance((done + (draw + 1) / draws) / len(KINDS))
            rows.append({"kind": kind, "pairs": draws, "alarms": alarms})
    return rows


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    pairs, alarms = (sum(row[key] for row in rows) for key in ("pairs", "alarms"))
    lines = [[r["kind"], str(r["pairs"]), str(r["alarms"])] for r in rows]
    return "\n\n".join(
        [
            "# False alarms of `bag --lags`",
            f"Pairs of independent signals of {DIMS} coordinates, {SECONDS} s at {RATE} Hz, that "
            f"are called dependent at one of {2 * LAGS + 1} lags: {alarms} of {pairs} "
            f"({number(100 * alarms / pairs)}%).",
            report.byline(about),
            table(["signals", "pairs", "called dependent"], lines),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "1 pair of each kind", several=False)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each kind (%(default)s)")
    chosen = parser.parse_args(arguments)
    estimator = Estimator(chosen.model, slices=SLICES, provider="auto", threads=1)
    about = report.provenance(chosen.command, estimator)
    rows = measure(estimator, 1 if chosen.quick else chosen.draws)
    report.save(chosen.out, "lags", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
