"""The curve I(s_t; s_<t-Δt) over the time of many recorded trajectories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .data import Trajectories
from .errors import InputError
from .estimator import Estimator, as_estimator
from .inputs import as_count, as_flag
from .pairs import ensemble_pairs

MODES = ("auto", "raw", "normalised")


@dataclass(frozen=True, eq=False)
class MICurve:
    """Mutual information at T moments, over N trajectories.

    Attributes
    ----------
    position : [T] float64
        Step t (raw), or fraction of the trajectory (normalised; mean over trajectories).
    mi, stderr, noise : [T] float64
        Nats; of each point alone, as in `Estimate`. Points share the model's errors, so `noise` is
        what they are compared by; they share trajectories too, so differences between them are
        known better (see `extrema.py`).
    samples : [T] int64
        Trajectories behind each point.
    per_slice : [T, S] float64
    influence : [T, N] float64
        Influence of each trajectory on the point; NaN where it has no part.
    saturated : [T] bool
        The dependence is stronger than the samples can tell.
    mode : {"raw", "normalised"}
    lag, history : int
        In original steps.
    dropped : tuple of int
        Coordinates left out because they are constant within every trajectory.
    how : str
        Estimator and settings, one line.
    """

    position: NDArray[np.float64]
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    noise: NDArray[np.float64]
    samples: NDArray[np.int64]
    per_slice: NDArray[np.float64]
    influence: NDArray[np.float64]
    saturated: NDArray[np.bool_]
    mode: str
    lag: int
    history: int
    dropped: tuple[int, ...]
    how: str


def mi_curve(
    trajectories: Trajectories,
    estimator: Estimator,
    *,
    lag: int = 2,
    history: int = 1,
    mode: str = "auto",
    points: int = 100,
    drop_constant: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> MICurve:
    """I(s_t; s_<t-Δt) over trajectories, at every moment (the paper's Section 4.4).

    The projections are the same at every moment, and so are the trajectories behind neighbouring
    points, so the points differ by what the robot does.

    Parameters
    ----------
    trajectories : Trajectories
    estimator : Estimator
    lag, history : int
        Steps between a state and its past, and how many past states are stacked.
    mode : {"auto", "raw", "normalised"}
        "raw": original steps, while as many trajectories reach them as the model needs (n_min).
        The number of trajectories falls towards the end then, and with it what can be told.
        "normalised": `points` moments from the start to the end of each trajectory, which aligns
        trajectories of different length; it needs to know where they end, so it is for
        recordings. Pairs are `lag` original steps apart either way. "auto": "raw" if all
        trajectories have the same length.
    points : int
        T in normalised time.
    drop_constant : bool
        Leave out coordinates that are constant within every trajectory (goals, sizes): they are
        copies of their own past by construction and say nothing about the moment.
    progress : callable, optional
        Called with (points done, points in all).

    Returns
    -------
    MICurve

    Raises
    ------
    InputError
        Too few or too short trajectories, nothing but constant coordinates, or settings of the
        wrong type or out of range.
    """
    reach = as_count(lag, "lag", 1) + as_count(history, "history", 1) - 1
    points = as_count(points, "points", 2, 10**5)
    if not isinstance(trajectories, Trajectories):
        raise InputError(
            f"trajectories are {type(trajectories).__name__}: pass Trajectories(states, lengths)"
        )
    estimator = as_estimator(estimator)
    drop_constant = as_flag(drop_constant, "drop_constant")
    if not isinstance(mode, str) or mode not in MODES:
        raise InputError(f"mode is {mode!r}: use one of {', '.join(MODES)}")
    states, lengths = trajectories.states, trajectories.lengths
    if mode == "auto":
        mode = "raw" if (lengths == lengths[0]).all() else "normalised"
    least = estimator.bundle.n_min
    enough = int((lengths > reach).sum())
    if enough < least:
        raise InputError(
            f"{enough} trajectories are longer than {reach} steps, but model "
            f"{estimator.bundle.name} needs {least} samples at each moment: record more of them, "
            "or read one robot's stream with OnlineEstimator"
        )
    dropped: tuple[int, ...] = ()
    if drop_constant:
        constant = _constant_within(states, lengths)
        if constant.all():
            raise InputError(
                f"all {len(constant)} coordinates are constant within every trajectory: "
                "record states that move"
            )
        states, dropped = states[:, ~constant], tuple(np.flatnonzero(constant).tolist())

    if mode == "raw":
        moments = np.arange(reach, np.sort(lengths)[-least])
        position = moments.astype(np.float64)
    else:
        moments = np.linspace(0, 1, points)
        present = lengths[lengths > reach]
        step = reach + np.rint(moments[:, None] * (present - 1 - reach))
        position = (step / (present - 1)).mean(axis=1)
    estimates = []
    influence = np.full((len(moments), len(lengths)), np.nan)
    for i, at in enumerate(moments):
        x, y, who = ensemble_pairs(
            states, lengths, at, lag=lag, history=history, normalised=mode == "normalised"
        )
        estimates.append(estimator.estimate(x, y))
        influence[i, who] = estimates[-1].influence
        if progress is not None:
            progress(i + 1, len(moments))
    one = estimates[0]
    slices = "unsliced" if one.k is None else f"{one.slices} slices of {one.k} dimensions"
    return MICurve(
        position=position,
        mi=np.array([estimate.mi for estimate in estimates]),
        stderr=np.array([estimate.stderr for estimate in estimates]),
        noise=np.array([estimate.noise for estimate in estimates]),
        samples=np.array([estimate.samples for estimate in estimates]),
        per_slice=np.array([estimate.per_slice for estimate in estimates]),
        influence=influence,
        saturated=np.array([estimate.saturated for estimate in estimates]),
        mode=mode,
        lag=lag,
        history=history,
        dropped=dropped,
        how=f"{slices}, model {one.model} on {one.provider}, seed {one.seed}",
    )


def _constant_within(states: NDArray[np.floating], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which coordinates [d] never move within any trajectory."""
    moved = states[1:] != states[:-1]
    moved[np.cumsum(lengths)[:-1] - 1] = False  # from one trajectory to the next
    return ~moved.any(axis=0)
