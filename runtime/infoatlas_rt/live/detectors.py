"""Detectors of key states in running episodes, with their accuracy in demonstrations.

A detector is linear in the features of a step (`motion_features.py`), and scores a step 0.2 s after
it. A key state is reported at a maximum of its score above a threshold, from the part of the task
on in which demonstrations have it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .coordinates import Coordinates
from .json_file import flags, floats, indices, integer, number
from .motion_features import Features
from .timing import StreamRate, Timing

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Detectors:
    """Detectors of K key states, and their recall, delay and false reports."""

    coordinates: Coordinates
    timing: Timing
    stream: StreamRate
    features: Features
    coefficients: Float  # [K, f]
    offset: Float  # [K]
    # [K]: a score above it is a report; infinite for a key state that is not common.
    threshold: Float
    once: NDArray[np.bool_]  # [K], reported once, and after a retry: no demonstration repeats it
    # [K, tools]: part of each tool, an index within its parts, from which it may be reported.
    earliest: NDArray[np.int64]
    # [K], share of episodes with it in which it is reported within 0.5 s, expected by
    # demonstrations left out; NaN if it was not judged (one demonstration).
    recall: Float
    # [K], median seconds from a key state to its report; NaN without any. A working step counts as
    # 0.05 s if the rate is not known.
    delay: Float
    false_reports: Float  # [K], false reports in an episode, expected on average
    # [K]: common, and neither missed nor reported falsely too often in demonstrations left out.
    followed: NDArray[np.bool_]
    gap: int  # working steps between two reports of one key state, at least
    rise: float  # increase of a score; smaller ones are rounding, as while a robot rests

    def reported(self, follow_all: bool) -> NDArray[np.bool_]:
        """Key states that are reported [K]: all common ones, or those that can be followed."""
        return np.isfinite(self.threshold) if follow_all else self.followed

    @classmethod
    def from_dict(cls, values: dict[str, Any], count: int, tools: int) -> "Detectors":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        coordinates = Coordinates.from_dict(values["coordinates"])
        features = Features.from_dict(values["features"], len(coordinates.parts))
        threshold = floats(values, "threshold", count, gaps=True)
        once, followed = (flags(values, name, count) for name in ("once", "followed"))
        if np.isnan(threshold[followed]).any():
            raise ValueError("a key state that is followed has no threshold")
        recall, delay, false = (
            floats(values, name, count, gaps=True) for name in ("recall", "delay", "false_reports")
        )
        return cls(
            coordinates, Timing.from_dict(values["timing"]),
            StreamRate.from_dict(values["stream"]), features,
            floats(values, "coefficients", count, features.count), floats(values, "offset", count),
            np.where(np.isnan(threshold), np.inf, threshold), once,
            indices(values, "earliest", 2**31).reshape(count, tools),
            recall, delay, false, followed, integer(values, "gap", 1), number(values, "rise"),
        )  # fmt: skip
