"""The curve I(s_t; s_<t-Δt) over the time of many recorded trajectories.

The trajectories are an ensemble: samples of the same moment t, as in the paper's I(s_t; s_<t-Δt)
(Section 4.4, robotic manipulation concept discovery). For a single robot, use
`streams/sliding_window.py`. Pairs are formed `lag` steps apart on the original steps, before any
resampling of time, and never across the end of an episode.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.pairs import Pairs
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.redundancy import redundant
from infoatlas_rt.estimation.result import FLAGS, Estimate
from infoatlas_rt.inputs.checks import as_choice, as_count
from infoatlas_rt.streams.extrema import POINTS, Extremum, ExtremumDetector

from ..presentation import nulls
from ..trajectories import Trajectories, as_trajectories

MODES = ("auto", "raw", "normalised")


@dataclass(frozen=True, eq=False)
class MICurve:
    """Mutual information at T moments, over N trajectories.

    Attributes
    ----------
    position : [T] float64
        Step t (raw), or fraction of the trajectory (normalised; mean over trajectories).
    mi, stderr, noise : [T] float64
        Nats; each estimate, its standard error, and the part of this from samples and slices
        alone. Points share the model's errors, so compare them by `noise`. They share trajectories
        too, so the standard error of a difference is smaller.
    samples : [T] int64
        Number of trajectories of each point.
    per_slice : [T, S] float64
        Nats; the estimate of each slice.
    influence : [T, N] float64
        Influence of each trajectory on the point; NaN for trajectories that do not reach it.
    saturated, atoms, heavy_tails : [T] bool, int64, bool
        Flags of `Estimate`.
    at_least : [T] float64
        Nats; lower bound of `Estimate` where rounding decides `mi`; else NaN.
    mode : {"raw", "normalised"}
        Unit of `position`: original steps, or fractions of the trajectory.
    lag, history : int
        In original steps.
    dropped : tuple of int
        Coordinates left out because they are constant within every trajectory, or because others
        determine them.
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
    atoms: NDArray[np.int64]
    heavy_tails: NDArray[np.bool_]
    at_least: NDArray[np.float64]
    mode: str
    lag: int
    history: int
    dropped: tuple[int, ...]
    how: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values; "curve" has the values of each point."""
        settings = ("lag", "history", "mode", "dropped", "how")
        values = ("position", "mi", "stderr", "noise", "samples", *FLAGS, "at_least")
        found = {name: getattr(self, name) for name in settings} | {"dropped": [*self.dropped]}
        return found | {"curve": {name: nulls(getattr(self, name)) for name in values}}

    def extrema(self, delay: float | None = None, **options: Any) -> list[Extremum]:
        """Extrema of the curve in order of time, by the causal detector; stamps are positions.

        Parameters
        ----------
        delay : float, optional
            Latest report of an extremum, in the unit of `position`; 20 of the curve's points unless
            given.
        **options
            `kinds`, some of "maximum", "minimum" and "change" (all unless given), and `z`, standard
            errors of the paired difference above which a difference is significant (3.5).

        Raises
        ------
        InputError
            An unknown kind, or `z` or `delay` is not finite and above 0.
        """
        if delay is None:
            delay = POINTS * (float(np.median(np.diff(self.position))) if len(self.mi) > 1 else 1.0)
        detector = ExtremumDetector(delay=delay, **options)
        found: list[Extremum] = []
        for t in range(len(self.mi)):
            present = np.flatnonzero(~np.isnan(self.influence[t]))
            found += detector.update(
                self.mi[t],
                influence=self.influence[t, present],
                per_slice=self.per_slice[t],
                samples=present,
                stamp=self.position[t],
            )
        return sorted(found, key=lambda extremum: extremum.index)


def mi_curve(
    trajectories: Trajectories | Sequence[Any],
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    lag: int = 2,
    history: int = 1,
    mode: str = "auto",
    points: int = 100,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MICurve:
    """I(s_t; s_<t-Δt) over trajectories, at every moment (the paper's Section 4.4).

    All moments have the same projections, and neighbouring moments have the same trajectories, so
    the points differ by the data alone. Coordinates that are constant within every trajectory
    (goals, sizes) are copies of their own past, and left out. If states are sliced, so are those
    that others determine linearly.

    Parameters
    ----------
    trajectories : Trajectories, or sequence of [T_i, d] array-like
        States of N trajectories; lengths may differ.
    estimator : Estimator or str or path, optional
        The estimator of all points, or a model to make one of; the shipped model unless given.
    lag, history : int
        Steps between a state and its past, and how many past states are stacked.
    mode : {"auto", "raw", "normalised"}
        "raw": original steps that at least n_min trajectories reach. Fewer reach the later steps,
        so the noise grows towards the end. "normalised": `points` moments from the start to the end
        of each trajectory, which aligns those of different length. Pairs are `lag` original steps
        apart either way. "auto": "raw" if all trajectories have the same length.
    points : int
        T in normalised time; fewer if neighbouring moments are the same step in all trajectories.
    executor : concurrent.futures.Executor, optional
        Its workers share the points; the result has the same bits as without it.
    progress : callable, optional
        Called with (points done, points in all).

    Raises
    ------
    InputError
        There are too few trajectories, they are too short, all coordinates are constant, or a
        setting has the wrong type or is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import mi_curve
    >>> walks = np.cumsum(np.random.default_rng(0).normal(size=(50, 8, 2)), axis=1)
    >>> curve = mi_curve(walks, "edge", lag=2)
    >>> curve.position
    array([2., 3., 4., 5., 6., 7.])
    >>> bool(curve.mi[-1] > curve.mi[0])
    True
    """
    reach = as_count(lag, "lag", 1) + as_count(history, "history", 1) - 1
    points = as_count(points, "points", 2, 10**5)
    trajectories, estimator = as_trajectories(trajectories), as_estimator(estimator)
    mode = as_choice(mode, "mode", MODES)
    states, lengths = trajectories.states, trajectories.lengths
    if mode == "auto":
        mode = "raw" if (lengths == lengths[0]).all() else "normalised"
    _check_lengths(lengths, reach, estimator)
    left_out = _constant_or_redundant(states, lengths, history, estimator)
    states = states[:, ~left_out]
    if mode == "raw":
        position = np.arange(reach, np.sort(lengths)[-estimator.model_file.n_min], dtype=np.float64)
        steps = np.repeat(position.astype(np.int64)[:, None], len(lengths), axis=1)
    else:
        steps, position = _normalise(lengths, reach, points)
    members: list[NDArray[np.int64]] = []  # trajectories of each point

    def jobs() -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        for step in steps:
            x, y, who = ensemble_pairs(states, lengths, step, lag, history)
            members.append(who)
            yield x, y

    estimates: list[Estimate] = []
    influence = np.full((len(steps), len(lengths)), np.nan)
    for i, estimate in enumerate(run_jobs(_estimate, estimator, jobs(), executor)):
        estimates.append(estimate)
        influence[i, members[i]] = estimate.influence
        if progress is not None:
            progress(i + 1, len(steps))
    one = estimates[0]
    slices = "unsliced" if one.k is None else f"{one.slices} slices of {one.k} dimensions"
    names = ("mi", "stderr", "noise", "samples", "per_slice", *FLAGS)
    return MICurve(
        **{name: np.array([getattr(each, name) for each in estimates]) for name in names},
        at_least=np.array([each.at_least for each in estimates], np.float64),
        position=position,
        influence=influence,
        mode=mode,
        lag=lag,
        history=history,
        dropped=tuple(np.flatnonzero(left_out).tolist()),
        how=f"{slices}, model {one.model} on {one.provider}, seed {one.seed}",
    )


def _estimate(estimator: Estimator, x: NDArray[Any], y: NDArray[Any]) -> Estimate:
    # The states of Trajectories are checked; they may be shorter floats than float64.
    x, y = (np.ascontiguousarray(side, np.float64) for side in (x, y))
    return estimator.estimate_checked(Samples(x, y))


def _check_lengths(lengths: NDArray[np.int64], reach: int, estimator: Estimator) -> None:
    """Raise InputError if too few trajectories are longer than `reach` steps."""
    least, enough = estimator.model_file.n_min, int((lengths > reach).sum())
    if enough >= least:
        return
    way_out = f"pass a smaller lag or history (their median is {int(np.median(lengths))} steps)"
    if len(lengths) < least:
        way_out = "record more of them"
    elif reach == 1:
        way_out = "record longer ones"
    raise InputError(
        f"{enough} of {len(lengths)} trajectories are longer than {reach} steps, but model "
        f"{estimator.model_file.name} needs {least} samples at each moment: {way_out}"
    )


def _constant_or_redundant(
    states: NDArray[np.floating], lengths: NDArray[np.int64], history: int, estimator: Estimator
) -> NDArray[np.bool_]:
    """Whether coordinates [d] are constant within every trajectory, or redundant in slices."""
    moved: NDArray[np.bool_] = states[1:] != states[:-1]
    moved[np.cumsum(lengths)[:-1] - 1] = False  # from one trajectory to the next
    left_out = np.asarray(~moved.any(axis=0))
    if left_out.all():
        raise InputError(
            f"all {len(left_out)} coordinates are constant within every trajectory: "
            "record states that move"
        )
    moving = np.flatnonzero(~left_out)
    if estimator.k is not None or len(moving) * history > estimator.model_file.dim:
        # Once for all of the curve, so that all points have the same coordinates.
        left_out[moving[list(redundant(np.asarray(states[:, moving], np.float64)))]] = True
    return left_out


def _normalise(
    lengths: NDArray[np.int64], reach: int, points: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Steps [T, N] of each trajectory, from its first with a past to its last; mean fractions [T].

    They are the original steps that are nearest to `points` even fractions of this time.
    """
    steps = reach + np.rint(np.linspace(0, 1, points)[:, None] * (lengths - 1 - reach))
    present = np.flatnonzero(lengths > reach)
    # Where all trajectories are shorter than `points`, neighbouring moments can be one step.
    steps = steps[np.r_[True, (np.diff(steps[:, present], axis=0) != 0).any(axis=1)]]
    position = (np.take(steps, present, axis=1) / (lengths[present] - 1)).mean(axis=1)
    return steps.astype(np.int64), position


def ensemble_pairs(
    states: NDArray[Any],
    lengths: NDArray[np.int64],
    step: NDArray[np.int64],
    lag: int,
    history: int,
) -> Pairs:
    """Pairs over trajectories at one moment, of states [sum(lengths), d] end to end.

    The moment is a step of each trajectory [N], and its partner is `lag` steps before it. `history`
    is the number of past states that are stacked. There is one pair of each trajectory that has all
    of these steps.
    """
    reach = lag + history - 1
    present = np.flatnonzero((lengths > step) & (lengths > reach) & (step >= reach))
    rows = (np.cumsum(lengths) - lengths + step)[present]
    past = rows[:, None] - (lag + np.arange(history))
    return Pairs(states[rows], states[past].reshape(len(rows), history * states.shape[1]), present)
