"""Key states: the steps of each demonstration at which its motion passes into another phase.

`discover_keystates` finds them in recorded trajectories by one of two criteria:

- **"phase"** (default): boundaries of a segmentation that all trajectories share, chosen to
  reduce the entropy of motion most (`phases.py`). NumPy alone, about a second.
- **"pointwise"**: minima of the local mutual information of a state with its past, by the shipped
  model (`pointwise.py`): the steps at which the past is least informative about the present.

The paper maximises I(s_t; s_<t-lag) over t (Section 4.4). On demonstrations of different length
the maxima of that curve are no nearer to the true events than evenly spaced steps; the curve stays
as a picture (`mi_curve`, command `keystates --method curve`).

`KeyStateTracker` (`tracker.py`) detects the same boundaries in a running episode.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .data import Trajectories
from .errors import InputError
from .inputs import as_count, as_resolution, as_samples
from .phases import SHORTEST, SPANS, Motion, Phases, Segmentation, fit_motion

if TYPE_CHECKING:
    from .estimator import Estimator
    from .explanation import CoordinateChange, GroupChange, Information

METHODS = ("phase", "pointwise")
FORMAT = 1
ROTATIONS = 19  # of the null: the smallest p-value is 1 / (ROTATIONS + 1) = 0.05
LEVEL = 0.05  # of k="auto"
DOMINANT = 0.45  # k="auto" keeps boundaries of at least this share of the largest gain
PROPOSALS = 10  # boundaries from which the K most important are taken; more if K is more


@dataclass(frozen=True, eq=False)
class KeyStates:
    """Key states of N trajectories.

    Attributes
    ----------
    steps : [N, K] int64
        Steps of each trajectory, ascending. Column j is the same key state in all of them. The
        last step is not among them, nor are (method "phase") the first 3 lag steps.
    gain : [K] float64
        In order of importance. "phase": how much and how sharply motion changes there, nats
        per step (`phases.py`). "pointwise": nats by which local information falls there below
        the trajectory's median.
    order : [K] int64
        order[i] is the column of `steps` of the i-th most important key state.
    method : {"phase", "pointwise"}
    lag : int
        Steps.
    names : tuple of str
        Of the coordinates; empty if unknown.
    phases : Phases or None
        Fitted phases ("phase").
    local : tuple of [T_i] float64, or None
        Local information of every step with its past, nats ("pointwise").
    states : tuple of [T_i, d] float64
        The trajectories; empty after `load`.
    resolution : [d] float64, or None
        As given to `discover_keystates`.
    known_p_value : [K] float64, or None
        `p_value`, if it is computed already.
    """

    steps: NDArray[np.int64]
    gain: NDArray[np.float64]
    order: NDArray[np.int64]
    method: str
    lag: int
    names: tuple[str, ...] = ()
    phases: Phases | None = None
    local: tuple[NDArray[np.float64], ...] | None = None
    states: tuple[NDArray[np.float64], ...] = field(default=(), repr=False)
    resolution: NDArray[np.float64] | None = None
    known_p_value: NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def p_value(self) -> NDArray[np.float64]:
        """Of each key state, in order of importance [K]; computed when it is first asked for.

        The probability that a split gains as much in a phase whose order the trajectories do not
        share: the steps of the phase that it splits are rotated by a random number in each
        trajectory, 19 times, so the smallest value is 1/20. Cuts are tested in the order in which
        they are made, and none has a smaller value than the one before. It takes some ten times
        as long as the discovery. Rotation assumes motion that decorrelates within a phase: slow
        smooth motion gives values that are too small. NaN for "pointwise", and after `load` if it
        was not computed before `save`.
        """
        if self.known_p_value is not None:
            return self.known_p_value
        if self.method != "phase" or not self.states:
            return np.full(len(self.gain), np.nan)
        _, segmentation, ranked = _rank(self.states, self.lag, len(self.gain), self.resolution)
        return _p_values(segmentation, ranked[: len(self.gain)])

    @property
    def importance(self) -> NDArray[np.int64]:
        """Rank of each column of `steps`, 1 for the most important [K]."""
        rank = np.empty_like(self.order)
        rank[self.order] = np.arange(1, len(self.order) + 1)
        return rank

    def explain(
        self,
        groups: Mapping[str, Sequence[int]] | None = None,
        *,
        estimator: Estimator | None = None,
    ) -> list[GroupChange] | list[CoordinateChange]:
        """What changes at each key state.

        Parameters
        ----------
        groups : dict of str to sequence of int, optional
            Coordinates by name, as {"tool": [18, 19, 20], "object": [28, 29, 30]}: the model's
            information between the motion of every two groups in the phase before and after a
            key state. Without groups: the coordinates whose motion changes most.
        estimator : Estimator, optional
            For groups; the shipped model unless given.

        Returns
        -------
        list of GroupChange or CoordinateChange
            In order of time. It annotates the key states and leaves them as they are.

        Raises
        ------
        InputError
            No trajectories (loaded from a file), or groups that do not exist.
        """
        from . import explanation

        if groups is None:
            return explanation.coordinate_changes(self)
        return explanation.group_changes(self, groups, estimator)

    def information(self, estimator: Estimator | None = None) -> list[Information]:
        """The model's information at each key state, in nats, in order of time.

        Parameters
        ----------
        estimator : Estimator, optional
            The shipped model unless given.

        Returns
        -------
        list of Information
            Local information at the step and its percentile within the trajectory, and the sliced
            information of states with their past in the phases before and after.

        Raises
        ------
        InputError
            No trajectories (loaded from a file).
        """
        from . import explanation

        return explanation.information(self, estimator)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .json file: steps, gains and fitted phases, without the trajectories.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        known = self._known()
        values = {
            "format": FORMAT,
            "method": self.method,
            "lag": self.lag,
            "names": list(self.names),
            "steps": self.steps.tolist(),
            "gain": self.gain.tolist(),
            "order": self.order.tolist(),
            "p_value": None if known is None else known.tolist(),
            "phases": None if self.phases is None else self.phases.to_dict(),
        }
        try:
            Path(path).write_text(json.dumps(values, allow_nan=False) + "\n", encoding="utf-8")
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{path} cannot be written ({error}): check the path") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> KeyStates:
        """Read a file of `save`.

        Raises
        ------
        InputError
            The file is missing, damaged or of another format.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            if values["format"] != FORMAT:
                raise ValueError(f"format {values['format']}, this version reads {FORMAT}")
            phases = None if values["phases"] is None else Phases.from_dict(values["phases"])
            p_value = values["p_value"]
            found = cls(
                steps=np.asarray(values["steps"], np.int64),
                gain=np.asarray(values["gain"], np.float64),
                order=np.asarray(values["order"], np.int64),
                method=str(values["method"]),
                lag=int(values["lag"]),
                names=tuple(map(str, values["names"])),
                phases=phases,
                known_p_value=None if p_value is None else np.asarray(p_value, np.float64),
            )
            count = len(found.gain)
            found._check_file()
            if found.steps.ndim != 2 or found.steps.shape[1] != count:
                raise ValueError(f"steps have shape {found.steps.shape} for {count} key states")
            if sorted(found.order.tolist()) != list(range(count)):
                raise ValueError("order is no permutation of the key states")
        except FileNotFoundError as error:
            raise InputError(f"{path} does not exist: check the path") from error
        except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise InputError(
                f"{path} is no file of key states ({type(error).__name__}: {error}): make one with "
                "`infoatlas-rt keystates DATA --save FILE.json`"
            ) from error
        return found

    def _check_file(self) -> None:
        """Raise ValueError where parts of a file do not fit together."""
        known, phases = self.known_p_value, self.phases
        if self.method not in METHODS or not np.isfinite(self.gain).all():
            raise ValueError(f"method {self.method!r}, gain {self.gain}")
        if known is not None and known.shape != self.gain.shape:
            raise ValueError(f"{known.shape} p-values for {self.gain.shape} key states")
        if phases is not None:
            if len(phases.steps) != len(self.gain) + 1 or phases.motion.lag != self.lag:
                raise ValueError("phases of other key states, or of another lag")
            if len(self.names) not in (0, phases.motion.width):
                raise ValueError(f"{len(self.names)} names for {phases.motion.width} coordinates")

    def _known(self) -> NDArray[np.float64] | None:
        """p-values, if they are computed already."""
        known = self.__dict__.get("p_value", self.known_p_value)
        return None if known is None or np.isnan(known).any() else known

    def __str__(self) -> str:
        count, known = self.steps.shape[1], self._known()
        lines = [
            f"{count} key states of {len(self.steps)} trajectories "
            f"(method {self.method}, lag {self.lag})",
            f"{'#':>3}  {'step, median':>12}  {'quartiles':>11}  {'rank':>4}  "
            f"{'gain':>14}" + ("" if known is None else f"  {'p':>5}"),
        ]
        unit = "nats/step" if self.method == "phase" else "nats"
        for column, rank in enumerate(self.importance.tolist()):
            low, middle, high = np.percentile(self.steps[:, column], [25, 50, 75])
            lines.append(
                f"{column + 1:>3}  {middle:>12.0f}  {f'{low:.0f} to {high:.0f}':>11}  {rank:>4}  "
                f"{self.gain[rank - 1]:>4.1f} {unit:<9}"
                + ("" if known is None else f"  {known[rank - 1]:>5.2f}")
            )
        return "\n".join(lines)


