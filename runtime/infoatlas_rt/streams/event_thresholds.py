"""Thresholds above which the detectors of running streams report an event, for all tasks.

Those of key states are fitted to demonstrations, and are in the task file.
"""

COUPLED_ABOVE, DECOUPLED_BELOW = 0.27, 0.06  # nats
COUPLING_Z = 1.0  # noise of samples and slices, which a coupling also exceeds when it begins
EXTREMUM_Z = 3.5  # standard errors of a paired difference; `extrema.py` has the reason
