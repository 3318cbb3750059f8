"""The comparison of read data sets detects faults."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from calls import Wrong
from readers import judge
from written import EITHER, READ, REFUSED, Found, Written

from infoatlas_rt import InputError

A, B = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2)
NAMES = ("q", "v")


def outcome(found, folder, **expected):
    def load(path):
        if isinstance(found, Exception):
            raise found
        return found

    case = Written(folder, {"a": A, "b": B}, load=load, names=NAMES, rate=20.0, **expected)
    return judge(case, folder)


def test_recorded_data_is_accepted(tmp_path):
    assert outcome(Found({"a": A, "b": B}, NAMES, 20.0, ()), tmp_path) == "ok"
    swapped = Found({"a": A[:, ::-1], "b": B[:, ::-1]}, ("v", "q"), 20.0, ())
    assert outcome(swapped, tmp_path, in_order=False) == "ok"
    left_out = Found({"b": B}, NAMES, 20.0, ("a left out",))
    assert outcome(left_out, tmp_path, left_out={"a"}) == "ok"
    assert outcome(Found({"0": B[1::2]}, NAMES, 20.0, ()), tmp_path, holes=True) == "ok"
    refusal = InputError(f"{tmp_path}: no")
    assert outcome(refusal, tmp_path, outcome=REFUSED) == "refused"
    assert outcome(refusal, tmp_path, outcome=EITHER) == "refused"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Found({"a": A, "b": B + 1}, NAMES, 20.0, ()), {}),
        (Found({"b": B, "a": A}, NAMES, 20.0, ()), {}),
        (Found({"a": np.vstack([A, B])}, NAMES, 20.0, ()), {}),
        (Found({"a": A, "b": B}, ("v", "q"), 20.0, ()), {}),
        (Found({"a": A[:, ::-1], "b": B}, ("v", "q"), 20.0, ()), {"in_order": False}),
        (Found({"a": A, "b": B}, NAMES, 50.0, ()), {}),
        (Found({"b": B}, NAMES, 20.0, ("a left out",)), {}),
        (Found({"b": B}, NAMES, 20.0, ()), {"outcome": EITHER, "left_out": None}),
        (Found({"a": A, "b": B}, NAMES, 20.0, ()), {"outcome": REFUSED}),
        (Found({"0": B[::-1]}, NAMES, 20.0, ()), {"holes": True}),
        (Found({"0": np.vstack([A, B])}, NAMES, 20.0, ()), {"holes": True}),
        (InputError("no"), {"outcome": EITHER}),
        (InputError("/tmp: no"), {"outcome": READ}),
    ],
)
def test_wrong_data_is_detected(tmp_path, found, expected):
    with pytest.raises(Wrong):
        outcome(found, tmp_path, **expected)
