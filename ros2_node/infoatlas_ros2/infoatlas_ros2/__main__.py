"""The process of the node. SIGINT, SIGTERM and SIGHUP end it at any time with exit code 0.

The signals are blocked before any import, and a thread waits for them. Therefore they do not
interrupt an import or a transition, and repeated signals (as from launch) have no effect.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEAN_UP = 5.0  # seconds; launch kills a process 10 s after its first signal


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal stops it; returns the exit code of the process."""
    awaited = set(SIGNALS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup ignores SIGHUP; keep that
        awaited.remove(signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    for number in awaited:  # a background job may inherit ignored signals
        signal.signal(number, signal.SIG_DFL)
    stops: list[Callable[[], None]] = []
    threading.Thread(target=_watch, args=(stops, awaited), name="signals", daemon=True).start()
    return _run(stops, args)


def _watch(stops: list[Callable[[], None]], awaited: set[signal.Signals]) -> None:
    """Stop the node at the first signal; end the process if `stops` is empty or is slow."""
    number = signal.sigwait(awaited)
    try:
        os.write(2, f"infoatlas_node: stopped by {signal.Signals(number).name}\n".encode())
    except OSError:  # the terminal is closed
        pass
    if stops:
        stops[0]()
        time.sleep(CLEAN_UP)
    os._exit(0)


def _run(stops: list[Callable[[], None]], args: list[str] | None) -> int:
    """Run the node until it is stopped; `stops` gets a function that stops it from any thread."""
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.signals import SignalHandlerOptions
    from rclpy.task import Future

    from infoatlas_ros2.node import INVALID, InfoAtlasNode
    from infoatlas_ros2.worker import ESTIMATES, WARM_UP
    from infoatlas_rt.errors import InputError

    # The future ends `spin` between two callbacks. rclpy's own signal handler would close the
    # context immediately, even during a transition or a publication.
    stop = Future()
    stops.append(partial(stop.set_result, None))
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError: a file of parameters that is absent or cannot be read
        print("infoatlas_node:", *str(error).split(), file=sys.stderr)
        return 2
    node = None
    try:
        node = InfoAtlasNode()
        rclpy.spin_until_future_complete(node, stop)
    except ExternalShutdownException:
        pass
    except (InputError, *INVALID) as error:
        if node is not None:
            raise
        print(f"infoatlas_node: {error}", file=sys.stderr)
        return 2
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    if any(thread.name in (ESTIMATES, WARM_UP) for thread in threading.enumerate()):
        # A thread is within an inference, which only the end of the process can stop.
        sys.stdout.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
