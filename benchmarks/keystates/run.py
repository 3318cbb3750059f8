"""Key states compared with true events, offline and online, with peers.

    make keystates                                   # -> benchmarks/results/keystates.*

The data are seven tasks of motion planners in ManiSkill, five of Meta-World's scripted policies
with noise and pauses, and seven sets by people, one of them with two kinds of true events
(`demonstrations.py`). No method gets the events. Settings of `auto` were chosen on all of these
sets, those of the other methods on three tasks, and those of BOCPD on eight sets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from infoatlas_rt import Estimator, KeyStateTracker
from infoatlas_tools import discover_keystates

from .. import report
from ..peers.keystate_finders import PEERS, Count, NotOffered
from ..tasks import changed_demonstrations as changed
from ..tasks.demonstrations import SETS, TASKS, Demonstrations, load
from . import page
from .ours import AUTO, as_recorded, find_kinds
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
# Of `follow`, which runs `KeyStateTracker` on episodes that it was not fitted on.
SEEN = 30  # demonstrations, at most
SHARE = 2 / 3
NEAR = 0.5  # seconds
NOMINAL = 20.0  # steps a second where the rate is not known


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


@dataclass(frozen=True)
class Online:
    """Results for one event over held-out episodes."""

    episodes: float  # with the event
    recall: float  # share of them with a report whose time is within 0.5 s of the event
    own_recall: float  # the same for reports of the event's key state
    false_reports: float  # other reports of that key state, for each episode
    delay: float  # median seconds from the event to its report; NaN without reports
    microseconds: float  # mean of `push`


def follow(demos: Demonstrations, seen: int = SEEN, seed: int = 0) -> dict[str, Online]:
    """Fit on some demonstrations and follow the others; results by event.

    The key state of an event is the nearest one in the fitted demonstrations, on average. The
    choice uses the flags of these demonstrations; the tracker gets states only.
    """
    count = len(demos.trajectories)
    order = np.random.default_rng(seed).permutation(count)
    some = min(seen, max(2, int(SHARE * count)))
    fitted, unseen = demos.subset(np.sort(order[:some])), demos.subset(np.sort(order[some:]))
    found = discover_keystates(as_recorded(fitted), 5)
    rate = NOMINAL if demos.rate is None else demos.rate
    tracker, reports, seconds, pushes = KeyStateTracker(found), [], 0.0, 0
    for states in unseen.trajectories:
        tracker.reset()
        start = perf_counter()
        reports.append([event for state in states for event in tracker.push(state)])
        seconds += perf_counter() - start
        pushes += len(states)
    results = {}
    for e, name in enumerate(demos.events):
        away = np.ma.abs(found.steps - np.ma.masked_invalid(fitted.times[:, e : e + 1]))
        share = (~np.ma.getmaskarray(away)).mean(axis=0)
        column = int(np.argmin(np.ma.filled(away.mean(axis=0), 1e9) + 1e6 * (share < 0.3)))
        hits, own_hits, false, delays, there = 0, 0, 0, [], 0
        for reported, truth in zip(reports, unseen.times[:, e], strict=True):
            own = [event for event in reported if event.keystate == column]
            if np.isnan(truth):
                false += len(own)
                continue
            there += 1
            hits += any(abs(event.step - truth) <= NEAR * rate for event in reported)
            right = [event for event in own if abs(event.step - truth) <= NEAR * rate]
            own_hits += bool(right)
            false += len(own) - bool(right)
            delays += [(event.detected_step - truth) / rate for event in right[:1]]
        results[name] = Online(
            episodes=float(there),
            recall=hits / max(there, 1),
            own_recall=own_hits / max(there, 1),
            false_reports=false / max(len(reports), 1),
            delay=float(np.median(delays)) if delays else float("nan"),
            microseconds=seconds / max(pushes, 1) * 1e6,
        )
    return results


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
