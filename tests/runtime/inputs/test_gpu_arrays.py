"""Samples of torch and CuPy on a real GPU give the same results as on the host."""

import numpy as np
import pytest

from fakes import pairs
from gpus import needs_gpu
from infoatlas_rt import Estimator
from refusals import refuses

pytestmark = needs_gpu
TOLERANCE = 0.01  # nats of mi, as for all providers


def on_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    return lambda values: torch.tensor(values, device="cuda:0")


def on_cupy():
    return pytest.importorskip("cupy", exc_type=ImportError).asarray


@pytest.fixture(params=[on_torch, on_cupy], ids=["torch", "cupy"])
def place(request):
    """Copy a NumPy array to the GPU."""
    return request.param()


@pytest.fixture(scope="module")
def estimator():
    return Estimator(provider="cuda")


def agree(found, wanted):
    assert found.mi == pytest.approx(wanted.mi, abs=TOLERANCE)
    assert found.stderr == pytest.approx(wanted.stderr, abs=TOLERANCE)
    assert type(found.pointwise) is np.ndarray
    names = "constant_x", "degenerate", "saturated", "rank_x", "rank_y", "autocorrelated"
    for name in names:
        assert getattr(found, name) == getattr(wanted, name), name


SIZES = [(32, 1, 1), (100, 3, 2), (100, 41, 41), (300, 12, 2), (5000, 5, 5), (20_000, 2, 2)]


@pytest.mark.parametrize(("n", "dx", "dy"), SIZES)
def test_the_estimate_is_that_of_the_host(place, estimator, n, dx, dy):
    """TensorRT's TopK is limited to 3,840, but the graph has no sorting."""
    x, y = pairs(n, dx, dy)
    agree(estimator.estimate(place(x), place(y)), estimator.estimate(x, y))


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "bool"])
def test_real_types(place, estimator, kind):
    x, y = ((3 * side).round().astype(kind) for side in pairs(200, 3, 3))
    agree(estimator.estimate(place(x), place(y)), estimator.estimate(x, y))


def test_ties_constants_resolution_groups_and_order(place, estimator):
    x, y = pairs(200, 4, 3)
    rows = [side.round() for side in (x, y)]
    agree(estimator.estimate(*map(place, rows)), estimator.estimate(*rows))
    x[:, 1] = 3.0
    steps = {"resolution_x": 0.2, "resolution_y": [0.0, 1.0, 0.1]}
    agree(estimator.estimate(place(x), place(y), **steps), estimator.estimate(x, y, **steps))
    episodes = np.arange(200) // 4
    x[:, 0], y[:, 1] = episodes // 2, -episodes
    found = estimator.estimate(place(x), place(y), groups=place(episodes))
    agree(found, estimator.estimate(x, y, groups=episodes))
    walk = np.cumsum(pairs(200, 3, 3)[0], axis=0)
    found = estimator.estimate(place(walk[1:]), place(walk[:-1]), time_series=True)
    agree(found, estimator.estimate(walk[1:], walk[:-1], time_series=True))
    assert estimator.estimate(place(x), place(np.ones((200, 2)))).degenerate


@pytest.mark.parametrize(("n", "d"), [(100, 41), (1000, 3), (5000, 5)])
def test_repetitions_have_the_same_bits(place, estimator, n, d):
    sides = [side.round(1) for side in pairs(n, d, d)]
    for x, y in (sides, map(place, sides)):
        first, again = estimator.estimate(x, y), estimator.estimate(x, y)
        assert first.mi == again.mi
        np.testing.assert_array_equal(first.pointwise, again.pointwise)


def test_copies_to_the_host_are_not_silent(place, estimator):
    x, y = pairs(60, 2, 2)
    refuses("on the host", estimator.estimate, place(x), y)
    refuses("on the CPU", Estimator(provider="cpu").estimate, place(x), place(y))


def test_samples_of_torch_do_not_leave_the_gpu(estimator):
    """torch's dispatch is observed for copies between devices."""
    place, torch = on_torch(), pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    n, left = 333, []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and result.device.type == "cpu":
                given = [a for a in args if isinstance(a, torch.Tensor) and a.is_cuda]
                left.extend(tuple(a.shape) for a in given)
            return result

    sides = [place(side) for side in pairs(n, 12, 7)]
    with Watch():
        estimator.estimate(*sides)
    assert left and not any(n in shape for shape in left)


def test_pending_work_is_waited_for(estimator):
    """Samples that torch is still computing, on a stream of the caller."""
    place, torch = on_torch(), pytest.importorskip("torch")
    x, y = pairs(100, 6, 6)
    wanted = estimator.estimate(x, y).mi
    there, noise = [place(side) for side in (x, y)], torch.randn(4096, 4096, device="cuda:0")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            noise = noise @ noise / 64
        late = [side + 0 * noise.nan_to_num(0, 0, 0)[0, 0] for side in there]
        assert estimator.estimate(*late).mi == pytest.approx(wanted, abs=TOLERANCE)
