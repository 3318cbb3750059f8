"""Offsets of cameras and grippers: shifts that are put in, intervals and false alarms.

python -m benchmarks.clocks --set examples/data/stack front    # -> benchmarks/results/clocks.*
A set may be a file of `benchmarks.cameras`, too, and there may be several.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.cli.console import progress
from infoatlas_rt.streams.offsets import WINDOW, Offset, find_offset, picture_change, speeds
from infoatlas_tools import Trajectories
from infoatlas_tools.annotations.clock_offsets import command_groups
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.clocks.pictures import WIDTH, arm_columns

from . import report
from .report import number, table
from .tasks import Array

DRAWS = 40  # of each kind of input
MOST = 10.0, 0.8  # frames or seconds that are put in, the smaller one
DELAYS = 0.6  # s of a gripper
EPISODES = 10
REPEATED, FROZEN, DRIFT = 0.1, 0.5, 0.01  # share of pictures, s at the start, and of the time
INPUTS = {
    "shift": "a shift alone",
    "aligned": "the shift after which both are aligned",
    "repeated": f"a shift, and {REPEATED:.0%} of the pictures equal the one before",
    "starts late": f"a shift, and the first picture lasts {FROZEN} s",
    "drift": f"a shift, and pictures are slower by {DRIFT:.0%}",
}


class Series(NamedTuple):
    """States of an arm or gripper, and pictures or commands, whose offset in all is `truth`."""

    name: str
    rate: float  # Hz
    states: list[Array]  # [T, d]
    other: list[Array]  # [T, h, w] or [T, d]
    truth: float = 0.0  # steps

    def find(
        self, which: Sequence[int], steps: float, kind: str = "shift", seed: int = 0
    ) -> Offset:
        """The offset of some episodes whose pictures or commands are moved by `steps`."""
        window, rng = max(1, round(WINDOW * self.rate)), np.random.default_rng(seed)
        first, second = [], []
        for states, other in ((self.states[i], self.other[i]) for i in which):
            at, every = np.arange(len(states)) + steps, np.arange(len(states))
            if kind == "drift":
                at = at + DRIFT * (every - len(every) / 2)
            inside = (at >= 0) & (at <= len(at) - 1)
            first.append(np.stack([np.interp(at[inside], every, own) for own in states.T], axis=1))
            shown = np.where(rng.random(len(every)) < REPEATED * (kind == "repeated"), 0, every)
            shown = np.maximum.accumulate(shown)[inside]
            if kind == "starts late":
                shown = np.maximum(shown, shown[0] + round(FROZEN * self.rate))
            second.append(other[np.minimum(shown, len(other) - 1)].astype(np.float32))
        moved = speeds(first, window, range(first[0].shape[1]))
        if second[0].ndim == 2:
            changed = speeds(second, window, range(second[0].shape[1]))
        else:
            changed = [picture_change(own, window) for own in second]
        return find_offset(moved, changed, self.rate, seed)

    def measure(self, kind: str, count: int, draws: int) -> dict[str, Any]:
        """A row: errors of episodes that are drawn with replacement, as `truth` is of all."""
        rng, begin = np.random.default_rng(76), time.process_time()
        most = min(MOST[0], MOST[1] * self.rate)
        limits = (-most, most) if self.other[0].ndim == 3 else (-DELAYS * self.rate, 0.0)
        found, errors = [], []
        for seed in range(draws):
            which, steps = rng.integers(len(self.states), size=count), rng.uniform(*limits)
            steps = -self.truth if kind == "aligned" else steps
            found.append(self.find(which.tolist(), steps, kind, seed))
            ends = np.array([found[-1].steps, *found[-1].interval]) - self.truth - steps
            errors += [] if found[-1].why else [ends]
        error, low, high = np.reshape(errors, (-1, 3)).T
        return {
            "series": self.name, "input": kind, "episodes": count, "draws": draws,
            "known": len(error), "inside": int(((low <= 0) & (high >= 0)).sum()),
            "apart": sum(own.apart for own in found),
            "drifts": sum(own.drift != 0 for own in found),
            "half": float(np.median((high - low) / 2)) if errors else None,
            "error": float(np.median(np.abs(error))) if errors else None,
            "seconds": (time.process_time() - begin) / draws,
        }  # fmt: skip


def load(path: str, camera: str, most: int) -> Iterator[Series]:
    """The camera of a set, and its grippers if it has commands, of `most` episodes."""
    name, actions = path.rstrip("/").rpartition("/")[2], None
    if path.endswith(".npz"):
        file = np.load(path)
        ends, lengths = file["frame_lengths"].cumsum(), file["lengths"]
        first = np.repeat(lengths.cumsum() - lengths, file["frame_lengths"])
        states = np.split(file["states"][first + file["frame_steps"]], ends[:-1])
        images = np.split(file[f"frames_{camera}"], ends[:-1])
        rate = float(file["rate"]) / int(file["frame_steps"][1])
        given = Trajectories(states, names=tuple(file["names"]), rate=rate, camera=images)
    else:
        recording = open_recording(path, camera=camera)
        given, actions = recording.trajectories, recording.actions
    states, rate = given.split(), given.rate or 20.0
    chosen = np.unique(np.linspace(0, len(states) - 1, most).round().astype(int)).tolist()
    read = (given.camera.read(i, range(len(states[i])), WIDTH) for i in chosen)
    pictures = [images.mean(axis=-1).round().astype(np.uint8) for images in read]
    columns = arm_columns(given.names, states[0].shape[1])
    yield Series(
        f"{name}, camera {camera}", rate, [states[i][:, columns] for i in chosen], pictures
    )
    for group, own in command_groups(given.names).items():
        if "gripper" in group and actions:
            pair = ([np.asarray(side[i])[:, own] for i in chosen] for side in (states, actions))
            yield Series(f"{name}, {group}", rate, *pair)


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    cells = [[f"{v:.2f}" if isinstance(v, float) else str(v) for v in r.values()] for r in rows]
    known, inside = (sum(r[k] for r in rows) for k in ("known", "inside"))
    return "\n\n".join(
        [
            "# Clocks: shifts that are put in",
            f"Pictures are moved by up to {MOST[0]:g} frames or {MOST[1]} s, and a gripper's "
            f"commands by 0 to {DELAYS} s before its states, by interpolation of the states. The "
            f"offset of all episodes is taken as the truth. Of the 90% intervals, {inside} of "
            f"{known} ({number(100 * inside / max(known, 1))}%) contain it. *apart* and *drifts* "
            "are numbers of draws that are called so. Half-widths and errors are medians in "
            "frames; seconds are of one processor.",
            "Inputs: " + "; ".join(f"*{key}*: {text}" for key, text in INPUTS.items()) + ".",
            report.byline(about, nats=False),
            table([*rows[0]], cells),
        ]
    )


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "4 draws", several=False)
    parser.add_argument("--set", nargs=2, action="append", required=True)
    parser.add_argument("--episodes", type=int, default=40, help="of a set, at most")
    chosen = parser.parse_args(arguments)
    draws, rows, about = 4 if chosen.quick else DRAWS, [], report.provenance(chosen.command)
    with progress("clocks") as advance:
        for done, own_set in enumerate(chosen.set):
            for own in load(*own_set, chosen.episodes):
                found = own.find(range(len(own.states)), 0.0)
                print(own.name, found[:4])
                if found.why:
                    continue
                own = own._replace(truth=found.steps)
                kinds = [*INPUTS][: None if own.other[0].ndim == 3 else 2]
                rows += [own.measure(kind, EPISODES, draws) for kind in kinds]
                rows.append(own.measure("shift", 1, draws))
            advance((done + 1) / len(chosen.set))
    report.save(chosen.out, "clocks", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
