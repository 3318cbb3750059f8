"""`discover_keystates` with the interface of `peers/keystate_finders.py`."""

from infoatlas_tools import Trajectories, discover_keystates

from ..peers.keystate_finders import Count, Found
from ..tasks.demonstrations import Demonstrations

AUTO = "auto"


def as_recorded(demos: Demonstrations) -> Trajectories:
    """The demonstrations with the names and the rate that a user's files have."""
    return Trajectories(demos.trajectories, names=demos.names, rate=demos.rate)


def find_kinds(demos: Demonstrations, count: Count) -> tuple[Found, Found]:
    """Steps of each trajectory, and their kinds, by `discover_keystates` with its defaults."""
    found = discover_keystates(as_recorded(demos), count=count)
    kinds = [found.kind[~mask] for mask in found.steps.mask]
    return [row.compressed() for row in found.steps], kinds
