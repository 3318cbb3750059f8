"""Thresholds above which the detectors of running streams and episodes report an event.

These are the defaults of all tasks. The score above which a key state is reported is in its
`Detectors.threshold`, which is fitted to demonstrations.
"""

COUPLED_ABOVE, DECOUPLED_BELOW = 0.27, 0.06  # nats
COUPLING_Z = 1.0  # noise of samples and slices, which a coupling also exceeds when it begins
EXTREMUM_Z = 3.5  # standard errors of a paired difference; `extrema.py` has the reason

KEYSTATE_RECALL = 0.6  # recall from which a key state is followed
KEYSTATE_FALSE_REPORTS = 0.5  # false reports an episode up to which it is followed
KEYSTATE_GAP = 0.5  # seconds between two reports of one key state, at least
KEYSTATE_RISE = 1e-9  # increase of a score; smaller ones are rounding, as while a robot rests
SUBTASK_RIGHT = 0.8  # share of right steps from which a sub-task is followed
