"""The progress of a build, as TensorRT reports it: nested phases, each with a number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def monitor(trt: Any, progress: Callable[[float], None]) -> Any:
    """A progress monitor that reports one share for nested phases; Ctrl-C cancels the build."""

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.phases: dict[str, list[int]] = {}  # name -> [steps done, steps], outermost first
            self.share = 0.0  # the largest so far: phases that end together would take it back
            self.stopped = False

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            self.phases[phase_name] = [0, max(num_steps, 1)]
            self.report()

        def phase_finish(self, phase_name: str) -> None:
            self.phases.pop(phase_name, None)

        def step_complete(self, phase_name: str, step: int) -> bool:
            if phase_name in self.phases:
                self.phases[phase_name][0] = step + 1
            self.report()
            return not self.stopped  # False cancels the build

        def report(self) -> None:
            try:
                share, unit = 0.0, 1.0
                for done, steps in self.phases.values():
                    share += unit * min(done, steps) / steps
                    unit /= steps
                self.share = min(max(self.share, share), 1.0)
                progress(self.share)
            except KeyboardInterrupt:  # TensorRT would print and drop it
                self.stopped = True

    return Monitor()
