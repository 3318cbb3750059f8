"""The native engine under limits of threads and memory: the same bits, or an error with a reason.

A process must not die by a signal, hang, or print a traceback.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

from calls import check
from values import Rng, pick

SECONDS = 60

# Limits begin after all imports, so that they affect only the engine.
CODE = """
import json, logging, os, re, resource, sys

import numpy as np
from infoatlas_rt import Estimator, InfoAtlasError
from infoatlas_rt.backends.native import NativeBackend

given = json.loads(sys.argv[1])
logging.disable()
x, y = np.random.default_rng(0).standard_normal((2, given["samples"], 7))
estimator = Estimator(provider="native", threads=1, slices=8)
wanted = estimator.estimate(x, y).mi
if given["memory"] is not None:
    size = re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())
    most = int(size[1]) * 1024 + given["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
if given["processes"] is not None:
    resource.setrlimit(resource.RLIMIT_NPROC, (given["processes"],) * 2)
    if os.getuid() == 0:
        os.setuid(65534)  # nobody: root has no limit
try:
    estimator.backend = NativeBackend(estimator.model_file, given["threads"])
    found = [estimator.estimate(x, y).mi for _ in range(3)]
    threads = estimator.backend.threads
except (InfoAtlasError, MemoryError) as error:
    print(json.dumps({"refused": str(error)}))
else:
    print(json.dumps({"same": found == [wanted] * 3, "threads": threads}))
"""


def limited(rng: Rng, folder: Path) -> str:
    """An estimate with a random number of threads under random limits."""
    memory = pick(rng, (None, int(rng.integers(1 << 28)), int(rng.integers(1 << 22))))
    processes = None if memory is not None and rng.integers(2) else int(rng.integers(1, 9))
    given = {
        "samples": int(pick(rng, (40, 300, 2000))),
        "threads": int(pick(rng, (2, 3, 8, 64))),
        "memory": memory,
        "processes": processes,
    }
    stack = int(pick(rng, (1 << 20, 1 << 23, 1 << 26)))
    what = f"{given}, stacks of {stack}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", CODE, json.dumps(given)],
            capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder,
            preexec_fn=partial(_with_stacks, stack),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        check(False, f"{what}: it does not end")
    check(
        done.returncode == 0 and not done.stderr, f"{what}: {done.returncode} {done.stderr[-400:]}"
    )
    found = json.loads(done.stdout)
    if "refused" in found:
        return "refused"
    check(found["same"], f"{what}: other bits")
    check(1 <= found["threads"] <= given["threads"], f"{what}: {found['threads']} threads")
    return "ok"


def _with_stacks(size: int) -> None:
    """Set the stack size of each thread in bytes, which counts as memory."""
    resource.setrlimit(resource.RLIMIT_STACK, (size, resource.getrlimit(resource.RLIMIT_STACK)[1]))