def discover_keystates(
    trajectories: Sequence[Any] | Trajectories,
    k: int | str = 5,
    lag: int = 2,
    method: str = "phase",
    *,
    resolution: Any = None,
    estimator: Estimator | None = None,
) -> KeyStates:
    """Find key states that demonstrations of one task share.

    Parameters
    ----------
    trajectories : sequence of [T_i, d] array-like, or Trajectories
        States of each demonstration; lengths may differ. Leave out columns that hold the answer
        (flags such as "is grasped").
    k : int or "auto"
        K, key states besides the end. "auto" (method "phase"): boundaries whose gain is at least
        0.45 of the largest one, until one has a `p_value` above 0.05. The first one is always
        returned; its `p_value` says what it is worth.
    lag : int
        Steps between a state and its past.
    method : {"phase", "pointwise"}
    resolution : float or [d], optional
        What the sensors resolve, in the units of the states: increments below it are rest (method
        "phase"). Without it, those below 1e-4 of a coordinate's range are. A tracker needs it
        where a robot at rest jitters and the demonstrations do not.
    estimator : Estimator, optional
        Of local information: the shipped model in 5-dimensional slices unless given.

    Returns
    -------
    KeyStates

    Raises
    ------
    InputError
        No trajectories, different numbers of coordinates, values that are not finite, nothing
        that moves, trajectories too short for K key states, or settings out of range.
    """
    lag = as_count(lag, "lag", 1)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method is {method!r}: use one of {', '.join(METHODS)}")
    if isinstance(k, str):
        if k != "auto":
            raise InputError(f"k is {k!r}: pass a number of key states, or 'auto'")
        if method != "phase":
            raise InputError("k='auto' is for method='phase': pass a number of key states")
        count = 1
    else:
        count = as_count(k, "k", 1)
    states, names = _as_trajectories(trajectories, max(SPANS) * lag + (count + 1) * SHORTEST, count)
    resolution = as_resolution(resolution, states[0].shape[1], "resolution")
    common: dict[str, Any] = {
        "method": method,
        "lag": lag,
        "names": names,
        "states": tuple(states),
        "resolution": resolution,
    }
    if method == "pointwise":
        from . import pointwise

        steps, minima, gain = pointwise.discover(states, k=count, lag=lag, estimator=estimator)
        order = np.argsort(-gain, kind="stable")
        return KeyStates(steps, gain[order], order, local=tuple(minima), **common)
    motion, segmentation, ranked = _rank(states, lag, count, resolution)
    importance = np.array(segmentation.importance)
    p_value = None
    if k == "auto":
        ranked = ranked[importance[ranked] >= DOMINANT * importance.max()]
        p_value = _p_values(segmentation, ranked)
        kept = np.logical_and.accumulate(p_value <= LEVEL)  # none after the first that is not
        kept[0] = True
        ranked, p_value = ranked[kept], p_value[kept]
    else:
        ranked = ranked[:count]
    steps = np.stack([segmentation.cuts[i] for i in ranked], axis=1) + motion.reach
    time = np.argsort(steps[0], kind="stable")
    return KeyStates(
        steps[:, time],
        importance[ranked],
        np.argsort(time, kind="stable"),
        phases=segmentation.fit_phases(motion, [segmentation.cuts[i] for i in ranked[time]]),
        known_p_value=p_value,
        **common,
    )


