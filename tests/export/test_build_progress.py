"""Cancellation of a build by its caller, which runs in another thread."""

import _thread
import signal
import threading
import time
import types

import pytest

from infoatlas_export.build_progress import interruptible


@pytest.fixture
def interrupts():
    """A background job may inherit an ignored SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_of_the_caller_stops_the_work():
    watch, ended = types.SimpleNamespace(stopped=False), []

    def work():
        while not watch.stopped:
            time.sleep(0.01)
        ended.append(threading.current_thread())

    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, watch)
    assert len(ended) == 1 and ended[0] is not threading.main_thread()


def test_results_and_exceptions_of_the_work():
    watch = types.SimpleNamespace(stopped=False)
    assert interruptible(lambda: 3, watch) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, watch)
