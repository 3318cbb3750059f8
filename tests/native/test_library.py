"""libinfoatlas, installed: estimates and windows equal Python's, in C, C++ and by ctypes."""

import ctypes
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import infoatlas_rt
import random_tasks
from infoatlas_rt import Estimator, OnlineEstimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.models.model_file import MODELS
from infoatlas_rt.streams.sliding_window import SlidingWindow
from library import FILE_ERROR, INPUT_ERROR, PREFIX, Estimate, GivenSamples, Settings
from parity import compare

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "runtime/native/include/infoatlas"
C_HEADERS = "".join((HEADERS / name).read_text() for name in ("infoatlas.h", "follower.h"))
TOLERANCE = 1e-6  # nats
EDGE = MODELS / "edge.onnx"

pytestmark = pytest.mark.skipif(not PREFIX.exists(), reason="libinfoatlas is not installed there")


@pytest.fixture(scope="module")
def edge(library):
    return library.load(EDGE)


def run(*command, **options):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, **options).stdout


def test_random_inputs(library):
    """parity.py was run for 10,000 inputs; these are some of them."""
    for off, what in compare(library, range(12)):
        assert off <= TOLERANCE, what


def test_a_c_program(programs):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 3))
    y = x[:, :2] + rng.standard_normal((300, 2))
    given = np.array([300, 3, 2]).tobytes() + x.tobytes() + y.tobytes()
    wanted = Estimator(provider="native").estimate(x, y)
    found = run(programs[0] / "estimate", EDGE, input=given).split()
    expected = wanted.mi, wanted.stderr, wanted.pointwise[-1]
    np.testing.assert_allclose([*map(float, found)], expected, atol=TOLERANCE)


@pytest.mark.parametrize("d", [3, 41])
def test_a_window_in_cpp_allocates_no_memory(programs, d):
    """Not even if coordinates stand still, take few values, or are missing."""
    rng = np.random.default_rng(d)
    states = rng.standard_normal((170, d)).cumsum(axis=0)
    states[:60, 2] = states[:60, 0]  # a copy at first
    states[50:100, 1] = 2
    states[70:120, 0] = np.round(states[70:120, 0])
    states[rng.random(170) < 0.04, 0] = np.nan
    output = run(programs[0] / "window", EDGE, d, input=states.tobytes())
    *lines, last = output.decode().splitlines()
    assert last.startswith("0 of ")
    online = OnlineEstimator(Estimator(provider="native"), window=60)
    pairs = zip(states, lines, strict=True)
    assert sum(same(online.push(state), line) for state, line in pairs) > 60


def test_calls_in_real_time_and_refusals(programs, tmp_path):
    """Refusals allocate nothing; what may run in real time makes no system call, either."""
    task = tmp_path / "task.json"
    content = random_tasks.task(np.random.default_rng(0))
    content["detectors"]["stream"] |= {"stamps_for_rate": 10, "stamps_kept": 100}
    task.write_text(json.dumps(content))
    lines = run(programs[0] / "real_time", EDGE, task).decode().splitlines()
    assert re.fullmatch(r"\d+ calls, 0 allocations: ", lines[0]), lines[0]
    assert re.fullmatch(r"\d+ calls, 0 allocations, 0 locks, (not )?watched: ", lines[1]), lines[1]


def status_functions():
    """The functions that return a status, with their numbers of arguments."""
    found = re.findall(r" infoatlas_status (infoatlas_\w+)\(([^)]*)\);", C_HEADERS)
    return {name: arguments.count(",") + 1 for name, arguments in found}


METHODS = {
    "model": ("describe()",),
    "estimator": ("run({})",),
    "window": ("push(nullptr)", "run(estimate)", "reason()"),
    "task": ("describe()",),
    "follower": ("push(nullptr, 1)", "push({})", "push({}).size()", "subtask(part)", "describe()"),
}


@pytest.mark.parametrize("standard", ["c99", "c2x", "c++14", "c++17"])
def test_a_result_that_is_not_used_is_a_warning(standard, tmp_path):
    functions = status_functions()
    calls = [f"{name}({', '.join('0' * count)});" for name, count in functions.items()]
    in_cpp = "+" in standard
    if in_cpp:
        calls += [f"{handle}.{call};" for handle, own in METHODS.items() for call in own]
    source = tmp_path / ("dropped.cpp" if in_cpp else "dropped.c")
    arguments = ", ".join(f"infoatlas::{name.capitalize()}& {name}" for name in METHODS)
    source.write_text(
        f"#include <infoatlas/follower.h{'pp' if in_cpp else ''}>\n"
        f"void drop({arguments if in_cpp else 'void'}) {{\n"
        + ("infoatlas_estimate estimate; infoatlas_subtask part;\n" if in_cpp else "\n")
        + "\n".join(calls)
        + "\n}\n"
    )
    compiler = "c++" if in_cpp else "cc"
    options = (
        f"-std={standard}", f"-I{PREFIX}/include", "-c", "-o", tmp_path / "dropped.o",
        "-Werror=unused-result",
    )  # fmt: skip
    done = subprocess.run([compiler, *options, source], capture_output=True, text=True)
    lines = re.findall(r"dropped\.c\w*:(\d+):\d+: error: ignoring", done.stderr)
    assert sorted({int(line) for line in lines}) == [*range(4, 4 + len(calls))], done.stderr
    assert done.stderr.count("error:") == len(lines)


