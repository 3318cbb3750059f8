"""Random messages of ROS topics: several bodies, joints in any order, arrays of any length.

The numbers of a body occur in no other body, so a state that mixes two bodies is detected.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_typestore
from values import Rng, pick
from written import EITHER, READ, REFUSED

STORE = get_typestore(Stores.ROS2_HUMBLE)
STEP = 50_000_000  # nanoseconds
START = 1_763_800_000_000_000_000
TOPIC = "/states"


class Topic(NamedTuple):
    """Messages of one topic in one bag, and the expected result.

    Attributes
    ----------
    kind : str
    messages : list
    bodies : list of [T, d]
        Valid results: the states of each body.
    outcome : str
        Outcome of `load_demonstrations`.
    names : tuple of str, or None
        Names of the coordinates.
    plain : bool
        Whether all messages are of one body and of one form.
    streamed : str
        Outcome of a stream, which may have holes.
    """

    kind: str
    messages: list[Any]
    bodies: list[np.ndarray]
    outcome: str
    names: tuple[str, ...] | None
    plain: bool
    streamed: str = EITHER


def make(kind: str, *values: Any) -> Any:
    return STORE.types[kind](*values)


def header(time: int, frame: str) -> Any:
    stamp = make("builtin_interfaces/msg/Time", *divmod(time, 10**9))
    return make("std_msgs/msg/Header", stamp, frame)


def numbers(rng: Rng, body: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a body, which begin at 1000 times its number."""
    return 1000.0 * body + rng.uniform(1, 999, shape)


def turns(rng: Rng, count: int, bodies: int) -> list[int]:
    """The body of each message: in turn, at random, or one after the other."""
    form = pick(rng, ("in turn", "random", "blocks", "few"))
    if form == "in turn":
        return [i % bodies for i in range(count)]
    if form == "random":
        return rng.integers(bodies, size=count).tolist()
    if form == "few":
        return (rng.integers(bodies, size=count) * (rng.random(count) < 0.1)).tolist()
    return np.sort(rng.integers(bodies, size=count))[:: pick(rng, (1, -1))].tolist()


