"""Source demonstrations with states, actions and flags: files, and changed copies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..tasks.episode_files import load_episodes

Float = NDArray[np.float64]
Flags = NDArray[np.bool_]

NOISE = 0.0005  # m, of a position that is measured
SLOWEST, FASTEST = -1.0, 1.0  # logarithms to base 2 of the tempo
KNOTS = 6  # of the tempo over a demonstration
PAUSES = 2  # each of up to a tenth of the demonstration


@dataclass(frozen=True, eq=False)
class Demos:
    """N demonstrations."""

    states: tuple[Float, ...]  # [T, d] of each
    # [T, 8] of each: joint targets (rad) and the gripper (1 open, -1 closed), given at each state.
    actions: tuple[Float, ...]
    names: tuple[str, ...]
    seeds: NDArray[np.int64]  # [N], of the simulator's reset
    flags: dict[str, tuple[Flags, ...]]  # [T] of each, of the simulator

    def __len__(self) -> int:
        return len(self.states)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(s) for s in self.states], np.int64)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Demos":
        """Some of the demonstrations."""
        which = [int(i) for i in rows]
        return replace(
            self,
            states=tuple(self.states[i] for i in which),
            actions=tuple(self.actions[i] for i in which),
            seeds=self.seeds[which],
            flags={name: tuple(own[i] for i in which) for name, own in self.flags.items()},
        )

    def columns(self, prefix: str) -> list[int]:
        """Columns of a body, with names of PREFIX, a point and an axis."""
        return [i for i, name in enumerate(self.names) if name.rpartition(".")[0] == prefix]


def read(path: Path) -> Demos:
    """Demonstrations of a file: `states`, `actions`, `lengths`, `names`, `seeds`, and flags."""
    arrays, steps = load_episodes(path)
    return Demos(
        tuple(arrays["states"][i].astype(np.float64) for i in steps),
        tuple(arrays["actions"][i].astype(np.float64) for i in steps),
        tuple(map(str, arrays["names"])),
        arrays["seeds"],
        {
            name: tuple(values[i] for i in steps)
            for name, values in arrays.items()
            if values.dtype == np.bool_ and values.shape == (len(arrays["states"]),)
        },
    )


def write(demos: Demos, path: Path) -> None:
    """Write a file for `read`, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(
        unfinished,
        states=np.concatenate(demos.states).astype(np.float32),
        actions=np.concatenate(demos.actions).astype(np.float32),
        lengths=demos.lengths,
        names=np.array(demos.names),
        seeds=demos.seeds,
        **{name: np.concatenate(own) for name, own in demos.flags.items()},  # type: ignore[arg-type]
    )
    unfinished.replace(path)


def changed(demos: Demos, measured: Sequence[str], seed: int) -> Demos:
    """The same demonstrations with uneven tempo, pauses, and noise on measured positions.

    `measured` are bodies whose positions get noise of `NOISE`: the tool and objects. Goals are
    parameters of the task. Joint targets have the tempo of the states and are constant in a pause.
    Velocities are scaled by the tempo. Differences of two bodies, as tool_to_cube.x, are computed
    from the noisy positions.
    """
    rng = np.random.default_rng(seed)
    velocity = np.array([name.endswith(".velocity") for name in demos.names])
    rows = [_tempo(n, rng) for n in demos.lengths]
    turned = [demos.columns(name[:-3])[-4:] for name in demos.names if name.endswith(".qw")]
    states, actions = [], []
    flags: dict[str, list[Flags]] = {name: [] for name in demos.flags}
    for i, (at, rate) in enumerate(rows):
        played = _play(_continuous(demos.states[i], turned), at)
        for columns in turned:
            played[:, columns] /= np.linalg.norm(played[:, columns], axis=1, keepdims=True)
        played[:, velocity] *= rate[:, None]
        for body in measured:
            place = demos.columns(body)[:3]
            played[:, place] += NOISE * rng.standard_normal((len(played), len(place)))
        states.append(_with_differences(played, demos))
        targets = _play(demos.actions[i], at)
        targets[:, -1] = demos.actions[i][np.floor(at).astype(int), -1]  # the gripper is a switch
        actions.append(targets)
        for name, own in demos.flags.items():
            flags[name].append(own[i][np.floor(at).astype(int)])
    return replace(
        demos,
        states=tuple(states),
        actions=tuple(actions),
        flags={name: tuple(own) for name, own in flags.items()},
    )


def _tempo(length: int, rng: np.random.Generator) -> tuple[Float, Float]:
    """Original step of each new step [T'], and original steps per new step (0 in a pause) [T']."""
    knots = rng.uniform(SLOWEST, FASTEST, KNOTS)
    share = np.linspace(0, 1, length)
    rate = 2.0 ** np.interp(share, np.linspace(0, 1, KNOTS), knots)
    new = np.concatenate([[0], np.cumsum(2 / (rate[1:] + rate[:-1]))])
    at = np.interp(np.arange(int(new[-1]) + 1), new, np.arange(length))
    at = np.append(at, length - 1) if at[-1] < length - 1 else at
    tempo = np.interp(at, np.arange(length), rate)
    for _ in range(PAUSES):
        where, many = int(rng.integers(len(at))), int(rng.integers(1, 2 + length // 10))
        at = np.insert(at, where + 1, np.full(many, at[where]))
        tempo = np.insert(tempo, where + 1, np.zeros(many))
    return at, tempo


def _play(values: Float, at: Float) -> Float:
    """Values [T, d], interpolated at fractional steps."""
    return np.stack([np.interp(at, np.arange(len(values)), v) for v in values.T], axis=1)


def _continuous(states: Float, turned: Sequence[Sequence[int]]) -> Float:
    """States with quaternions of continuous sign."""
    states = states.copy()
    for columns in turned:
        q = states[:, columns]
        against = (q[1:] * q[:-1]).sum(axis=1) < 0
        states[:, columns] *= np.cumprod(np.append(1.0, np.where(against, -1.0, 1.0)))[:, None]
    return states


def _with_differences(states: Float, demos: Demos) -> Float:
    """Recompute the differences of two bodies from their positions."""
    for i, name in enumerate(demos.names):
        whole, _, axis = name.rpartition(".")
        one, to, other = whole.partition("_to_")
        if to and f"{one}.{axis}" in demos.names and f"{other}.{axis}" in demos.names:
            first, second = (demos.names.index(f"{body}.{axis}") for body in (one, other))
            states[:, i] = states[:, second] - states[:, first]
    return states
