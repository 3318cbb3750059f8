"""The process of the command infoatlas-rt: Ctrl-C ends it with 130, also during imports.

Everything is imported within `main`, when the interrupt is handled already. An interrupt can be
lost: engines turn it into import errors of their own, and Python prints and drops those that hit a
destructor. So the handler takes a note, which decides at the end, and an alarm ends what goes on.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
CLEAN_UP = 5.0  # seconds


def main() -> int:
    """Run the command on the arguments of the process; returns its exit code."""
    interrupts = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:  # someone is in a hurry: no clean-up
            os._exit(INTERRUPTED)
        if hasattr(signal, "setitimer"):  # not on Windows
            signal.signal(signal.SIGALRM, give_up)
            signal.setitimer(signal.ITIMER_REAL, CLEAN_UP)
        raise KeyboardInterrupt

    def give_up(number: int, frame: FrameType | None) -> None:
        os.write(2, b"interrupted\n")
        os._exit(INTERRUPTED)

    def unraisable(event: Any) -> None:
        if not issubclass(event.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(event)

    code = None
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as for jobs in the background
            signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = unraisable
        from .cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        pass
    except Exception:
        if not interrupts:
            raise
    if interrupts:
        if code != INTERRUPTED:  # which is reported already
            os.write(2, b"interrupted\n")
        os._exit(INTERRUPTED)  # without waiting for threads that still compute
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left takes no time
    assert code is not None
    return code


if __name__ == "__main__":
    sys.exit(main())
