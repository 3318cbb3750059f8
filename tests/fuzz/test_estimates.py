"""Samples of any kind: equal data gives equal estimates, and invalid data is refused."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import ESTIMATOR, REFUSED, SLICED, check_estimate, chosen, fuzzed, outcome
from fuzz.samples import BROKEN, FORMS, LARGE, pairs, unusual
from infoatlas_rt import estimate
from infoatlas_tools import independence_test

pytestmark = pytest.mark.filterwarnings("error")


def unchanged(before, after):
    np.testing.assert_array_equal(np.asarray(before, object), np.asarray(after, object))


@fuzzed(80)
@given(pairs(), chosen(LARGE), chosen(LARGE), st.booleans())
def test_other_forms_of_samples_have_the_same_estimate(sides, as_x, as_y, time_series):
    x, y = sides
    expected = ESTIMATOR.estimate(x, y, time_series=time_series)
    check_estimate(expected, x, y)
    forms = LARGE[as_x](x), LARGE[as_y](y)
    before = copy.deepcopy(forms)
    found = ESTIMATOR.estimate(*forms, time_series=time_series)
    assert found.mi == pytest.approx(expected.mi, abs=1e-6)
    unchanged(before[0], forms[0])
    unchanged(before[1], forms[1])


@fuzzed(30)
@given(pairs(least=2), chosen(FORMS), chosen(FORMS), chosen([copy.copy, copy.deepcopy, pickle]))
def test_slices_do_not_depend_on_the_form_or_the_copy(sides, as_x, as_y, again):
    x, y = sides
    expected = SLICED.estimate(x, y)
    other = pickle.loads(pickle.dumps(SLICED)) if again is pickle else again(SLICED)
    found = other.estimate(FORMS[as_x](x), FORMS[as_y](y))
    assert found.mi == pytest.approx(expected.mi, abs=1e-6)


@fuzzed(100)
@given(pairs(), chosen(BROKEN), st.integers(0, 31), st.booleans(), st.integers(0, 3))
def test_invalid_samples_are_refused(sides, name, row, first, which):
    x, y = sides
    bad = BROKEN[name](x, row)
    given = (bad, y) if first else (y, bad)
    calls = (
        lambda: ESTIMATOR.estimate(*given),
        lambda: SLICED.estimate(*given),
        lambda: independence_test(*given, ESTIMATOR, permutations=2),
        lambda: estimate(*given, threads=1),
    )
    assert outcome(calls[which]) is REFUSED


@fuzzed(100)
@given(st.data(), st.integers(32, 150), st.booleans(), st.booleans())
def test_unusual_samples_keep_the_contract(data, n, same, time_series):
    x = data.draw(unusual(n))
    y = x.copy() if same else data.draw(unusual(n))
    estimator = SLICED if min(x.shape[1], y.shape[1]) > 1 else ESTIMATOR
    found = estimator.estimate(x, y, time_series=time_series)
    check_estimate(found, x, y)
    again = estimator.estimate(x.copy(), y.copy(), time_series=time_series)
    assert again.to_dict(True) == found.to_dict(True)
