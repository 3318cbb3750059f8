"""Windows that the detector of extrema needs, kept until there is time for their estimates."""

from collections import deque

from ..estimation.result import WindowEstimate
from ..inputs.copies import Stateful
from .extrema import POINTS, Extremum, ExtremumDetector, cell
from .sliding_window import SlidingWindow, Snapshot


class NeededWindows(Stateful):
    """The first window in each of the detector's periods, oldest first, with or without estimate.

    At most as many as the detector uses within its delay are kept; then the oldest is dropped, and
    counted in `missed`.
    """

    def __init__(self) -> None:
        self.missed = 0
        self._kept: deque[Snapshot | WindowEstimate | None] = deque()  # None: a restart

    def clear(self) -> None:
        """Drop all windows."""
        self._kept.clear()

    @property
    def waiting(self) -> list[Snapshot]:
        """Windows without an estimate, oldest first."""
        return [one for one in self._kept if isinstance(one, Snapshot)]

    def add(self, window: SlidingWindow, detector: ExtremumDetector) -> bool:
        """Keep a window if the detector needs its estimate; return whether it does.

        Estimates at rest or across a pause are of no use to the detector.
        """
        if window.newest is None or not window.ready:
            return False
        last = self._kept[-1] if self._kept else None
        first = bool(self._kept) or detector.due(window.newest)
        if last is not None:
            first = cell(window.newest, detector.period) != cell(last.stamp, detector.period)
        if not first or window.at_rest or window.paused:
            return False
        self._keep(window.snapshot(anyway=True), detector)
        return True

    def restart(self, detector: ExtremumDetector) -> None:
        """Reset the detector after the estimates of all windows that are kept."""
        self._keep(None, detector)

    def set_estimate(self, snapshot: Snapshot, found: WindowEstimate) -> None:
        """Store the estimate of a window that is waiting."""
        self._kept[self._kept.index(snapshot)] = found

    def pass_on(self, detector: ExtremumDetector) -> list[tuple[WindowEstimate, list[Extremum]]]:
        """Pass estimates to the detector up to the first window that is waiting; return extrema."""
        found = []
        while self._kept:
            first = self._kept[0]
            if isinstance(first, Snapshot) and detector.due(first.stamp):
                break
            self._kept.popleft()
            if first is None:
                detector.reset()
            elif isinstance(first, WindowEstimate):
                found.append((first, detector.push(first)))
        return found

    def _keep(self, entry: Snapshot | None, detector: ExtremumDetector) -> None:
        self._kept.append(entry)
        if len(self._kept) > POINTS:
            if self._kept.popleft() is None:
                detector.reset()
            else:
                self.missed += 1
