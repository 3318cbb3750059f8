"""Estimates of I(s_t; s_<t-Δt) over the last steps of one robot, state by state.

**Such an estimate is a time average over the window, not the mutual information at an instant.** It
equals I(s_t; s_<t-Δt) only if the process is stationary over the window, and its memory is much
shorter than the window. Two independent random walks look dependent in any short window, and so do
two joints that drift. Choose a window about as long as one phase of the task, and use changes
rather than levels. (Many trajectories or parallel environments give the mutual information at an
instant: `curves/ensemble_curve.py`, `vector/pooled_pairs.py`.)
"""

import os
from typing import Any

from numpy.typing import ArrayLike

from ..estimation.estimator import Estimator, as_estimator
from ..estimation.result import WindowEstimate
from ..inputs.copies import Stateful
from .sliding_window import SlidingWindow


class OnlineEstimator(Stateful):
    """Estimates I(s_t; s_<t-Δt) over the last steps of one robot, state by state.

    The estimate is a time average over the window; the process has to be stationary over it. Memory
    use is bounded by the window, and the projections are fixed for a stream.

    Parameters
    ----------
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to load; the default model unless given.
    lag : int
        Δt in steps; 0 is for two streams only.
    lag_seconds : float, optional
        Duration of `lag` steps when no message is lost. If given, a past state is found by its
        stamp (state h of `history`: lag_seconds * h / lag further back), which is right even if
        messages are lost unnoticed. Otherwise steps are counted.
    lag_tolerance : float, optional
        Seconds by which the age of a past state may differ from `lag_seconds`. Unless given, half a
        step of the lag. If states come slower than that, three quarters of their own step, but at
        most half the lag. (Of states 0.03 s apart none is 0.1 s old, so the nearest is used.)
    history : int
        Number of past states that are stacked into `s_<t-Δt>`; 1 in the paper.
    window : int
        Steps; also the largest number of pairs.
    every : int
        Estimate for every nth new pair.
    reset_after : float
        Seconds. A stamp that is older than the newest by more than this is a restart (a bag that
        loops), and the window is emptied. A stamp that is older by less is refused.
    two_streams : bool
        Each state comes with a state of another stream, whose past is used.
    resolution : float or [d], optional
        Smallest difference between states that has a meaning, in their units, such as the step of
        an encoder. The ranks then do not scale the jitter of a robot at rest up to the size of its
        motion.

    Attributes
    ----------
    estimator : Estimator
        The estimator in use.
    window : SlidingWindow
        The steps, their pairs and their stamps.
    reason : str
        Why the last `push` returned what it did: "ok", "degenerate" (an estimate of a window in
        which a side is constant), "filling: ...", "waiting: ...", "hole: ...", "refused: ...".
    counts : dict of int
        States since the start: "accepted", refused for "NaN", "dtype", "dimension",
        "repeated stamp", "older stamp", "bad stamp"; and "resets".

    Raises
    ------
    InputError
        Arguments out of range, or a window smaller than what the model was trained for.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import OnlineEstimator
    >>> online = OnlineEstimator(window=50, every=50)
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=(110, 3)), axis=0)
    >>> found = [online.push(state, step / 100) for step, state in enumerate(walk)]
    >>> [one.stamp for one in found if one]
    [0.51, 1.01]
    >>> online.reason
    'waiting: 8 of 50 pairs since the last estimate'
    """

    def __init__(
        self,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        *,
        lag: int = 2,
        lag_seconds: float | None = None,
        lag_tolerance: float | None = None,
        history: int = 1,
        window: int = 100,
        every: int = 1,
        reset_after: float = 1.0,
        two_streams: bool = False,
        resolution: Any = None,
    ) -> None:
        self.estimator = as_estimator(estimator)
        self.window = SlidingWindow(
            self.estimator.model_file,
            lag=lag,
            lag_seconds=lag_seconds,
            lag_tolerance=lag_tolerance,
            history=history,
            window=window,
            every=every,
            reset_after=reset_after,
            two_streams=two_streams,
            resolution=resolution,
        )

    @property
    def reason(self) -> str:
        """Why the last `push` returned what it did, as "ok" or "filling: ..."."""
        return self.window.reason

    @property
    def counts(self) -> dict[str, int]:
        """States accepted and refused since the start, by reason, and resets."""
        return self.window.counts

    def reset(self) -> None:
        """Forget all states, and their dimension, but not the counts."""
        self.window.reset()

    def push(
        self, state: ArrayLike, stamp: float | None = None, other: ArrayLike | None = None
    ) -> WindowEstimate | None:
        """Take a state, and estimate if one is due; otherwise `reason` has the cause.

        Parameters
        ----------
        state : [d]
            The first accepted state fixes d until a reset. A state with NaN or masked entries, or
            of another size, is refused and leaves a hole of one step.
        stamp : float, optional
            Seconds. A repeated stamp is a copy of a message: it is refused, and is no step. A
            slightly older stamp is refused, too; its step is missing, so no pair is formed across
            it (unless pairs are found by stamp). Without stamps, steps are counted.
        other : [d'], optional
            State of the other stream at that time, with `two_streams`.

        Returns
        -------
        WindowEstimate or None
            None if no estimate is due; `reason` has the cause.

        Raises
        ------
        InputError
            Stamps are not numbers, are missing although `lag_seconds` is given, or are given for
            some states only. The number of streams is not that of `two_streams`. `resolution` does
            not fit the first state, or the settings of the estimator do not fit the states (k
            larger than d, for example).
        """
        if not self.window.add(state, stamp, other):
            return None
        return self.window.estimate(self.estimator)
