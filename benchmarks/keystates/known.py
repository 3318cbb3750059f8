"""Key states from labels, at several rates, and on data without events.

    make keystates                                   # -> benchmarks/results/keystates_known.*

Three studies: recall from one to three labelled demonstrations, generated recordings at rates from
5 to 200 Hz, and data without events.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_tools import Trajectories, discover_keystates

from .. import report
from ..measure import figures, grid, pick
from ..report import number
from ..tasks.demonstrations import SETS, Demonstrations, load
from ..tasks.recordings import recordings
from .ours import as_recorded
from .run import CHOSEN, finite
from .scoring import score

RATES = (5.0, 10.0, 30.0, 100.0, 200.0)
DRAWS = 5  # choices of the labelled demonstrations
SEEDS = 25  # draws of data without events
LABELLED = ("recall_5_steps", "recall_250_ms", "share_250_ms")
RECALLS = ("recall_5_steps", "recall_100_ms", "recall_250_ms")


def random_labels(demos: Demonstrations, count: int, seed: int) -> dict[int, dict[str, int | None]]:
    """True steps of `count` demonstrations; None where one lacks an event that another has."""
    given = np.random.default_rng(seed).permutation(len(demos.trajectories))[:count]
    known = np.flatnonzero(~np.isnan(demos.times[given]).all(axis=0)).tolist()
    times = demos.times
    return {
        i: {demos.events[e]: None if np.isnan(times[i, e]) else int(times[i, e]) for e in known}
        for i in given.tolist()
    }


def labelled(name: str, count: int, draws: int = DRAWS) -> dict[str, Any] | None:
    """Recall in unlabelled demonstrations from `count` labelled ones; None if there are too few."""
    demos = load(name)
    total = len(demos.trajectories)
    if total <= count:
        return None
    near = 0.25 * (demos.rate or np.nan)
    hits: dict[str, list[bool]] = {"steps": [], "seconds": [], "share": []}
    for seed in range(draws):
        labels = random_labels(demos, count, seed)
        states = as_recorded(demos)
        found = discover_keystates(states, labels=labels)
        columns = {found.name(j): found.steps[:, j].filled(-1000) for j in range(len(found.kind))}
        for e, event in enumerate(demos.events):
            own = [row[event] / demos.lengths[i] for i, row in labels.items() if row.get(event)]
            for i in np.setdiff1d(np.arange(total), list(labels)).tolist():
                if (truth := demos.times[i, e]) == truth:
                    step = columns[event][i] if own else np.inf
                    place = np.mean(own) * demos.lengths[i] if own else np.inf
                    hits["steps"].append(bool(abs(step - truth) <= 5))
                    hits["seconds"].append(bool(abs(step - truth) <= near))
                    hits["share"].append(bool(abs(place - truth) <= near))
    return {
        "study": "labels",
        "task": name,
        "labelled": count,
        "recall_5_steps": float(np.mean(hits["steps"])),
        "recall_250_ms": float(np.mean(hits["seconds"])),
        "share_250_ms": float(np.mean(hits["share"])),
    }


def at_rate(rate: float, objects: bool, known: bool, count: int) -> dict[str, Any]:
    """Generated pick and place, K = 5, default settings."""
    demos: Demonstrations = recordings(count, rate, objects=objects)
    found = discover_keystates(Trajectories(demos.trajectories, rate=rate if known else None), 5)
    scored = score([row.compressed() for row in found.steps], demos.times, demos.lengths,
                   demos.events, rate)  # fmt: skip
    return {
        "study": "rates",
        "rate": rate,
        "objects": objects,
        "known": known,
        "stride": found.recordings.timing.stride,
        "reproduced": float(np.nanmean(found.reproduced)),
        **{name: getattr(scored, name) for name in RECALLS},
    }


def without_events(kind: str, seeds: int) -> dict[str, Any]:
    """Number of draws without events in which count="auto" finds key states."""
    said, reproduced = 0, []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        states = rng.standard_normal((12, 200, 6))
        if kind == "random walks":
            states = states.cumsum(axis=1)
        if kind == "one smooth motion":
            u = np.linspace(0, 1, 200)[:, None]
            path = (10 * u**3 - 15 * u**4 + 6 * u**5) * (rng.standard_normal((12, 1, 6)) + 1)
            states = path + 1e-3 * states
        found = discover_keystates(list(states), count="auto")
        said += found.steps.shape[1] > 0
        reproduced.extend(np.nan_to_num(discover_keystates(list(states)).reproduced))
    return {
        "study": "nothing",
        "kind": kind,
        "draws": seeds,
        "found": said,
        "reproduced": float(np.mean(reproduced or [0.0])),
    }


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""

    def value(key: str, digits: int = 2) -> Callable[[list[dict[str, Any]]], str]:
        return lambda own: number(own[0][key], digits)

    def recalls(own: list[dict[str, Any]]) -> str:
        return " / ".join(number(own[0][name], 2) for name in LABELLED) if own else "-"

    labels = [{**row, "task": SETS[row["task"]].title} for row in pick(rows, study="labels")]
    rates = [
        {
            "rate": f"{row['rate']:g} Hz",
            "object": "with" if row["objects"] else "without",
            "rate is": "known" if row["known"] else "not known",
            **{key: row[key] for key in ("stride", "reproduced", *RECALLS)},
        }
        for row in pick(rows, study="rates")
    ]
    return "\n\n".join(
        [
            "# Key states: labels, rates, data without events",
            report.byline(about, nats=False),
            "## Labels\n\nOne, two or three demonstrations are labelled. Cells: recall within 5 "
            "steps / 0.25 s in the other demonstrations, and within 0.25 s of labels placed by "
            f"their share of the duration; mean of {DRAWS} random choices.",
            grid(labels, ["task"], "labelled", recalls, "{} labelled"),
            "## Rates\n\nRecall of grasp and release in generated recordings of pick and place "
            "(`benchmarks/tasks/recordings.py`), with K = 5 and default settings. The motion has "
            "minimum jerk, pauses, sensor noise, and a second grasp in a fifth of the recordings. "
            "Object: whether its pose is among the columns. Reproduced: the mean of "
            "`KeyStates.reproduced`.",
            figures(
                rates,
                ["rate", "object", "rate is", "stride"],
                {
                    "recall, 5 steps": value("recall_5_steps"),
                    "recall, 0.1 s": value("recall_100_ms"),
                    "recall, 0.25 s": value("recall_250_ms"),
                    "reproduced": value("reproduced"),
                },
            ),
            "## Data without events\n\nThe data have no events, so automatic K should be 0. "
            "Reproduced: mean of `KeyStates.reproduced` for K = 5, 0 if not shared.",
            figures(
                [{"data": row["kind"], **row} for row in pick(rows, study="nothing")],
                ["data"],
                {
                    "draws with key states": lambda own: f"{own[0]['found']} of {own[0]['draws']}",
                    "reproduced": value("reproduced"),
                },
            ),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "two sets, few rates")
    chosen = parser.parse_args(arguments)
    about = report.provenance(chosen.command, Estimator(model=chosen.model))
    quick = chosen.quick
    names = ("push", "lift_people") if quick else CHOSEN
    rows: list[dict[str, Any]] = []
    for name in report.tracked("labels", names):
        made = [labelled(name, count, 1 if quick else DRAWS) for count in (1, 2, 3)]
        rows += [row for row in made if row is not None]
    for rate in (10.0,) if quick else RATES:
        for objects in (True, False):
            for known in (True, False):
                rows.append(at_rate(rate, objects, known, 8 if quick else 50))
    for kind in ("white noise", "random walks", "one smooth motion"):
        rows.append(without_events(kind, 2 if quick else SEEDS))
    rows = [finite(row) for row in rows]
    report.save(chosen.out, "keystates_known", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