def test_versions_below_one_are_compatible_within_a_minor_version(tmp_path):
    version = infoatlas_rt.__version__
    minor = ".".join(version.split(".")[:2])
    dynamic = run("readelf", "-d", PREFIX / "lib/libinfoatlas.so").decode()
    assert f"soname: [libinfoatlas.so.{minor}]" in dynamic
    script = tmp_path / "version.cmake"
    for wanted, compatible in ((minor, True), (version, True), ("0.2", False), ("0.4", False)):
        major, lesser = wanted.split(".")[:2]
        script.write_text(
            f"set(PACKAGE_FIND_VERSION {wanted})\nset(PACKAGE_FIND_VERSION_MAJOR {major})\n"
            f"set(PACKAGE_FIND_VERSION_MINOR {lesser})\n"
            f"set(CMAKE_SIZEOF_VOID_P {ctypes.sizeof(ctypes.c_void_p)})\n"
            f"include({PREFIX}/lib/cmake/infoatlas/infoatlas-config-version.cmake)\n"
            'message("${PACKAGE_VERSION_COMPATIBLE}")\n'
        )
        done = subprocess.run(["cmake", "-P", script], check=True, capture_output=True, text=True)
        assert (done.stderr.strip() == "TRUE") is compatible, wanted


def test_structures_of_older_and_newer_programs(library, edge):
    estimator = library.estimator(edge, 40, 3, 3)
    samples = GivenSamples(x=X.ctypes.data, y=X.ctypes.data, n=40)

    def run_with(size):
        found = Estimate(struct_size=size, saturated=7, k=-1)
        library.call("estimator_run", estimator, ctypes.byref(samples), ctypes.byref(found))
        return found

    all_bytes = ctypes.sizeof(Estimate)
    now, older = run_with(all_bytes), run_with(Estimate.k.offset)
    assert now.k == 0 and now.saturated == 1
    assert older.struct_size == Estimate.k.offset and older.mi == now.mi
    assert older.k == -1 and older.saturated == 7  # beyond its size
    samples.struct_size = GivenSamples.resolution_x.offset  # of a program without resolutions
    samples.resolution_x = X.ctypes.data
    assert run_with(all_bytes).mi == now.mi
    for size in (0, all_bytes + 8):
        with pytest.raises(
            RuntimeError, match=f"estimate has the struct_size {size}, and"
        ) as error:
            run_with(size)
        assert error.value.args[0] == INPUT_ERROR
    with pytest.raises(RuntimeError, match="settings has the struct_size 0"):
        library.estimator(edge, 40, 3, 3, struct_size=0)
    x, y = np.random.default_rng(0).standard_normal((2, 40, 6))
    seeded, older, default = (
        library.run(library.estimator(edge, 40, 6, 6, slices=2, **values), x, y)["mi"]
        for values in ({"seed": 5}, {"seed": 5, "struct_size": Settings.seed.offset}, {})
    )
    assert older == default != seeded


def same(wanted, line):
    """Whether there is an estimate, which has to be that of the line; else the line is a reason."""
    if wanted is None:
        assert line.split(":")[0] in ("filling", "hole", "refused")
        return False
    expected = wanted.estimate.mi, wanted.local
    np.testing.assert_allclose([*map(float, line.split())], expected, atol=TOLERANCE)
    return True


WINDOWS = {
    "one stream": {"d": 3, "lag": 2},
    "history": {"d": 7, "lag": 1, "history": 3, "resolution": 0.05},
    "two streams": {"d": 2, "other": 4, "lag": 0, "history": 2},
    "increments": {"d": 3, "lag": 2, "increments": 1},
    "copies": {"d": 8, "lag": 1},
    "increments of two": {"d": 2, "other": 3, "lag": 1, "increments": 1, "resolution": 0.05},
}


