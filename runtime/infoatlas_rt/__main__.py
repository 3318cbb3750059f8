"""The process of the command infoatlas-rt: Ctrl-C ends it with 130, also during imports.

SIGTERM ends it with 143 in the same way, and SIGHUP (a closed terminal) with 129, so that temporary
files are removed.

Everything is imported within `main`, when the interrupt is handled already. An interrupt can be
lost: engines turn it into import errors of their own, and Python prints and drops those that hit a
destructor. So the handler takes a note, which decides at the end, and an alarm ends what goes on.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

BASE = 128  # of the exit code, which is the number of the signal more, as shells have it
REPORTED = 130  # of a command that has printed that it was interrupted
SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if hasattr(signal, "SIGHUP"):  # not on Windows
    SIGNALS += (signal.SIGHUP,)
CLEAN_UP = 5.0  # seconds


def main() -> int:
    """Run the command on the arguments of the process; returns its exit code."""
    received = 0  # number of the first signal

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received:
            # Ctrl-C skips the clean-up. `timeout` sends SIGTERM twice, and of a terminal that is
            # closed both the shell and the kernel send SIGHUP.
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
            if signal.getsignal(number) is not signal.SIG_IGN:  # as for jobs in the background
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
        signal.signal(number, signal.SIG_IGN)  # what is left takes no time
    assert code is not None
    return code


def _report() -> None:
    try:
        os.write(2, b"interrupted\n")
    except OSError:  # the terminal is closed
        pass


if __name__ == "__main__":
    sys.exit(main())
