"""The progress of a build, and how it is cancelled.

TensorRT calls Python back in the thread that builds, and drops what these calls raise, an interrupt
of the keyboard among them. So a build has a thread of its own, and the caller's takes the signals.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def monitor(trt: Any, progress: Callable[[float], None]) -> Any:
    """A progress monitor that reports one share for nested phases.

    What `progress` raises cancels the build, and `check` raises it again. `stopped` = True cancels
    it too.
    """

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.phases: dict[str, list[int]] = {}  # name -> [steps done, steps], outermost first
            self.share = 0.0  # the largest so far: phases that end together would take it back
            self.stopped = False
            self.error: BaseException | None = None

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
            share, unit = 0.0, 1.0
            for done, steps in self.phases.values():
                share += unit * min(done, steps) / steps
                unit /= steps
            self.share = min(max(self.share, share), 1.0)
            try:
                progress(self.share)
            except BaseException as error:
                self.error, self.stopped = error, True

        def check(self) -> None:
            """Raise what cancelled the build."""
            if self.error is not None:
                raise self.error

    return Monitor()


def interruptible(work: Callable[[], T], watch: Any) -> T:
    """Do the work in a thread of its own; an exception in this one, such as Ctrl-C, cancels it.

    Parameters
    ----------
    work : callable
        What it raises is raised here.
    watch : monitor
        Whose `stopped` ends the work.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # a join that is interrupted takes the thread for ended (Python 3.11)

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="infoatlas build", daemon=True).start()
    try:
        while not done.wait(0.1):  # a wait without a limit would not let signals in
            pass
    except BaseException:
        watch.stopped = True
        done.wait()
        raise
    if errors:
        raise errors[0]
    return results[0]
