"""Samples on a GPU stay there, and give the same results as samples on the host.

Tensors on the host replace tensors on a GPU: they are treated as such, and all copies to NumPy are
observed. Tests with a real GPU are in tests/runtime/inputs/test_gpu_arrays.py.
"""

import functools

import numpy as np
import pytest
import torch

from fakes import pairs
from infoatlas_rt import Estimator, InputError
from infoatlas_rt.backends import onnxruntime as onnxruntime_backend
from infoatlas_rt.estimation.bounds import repeats
from infoatlas_rt.estimation.slicing import project, stiefel
from infoatlas_rt.inputs import gpu_arrays
from infoatlas_tools import independence_test

TOLERANCE = 1e-5  # nats


@pytest.fixture
def gpu(monkeypatch):
    """Treat torch's tensors as arrays on GPU 0; returns the shapes that were copied to NumPy."""
    copied = []

    def watched(convert):
        def inner(tensor, *args, **kwargs):
            copied.append((tuple(tensor.shape), tensor.is_floating_point()))
            return convert(tensor, *args, **kwargs)

        return inner

    def pointer(values):
        if isinstance(values, np.ndarray):
            return None
        assert values.is_contiguous()
        return values.data_ptr()

    for name in ("__array__", "numpy", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, watched(getattr(torch.Tensor, name)))
    monkeypatch.setattr(
        gpu_arrays, "gpu_of", lambda values: 0 if isinstance(values, torch.Tensor) else None
    )
    monkeypatch.setattr(onnxruntime_backend, "device_pointer", pointer)
    return copied


def stayed(copied, n):
    """Check that only labels of rows, flags of coordinates and slices were copied to the host.

    Unsliced samples, of at most five coordinates, are copied for a bound from neighbours.
    """
    return all(
        n not in shape or (shape == (n,) and not real) or (len(shape) == 2 and shape[1] <= 5)
        for shape, real in copied
    )


@functools.cache
def on_device(**options):
    """An estimator whose backend is marked as CUDA: it binds addresses."""
    estimator = Estimator(threads=1, provider="cpu", **options)
    estimator.backend.provider = "cuda"
    return estimator


def with_constants(n):
    x, y = pairs(n, 8, 4)
    x[:, [1, 6]], y[:, 0] = 3.0, -1.0
    return x, y


def in_groups(n):
    """A goal and a pose that are constant within episodes, and three varying coordinates."""
    x, y = pairs(n, 3, 3)
    episodes = np.arange(n) // 4
    x[:, 0], y[:, 1] = episodes // 2, -episodes
    return x, y, episodes


def walk(n):
    steps = np.random.default_rng(2).standard_normal((2, n, 3))
    return np.cumsum(steps, axis=1)


CASES = {
    "fewest": (pairs(32, 3, 2), {}, {}),
    "one coordinate": (pairs(200, 1, 1), {}, {}),
    "many": (pairs(5000, 5, 5), {}, {"shifts": 4}),
    "sliced": (pairs(100, 41, 41), {}, {}),
    "one side sliced": (pairs(300, 12, 2), {}, {"slices": 6}),
    "few dimensions": (pairs(150, 7, 4), {}, {"k": 2, "slices": 3}),
    "ties": ([side.round() for side in pairs(200, 2, 2)], {}, {}),
    "ties, sliced": ([side.round() for side in pairs(200, 3, 3)], {}, {"k": 2, "slices": 3}),
    "constants": (with_constants(120), {}, {"slices": 3}),
    "copies": ([pairs(120, 3, 2)[0][:, [0, 1, 2, 0]], pairs(120, 3, 2)[1]], {}, {}),
    "determined": ([pairs(120, 1, 1)[0]] * 2, {}, {}),
    "outliers, sliced": ([pairs(90, 6, 6)[0] ** 9, pairs(90, 6, 6)[1]], {}, {"slices": 3}),
    "resolution": (pairs(200, 3, 3), {"resolution_x": 0.2, "resolution_y": [0, 1.0, 0.1]}, {}),
    "groups": (in_groups(200)[:2], {"groups": in_groups(200)[2]}, {}),
    "groups, sliced": (in_groups(200)[:2], {"groups": in_groups(200)[2]}, {"k": 2, "slices": 3}),
    "a series": (walk(250), {"time_series": True}, {}),
    "a series that was not announced": (walk(250), {}, {"k": 2, "slices": 3}),
    "degenerate": ((pairs(64, 3, 2)[0], np.ones((64, 2))), {}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_samples_stay_and_give_the_same_estimate(case, gpu):
    (x, y), options, settings = CASES[case]
    estimator = on_device(**settings)
    wanted = estimator.estimate(x, y, **options)
    there = (torch.tensor(side) for side in (x, y))
    if "groups" in options:
        options = {"groups": torch.tensor(options["groups"])}
    found = estimator.estimate(*there, **options)
    assert gpu and stayed(gpu, len(x))
    assert found.mi == pytest.approx(wanted.mi, abs=TOLERANCE)
    assert found.stderr == pytest.approx(wanted.stderr, abs=TOLERANCE)
    np.testing.assert_allclose(found.per_slice, wanted.per_slice, atol=1e-4)
    assert type(found.pointwise) is type(found.influence) is np.ndarray
    np.testing.assert_allclose(found.pointwise, wanted.pointwise, atol=1e-3)
    np.testing.assert_allclose(found.influence, wanted.influence, atol=1e-3)
    for name in ("constant_x", "constant_y", "degenerate", "saturated", "clipped", "rank_x",
                 "rank_y", "autocorrelated", "samples", "slices", "k"):  # fmt: skip
        assert getattr(found, name) == getattr(wanted, name), name


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float16, torch.int64, torch.int8, torch.bool]
)
def test_all_real_types_and_layouts(kind, gpu):
    x, y = ((3 * torch.tensor(side)).round().to(kind) for side in pairs(100, 3, 2))
    estimator = on_device()
    wanted = estimator.estimate(*(np.asarray(side) for side in (x, y)))
    gpu.clear()
    found = estimator.estimate(x.T.contiguous().T, y)
    assert stayed(gpu, 100)
    assert found.mi == pytest.approx(wanted.mi, abs=TOLERANCE)


