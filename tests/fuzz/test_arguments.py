"""Arguments of any type and value: a result, or an error that names the argument."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import ESTIMATOR, REFUSED, check_estimate, chosen, fuzzed, outcome
from infoatlas_rt import Estimator, ExtremumDetector, estimate
from infoatlas_rt.inputs.checks import FASTEST, SLOWEST
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.vector.pooled_pairs import PooledPairs
from infoatlas_tools import independence_test
from infoatlas_tools.curves.ensemble_curve import mi_curve
from infoatlas_tools.trajectories import Trajectories

pytestmark = pytest.mark.filterwarnings("error")
X, Y = np.random.default_rng(1).standard_normal((2, 40, 3))
STEPPED = Trajectories(np.cumsum(X.repeat(4, 0), 0), np.full(40, 4))
DETECTOR = ExtremumDetector(delay=20)

ANYTHING = st.one_of(
    chosen((None, True, "3", b"3", 1j, object(), {}, [1], (2, 3), range(2), int, 3, 10**30)),
    chosen((np.nan, np.zeros(3), np.array("3"), np.datetime64(0, "s"), -(10**30), math.inf)),
    st.text(max_size=6), st.floats(), st.integers(max_value=0), st.integers(min_value=2**40),
)  # fmt: skip


def real(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def positive(value):
    return real(value) and 0 < value < math.inf


def count(least, most):
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most


def or_none(fits):
    return lambda value: value is None or fits(value)


flag, never = (lambda value: isinstance(value, bool)), (lambda value: False)
none = or_none(never)


def steps(value):
    """Whether it is a resolution of three coordinates."""
    try:
        given = np.broadcast_to(np.asarray(value), (3,))
    except ValueError:
        return False
    if given.dtype.kind not in "bif" or (given.dtype.kind == "i" and abs(given).max() > 2**53):
        return False
    fine = given > abs(X).max() / np.finfo(float).max  # otherwise the quotient is infinite
    return bool(((given == 0) | fine & (given < math.inf)).all())


# A call with any value as an argument, and whether the value is valid.
ARGUMENTS = {
    "time_series": (lambda v: ESTIMATOR.estimate(X, Y, time_series=v), flag),
    "resolution_x": (lambda v: ESTIMATOR.estimate(X, Y, resolution_x=v), or_none(steps)),
    "groups": (lambda v: ESTIMATOR.estimate(X, Y, groups=v), none),
    "permutations": (
        lambda v: independence_test(X, Y, ESTIMATOR, permutations=v),
        count(1, 10**4),
    ),
    "estimator": (lambda v: independence_test(X, Y, v, permutations=1), none),
    "window": (lambda v: OnlineEstimator(ESTIMATOR, window=v), count(32, 10**4)),
    "lag": (lambda v: OnlineEstimator(ESTIMATOR, lag=v, window=50), count(1, 10**4)),
    "lag_seconds": (lambda v: OnlineEstimator(ESTIMATOR, lag_seconds=v), or_none(positive)),
    "lag_tolerance": (
        lambda v: OnlineEstimator(ESTIMATOR, lag_seconds=10.0, lag_tolerance=v),
        or_none(lambda v: positive(v) and v < 10),
    ),
    "reset_after": (lambda v: OnlineEstimator(ESTIMATOR, reset_after=v), positive),
    "two_streams": (lambda v: OnlineEstimator(ESTIMATOR, two_streams=v), flag),
    "estimator of a stream": (OnlineEstimator, none),
    "stamp": (lambda v: OnlineEstimator(ESTIMATOR).push([1.0], v), or_none(real)),
    "num_envs": (lambda v: PooledPairs(v, 5), count(1, 10**6)),
    "trajectories": (lambda v: mi_curve(v, ESTIMATOR), never),
    "mode": (lambda v: mi_curve(STEPPED, ESTIMATOR, mode=v), never),
    "points": (lambda v: mi_curve(STEPPED, ESTIMATOR, points=v), count(2, 10**4)),
    "lengths": (lambda v: Trajectories(X, v), never),
    "states": (lambda v: Trajectories(v, [3]), never),
    "rate": (
        lambda v: Trajectories(X, [len(X)], rate=v),
        or_none(lambda v: real(v) and SLOWEST <= v <= FASTEST),
    ),
    "mi": (lambda v: DETECTOR.update(v, noise=0.1), lambda v: real(v) and abs(v) <= 1e100),
    "noise": (lambda v: DETECTOR.update(1.0, noise=v), lambda v: real(v) and 0 <= v <= 1e100),
    "kinds": (lambda v: ExtremumDetector(v, delay=1), never),
    "z": (lambda v: ExtremumDetector(z=v, delay=1), positive),
    "pairing tolerance": (Synchroniser, positive),
}  # fmt: skip
# Valid values of the estimator's settings, as numbers of Python and of NumPy.
SETTINGS = {
    "k": (or_none(count(1, 3)), (None, 1, 3, np.int64(2))),
    "slices": (or_none(count(1, 10**5)), (None, 1, 5, np.int32(3))),
    "shifts": (or_none(count(4, math.inf)), (None, 4, 1000, np.int64(39))),
    "seed": (count(0, math.inf), (0, 7, np.int64(3), 10**30)),
    "sides": (never, ("auto", "both", "x", "y")),
    "threads": (or_none(count(1, 4096)), (None, 1, np.int64(2))),
    "model": (never, ("edge",)),
    "provider": (never, ("cpu",)),
}


@fuzzed(400)
@given(chosen(ARGUMENTS), ANYTHING)
def test_arguments_are_accepted_or_named(name, value):
    call, fits = ARGUMENTS[name]
    found = outcome(lambda: call(value), name.split()[0][:9], repr(value))
    assert (found is not REFUSED) == fits(value), found


@fuzzed(100)
@given(chosen(SETTINGS), ANYTHING)
def test_settings_of_another_type_are_refused(name, value):
    fits, _ = SETTINGS[name]
    given = {"k": 2, "slices": 2, "threads": 1, name: value}
    found = outcome(lambda: Estimator(**given).estimate(X, Y), name, repr(value))
    assert (found is not REFUSED) == fits(value), found


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, (_, vs) in SETTINGS.items() for v in vs])
def test_valid_settings_are_accepted(name, value):
    given = {"threads": 1, "k": 2, "slices": 2, name: value}
    check_estimate(Estimator(**given).estimate(X, Y), X, Y)
    check_estimate(estimate(X, Y, **given), X, Y)
