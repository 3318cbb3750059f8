"""Objects from cameras: is the object that a part is about named right?

    make cameras-data                              # -> build/cameras/*.npz, an hour
    python -m benchmarks.cameras.references        # -> benchmarks/results/cameras.*

Random subsets of 8, 10, 12 and 20 demonstrations go through `discover_keystates` with a camera, and
`subtasks()`. The true event that is nearest to each cut has the true reference. Beside it: the same
with the true poses among the states.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import Estimator
from infoatlas_tools import Pose, Trajectories, discover_keystates

from .. import report
from ..report import table
from .disturb import Disturbance

SETS = ("stack2", "stack2same", "stack3", "place_absent", "mw_pick_place", "mw_push",
        "mw_door_open", "mw_drawer_open")  # fmt: skip
SIZES = (8, 10, 12, 20)
DRAWS = 6
DISTURBED = ("noise", "gain", "balance", "flicker", "shake", "moved", "moved_once", "grey", "all")
NEAR = 0.05  # of the width between a seen and a true object
FIGURES = ("first", "right", "wrong", "silent", "poses")


class Images:
    """Images of one demonstration, read as an array [T, h, w, 3] with the nearest rendered one."""

    dtype = np.dtype(np.uint8)

    def __init__(
        self, frames: NDArray[np.uint8], steps: NDArray[np.int64], length: int, number: int,
        disturbance: Disturbance,
    ) -> None:  # fmt: skip
        self.frames, self.steps, self.number = frames, steps, number
        self.shape, self.disturbance = (length, *frames.shape[1:]), disturbance

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, step: int) -> NDArray[np.uint8]:
        nearest = int(np.abs(self.steps - step).argmin())
        return self.disturbance.frames(self.number, self.frames[nearest][None])[0]


class Recorded:
    """A set of rendered demonstrations."""

    def __init__(self, folder: Path, name: str, camera: str) -> None:
        z = np.load(folder / f"{name}.npz")
        self.name, self.rate = name, float(z["rate"])
        self.names, self.pose_names = tuple(z["names"].tolist()), tuple(z["pose_names"].tolist())
        ends = np.cumsum(z["lengths"])[:-1]
        self.states, self.poses = np.split(z["states"], ends), np.split(z["poses"], ends)
        frames, cuts = z[f"frames_{camera}"], np.cumsum(z["frame_lengths"])[:-1]
        self.frames, self.steps = np.split(frames, cuts), np.split(z["frame_steps"], cuts)
        self.objects, self.points = z["object_names"].tolist(), z[f"points_{camera}"]
        # Columns of events: the k-th of its kind in a demonstration.
        self.events: dict[tuple[str, int], dict[int, tuple[int, str]]] = {}
        seen: Counter[tuple[int, str]] = Counter()
        for row in z["events"]:
            i, kind = int(row["demonstration"]), str(row["kind"])
            key = (kind, seen[i, kind])
            self.events.setdefault(key, {})[i] = (int(row["step"]), str(row["reference"]))
            seen[i, kind] += 1

    def judged(self, rows: Sequence[int], disturbance: Disturbance) -> list[Counter[str]]:
        """For each event, whether its reference is named right, by each way."""
        images = [
            Images(self.frames[i], self.steps[i], len(self.states[i]), i, disturbance) for i in rows
        ]
        demos = Trajectories(
            [self.states[i] for i in rows], names=self.names, rate=self.rate, camera=images
        )
        found = discover_keystates(demos, 5)
        subtasks = found.subtasks()
        seen = subtasks.seen
        by_poses = self._by_poses(rows)
        which = self._objects(seen, rows, disturbance) if seen else []
        judged = []
        for at in self.events.values():
            own = [(k, *at[i]) for k, i in enumerate(rows) if i in at]
            if 2 * len(own) < len(rows):
                continue
            true = Counter(reference for _, _, reference in own).most_common(1)[0][0]
            count = Counter(cuts=1, known=int(true != "world"))
            if by_poses:
                count["poses"] = by_poses(own) == true
            if seen:
                columns = found.named(subtasks.keystate_names).found.names
                steps = found.steps.filled(-10_000)[:, [columns.index(c) for c in seen.cuts]]
                having = [k for k, _, _ in own]
                off = np.abs(steps[having] - np.array([[s] for _, s, _ in own]))
                c = int(np.median(off, axis=0).argmin())
                nats, name = np.nan_to_num(seen.nats[c], nan=-1.0), seen.references[c]
                answer = "world" if name == "world" else which[seen.names.index(name)]
                count["first"] = len(which) > 0 and which[int(nats.argmax())] == true
                count["right"], count["wrong"] = answer == true, answer not in (true, "world")
            count["silent"] = 1 - count["right"] - count["wrong"]
            judged.append(count)
        return judged

    def _by_poses(self, rows: Sequence[int]) -> Any:
        """The reference of an event by true poses, as a function."""
        poses = [self.poses[i] for i in rows]
        if not np.isfinite(np.concatenate(poses)).all():
            return None  # an object is absent
        states = [np.column_stack([self.states[i], p]) for i, p in zip(rows, poses, strict=True)]
        demos = Trajectories(states, names=(*self.names, *self.pose_names), rate=self.rate)
        objects = {name: Pose(name) for name in self.objects}
        found = discover_keystates(demos, 5).subtasks(Pose("tool"), objects)

        def answer(own: Sequence[tuple[int, int, str]]) -> str:
            off = [np.median([abs(int(p.end[k]) - s) for k, s, _ in own]) for p in found.parts]
            return found.parts[int(np.argmin(off))].reference

        return answer

    def _objects(self, seen: Any, rows: Sequence[int], disturbance: Disturbance) -> list[str]:
        """True names of the objects that a camera sees; "nothing" if there is none near."""
        scale = seen.images.shape[2]
        true = np.array([disturbance.points(i, self.points[i]) for i in rows]) / 320 * scale
        found = []
        for o in range(len(seen.names)):
            there = seen.boxes[:, o, 2] > 0
            centre = seen.boxes[there, o, :2] + seen.boxes[there, o, 2:] / 2
            away = np.linalg.norm(centre[:, None] - true[there], axis=-1)
            median = np.array([np.median(d[np.isfinite(d)]) if np.isfinite(d).any() else np.inf
                               for d in away.T])  # fmt: skip
            nearest = int(median.argmin())
            found.append(self.objects[nearest] if median[nearest] < NEAR * scale else "nothing")
        return found


def measured(recorded: Recorded, camera: str, size: int, disturbance: str, draws: int) -> list[Any]:
    """Rows of shares for each event, over random subsets."""
    total = len(recorded.states)
    sums: list[Counter[str]] = []
    for draw in range(draws):
        rows = np.sort(np.random.default_rng(draw).permutation(total)[:size]).tolist()
        made = recorded.judged(rows, Disturbance(disturbance, total))
        sums = [a + b for a, b in zip(sums, made, strict=True)] if sums else made
    return [
        {
            "set": recorded.name, "camera": camera, "demonstrations": size,
            "disturbance": disturbance, "draws": draws, "event": f"{kind} {number + 1}",
            **{name: count[name] / draws for name in FIGURES},
            "poses": count["poses"] / draws if "poses" in count else None,
        }
        for (kind, number), count in zip(recorded.events, sums, strict=False)
    ]  # fmt: skip


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The page of results."""
    head = ["set", "camera", "event", "n", "first", "right", "wrong", "silent", "by poses"]

    def line(row: dict[str, Any], last: str) -> list[str]:
        figures = ["-" if row[n] is None else f"{row[n]:.2f}" for n in FIGURES]
        return [row["set"], row["camera"], row["event"], last, *figures]

    plain = [r for r in rows if r["disturbance"] == "none"]
    answers = sum(r["draws"] for r in rows)
    sums = [
        f"{total:.0f} {how} ({total / answers:.1%})"
        for how in ("right", "wrong", "silent")
        for total in [sum(r[how] * r["draws"] for r in rows)]
    ]
    return "\n\n".join(
        [
            "# Objects from cameras",
            report.byline(about, nats=False),
            "Share of random subsets of n demonstrations, for each event (`grasp 2`: the second "
            "grasp). First: the true object has the most information. Right, wrong: an object is "
            "named, and it is the true one or not. Silent: none is named. By poses: right by true "
            f"poses of objects. Of all {answers} answers: {', '.join(sums)}.",
            "## Rendered demonstrations",
            table(head, [line(r, str(r["demonstrations"])) for r in plain]),
            "## Disturbed images\n\n`stack2`, front camera, 20 demonstrations; n is the "
            "disturbance (`benchmarks/cameras/disturb.py`).",
            table(head, [line(r, r["disturbance"]) for r in rows if r["disturbance"] != "none"]),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "two sets, one subset")
    parser.add_argument("--data", type=Path, default=Path("build/cameras"), help="(%(default)s)")
    chosen = parser.parse_args(arguments)
    about = report.provenance(chosen.command, Estimator(model=chosen.model))
    draws, sizes = (1, (10,)) if chosen.quick else (DRAWS, SIZES)
    jobs = [
        (name, camera, size, "none")
        for name in (SETS[:1] if chosen.quick else SETS)
        for camera in ("front", "wrist")
        for size in (sizes if camera == "front" else sizes[-1:])
    ] + [("stack2", "front", 20, name) for name in (() if chosen.quick else DISTURBED)]
    rows: list[dict[str, Any]] = []
    held: tuple[tuple[str, str], Recorded] | None = None
    for name, camera, size, disturbance in report.tracked("references", jobs):
        if held is None or held[0] != (name, camera):
            held = ((name, camera), Recorded(chosen.data, name, camera))
        rows += measured(held[1], camera, size, disturbance, draws)
    report.save(chosen.out, "cameras", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