class Plan:
    """Common properties of the bags of a data set: type, bodies, fields."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.options: dict[str, Any] = {"topic": TOPIC}
        self.write = pick(rng, (self._joints, self._joints, self._poses, self._frames, self._array))
        self.count = int(rng.integers(20, 70))
        self.several = rng.integers(3) == 0  # whether there are several bodies
        self.joints = [f"j{i}" for i in range(int(rng.integers(1, 5)))]
        same = rng.integers(3) == 0
        self.others = [f"f{i}" for i in range(len(self.joints) if same else rng.integers(1, 4))]
        self.velocities = pick(rng, ("all", "all", "none", "some"))
        self.chosen = int(rng.integers(3)) if rng.integers(2) else None
        self.asked = [str(n) for n in rng.permutation(self.joints)] * int(rng.integers(3) == 0)
        self.permuted = bool(rng.integers(2))
        self.spread = bool(rng.integers(2))
        self.lengths = [int(n) for n in rng.choice(np.arange(1, 9), 3, replace=False)]
        self.faults = pick(rng, ("", "", "", "", "nan", "frames", "twice"))
        self.time = START

    def _times(self) -> list[int]:
        steps = STEP + self.rng.integers(-STEP // 20, STEP // 20 + 1, self.count)
        self.time += 10**10
        return (self.time + np.cumsum(steps)).tolist()

    def _joints(self) -> Topic:
        """JointState: arm (body 1) and gripper (body 2), with names in any order."""
        rng, kind = self.rng, "sensor_msgs/msg/JointState"
        if self.asked:
            self.options["joints"] = self.asked
        messages, arm, gripper, orders = [], [], [], []
        whose = turns(rng, self.count, 2) if self.several else [0] * self.count
        frames = turns(rng, self.count, 2) if self.faults == "frames" else [0] * self.count
        for time, who, frame in zip(self._times(), whose, frames, strict=True):
            names = (self.joints, self.others)[who]
            values = numbers(rng, 1 + who, (2, len(names)))
            if self.faults == "nan":
                values[0, 0] = pick(rng, (1.0, 1.0, np.nan)) * values[0, 0]
            order = rng.permutation(len(names)) if self.permuted else np.arange(len(names))
            full = self.velocities == "all" or (self.velocities == "some" and rng.integers(2))
            velocities = values[1][order] if full else np.zeros(0)
            positions, effort = values[0][order], np.zeros(0)
            given = [names[i] for i in order]
            messages.append(
                make(kind, header(time, f"frame{frame}"), given, positions, velocities, effort)
            )
            orders.append(given)
            (arm, gripper)[who].append(values.ravel() if full else values[0])
        if self.several or self.velocities == "some" or len({*frames}) > 1:
            # Either layout may be read; some messages have no velocities.
            self.options["by_name"] = True
            alike: dict[tuple[int, int], list[np.ndarray]] = {}
            for body, states in enumerate((arm, gripper)):
                for row in states:
                    alike.setdefault((body, len(row)), []).append(row)
            bodies = [np.array(rows) for rows in alike.values()]
            return Topic(kind, messages, bodies, EITHER, None, False)
        width = 1 + (self.velocities == "all")
        names = self.options.get("joints", orders[0])
        labels = [f"{word}[{n}]" for word in ("position", "velocity")[:width] for n in names]
        columns = [k * len(names) + self.joints.index(n) for k in range(width) for n in names]
        states = np.array(arm)[:, columns]
        outcome = READ if np.isfinite(states).all() else REFUSED
        return Topic(kind, messages, [states], outcome, tuple(labels), outcome == READ)

    def _poses(self) -> Topic:
        """PoseStamped with one or several frames."""
        rng, kind = self.rng, "geometry_msgs/msg/PoseStamped"
        bodies = 1 + 2 * int(self.several)
        whose = turns(rng, self.count, bodies)
        values = [numbers(rng, 1 + who, (7,)) for who in whose]
        messages = []
        for time, who, row in zip(self._times(), whose, values, strict=True):
            point = make("geometry_msgs/msg/Point", *row[:3])
            turn = make("geometry_msgs/msg/Quaternion", *row[3:])
            pose = make("geometry_msgs/msg/Pose", point, turn)
            messages.append(make(kind, header(time, f"frame{who}"), pose))
        seen = {*whose}
        if self.chosen is not None:
            self.options["fields"] = [f"[header.frame_id=frame{self.chosen}].pose"]
        return self._one_of(kind, messages, values, whose, seen)

    def _frames(self) -> Topic:
        """TFMessage with several child frames, in one message or several."""
        rng, kind = self.rng, "tf2_msgs/msg/TFMessage"
        bodies = 1 + 2 * int(self.several)
        whose, values, messages, twice = [], [], [], False
        for time, who in zip(self._times(), turns(rng, self.count, bodies), strict=True):
            inside = [who] if self.spread else rng.permutation(bodies).tolist()
            if not self.permuted:
                inside.sort()
            if self.faults == "twice" and rng.integers(10) == 0:
                inside.append(inside[0])
                twice = True
            elements = []
            for i, own in enumerate(inside):
                row = numbers(rng, 1 + own, (7,))
                move = make("geometry_msgs/msg/Vector3", *row[:3])
                turn = make("geometry_msgs/msg/Quaternion", *row[3:])
                transform = make("geometry_msgs/msg/Transform", move, turn)
                stamped = "geometry_msgs/msg/TransformStamped"
                elements.append(make(stamped, header(time, "base"), f"frame{own}", transform))
                if i < 1 or own != inside[0]:  # one of two elements of a frame cannot be chosen
                    whose.append(own)
                    values.append(row)
            messages.append(make(kind, elements))
        seen = {*whose}
        place = "0" if self.chosen is None else f"child_frame_id=frame{self.chosen}"
        self.options["fields"] = [f"transforms[{place}].transform"]
        if self.chosen is None and not self.spread and not self.permuted:
            seen = {whose[0]}  # always the first frame
            values, whose = values[::bodies], whose[::bodies]
        topic = self._one_of(kind, messages, values, whose, seen)
        if twice and self.chosen is not None and topic.outcome == READ:
            return topic._replace(outcome=EITHER, plain=False)
        return topic

    def _one_of(
        self, kind: str, messages: list[Any], values: Any, whose: list[int], seen: set[int]
    ) -> Topic:
        """One body is read: the chosen one, or the only one."""
        if self.chosen is None:
            outcome = REFUSED if len(seen) > 1 else READ
            own = whose[0]
        else:
            outcome = READ if self.chosen in seen else REFUSED
            own = self.chosen
        states = [row for row, who in zip(values, whose, strict=True) if who == own]
        if outcome == READ and len(states) < len(messages):
            outcome = EITHER  # demonstrations may have different rates then
        streamed = REFUSED if outcome == REFUSED else EITHER
        return Topic(kind, messages, [np.array(states)], outcome, None, len(seen) == 1, streamed)

    def _array(self) -> Topic:
        """Float64MultiArray; each length is a body."""
        rng, kind = self.rng, "std_msgs/msg/Float64MultiArray"
        whose = turns(rng, self.count, 1 + 2 * int(self.several))
        values = [numbers(rng, 1 + who, (self.lengths[who],)) for who in whose]
        self._times()
        layout = make("std_msgs/msg/MultiArrayLayout", [], 0)
        messages = [make(kind, layout, row) for row in values]
        bodies = [
            np.array([row for row, w in zip(values, whose, strict=True) if w == who])
            for who in sorted({*whose})
        ]
        seen = len({*whose})
        return Topic(kind, messages, bodies, REFUSED if seen > 1 else READ, None, seen == 1)
