"""Signals of the page: columns by body and gripper, down-sampled to what a screen shows."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_types import Int
from ..columns import short_name
from ..keystates.contacts.bodies import find_bodies
from ..keystates.contacts.find_grippers import find_grippers
from ..keystates.motion.durations import NOMINAL
from ..trajectories import Trajectories

LEVELS = 10_000  # of a value between the limits of its group
BINS = 160  # of an episode in the chart of all episodes
DIGITS = "0123456789"
UNNAMED = 6  # columns without names in one group
ENOUGH = 1000  # episodes, evenly chosen, that grippers are recognised by
WORD = re.compile(r"[a-z]?[A-Z]+[a-z]*|[a-z]+|\d+|.")  # "kLeft", "Shoulder" of kLeftShoulder


class Signals:
    """Columns of states in groups, with limits that all episodes share.

    `titles` are the names of the groups: grippers, moved bodies, the robot's, others.
    """

    def __init__(self, trajectories: Trajectories) -> None:
        self.trajectories, self.states = trajectories, trajectories.split()
        names, ignored = trajectories.names, trajectories.ignore
        limits = np.stack([f(trajectories.states, axis=0) for f in (np.min, np.max)])
        bodies = find_bodies(names, limits, ignored)
        bodies.sort(key=lambda body: body.of_robot)
        taken = [*ignored, *(c for body in bodies for c in body.columns)]
        frequency = trajectories.rate or NOMINAL
        given = trajectories.moving_gripper
        some = self.states[:: -(-len(self.states) // ENOUGH)]
        grippers = find_grippers(names, some, frequency, given, taken)
        found = {gripper.name: list(gripper.columns) for gripper in grippers}
        for body in bodies:
            found.setdefault(body.name, []).extend(body.columns)
        shown = {c for columns in found.values() for c in columns}
        for c in np.flatnonzero(limits[1] > limits[0]).tolist():
            if c not in shown:
                found.setdefault(self._group(c), []).append(c)
        self.titles, self.groups = list(found), list(found.values())
        self.low = [float(limits[0, columns].min()) for columns in self.groups]
        self.high = [float(limits[1, columns].max()) for columns in self.groups]

    def _group(self, column: int) -> str:
        """Name of the group of a column that is of no body: "tool q" of tool.qw."""
        if not self.trajectories.names:
            first = column // UNNAMED * UNNAMED
            return f"columns {first} to {first + UNNAMED - 1}"
        names = [short_name(name).rstrip(DIGITS) for name in self.trajectories.names]
        of, _, own = names[column].rpartition(".")
        axes = {name[-1:] for name in names if name[:-1] == names[column][:-1]}
        if len(axes & {*"wxyz"}) > 1:  # not the last letter of a word, as of "yaw"
            own = own[:-1] or own
        words = [text.strip("_/" + DIGITS) for text in (of, own)]
        return " ".join(filter(None, words)) or "others"

    def _labels(self, columns: list[int]) -> list[str]:
        """The parts of names by which the columns of a group differ, as "x"."""
        if not self.trajectories.names:
            return [str(c) for c in columns]
        names = [short_name(self.trajectories.names[c]).rpartition(".") for c in columns]
        same = len(names) > 1 and len({own for *_, own in names}) == 1
        parts = [WORD.findall(of if same else own) for of, _, own in names]
        words = enumerate(zip(*parts, strict=False))
        common = next((k for k, own in words if len(set(own)) > 1), 0)
        return ["".join(part[common:]) for part in parts]

    def piece(self, episode: int, first: int, last: int, width: int) -> dict[str, Any]:
        """Signals from step `first` to `last`, included, with two values for each pixel at most.

        A value is a share of the limits, from 0 to `LEVELS`. Of several steps in a pixel, the least
        and the largest values are kept.
        """
        states = self.states[episode][first : last + 1]
        stride = max(1, -(-len(states) // max(width, 50)))
        if stride > 1:
            states = np.pad(states, ((0, -len(states) % stride), (0, 0)), mode="edge")
            parts = states.reshape(-1, stride, states.shape[1])
            ends = np.stack([parts.min(axis=1), parts.max(axis=1)], axis=1)
            states = ends.reshape(-1, states.shape[1])
        groups, every = [], zip(self.titles, self.groups, self.low, self.high, strict=True)
        for title, columns, low, high in every:
            values = _levels(states[:, columns], low, high, LEVELS)
            lines = [
                {"name": name, "values": values[:, k].tolist()}
                for k, name in enumerate(self._labels(columns))
            ]
            groups.append({"name": title, "low": low, "high": high, "lines": lines})
        return {"first": first, "step": stride / 2 if stride > 1 else 1, "groups": groups}

    def overview(self, group: int) -> list[list[int]]:
        """The first column of a group in all episodes: up to 160 means of each, 0 to 255."""
        column, low, high = self.groups[group][0], self.low[group], self.high[group]
        rows = []
        for states in self.states:
            count = min(BINS, len(states))
            starts = np.arange(count) * len(states) // count  # of equal duration, within a step
            sums = np.add.reduceat(states[:, column].astype(np.float64), starts)
            means = sums / np.diff(starts, append=len(states))
            rows.append(_levels(means, low, high, 255).tolist())
        return rows


def _levels(values: NDArray[Any], low: float, high: float, count: int) -> Int:
    share = (values - low) / max(high - low, 1e-12)
    return np.rint(count * np.clip(share, 0, 1)).astype(np.int64)
