"""Other methods of finding key states.

A method gets demonstrations (their states and names, not their events) and a number K of key states
besides the end, or "auto". It returns the steps found in each trajectory, K at most. It raises
`NotOffered` if it does not support this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from ..extras import needs
from ..tasks.demonstrations import Array, Demonstrations

with needs("bench"):
    import bayesian_changepoint_detection as changepoint
    import ruptures
    import torch

Count = int | str
Found = list[NDArray[np.int64]]
Method = Callable[[Demonstrations, Count], Found]
LAG = 2
SMOOTH = 1.5  # steps


class NotOffered(Exception):
    """The method does not support this K or these data; the text is the reason."""


@dataclass(frozen=True)
class Peer:
    """A method, and whether it uses the names of columns."""

    find: Method
    knows_columns: bool
    how: str


def standardised(demos: Demonstrations) -> list[Array]:
    """States over the pooled standard deviation, without columns that are constant in each."""
    moving = np.any([np.ptp(states, axis=0) > 0 for states in demos.trajectories], axis=0)
    pooled = np.concatenate(demos.trajectories)[:, moving]
    return [(states[:, moving] - pooled.mean(0)) / pooled.std(0) for states in demos.trajectories]


def named(demos: Demonstrations, *prefixes: str, suffix: str = "") -> NDArray[np.int64]:
    """Columns whose names have this start and end."""
    columns = [
        i for i, n in enumerate(demos.names) if n.startswith(prefixes) and n.endswith(suffix)
    ]
    if not columns:
        raise NotOffered("no columns " + ", ".join(f"{prefix}*{suffix}" for prefix in prefixes))
    return np.array(columns)


def extrema(curve: Array, count: Count, least: float) -> NDArray[np.int64]:
    """Maxima of a curve [T]: the K most prominent, or all above `least` of its range."""
    floor = 1e-9 if count != "auto" else least * np.ptp(curve) + 1e-12
    peaks, about = find_peaks(curve, prominence=floor)
    if count != "auto":
        peaks = peaks[np.argsort(-about["prominences"], kind="stable")[: int(count)]]
    return np.sort(peaks).astype(np.int64)


def evenly(demos: Demonstrations, count: Count) -> Found:
    """The middles of K equal parts of each trajectory."""
    if count == "auto":
        raise NotOffered("does not choose a number")
    middles = (np.arange(int(count)) + 0.5) / int(count)
    return [np.rint(middles * (n - 1)).astype(np.int64) for n in demos.lengths]


def velocity_minima(demos: Demonstrations, count: Count) -> Found:
    """Minima of the joints' speed, smoothed."""
    joints = named(demos, "joint", suffix=".position")
    found = []
    for states in demos.trajectories:
        speed = np.linalg.norm(np.gradient(states[:, joints], axis=0), axis=1)
        found.append(extrema(-gaussian_filter1d(speed, SMOOTH), count, 0.1))
    return found


def fingers_of(demos: Demonstrations) -> NDArray[np.int64]:
    """Columns of the positions of fingers or grippers."""
    return named(demos, "finger", "gripper", suffix=".position")


def gripper(demos: Demonstrations, count: Count) -> Found:
    """Maxima of the speed at which the gripper opens or closes."""
    fingers = fingers_of(demos)
    found = []
    for states in demos.trajectories:
        opening = states[:, fingers].sum(axis=1)
        found.append(extrema(gaussian_filter1d(np.abs(np.gradient(opening)), SMOOTH), count, 0.2))
    return found


def second_difference(demos: Demonstrations, count: Count) -> Found:
    """Maxima of the mean absolute second difference, in deviations of each coordinate's steps."""
    trajectories = standardised(demos)
    scale = np.concatenate([np.diff(states, axis=0) for states in trajectories]).std(axis=0)
    # The second difference at index i is that of step i + 1.
    return [
        1 + extrema(np.abs(np.diff(states, n=2, axis=0) / scale).mean(axis=1), count, 0.3)
        for states in trajectories
    ]


def peract(demos: Demonstrations, count: Count) -> Found:
    """The rule of C2F-ARM and PerAct: the gripper changes, or the joints stand still.

    "Open" is an opening above 0.9 of the widest. "Still" is all joints below 0.1 rad/s and an
    unchanged gripper for two steps; the next 4 steps cannot be still again.
    """
    if count != "auto":
        raise NotOffered("the rule has no order of importance")
    fingers = fingers_of(demos)
    joints = named(demos, "joint", suffix=".velocity")
    found = []
    for states in demos.trajectories:
        opening = states[:, fingers].sum(axis=1)
        is_open = opening > 0.9 * opening.max()
        still = (np.abs(states[:, joints]) < 0.1).all(axis=1)
        steps, pause = [], 0
        for t in range(1, len(states) - 1):
            calm = len(set(is_open[max(t - 2, 0) : t + 2])) == 1 and t < len(states) - 2
            stopped = bool(still[t]) and calm and pause <= 0
            pause = 4 if stopped else pause - 1
            if stopped or is_open[t] != is_open[t - 1]:
                steps.append(t)
        found.append(np.array(steps, np.int64))
    return found


