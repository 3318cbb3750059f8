"""When `done` comes, and how often `done` and `failed` are wrong, in executions unlike the fit's.

    python -m benchmarks.outcome                   # -> benchmarks/results/outcome.*

Each split fits a task to half of the demonstrations of a set, at most 20, and follows 20 others: as
they are, with the last state held for 2 s; stopped and held at moments before their end; and with
an object that stays where it is while the gripper closes completely. The last two kinds are
constructed failures, not those of a policy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from infoatlas_rt import KeyStateTracker, VectorTracker
from infoatlas_tools import Position, Trajectories, discover_keystates

from . import drawing, report
from .tasks import Array
from .tasks.demonstrations import load

SETS = {  # title: set, and whether joints and gripper are all that is recorded
    "PickCube": ("pick", False),
    "PickCube, joints alone": ("pick", True),
    "StackCube": ("stack", False),
    "StackCube, joints alone": ("stack", True),
    "Meta-World, pick and place": ("mw_pick_place", False),
    "Meta-World, drawer": ("mw_drawer_open", False),
    "Placing by people": ("sawyer_place", False),
    "Placing by people, joints alone": ("sawyer_place", True),
    "Pushing by people": ("pusht", False),
}
BODIES = "cube", "goal", "cube_a", "cube_b", "object"
STOPS = 0.3, 0.5, 0.7, 0.9, 1.0  # of the time until 0.5 s before the end
HOLD, SOON, BACK, SPLITS = 2.0, 0.5, 0.25, 20
COLUMNS = {
    "known": "`done` known", "bound": "bound", "wrong": "too early, or after a stop",
    "within": "within the bound",
    "in_time": "within 0.5 s", "time_out": "time-out within 0.5 s", "false_failed": "false failed",
    "missed_failed": "missed: failed", "missed_done": "missed: done",
}  # fmt: skip


def fit(states: Sequence[Array], names: Sequence[str], rate: float) -> Any:
    """The task of demonstrations, with sub-tasks about objects whose positions are there."""
    found = discover_keystates(Trajectories(states, names=names, rate=rate))
    objects = {body: Position(body) for body in BODIES if f"{body}.x" in names}
    return found.follow(found.subtasks(*([Position("tool"), objects] if "tool.x" in names else [])))


def follow(task: Any, episodes: list[Array], rate: float) -> tuple[Any, Any]:
    """Steps at which episodes, with the last state held, are first done and failed; -1: never."""
    most = max(map(len, episodes)) + round(HOLD * rate)
    padded = np.stack([np.pad(e, ((0, most - len(e)), (0, 0)), "edge") for e in episodes])
    tracker = VectorTracker(len(episodes), task, rate=rate)
    done, failed = np.full((2, len(episodes)), -1)
    for t in range(most):
        tracker.push(padded[:, t])
        done[(done < 0) & tracker.done] = t
        failed[(failed < 0) & tracker.failed] = t
    return done, failed


def end_of(states: Array, rate: float) -> int:
    """Step from which an episode is within the rms motion of 0.25 s of its last state."""
    back = round(BACK * rate)
    near = np.sqrt(((states[back:] - states[:-back]) ** 2).mean(axis=0))
    return int((np.abs(states - states[-1]) > near).any(axis=1).cumsum().argmax()) + 1


def missed(states: Array, names: Sequence[str], grasp: float) -> Array:
    """An episode in which the gripper closes completely, and no object moves."""
    made, step = states.copy(), int(grasp)
    for i, name in enumerate(names):
        if name.startswith("finger"):
            made[step:, i] *= made[step:, i] > 0.9 * made[:step, i].max()  # unless it is open
        elif name.split(".")[0] in BODIES:
            made[:, i] = made[0, i]
    return made


def split(title: str, seed: int) -> dict[str, Any]:
    """Figures of one split of a set."""
    demos, joints = load(SETS[title][0]), SETS[title][1]
    first = ("joint", "finger") if joints else ("",)
    kept = [i for i, n in enumerate(demos.names) if n.startswith(first) and "_to_" not in n]
    names, rate, soon = [demos.names[i] for i in kept], demos.rate, round(SOON * demos.rate)
    states = [np.asarray(s, np.float64)[:, kept] for s in demos.trajectories]
    order = np.random.default_rng(seed).permutation(len(states))
    seen, unseen = np.split(order, [min(len(order) // 2, 20)])
    task = fit([states[i] for i in seen], names, rate)
    tests = [states[i] for i in unseen[:20]]
    ends = np.array([end_of(s, rate) for s in tests])
    done, failed = follow(task, tests, rate)
    wrong = (done >= 0) & (done < ends - soon)
    for share in STOPS:
        stops = np.maximum(share * (ends - soon), 1).astype(int)
        wrong |= follow(task, [s[:n] for s, n in zip(tests, stops, strict=True)], rate)[0] >= 0
    limit = np.quantile([len(states[i]) for i in seen], 0.95)
    result: dict[str, Any] = {"set": title, "known": task.outcome.wait > 0}
    result |= {"time_out": np.abs(limit - ends) <= soon, "false_failed": failed >= 0}
    if result["known"]:
        in_time = (done >= 0) & (np.abs(done - ends) <= soon)
        result |= {"bound": task.outcome.false_done, "wrong": wrong, "in_time": in_time}
        result["within"] = wrong.sum() <= binom.ppf(0.9, len(wrong), task.outcome.false_done)
    if "grasp" in demos.events:
        grasps = demos.times[unseen[:20], demos.events.index("grasp")].tolist()
        made = [missed(s, names, t) for s, t in zip(tests, grasps, strict=True) if t > 0]
        done, failed = follow(task, made, rate)
        result |= {"missed_failed": failed >= 0, "missed_done": done >= 0}
    return {key: v if isinstance(v, str) else float(np.mean(v)) for key, v in result.items()}


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The page of results: means over the splits."""
    lines = []
    for title in SETS:
        own = [[row[key] for row in rows if row["set"] == title and key in row] for key in COLUMNS]
        lines.append([title, *(report.number(float(np.mean(v)), 2) if v else "-" for v in own)])
    text = (
        f"Means over {SPLITS} splits, of constructed failures. What is about `done` is that of the "
        "splits in which it is known. A split is within the bound if no more are wrong than in "
        "90% of the samples of as many with this probability. A time-out at the 95% quantile of "
        "the durations, one second at rest, and both together are done after each stop. The last "
        "two are never within 0.5 s."
    )
    table = report.table(["set", *COLUMNS.values()], lines)
    return "\n\n".join(["# Done and failed", text, report.byline(about, nats=False), table])


