"""The module infoatlas_native: refusals, threads, processes, reproducibility."""

import multiprocessing
import os
import platform
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings, strategies as st

import inputs
from infoatlas_native import Engine
from inputs import content
from refusals import fails

GIVEN = inputs.canonical(5, 60, 7, 8)


def same(found, wanted):
    for value, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("n, slices", [(33, 3), (100, 5), (700, 1), (3000, 1)])
def test_diagnostics_are_those_of_the_graph(name, n, slices):
    """The inputs of asinh, the first operation of the correction."""
    proto = onnx.load_from_string(content(name))
    entering = [node.input[0] for node in proto.graph.node if node.op_type == "Asinh"]
    for value in entering:  # of the diagnostics, or of the inputs of the predicted error
        info = onnx.helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, None)
        proto.graph.output.append(info)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    engine = Engine(content(name))
    given = inputs.canonical(engine.dim, n, slices, 8)
    names = ("x", "y", "shifts", "sequence")
    found = engine.diagnose(*given)
    values = session.run(entering, dict(zip(names, given, strict=True)))
    (wanted,) = (value for value in values if value.shape == found.shape)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.arcsinh(found), np.arcsinh(wanted), atol=3e-3)
    np.testing.assert_array_equal(found, Engine(content(name), threads=3).diagnose(*given))


def test_diagnose_refuses_as_run_does(engine):
    x, y, shifts, sequence = GIVEN
    fails(ValueError, "y has shape", engine.diagnose, x, y[:, 1:], shifts, sequence)
    out = engine.run(*GIVEN)
    with pytest.raises(ValueError, match="diagnostics has shape"):
        engine._engine.run(*GIVEN, *out, np.empty((len(x), 3), np.float32))


@pytest.mark.parametrize("threads", [1, 3, 16])
def test_same_bits_whatever_the_threads_and_the_neighbours(engine, threads):
    wanted = engine.run(*GIVEN)
    other = Engine(content("edge"), threads=threads)
    same(other.run(*GIVEN), wanted)
    x, y, shifts, sequence = GIVEN
    for i in range(len(x)):
        alone = other.run(x[i : i + 1], y[i : i + 1], shifts, sequence)
        same(alone, [value[i : i + 1] for value in wanted])


def test_one_slice_is_shared_out_with_the_same_bits():
    given = inputs.canonical(5, 3000, 1, 5)
    same(Engine(content("edge"), threads=3).run(*given), Engine(content("edge")).run(*given))


def test_calls_of_all_sizes_in_any_order(engine):
    """Memory of earlier calls has no effect."""
    sizes = [(50, 3), (400, 1), (33, 20), (50, 3), (1000, 2), (33, 1), (50, 3)]
    for n, slices in sizes:
        given = inputs.canonical(5, n, slices, 6)
        same(engine.run(*given), Engine(content("edge")).run(*given))


def test_outputs_of_the_caller(engine):
    wanted = engine.run(*GIVEN)
    out = tuple(np.full_like(value, np.nan) for value in wanted)
    assert engine.run(*GIVEN, out=out) is out
    same(out, wanted)


def test_from_a_file(tmp_path, engine):
    path = tmp_path / "edge.onnx"
    path.write_bytes(content("edge"))
    same(Engine(path).run(*GIVEN), engine.run(*GIVEN))
    same(Engine(str(path)).run(*GIVEN), engine.run(*GIVEN))
    fails(FileNotFoundError, r"none\.onnx", Engine, tmp_path / "none.onnx")


def test_no_slices(engine):
    x, y, shifts, sequence = GIVEN
    found = engine.run(x[:0], y[:0], shifts, sequence)
    assert [value.shape for value in found] == [(0,), (0, 60), (0, 60), (0,)]