def _rank(
    states: Sequence[NDArray[np.float64]],
    lag: int,
    count: int,
    resolution: NDArray[np.float64] | None,
) -> tuple[Motion, Segmentation, NDArray[np.intp]]:
    """Proposed boundaries, and their order of importance."""
    motion, scores = fit_motion(states, lag, resolution)
    if not len(motion.columns):
        raise InputError("nothing moves in these trajectories: record states that do")
    lengths = np.array([len(s) - motion.reach for s in states])
    segmentation = Segmentation(scores, lengths, motion.reach)
    while len(segmentation.cuts) < max(count, PROPOSALS) and segmentation.next_gain > -np.inf:
        segmentation.cut()
    if len(segmentation.cuts) < count:
        raise InputError(
            f"only {len(segmentation.cuts)} key states fit into these trajectories, and k is "
            f"{count}: pass a smaller k, or longer trajectories"
        )
    return motion, segmentation, np.argsort(-np.array(segmentation.importance), kind="stable")


def _p_values(segmentation: Segmentation, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """p-values of some of the cuts, by cutting once more."""
    rng = np.random.default_rng(0)
    again = Segmentation(segmentation.scores, segmentation.lengths, segmentation.window)
    p_values = np.empty(max(chosen) + 1)
    for i in range(len(p_values)):
        null = again.null_gains(rng, ROTATIONS)
        p_values[i] = (1 + (null >= again.next_gain).sum()) / (ROTATIONS + 1)
        again.cut()
    # Many cuts are tried: one of them is worth no more than those that had to be made before it.
    return np.asarray(np.maximum.accumulate(p_values)[chosen], np.float64)


def _as_trajectories(
    trajectories: Sequence[Any] | Trajectories, least: int, count: int
) -> tuple[list[NDArray[np.float64]], tuple[str, ...]]:
    """Checked states of each trajectory, and the names of the coordinates."""
    names: tuple[str, ...] = ()
    if isinstance(trajectories, Trajectories):
        names = trajectories.names
        ends = np.cumsum(trajectories.lengths)[:-1]
        trajectories = np.split(trajectories.states, ends)
    elif isinstance(trajectories, str | os.PathLike):
        raise InputError(
            f"trajectories is the path {str(trajectories)!r}: pass load_trajectories(path)"
        )
    try:
        states = [as_samples(s, f"trajectory {i}").copy() for i, s in enumerate(trajectories)]
    except TypeError as error:
        raise InputError(f"trajectories cannot be iterated ({error}): pass a list") from error
    if not states:
        raise InputError("there are no trajectories: pass at least one [T, d] array")
    for i, s in enumerate(states):
        if s.shape[1] != states[0].shape[1]:
            raise InputError(
                f"trajectory {i} has {s.shape[1]} coordinates, trajectory 0 has "
                f"{states[0].shape[1]}: pass the same ones"
            )
        if len(s) < least:
            raise InputError(
                f"trajectory {i} has {len(s)} steps, and {count} key states need {least}: leave "
                "it out, or pass a smaller k"
            )
    return states, names