def test_several_determined_coordinates_are_flagged_and_equal(gpu):
    """All canonical correlations are 1, so rounding chooses among rotations."""
    x = pairs(120, 3, 3)[0]
    wanted, found = (on_device().estimate(side, side) for side in (x, torch.tensor(x)))
    assert found.saturated and wanted.saturated
    assert found.mi == pytest.approx(wanted.mi, rel=0.1)


def test_a_test_of_independence_stays_there_too(gpu):
    x, y = (side.round(1) for side in pairs(60, 6, 6))
    estimator = on_device(slices=2)
    wanted = independence_test(x, y, estimator, permutations=5)
    gpu.clear()
    found = independence_test(*map(torch.tensor, (x, y)), estimator, permutations=5)
    assert stayed(gpu, 60)
    np.testing.assert_allclose(found.null, wanted.null, atol=TOLERANCE)
    assert found.p_value == wanted.p_value


def test_input_is_not_written_to(gpu):
    x, y, episodes = in_groups(80)
    there = [torch.tensor(side) for side in (x, y)]
    on_device().estimate(*there, groups=episodes, resolution_x=0.1)
    for side, given in zip(there, (x, y), strict=True):
        np.testing.assert_array_equal(side, given)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_equal_rows_are_found_exactly(d, gpu):
    rng = np.random.default_rng(d)
    rows = rng.integers(-1, 2, (300, d)) * 1e-300
    rows[rng.random(rows.shape) < 0.2] *= -1.0  # 0.0 and -0.0 are equal
    host, found = repeats(rows, rows), repeats(*[torch.tensor(rows)] * 2)
    assert stayed(gpu, 300) or d == 1
    same = host.x[:, None] == host.x
    np.testing.assert_array_equal(found.x[:, None] == found.x, same)
    assert found.x.max() == host.x.max() and found.x.min() == 0
    assert found.ceiling() == pytest.approx(host.ceiling(), abs=1e-12)
    distinct = torch.tensor(rng.standard_normal((50, d)))
    assert repeats(distinct, distinct) is None


def test_equal_rows_stay_equal_in_a_projection():
    rows = torch.tensor(pairs(50, 41, 1)[0]).repeat(2, 1)
    found = project(rows, stiefel(41, 5, 8, np.random.default_rng(0)))
    assert found.shape == (8, 100, 5)
    assert bool((found[:, :50] == found[:, 50:]).all())


def refused(x, y, estimator=None, **options):
    with pytest.raises(InputError) as caught:
        (estimator or on_device()).estimate(x, y, **options)
    return str(caught.value)


def test_both_sides_are_in_one_place(gpu, monkeypatch):
    x, y = pairs(50, 2, 2)
    there = torch.tensor(x), torch.tensor(y)
    message = refused(there[0], y)
    assert "torch.Tensor on GPU 0" in message and "numpy.ndarray on the host" in message
    assert "the host" in refused(x.tolist(), there[1])
    message = refused(*there, Estimator(threads=1))
    assert "on the CPU" in message and "provider='cuda'" in message and "x.cpu()" in message
    monkeypatch.setattr(gpu_arrays, "gpu_of", lambda values: int(values is there[1]))
    assert "GPU 0" in (message := refused(*there)) and "GPU 1" in message


def test_unusable_samples_are_refused(gpu):
    x, y = (torch.tensor(side) for side in pairs(50, 2, 2))
    assert "complex" in refused(x + 1j, y)
    assert "detach" in refused(x, y.requires_grad_())
    y = y.detach()
    assert "to_dense" in refused(x.to_sparse(), y)
    assert "(5, 10, 2)" in refused(x.reshape(5, 10, 2), y)
    assert "empty" in refused(x[:, :0], y)
    assert "fewer" in refused(x[:9], y[:9])
    assert "49" in refused(x[:49], y)
    x[7, 1], x[9, 0] = float("nan"), float("inf")
    message = refused(x, y)
    assert "1 NaN and 1 infinite" in message and "sample 7, coordinate 1" in message
    assert "too small for values up to" in refused(y, y, resolution_x=1e-320)
    assert stayed(gpu, 50)


def test_tensors_on_the_host_are_read_as_before():
    x, y = pairs(60, 2, 2)
    found = Estimator(threads=1).estimate(torch.tensor(x), y)
    assert found.mi == Estimator(threads=1).estimate(x, y).mi
