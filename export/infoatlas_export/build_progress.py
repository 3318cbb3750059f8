"""Progress and cancellation of a build.

TensorRT calls Python back in the thread that builds, and discards exceptions of these calls,
including KeyboardInterrupt. A build therefore runs in a separate thread, and the caller's thread
receives the signals.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def monitor(trt: Any, progress: Callable[[float], None]) -> Any:
    """A progress monitor that reports one share for nested phases.

    An exception of `progress` cancels the build, and `check` raises it again. Setting `stopped` to
    True cancels the build, too.
    """

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.phases: dict[str, list[int]] = {}  # name -> [steps done, steps], outermost first
            self.share = 0.0  # the largest so far; it would decrease where phases end together
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
            """Raise the exception that cancelled the build, if any."""
            if self.error is not None:
                raise self.error

    return Monitor()


def interruptible(work: Callable[[], T], watch: Any) -> T:
    """Do the work in a separate thread; an exception in this one, such as Ctrl-C, cancels it.

    Exceptions of the work are raised here. Setting `stopped` of the monitor ends the work.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # not join: after an interrupt it regards the thread as ended (3.11)

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="infoatlas build", daemon=True).start()
    try:
        while not done.wait(0.1):  # a wait without a limit would block signals
            pass
    except BaseException:
        watch.stopped = True
        done.wait()
        raise
    if errors:
        raise errors[0]
    return results[0]