def picture() -> Any:
    """An execution of StackCube, and what is made of it, with progress, events and outcome."""
    demos = load("stack")
    rate, names, states = demos.rate, demos.names, [np.asarray(s) for s in demos.trajectories]
    tracker = KeyStateTracker(fit(states[:20], names, rate), rate=rate)
    recorded, grasp = states[20], int(demos.times[20, demos.events.index("grasp")])
    lost = missed(recorded, names, grasp)[: grasp + round(rate)]
    rows = {
        "as recorded": recorded,
        "stopped while the cube is carried": recorded[: grasp + round(0.6 * rate)],
        "the gripper misses the cube, and tries again": np.concatenate(
            [lost, lost[::-1], recorded]
        ),
    }
    figure = drawing.canvas(8, 5.4)
    words = "dashed: key states; band: outcome, failed in red and done in green"
    drawing.heading(figure, "Done and failed", f"StackCube, fitted to 20 others; {words}")
    panels = figure.subplots(len(rows), sharex=True)
    figure.subplots_adjust(left=0.08, right=0.98, top=0.82, bottom=0.09, hspace=0.42)
    colours = {"done": drawing.GREEN, "failed": drawing.RED}
    for axes, (title, episode) in zip(panels, rows.items(), strict=True):
        tracker.reset()
        drawing.quiet(axes)
        axes.set(ylim=(0, 1.12), ylabel="progress", yticks=[0, 0.5, 1])
        axes.set_title(title, loc="left", fontsize=10, color=drawing.INK)
        said = ""
        for step, state in enumerate(np.pad(episode, ((0, 2 * round(rate)), (0, 0)), "edge")):
            for event in tracker.push(state, step / rate):
                axes.axvline(event.stamp, ymax=0.9, color=drawing.GREY, linestyle="--", linewidth=1)
            own, at = tracker.outcome, tracker.subtask
            colour = colours.get(own.state, drawing.GRID)
            axes.broken_barh([(step / rate, 1 / rate)], (1.02, 0.1), color=colour)
            if at is not None:
                axes.plot(step / rate, at.task_progress, ".", color=drawing.BLUE, markersize=3)
            if own.reason != said and own.state in colours:
                words = "done" if own.state == "done" else own.reason
                axes.text(step / rate, 0.15, words, color=colour, fontsize=9)
            said = own.reason
    panels[-1].set_xlabel("time (s)")
    return figure


def main(arguments: Sequence[Any] | None = None) -> None:
    chosen = report.Options(__spec__.name, __doc__, "1 split").parse_args(arguments)
    about = report.provenance(chosen.command)
    rows = [split(title, seed) for title in SETS for seed in range(1 if chosen.quick else SPLITS)]
    report.save(chosen.out, "outcome", about, rows, page(about, rows), picture())


if __name__ == "__main__":
    main()