@pytest.mark.parametrize("case", WINDOWS)
def test_windows(library, edge, case):
    given = {"history": 1, "other": 0, "increments": 0} | WINDOWS[case]
    resolution = given.pop("resolution", None)
    d, other = given["d"], given["other"]
    steps = [np.full(size, resolution or 0.0) for size in (d, other)]
    pointers = {"resolution": steps[0].ctypes.data, "resolution_other": steps[1].ctypes.data}
    ours = library.window(edge, {"slices": 3, "seed": 4}, steps=40, **given, **pointers)
    estimator = Estimator(provider="native", slices=3, seed=4)
    options = {name: given[name] for name in ("lag", "history", "increments")}
    options["increments"] = bool(options["increments"])
    python = SlidingWindow(
        estimator.model_file, window=40, two_streams=other > 0, resolution=resolution, **options
    )
    rng = np.random.default_rng(0)
    made, numbers = 0, set()
    for step in range(150):
        state = rng.standard_normal(d).cumsum() + np.sin(step / 5)
        if case == "copies":
            state[5] = state[5] if step > 50 else 1.0
            state[6] = -state[5]  # at rest at first
            state[2] = state[2] if 70 < step < 100 else 2 * state[0]  # decided once
        beside = rng.standard_normal(other) + state[:1] if other else None
        if rng.random() < 0.02:
            state[0] = np.nan
        if step == 80:
            python.lost()
            library.call("window_lost", ours)
        wanted = python.estimate(estimator) if python.add(state, None, beside) else None
        found = library.push(ours, state, beside)
        if wanted is None:
            assert isinstance(found, str) and found.split(":")[0] == python.reason.split(":")[0]
            continue
        made += 1
        out = wanted.estimate.redundant_x, wanted.estimate.redundant_y
        assert (found["redundant_x"], found["redundant_y"]) == tuple(map(len, out))
        numbers.add(found["redundant_x"])
        assert found["mi"] == pytest.approx(wanted.estimate.mi, abs=TOLERANCE)
        assert found["stderr"] == pytest.approx(wanted.estimate.stderr, abs=TOLERANCE)
        assert found["pointwise"][-1] == pytest.approx(wanted.local, abs=TOLERANCE)
    assert made > 50 and numbers == ({1, 2} if case == "copies" else {0})
    library.free("window", ours)


def test_intervals_of_oscillations_are_wide(library, edge):
    rng = np.random.default_rng(0)
    x = rng.random((2000, 1))
    y = np.sin(100 * x) + 0.1 * rng.standard_normal((2000, 1))
    found = library.run(library.estimator(edge, 2000, 1, 1), x, y)
    wanted = Estimator(provider="cpu").estimate(x, y)
    assert found["stderr"] == pytest.approx(wanted.stderr, abs=1e-3) and found["stderr"] > 0.3
    assert found["predicted_error"] + found["mi"] == pytest.approx(
        wanted.predicted_error + wanted.mi, abs=1e-9
    )  # the bound from neighbours


def test_nonlinear_functions_are_flagged_in_python_alone(library, edge):
    """As the header says."""
    x = np.random.default_rng(0).standard_normal((400, 3))
    y = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    estimator = Estimator(provider="native")
    assert estimator.estimate(x, y).saturated
    assert estimator.estimate_checked(Samples(x, y)).saturated
    assert not library.run(library.estimator(edge, 400, 3, 3), x, y)["saturated"]


X = np.random.default_rng(0).standard_normal((40, 3))
REFUSED = {
    "too few samples": (lambda: (X[:20], X[:20]), {}, "20 samples are not in 32..5000"),
    "too many": (lambda: (np.tile(X, (2, 1)), np.tile(X, (2, 1))), {}, "80 .* more than the 40"),
    "not finite": (lambda: (np.where(X > 2, np.nan, X), X), {}, "x is not finite at sample"),
    "resolution": (lambda: (X, X), {"resolution_y": [0, -1, 0]}, "resolution of y is -1"),
    "tiny": (lambda: (X * 1e300, X), {"resolution_x": [1e-300] * 3}, "is too small"),
}


SETTINGS = {
    "k": ({"k": 6}, "k is 6: use 1 to 5"),
    "wide": ({"k": 4}, "slices of 4 dimensions .* x has 3"),
    "one side": ({"sides": 3}, "slices of 5 dimensions"),
    "shifts": ({"shifts": 3}, "shifts is 3: use 4"),
    "threads": ({"threads": 1000}, "threads is 1000"),
}


@pytest.mark.parametrize("case", [*REFUSED, *SETTINGS])
def test_refused_samples_and_settings(library, edge, case):
    samples, options, message = REFUSED.get(case) or (None, *SETTINGS[case])
    estimator = library.estimator(edge, 40, 3, 3)
    with pytest.raises(RuntimeError, match=message) as error:
        if samples is None:
            library.estimator(edge, 40, 3, 3, **options)
        else:
            library.run(estimator, *samples(), **options)
    assert error.value.args[0] == INPUT_ERROR
    assert library.run(estimator, X, X)["saturated"]  # the next call is unaffected


def test_refused_files(library, tmp_path):
    content = bytearray(EDGE.read_bytes())
    changed, empty = tmp_path / "changed.onnx", tmp_path / "empty.onnx"
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    empty.write_bytes(b"")
    for path, message in (
        (tmp_path / "none.onnx", "cannot open"),
        (tmp_path, "cannot read"),
        (empty, "holds no weights"),
        (changed, "has changed since it was written"),
    ):
        with pytest.raises(RuntimeError, match=message) as error:
            library.load(path)
        assert error.value.args[0] == FILE_ERROR


def test_only_functions_of_the_headers_are_exported():
    names = run("nm", "-D", "--defined-only", PREFIX / "lib/libinfoatlas.so").decode().split()[2::3]
    assert "infoatlas_window_push" in " ".join(names)
    assert all(name.lower().startswith("infoatlas_") for name in names)


def test_the_program_of_the_page(programs):
    lines = run(programs[1] / "watch", EDGE).decode().splitlines()
    assert len(lines) > 3 and all("nats" in line for line in lines)
