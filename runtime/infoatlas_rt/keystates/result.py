"""Key states: the steps of each demonstration at which its motion passes into another phase.

`discover_keystates` (`discovery.py`) finds them in recorded trajectories, and `KeyStateTracker`
(`tracker.py`) detects the same boundaries in a running episode.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .phases import Phases
from .segmentation import p_values, ranked_cuts

if TYPE_CHECKING:  # a tracker on a robot needs no estimator
    from ..estimation.estimator import Estimator
    from .explanation import CoordinateChange, GroupChange, Information

METHODS = ("phase", "pointwise")
FORMAT = 2


@dataclass(frozen=True, eq=False)
class KeyStates:
    """Key states of N trajectories.

    Attributes
    ----------
    steps : [N, K] int64
        Steps of each trajectory, ascending. Column j is the same key state in all of them. The
        last step is not among them, nor are (method "phase") the first 3 lag steps.
    strength : [K] float64
        Strongest first. "phase": how much and how sharply motion changes there, nats per step
        (`segmentation.py`). "pointwise": nats by which local information falls there below the
        trajectory's median.
    order : [K] int64
        order[i] is the column of `steps` of the i-th strongest key state.
    method : {"phase", "pointwise"}
    lag : int
        Steps.
    names : tuple of str
        Of the coordinates; empty if they have none.
    phases : Phases or None
        Fitted phases ("phase").
    local : tuple of [T_i] float64, or None
        Local information of every step with its past, nats ("pointwise").
    states : tuple of [T_i, d] float64
        The trajectories; empty after `load`.
    resolution : [d] float64, or None
        As given to `discover_keystates`.
    computed_p_value : [K] float64, or None
        `p_value`, if it is computed already.
    """

    steps: NDArray[np.int64]
    strength: NDArray[np.float64]
    order: NDArray[np.int64]
    method: str
    lag: int
    names: tuple[str, ...] = ()
    phases: Phases | None = None
    local: tuple[NDArray[np.float64], ...] | None = None
    states: tuple[NDArray[np.float64], ...] = field(default=(), repr=False)
    resolution: NDArray[np.float64] | None = None
    computed_p_value: NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def p_value(self) -> NDArray[np.float64]:
        """p-value of each key state, strongest first [K]; computed at the first access.

        The probability of a gain at least as large in a phase without an order that trajectories
        share. The null: in each trajectory, the steps of the phase that is split are rotated by a
        random number. There are 19 rotations, so the smallest value is 1/20. Cuts are tested in
        the order in which they are made, and no value is smaller than the one before it. This
        takes about ten times as long as the discovery. Rotation assumes motion that decorrelates
        within a phase: slow smooth motion gives values that are too small. NaN for other methods,
        and after `load` if it was not computed before `save`.
        """
        if self.computed_p_value is not None:
            return self.computed_p_value
        count = len(self.strength)
        if self.method != "phase" or not self.states:
            return np.full(count, np.nan)
        _, segmentation, ranked = ranked_cuts(self.states, self.lag, count, self.resolution)
        return p_values(segmentation, ranked[:count])

    @property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each column of `steps` by strength, 1 for the strongest [K]."""
        rank = np.empty_like(self.order)
        rank[self.order] = np.arange(1, len(self.order) + 1)
        return rank

    def explain(
        self,
        groups: Mapping[str, Sequence[int]] | None = None,
        *,
        estimator: Estimator | None = None,
        executor: Executor | None = None,
    ) -> list[GroupChange] | list[CoordinateChange]:
        """Changes at each key state: of coordinates, or of information between groups of them.

        Parameters
        ----------
        groups : dict of str to sequence of int, optional
            Coordinates by name, as {"tool": [18, 19, 20], "object": [28, 29, 30]}: estimates of
            the information between the motions of every two groups, in the phase before and in
            the phase after a key state. Without groups: the coordinates whose motion changes most.
        estimator : Estimator, optional
            For groups; the shipped model unless given.
        executor : concurrent.futures.Executor, optional
            For groups: spreads the estimates over its workers; the result has the same bits.

        Returns
        -------
        list of GroupChange or CoordinateChange
            In order of time. The key states stay as they are.

        Raises
        ------
        InputError
            No trajectories (loaded from a file), or groups that do not exist.
        """
        from . import explanation

        states = trajectories(self)
        if groups is None:
            return explanation.coordinate_changes(states, self.steps, self.lag, self.names)
        return explanation.group_changes(
            states, self.steps, self.lag, self.resolution, groups, estimator, executor
        )

    def information(
        self, estimator: Estimator | None = None, *, executor: Executor | None = None
    ) -> list[Information]:
        """Estimates of the information at each key state, in nats, in order of time.

        Parameters
        ----------
        estimator : Estimator, optional
            The shipped model unless given.
        executor : concurrent.futures.Executor, optional
            Spreads the estimates over its workers; the result has the same bits.

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

        return explanation.information(
            trajectories(self), self.steps, self.lag, self.local, estimator, executor
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .json file: steps, strengths and fitted phases, without the trajectories.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        p_value = self._computed()
        values = {
            "format": FORMAT,
            "method": self.method,
            "lag": self.lag,
            "names": list(self.names),
            "steps": self.steps.tolist(),
            "strength": self.strength.tolist(),
            "order": self.order.tolist(),
            "p_value": None if p_value is None else p_value.tolist(),
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
                strength=np.asarray(values["strength"], np.float64),
                order=np.asarray(values["order"], np.int64),
                method=str(values["method"]),
                lag=int(values["lag"]),
                names=tuple(map(str, values["names"])),
                phases=phases,
                computed_p_value=None if p_value is None else np.asarray(p_value, np.float64),
            )
            count = len(found.strength)
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
        count, p_value, phases = len(self.strength), self.computed_p_value, self.phases
        if self.method not in METHODS or not np.isfinite(self.strength).all():
            raise ValueError(f"method {self.method!r}, strength {self.strength}")
        if p_value is not None and p_value.shape != self.strength.shape:
            raise ValueError(f"{p_value.shape} p-values for {count} key states")
        if phases is not None:
            if len(phases.steps) != count + 1 or phases.motion.lag != self.lag:
                raise ValueError("phases of other key states, or of another lag")
            if len(self.names) not in (0, phases.motion.width):
                raise ValueError(f"{len(self.names)} names for {phases.motion.width} coordinates")

    def _computed(self) -> NDArray[np.float64] | None:
        """p-values, if they are computed already."""
        found = self.__dict__.get("p_value", self.computed_p_value)
        return None if found is None or np.isnan(found).any() else found

    def __str__(self) -> str:
        count, p_value = self.steps.shape[1], self._computed()
        lines = [
            f"{count} key states of {len(self.steps)} trajectories "
            f"(method {self.method}, lag {self.lag})",
            f"{'#':>3}  {'step, median':>12}  {'quartiles':>11}  {'rank':>4}  "
            f"{'strength':>14}" + ("" if p_value is None else f"  {'p':>5}"),
        ]
        unit = {"phase": "nats/step", "pointwise": "nats"}.get(self.method, "")
        for column, rank in enumerate(self.rank.tolist()):
            low, middle, high = np.percentile(self.steps[:, column], [25, 50, 75])
            lines.append(
                f"{column + 1:>3}  {middle:>12.0f}  {f'{low:.0f} to {high:.0f}':>11}  {rank:>4}  "
                f"{self.strength[rank - 1]:>4.1f} {unit:<9}"
                + ("" if p_value is None else f"  {p_value[rank - 1]:>5.2f}")
            )
        return "\n".join(lines)


def trajectories(keystates: KeyStates) -> tuple[NDArray[np.float64], ...]:
    """The trajectories of key states; InputError if these were loaded from a file."""
    if not keystates.states:
        raise InputError(
            "these key states were loaded from a file, which holds no trajectories: call "
            "discover_keystates on the trajectories again"
        )
    return keystates.states
