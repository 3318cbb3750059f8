"""Bit flips of a model file, and the C++ engine under limits of threads and memory."""

import json
import resource
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, outcome
from infoatlas_rt import Estimator
from infoatlas_rt.models.model_file import MODELS

X = np.random.default_rng(0).standard_normal((60, 2))


@cache
def content(name):
    return (MODELS / f"{name}.onnx").read_bytes()


def reading(model):
    return Estimator(model, threads=1).estimate(X, X + np.roll(X, 1, axis=1)).mi


expected = cache(reading)


@fuzzed(12)
@given(chosen(("edge", "edge", "base", "wide")), st.booleans(), st.data())
def test_damaged_models_are_refused_or_harmless(name, short, data):
    """The metadata is near the end."""
    damaged, near = bytearray(content(name)), st.integers(1, 20_000)
    if short:
        del damaged[data.draw(st.integers(0, len(damaged) - 1)) :]
    else:
        anywhere = near | st.integers(1, len(damaged))
        for place in data.draw(st.lists(anywhere, min_size=1, max_size=3, unique=True)):
            damaged[-place] ^= 1 << data.draw(st.integers(0, 7))
    with folder() as path:
        file = path / "damaged.onnx"
        file.write_bytes(damaged)
        found = outcome(lambda: reading(file), file)
        assert [*path.iterdir()] == [file]
    assert found is REFUSED or found == expected(name)


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


@pytest.mark.skipif(find_spec("infoatlas_native") is None, reason="needs the C++ engine")
@fuzzed(3)
@given(
    chosen((40, 300, 2000)), chosen((2, 3, 8, 64)), chosen((1 << 20, 1 << 23, 1 << 26)),
    st.none() | st.integers(0, 1 << 28) | st.integers(0, 1 << 22), st.none() | st.integers(1, 8),
)  # fmt: skip
def test_the_engine_has_the_same_bits_under_limits(samples, threads, stack, memory, processes):
    """A process does not die by a signal, hang, or print a traceback."""
    given = {"samples": samples, "threads": threads, "memory": memory, "processes": processes}
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    with folder() as path:
        done = subprocess.run(
            [sys.executable, "-c", CODE, json.dumps(given)],
            capture_output=True, text=True, timeout=60, cwd=path,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, most)),
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert "refused" in found or (found["same"] and 1 <= found["threads"] <= threads)
