"""Executions in joined recordings: found, and their borders, beside two simple ways.

python -m benchmarks.cuts --set FILE HZ --set FOLDER HZ ...    # -> benchmarks/results/cuts.*
"""

import time
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_tools import Trajectories, load_trajectories
from infoatlas_tools.cut.executions import find_executions
from infoatlas_tools.cut.rests import read_motion

from . import report
from .tasks import Array

COUNTS, RESTS, RETURNS = (3, 20), (0, 5, 20), ("smooth", "reversed")
STILL = 0.05  # of the range of a coordinate: a demonstration rests while it moves by less
NEAR = 1.0  # s; a border may be anywhere in the rest beside it, too
KEYS = ("executions", "both", "right", "wrong", "silent", "false")
METHODS = ("cut", "equal pieces", "rests alone")
LONG = 0.5  # s of a rest that divides, for rests alone


def joined(
    parts: Sequence[Array], rate: float, count: int, rest: float, back: str, seed: int
) -> tuple[Array, Array]:
    """A recording [T, d], and limits of the start and the end of each execution [N, 4], steps.

    A tenth has a failed attempt in its first half, a twentieth is given up. Half of a rest of up to
    `rest` s is before, and half after a return, which is smooth or leads back along the way.
    """
    rng, rows, truth, at, still = np.random.default_rng(seed), list[Array](), list[Any](), 0, 0
    order = rng.integers(len(parts), size=count).tolist()
    span = np.ptp(np.concatenate(parts), axis=0)
    for k, i in enumerate(order):
        own, chance, begin = parts[i], rng.random(), at - still
        if chance < 0.05 and 0 < k < count - 1:
            own = own[: round(len(own) * rng.uniform(0.4, 0.7))]
        elif chance < 0.15:
            one, two = (round(len(own) * share) for share in (0.3, 0.45))
            own = np.concatenate([own[:two], own[one:two][::-1], own[one:]])
        still = round(rng.uniform(0, rest) * rate / 2) if k < count - 1 else 0
        idle = [
            int((np.abs(o - o[0]) > STILL * span).any(axis=1).argmax()) for o in (own, own[::-1])
        ]
        end = at + len(own)
        truth.append((begin, at + idle[0], end - idle[1], end + still))
        rows.append(own)
        if k < count - 1:
            last, start = own[0] if back == "reversed" else own[-1], parts[order[k + 1]][0]
            share = (1 - np.cos(np.linspace(0, np.pi, round(rng.uniform(1.5, 3) * rate)))) / 2
            rows += [np.tile(own[-1], (still, 1)), own[::-2] if back == "reversed" else own[:0]]
            rows += [last + (start - last) * share[:, None], np.tile(start, (still, 1))]
        at = sum(map(len, rows))
    states = np.concatenate(rows)
    return states + rng.normal(0, 2e-3, states.shape) * states.std(axis=0), np.array(truth)


def score(borders: Array, truth: Array, slack: float) -> Array:
    """Executions, those with both borders right, borders right, wrong and silent, false ones."""
    near = [
        (borders[:, i, None] >= truth[:, 2 * i] - slack)
        & (borders[:, i, None] <= truth[:, 2 * i + 1] + slack)
        for i in (0, 1)
    ]
    count, found = len(truth), len(borders)
    both, right = (near[0] & near[1]).any(axis=0).sum(), sum(own.any(axis=0).sum() for own in near)
    if found == 1:
        return np.array([count, 0, 0, 0, 2 * count, 0])
    return np.array([count, both, right, 2 * count - right, 0, max(found - count, 0)])


def measure(name: str, parts: Sequence[Array], names: Sequence[str], rate: float) -> list[Any]:
    """Rows of a set: of `cut`, of equal pieces in the true number, and of rests alone."""
    totals, seconds = np.zeros((3, 6), int), 0.0
    about: dict[str, Any] = {"names": tuple(names), "rate": rate}
    for seed, (count, rest, back) in enumerate(product(COUNTS, RESTS, RETURNS)):
        states, truth = joined(parts, rate, count, rest, back, seed)
        given, begin = Trajectories([states], **about), time.process_time()
        found = np.array([(e.start, e.end) for e in find_executions(given).executions])
        seconds, motion = seconds + time.process_time() - begin, read_motion(given, [])
        rests = motion.rests[np.diff(motion.rests)[:, 0] >= LONG * motion.rate] * motion.stride
        cuts = np.linspace(0, len(states), count + 1), [0, *rests.mean(axis=1), len(states)]
        every = (found, *(np.array([*pairwise(own)]) for own in cuts))
        totals += [score(own, truth, NEAR * rate) for own in every]
    single = sum(len(find_executions(Trajectories([p], **about)).executions) == 1 for p in parts)
    more = {"single": f"{single} of {len(parts)}", "seconds": seconds}
    return [
        {"set": name, "method": method, **dict(zip(KEYS, row.tolist(), strict=True)), **own}
        for method, row, own in zip(METHODS, totals, (more, {}, {}), strict=True)
    ]


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "no shorter way")
    parser.add_argument("--set", nargs=2, action="append", required=True, metavar=("DATA", "HZ"))
    parser.add_argument("--name", default="cuts", help="name of the page (%(default)s)")
    chosen = parser.parse_args(arguments)
    rows = []
    for path, rate in chosen.set:
        given = load_trajectories(path)
        kept = [c for c, name in enumerate(given.names) if "grasp" not in name]  # a flag
        parts = [np.asarray(own, np.float64)[:, kept] for own in given.split()]
        names = [given.names[c] for c in kept]
        rows += measure(Path(path).stem, parts, names, float(rate))
    head = ["set", "way", "executions", "borders right", "wrong", "silent", "false", "alone", "s"]
    cells = [
        [row["set"], row["method"], f"{row['both']} of {row['executions']}"]
        + [str(row.get(key, "")) for key in (*KEYS[2:], "single")]
        + [f"{row['seconds']:.1f}" if "seconds" in row else ""]
        for row in rows
    ]
    about = report.provenance(chosen.command)
    text = (
        f"Demonstrations are joined to recordings of {', '.join(map(str, COUNTS))} executions, "
        f"with rests of up to {', '.join(map(str, RESTS))} s and {len(RETURNS)} kinds of returns. "
        "A tenth has a failed attempt, a twentieth is given up. An execution counts if both "
        f"borders are within {NEAR:g} s, or in the rest beside them. Silent: borders in recordings "
        "that are called one execution. False: executions beyond the true number. Alone: "
        "demonstrations by themselves that are called one execution. s: of all recordings."
    )
    above = ["# Executions in joined recordings", text, report.byline(about, False)]
    page = "\n\n".join([*above, report.table(head, cells)])
    report.save(chosen.out, chosen.name, about, rows, page)


if __name__ == "__main__":
    main()
