"""The process of the command infoatlas-rt: Ctrl-C ends it with 130, also during imports.

SIGTERM ends it with 143 in the same way, and SIGHUP (a closed terminal) with 129, so that temporary
files are removed.

`main` imports the rest after it has installed the handlers. An interrupt can be lost: engines turn
it into import errors of their own, and Python prints and drops those that hit a destructor. So the
handler records the signal, `main` checks the record at the end, and an alarm stops whatever still
runs.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

BASE = 128  # plus the number of the signal is the exit code, as in shells
REPORTED = 130  # exit code of a command that has already printed that it was interrupted
SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if hasattr(signal, "SIGHUP"):  # not on Windows
    SIGNALS += (signal.SIGHUP,)
CLEAN_UP = 5.0  # seconds for it, before the alarm


def main() -> int:
    """Run the command on the arguments of the process; returns its exit code."""
    received = 0  # number of the first signal

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received:
            # A second Ctrl-C skips the clean-up. A second SIGTERM or SIGHUP does not: `timeout`
            # sends SIGTERM twice, and when a terminal is closed, the shell and the kernel both send
            # SIGHUP.
            if number == signal.SIGINT:
                os._exit(BASE + received)
            return
        received = number
        if hasattr(signal, "setitimer"):  # not on Windows
            signal.signal(signal.SIGALRM, give_up)
            signal.setitimer(signal.ITIMER_REAL, CLEAN_UP)
        raise KeyboardInterrupt

    def give_up(number: int, frame: FrameType | None) -> None:
        _report()
        os._exit(BASE + received)

    def unraisable(event: Any) -> None:
        if not issubclass(event.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(event)

    code = None
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # ignored in background jobs
                signal.signal(number, interrupt)
        sys.unraisablehook = unraisable
        from .cli.main import main as run

        code = run(interrupted=lambda: received > 0)
    except KeyboardInterrupt:
        pass
    except Exception:
        if not received:
            raise
    if received:
        if code != REPORTED:
            _report()
        os._exit(BASE + received)  # without waiting for threads that still compute
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # little is left to do
    assert code is not None
    return code


def _report() -> None:
    try:
        os.write(2, b"interrupted\n")
    except OSError:  # the terminal is closed
        pass


if __name__ == "__main__":
    sys.exit(main())
