"""Threads that cannot be created, and threads that run when Python ends."""

import resource
import subprocess
import sys
import textwrap

import pytest

STACK = 256 << 20  # stack of a new thread in bytes, so that a limit of memory limits threads


def python(code, preexec=None):
    """Run code in a separate process: exit code, and all that it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=30, preexec_fn=preexec, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def large_stacks():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))


@pytest.mark.parametrize("made", [0, 1, 2])
def test_threads_that_cannot_be_made_are_done_without(made):
    """With memory for some threads, the engine runs with these, has the same bits, and logs it."""
    code = f"""
        import logging, re, resource
        import numpy as np
        from infoatlas_rt import Estimator

        logging.basicConfig(format="%(message)s")
        x, y = np.random.default_rng(0).standard_normal((2, 60, 7))
        wanted = Estimator(provider="native", threads=1).estimate(x, y)
        size = re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())
        most = int(size[1]) * 1024 + int({made + 0.5} * {STACK})
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        estimator = Estimator(provider="native", threads=8)
        found = estimator.estimate(x, y)
        assert found.mi == wanted.mi and (found.pointwise == wanted.pointwise).all()
        print(estimator.backend.threads)
    """
    status, printed = python(code, large_stacks)
    assert status == 0, printed
    warning, threads = printed.strip().splitlines()[::-1]
    assert int(threads) == 1 + made
    assert f"runs with {1 + made} of 8 threads" in warning and "ulimit" in warning


# A thread that makes estimates when the main thread ends, like a control loop.
LOOP = """
    import os, sys, threading, time
    import numpy as np
    from infoatlas_rt import Estimator

    estimator = Estimator(provider="native", threads=1)
    x = np.random.default_rng(0).standard_normal((100, 41))
    estimator.estimate(x, x[::-1])
    started = threading.Event()

    def loop():
        while True:
            started.set()
            estimator.estimate(x, x[::-1])

    for _ in range(2):
        threading.Thread(target=loop, daemon=True).start()
    started.wait()
    time.sleep(0.01)
"""


LATER = "import atexit; atexit.register(estimator.estimate, x, x)"


@pytest.mark.parametrize("end", ["", "sys.exit(0)", LATER])
def test_python_ends_while_a_daemon_thread_estimates(end):
    assert python(textwrap.dedent(LOOP) + end) == (0, "")


def test_a_forked_process_does_not_wait_for_its_parents_calls():
    code = """
        child = os.fork()
        if not child:
            sys.exit(0)  # with what atexit has to do
        assert os.waitpid(child, 0)[1] == 0
    """
    assert python(textwrap.dedent(LOOP) + textwrap.dedent(code)) == (0, "")
