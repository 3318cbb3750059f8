"""Find the key states that demonstrations of one task share, by one of two criteria.

- **"phase"** (default): boundaries of a segmentation that all trajectories share, chosen to
  reduce the entropy of motion most (`segmentation.py`). NumPy alone, about a second.
- **"pointwise"**: minima of the local mutual information of a state with its past, by the shipped
  model (`pointwise.py`): the steps at which the past is least informative about the present.

The paper maximises I(s_t; s_<t-lag) over t (Section 4.4). On demonstrations of different length
the maxima of that curve are no nearer to the true events than evenly spaced steps; the curve stays
as a picture (`mi_curve`, command `curve`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..inputs.checks import as_count, as_resolution
from ..inputs.trajectories import Trajectories, as_trajectories
from . import pointwise
from .phases import SPANS
from .result import METHODS, KeyStates
from .segmentation import SHORTEST, p_values, ranked_cuts

LEVEL = 0.05  # of k="auto"
DOMINANT = 0.45  # k="auto" keeps boundaries of at least this share of the largest strength


def discover_keystates(
    trajectories: Sequence[Any] | Trajectories,
    k: int | str = 5,
    lag: int = 2,
    method: str = "phase",
    *,
    resolution: Any = None,
    estimator: Estimator | None = None,
    executor: Executor | None = None,
) -> KeyStates:
    """Find key states that demonstrations of one task share.

    Parameters
    ----------
    trajectories : sequence of [T_i, d] array-like, or Trajectories
        States of each demonstration; lengths may differ. Columns of pandas DataFrames give the
        coordinates their names. Leave out columns that hold the answer (flags such as "is
        grasped").
    k : int or "auto"
        K, key states besides the end. "auto" (method "phase"): boundaries whose strength is at
        least 0.45 of the largest one, up to the first with a `p_value` above 0.05. The strongest
        is always returned; look at its `p_value`.
    lag : int
        Steps between a state and its past.
    method : {"phase", "pointwise"}
    resolution : float or [d], optional
        What the sensors resolve, in the units of the states: increments below it are rest (method
        "phase"). Without it, increments below 1e-4 of a coordinate's range are rest. A tracker
        needs it where a robot at rest jitters and the demonstrations do not.
    estimator : Estimator, optional
        Of local information: the shipped model in 5-dimensional slices unless given.
    executor : concurrent.futures.Executor, optional
        Spreads the estimates of method "pointwise" over its workers; the result has the same bits.

    Returns
    -------
    KeyStates

    Raises
    ------
    InputError
        No trajectories, different numbers of coordinates, values that are not finite, constant
        coordinates alone, trajectories too short for K key states, or settings out of range.
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
    trajectories = as_trajectories(trajectories)
    states = [
        np.array(s, np.float64, order="C")
        for s in np.split(trajectories.states, np.cumsum(trajectories.lengths)[:-1])
    ]
    least = max(SPANS) * lag + (count + 1) * SHORTEST
    for i, s in enumerate(states):
        if len(s) < least:
            raise InputError(
                f"trajectory {i} has {len(s)} steps, and {count} key states need {least}: leave "
                "it out, or pass a smaller k"
            )
    resolution = as_resolution(resolution, states[0].shape[1], "resolution")
    common: dict[str, Any] = {
        "method": method,
        "lag": lag,
        "names": trajectories.names,
        "states": tuple(states),
        "resolution": resolution,
    }
    if method == "pointwise":
        steps, local, depth = pointwise.discover(
            states, k=count, lag=lag, estimator=estimator, executor=executor
        )
        order = np.argsort(-depth, kind="stable")
        return KeyStates(steps, depth[order], order, local=tuple(local), **common)
    motion, segmentation, ranked = ranked_cuts(states, lag, count, resolution)
    strength = np.array(segmentation.strength)
    p_value = None
    if k == "auto":
        ranked = ranked[strength[ranked] >= DOMINANT * strength.max()]
        p_value = p_values(segmentation, ranked)
        kept = np.logical_and.accumulate(p_value <= LEVEL)  # none after the first that is not
        kept[0] = True
        ranked, p_value = ranked[kept], p_value[kept]
    else:
        ranked = ranked[:count]
    steps = np.stack([segmentation.cuts[i] for i in ranked], axis=1) + motion.reach
    time = np.argsort(steps[0], kind="stable")
    return KeyStates(
        steps[:, time],
        strength[ranked],
        np.argsort(time, kind="stable"),
        phases=segmentation.fit_phases(motion, [segmentation.cuts[i] for i in ranked[time]]),
        computed_p_value=p_value,
        **common,
    )
