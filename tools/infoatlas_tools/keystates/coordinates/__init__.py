"""Coordinates of recorded states: real numbers whose differences are motion.

`read_coordinates` reads the raw states of demonstrations. Rotations and wrapped angles become
continuous paths (`live/quaternions.py`, `recognition.py`), frames that are no measurement are
replaced (`outliers.py`, `faults.py`, `dropouts.py`), and columns without motion are left out:
constants and clocks. All other columns stay as they are, bit by bit. A `Follower` maps running
episodes in the same way (`live/coordinates.py`).
"""

from .dropouts import Dropout, warn
from .raw_states import ReadCoordinates, read_coordinates

__all__ = ["Dropout", "ReadCoordinates", "read_coordinates", "warn"]