@given(st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_arrays_are_taken_or_refused(data):
    """No access is out of the bounds of an array, whatever its shape (make native-sanitize)."""
    engine = _engine()
    dtypes = st.sampled_from([np.float32, np.float64, np.int64, np.int32])
    sizes = st.integers(0, 6)

    def array(dtype, *dims):
        if data.draw(st.integers(0, 9)) == 0:  # another shape or type
            dims = data.draw(st.lists(sizes, max_size=4))
            dtype = data.draw(dtypes)
        found = np.zeros(dims, dtype)
        if data.draw(st.integers(0, 19)) == 0 and found.ndim and found.size:
            found = np.zeros((*dims[:-1], 2 * dims[-1]), dtype)[..., ::2]
        return found

    slices, n, m = data.draw(sizes), data.draw(st.integers(2, 40)), data.draw(st.integers(1, 6))
    arguments = (
        array(np.float32, slices, n, 5),
        array(np.float32, slices, n, 5),
        array(np.int64, m) + 1,
        array(np.int64, n),
    )
    good = (
        all(v.flags.c_contiguous for v in arguments)
        and [v.dtype for v in arguments] == [np.float32, np.float32, np.int64, np.int64]
        and arguments[0].ndim == 3
        and arguments[0].shape == arguments[1].shape == (*arguments[0].shape[:2], 5)
        and arguments[2].ndim == 1
        and arguments[3].shape == arguments[0].shape[1:2]
        and arguments[0].shape[1] >= 2
    )
    try:
        found = engine.run(*arguments)
    except (ValueError, RuntimeError):
        assert not good or len(arguments[2]) < 5  # too few shifts for a solve
    else:
        assert good and [len(values) for values in found] == [len(arguments[0])] * 4


def _engine(kept=[]):  # noqa: B006
    if not kept:
        kept.append(Engine(content("edge")))
    return kept[0]


def changed(position, value):
    return (*GIVEN[:position], value, *GIVEN[position + 1 :])


REFUSED = {
    "type": (changed(0, GIVEN[0].astype(np.float64)), "x is not an array of float32"),
    "indices of 32 bits": (changed(2, GIVEN[2].astype(np.int32)), "shifts is not an array of int6"),
    "other sizes": (changed(1, GIVEN[1][:-1]), r"y has shape \[6, 60, 5\] instead of \[7, 60, 5"),
    "too narrow": (changed(0, GIVEN[0][..., :4].copy()), r"x has shape .* \[any, any, 5\]"),
    "not contiguous": (changed(1, np.asfortranarray(GIVEN[1])), "y is not contiguous"),
    "shift of 0": (changed(2, np.arange(8)), r"shifts holds 0, which is not in 1\.\.59"),
    "shift of n": (changed(2, np.arange(53, 61)), r"shifts holds 60, which is not in 1\.\.59"),
    "position beyond": (changed(3, np.arange(1, 61)), "sequence holds 60"),
    "too few positions": (changed(3, np.arange(59)), r"sequence has shape \[59\] instead of \[60"),
    "many dimensions": (changed(0, np.zeros((1,) * 12, np.float32)), "x has shape"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_arrays(engine, case):
    arguments, message = REFUSED[case]
    fails(ValueError, message, engine.run, *arguments)


def test_refused_outputs(engine):
    wanted = engine.run(*GIVEN)
    for i in range(4):
        out = [np.empty_like(value) for value in wanted]
        out[i] = out[i][:-1]
        fails(ValueError, "has shape", engine.run, *GIVEN, out=out)
    out = [np.empty_like(value) for value in wanted]
    out[0].flags.writeable = False
    with pytest.raises(TypeError):
        engine.run(*GIVEN, out=out)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38, 1e-42])
def test_invalid_values_have_no_lasting_effect(engine, value):
    """Invalid values give outputs of the right shape, and the next call is unaffected."""
    wanted = engine.run(*GIVEN)
    bad = GIVEN[0].copy()
    bad[3, 5, 2] = value
    engine.run(bad, *GIVEN[1:])
    engine.run(np.full_like(bad, value), np.full_like(bad, value), *GIVEN[2:])
    same(engine.run(*GIVEN), wanted)


def test_denormal_numbers_stay_as_they_are(engine):
    """Settings of the processor that the engine changes within a call are restored."""
    tiny = np.float32(1e-40)
    engine.run(*GIVEN)
    assert tiny * np.float32(0.5) > 0


def test_weights_of_other_names():
    """A valid file without the weights that the engine needs."""
    whole = content("edge")
    renamed = whole.replace(b"hypernetwork.", b"hypernetwerk.")
    assert renamed != whole
    fails(RuntimeError, "hypernetwork", Engine, renamed)


def test_another_interface():
    with pytest.raises(RuntimeError, match=r"interface 99.*install infoatlas-rt again"):
        Engine(content("edge"), interface=99)


def test_the_gil_is_released(engine):
    """Another Python thread counts during a call."""
    given = inputs.canonical(5, 5000, 2, 5)
    assert inputs.counted_meanwhile(lambda: engine.run(*given)) > 20


def test_threads_share_an_engine(engine):
    every = [inputs.canonical(5, 60, 3, 8, seed) for seed in range(8)]
    wanted = [engine.run(*given) for given in every]
    with ThreadPoolExecutor(4) as pool:
        for found, expected in zip(
            pool.map(lambda i: engine.run(*every[i % 8]), range(80)), wanted * 10, strict=True
        ):
            same(found, expected)


def _in_child(engine, wanted, queue):
    same(engine.run(*GIVEN), wanted)
    queue.put(os.getpid())


def test_a_forked_process_has_threads_of_its_own(engine):
    wanted = engine.run(*GIVEN)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_in_child, args=(engine, wanted, queue)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
        assert child.exitcode == 0
    same(engine.run(*GIVEN), wanted)


def test_a_fork_during_a_call(engine):
    """The child process does not wait for threads that it lacks."""
    wanted = engine.run(*GIVEN)
    given = inputs.canonical(5, 5000, 4, 5)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: [engine.run(*given) for _ in range(3)])
        child = context.Process(target=_in_child, args=(engine, wanted, queue))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        running.result()


def test_threads_end_with_the_engine():
    before = len(os.listdir("/proc/self/task"))
    for _ in range(20):
        Engine(content("edge"), threads=4).run(*GIVEN)
    assert len(os.listdir("/proc/self/task")) <= before + 4


def test_rounds_of_refinement_take_turns():
    """Turns over as many product pairs as a round uses have no effect; over more they have one."""

    def critic(turns):
        shipped = b'"refine_turns": 5'
        assert content("base").count(shipped) == 1
        changed = content("base").replace(shipped, b'"refine_turns": %d' % turns)
        return Engine(changed).diagnose(*GIVEN)[0]

    np.testing.assert_array_equal(critic(2), critic(0))
    assert np.isfinite(critic(5)).all() and abs(critic(5)[0] - critic(2)[0]) > 1e-4


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one variant")
def test_instructions_can_be_limited(monkeypatch):
    """Never to instructions that the processor lacks; outputs agree within rounding."""
    order, found = ("baseline", "avx2", "avx512"), {}
    for limit in order:
        monkeypatch.setenv("INFOATLAS_INSTRUCTIONS", limit)
        engine = Engine(content("edge"))
        found[engine.target] = engine.run(*GIVEN)[0]
        assert order.index(engine.target) <= order.index(limit)
    assert "baseline" in found
    for mi in found.values():
        np.testing.assert_allclose(mi, found["baseline"], atol=1e-3)
    monkeypatch.setenv("INFOATLAS_INSTRUCTIONS", "avx")
    with pytest.raises(RuntimeError, match="INFOATLAS_INSTRUCTIONS is 'avx': set it to avx512, "):
        Engine(content("edge"))
