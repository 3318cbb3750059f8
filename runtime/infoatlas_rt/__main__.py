"""The process of the command infoatlas-rt: Ctrl-C ends it with 130, also during imports.

SIGTERM ends it with 143 in the same way, so that temporary files are removed.

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
SIGNALS = (signal.SIGINT, signal.SIGTERM)
CLEAN_UP = 5.0  # seconds


def main() -> int:
    """Run the command on the arguments of the process; returns its exit code."""
    interrupted = 0  # number of the signal

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:  # someone is in a hurry: no clean-up
            os._exit(BASE + interrupted)
        interrupted = number
        if hasattr(signal, "setitimer"):  # not on Windows
            signal.signal(signal.SIGALRM, give_up)
            signal.setitimer(signal.ITIMER_REAL, CLEAN_UP)
        raise KeyboardInterrupt

    def give_up(number: int, frame: FrameType | None) -> None:
        os.write(2, b"interrupted\n")
        os._exit(BASE + interrupted)

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

        code = run(interrupted=lambda: interrupted > 0)
    except KeyboardInterrupt:
        pass
    except Exception:
        if not interrupted:
            raise
    if interrupted:
        if code != REPORTED:
            os.write(2, b"interrupted\n")
        os._exit(BASE + interrupted)  # without waiting for threads that still compute
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # what is left takes no time
    assert code is not None
    return code


if __name__ == "__main__":
    sys.exit(main())
