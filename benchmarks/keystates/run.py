"""Key states compared with true events, offline and online, with peers.

    make keystates                                   # -> benchmarks/results/keystates.*

The data are seven tasks of motion planners in ManiSkill, five of Meta-World's scripted policies
with noise and pauses, and seven sets by people, one of them with two kinds of true events
(`demonstrations.py`). No method gets the events. Settings of `auto` were chosen on all of these
sets, those of the other methods on three tasks, and those of BOCPD on eight sets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

from infoatlas_rt import Estimator

from .. import report
from ..peers.keystate_finders import PEERS, Count, NotOffered
from ..tasks import changed_demonstrations as changed
from ..tasks.demonstrations import SETS, TASKS, Demonstrations, load
from . import page
from .online import SEEN, follow
from .ours import AUTO, find_kinds
from .page import EVENTS, MAIN
from .scoring import score

Job = tuple[str, str, str, Count, Demonstrations]  # study, task, method, K, data
NUMBERS: tuple[Count, ...] = (5, EVENTS, "auto")
# Methods of studies that repeat the tasks many times: those that are fast or best somewhere.
FEW = (
    *(AUTO, "evenly spaced", "ruptures, states", "ruptures, increments"),
    *("second difference", "velocity minima", "gripper rule"),
)
CHOSEN = (
    *("sawyer_place", "sawyer_pickplace_long", "sawyer_nut_long", "handover", "lift_people"),
    *("vmci_pnp", "vmci_box", "pusht"),
    *("mw_pick_place", "mw_assembly", "mw_drawer_open", "mw_door_open", "mw_hammer"),
    *("pick", "lift", "push", "pull", "plug", "stack", "peg"),
)
SUBSETS = f"{changed.OF} demonstrations"


def studies(tasks: dict[str, Demonstrations], quick: bool) -> Iterator[Job]:
    """All jobs in order."""
    for task, demos in tasks.items():
        for method in (AUTO, *PEERS):
            for count in NUMBERS:
                yield MAIN, task, method, count, demos
    for task, demos in tasks.items():
        if task not in TASKS or SETS[task].people:
            continue  # too few demonstrations
        for name in ("time-warped",) if quick else changed.VARIANTS:
            made = changed.VARIANTS[name](demos)
            for method in FEW:
                yield name, task, method, 5, made
        for seed in range(1 if quick else changed.SUBSETS):
            few = changed.sample(demos, changed.OF, seed)
            for method in FEW:
                yield SUBSETS, task, method, 5, few


def measure(
    tasks: dict[str, Demonstrations], quick: bool
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A row for each study, task, method and K; and reasons for missing ones."""
    rows, refused = [], {}
    for study, task, method, count, demos in report.tracked("key states", studies(tasks, quick)):
        asked = demos.usual if count == EVENTS else count
        start = perf_counter()
        try:
            found, kinds = (
                find_kinds(demos, asked)
                if method == AUTO
                else (PEERS[method].find(demos, asked), None)
            )
        except NotOffered as reason:
            refused[f"{method}; {task}; K = {count}"] = str(reason)
        else:
            seconds = perf_counter() - start
            scores = score(found, demos.times, demos.lengths, demos.events, demos.rate, kinds)
            label = {"study": study, "task": task, "method": method, "count": count}
            rows.append({**label, **asdict(scores), "seconds": seconds})
    return _averaged(rows), refused


def _averaged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average rows with the same label (subsets)."""
    labels: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("study", "task", "method", "count"))
        labels.setdefault(key, []).append(row)
    return [_mean(group) for group in labels.values()]


def _mean(group: list[Any]) -> Any:
    first = group[0]
    if isinstance(first, dict):
        return {name: _mean([one[name] for one in group]) for name in first}
    if isinstance(first, float):
        return float(np.mean(group))
    return first


def followed(tasks: dict[str, Demonstrations], repeats: int, seen: int) -> list[dict[str, Any]]:
    """A row for each task and event: the tracker on held-out episodes."""
    rows = []
    for task, demos in report.tracked("online", tasks.items()):
        if len(demos.trajectories) >= 3:
            runs = [
                {name: asdict(one) for name, one in follow(demos, seen, seed).items()}
                for seed in range(repeats)
            ]
            for event, values in _mean(runs).items():
                rows.append({"study": "online", "task": task, "event": event, **values})
    return rows


def finite(value: Any) -> Any:
    """NaN as None, for JSON."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "two tasks, 12 demonstrations, few variants")
    chosen = parser.parse_args(arguments)
    about = report.provenance(chosen.command, Estimator(model=chosen.model))
    names = ("push", "stack") if chosen.quick else CHOSEN
    tasks = {name: load(name, 12 if chosen.quick else None) for name in names}
    rows, refused = measure(tasks, chosen.quick)
    rows += followed(tasks, *((1, 8) if chosen.quick else (3, SEEN)))
    about["units"] = "fractions of a trajectory, steps, seconds"
    about["refused"] = refused
    rows = [finite(row) for row in rows]
    text = page.text(about, rows, tasks)
    report.save(chosen.out, "keystates", about, rows, text)


if __name__ == "__main__":
    main()