def change_points(kernel: str, lag: int, penalty: float) -> Method:
    """Exact change points of each trajectory (`ruptures.KernelCPD`, at every step).

    Of the states (lag 0) or of increments over `lag` steps. The linear kernel is the cost "l2",
    with the optimum of `ruptures.Dynp(jump=1)`, and of `ruptures.Pelt(jump=1)` for "auto", in C.
    The penalty of "auto" is in units of log T times the cost of the trajectory without change
    points, a step.
    """

    def find(demos: Demonstrations, count: Count) -> Found:
        found = []
        for states in standardised(demos):
            signal = states[lag:] - states[:-lag] if lag else states
            search = ruptures.KernelCPD(kernel=kernel, min_size=3, jump=1).fit(signal)
            if count == "auto":
                each = search.cost.error(0, len(signal)) / len(signal)
                ends = search.predict(pen=max(penalty * np.log(len(signal)) * each, 1e-9))
            else:
                ends = search.predict(n_bkps=int(count))
            # Increment i lies between the steps i and i + lag.
            found.append(np.array(ends[:-1], np.int64) + lag // 2)
        return found

    return find


def awe(demos: Demonstrations, count: Count) -> Found:
    """The criterion of AWE (Shi et al. 2023): a polyline through the tool's path.

    Its corners are chosen by dynamic programming so that the largest distance of the path from
    it is least (K corners), or so that it is at most 1 cm with as few corners as can be.
    """
    tool = [demos.names.index(f"tool.{axis}") for axis in "xyz" if f"tool.{axis}" in demos.names]
    if len(tool) < 3:
        raise NotOffered("no columns tool.x, tool.y, tool.z")
    return [_polyline(states[:, tool], count, 0.01) for states in demos.trajectories]


def _polyline(path: Array, count: Count, tolerance: float) -> NDArray[np.int64]:
    """Inner corners of the best polyline through a path [T, 3]."""
    worst = _chord_errors(path)
    n = len(path)
    limit = 40 if count == "auto" else int(count) + 1
    cost, came = worst[0], [np.zeros(n, np.int64)]  # of one piece, ending at each step
    while len(came) < limit and not (count == "auto" and cost[-1] <= tolerance):
        through = np.maximum(cost[:, None], worst)  # [corner, end]
        came.append(through.argmin(axis=0))
        cost = through.min(axis=0)
    corners, at = [], n - 1
    for back in came[:0:-1]:
        at = int(back[at])
        corners.append(at)
    return np.unique([c for c in corners if 0 < c < n - 1]).astype(np.int64)


def _chord_errors(path: Array) -> Array:
    """[T, T]: the largest distance of the path between two steps from their chord."""
    n = len(path)
    worst = np.full((n, n), np.inf)
    for i in range(n):
        ahead = path[i:] - path[i]  # [m, 3]
        squared = (ahead**2).sum(axis=1)
        along = ahead @ ahead.T  # [point, end]
        share = np.clip(along / np.maximum(squared, 1e-18), 0, 1)
        apart = squared[:, None] - 2 * share * along + share**2 * squared
        worst[i, i:] = np.sqrt(np.maximum(np.triu(apart).max(axis=0), 0))
    return worst


def bocpd(demos: Demonstrations, count: Count) -> Found:
    """Bayesian online change-point detection (Adams and MacKay 2007), `bayesian-changepoint`.

    Of the first five principal components of the increments, with a multivariate Student's t and a
    change point in 50 steps a priori. K: the most prominent maxima of the probability, 3 steps
    later, that a segment begins at a step. "auto": the begins of the most probable run lengths.
    """
    increments = [np.diff(states, axis=0) for states in standardised(demos)]
    pooled = np.concatenate(increments)
    variance, axes = np.linalg.eigh(np.atleast_2d(np.corrcoef(pooled.T)))
    basis = (axes / (np.sqrt(variance.clip(0)) + 1e-6) / pooled.std(axis=0)[:, None])[:, -5:]
    found = []
    for increment in increments:
        signal = torch.tensor((increment - pooled.mean(axis=0)) @ basis, dtype=torch.float32)
        model = changepoint.MultivariateT(dims=signal.shape[1], device="cpu")
        hazard = partial(changepoint.constant_hazard, 50)
        posterior, _ = changepoint.online_changepoint_detection(signal, hazard, model, "cpu")
        if count == "auto":
            steps = changepoint.get_map_changepoints(posterior, min_separation=3).numpy()
        else:
            curve = changepoint.changepoint_probabilities(posterior, lag=3).numpy()
            steps = extrema(curve, count, 0)
        found.append(steps.astype(np.int64))
    return found


PEERS = {
    "evenly spaced": Peer(evenly, False, "the middles of K equal parts"),
    "ruptures, states": Peer(change_points("rbf", 0, 1.0), False, "changes of states, rbf kernel"),
    "ruptures, increments": Peer(
        change_points("linear", LAG, 0.5), False, "jumps of the mean increment, l2"
    ),
    "second difference": Peer(
        second_difference, False, "maxima of the mean absolute second difference"
    ),
    "BOCPD": Peer(
        bocpd, False, "Bayesian online change points of the increments, `bayesian-changepoint`"
    ),
    "velocity minima": Peer(velocity_minima, True, "minima of the joints' speed"),
    "gripper rule": Peer(gripper, True, "maxima of the gripper's speed"),
    "PerAct's rule": Peer(peract, True, "gripper changes, or joints stand still"),
    "AWE's criterion": Peer(awe, True, "corners of a polyline through the tool's path"),
}
