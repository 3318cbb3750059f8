"""Key states of random hands that carry things: what must not matter does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import chosen, fuzzed
from hands import RATE, carrying
from infoatlas_tools import Trajectories, discover_keystates

pytestmark = pytest.mark.filterwarnings("error")
MOVES = [("a", "b"), ("c", "d")]


def recorded(seed, number, moves, with_gripper):
    """States and names, with a gripper that closes before each thing is taken, and opens after."""
    states, names, cuts = carrying(number, moves, seed=seed)
    if with_gripper:
        for i, (own, marks) in enumerate(zip(states, cuts, strict=True)):
            opening = np.ones(len(own) + 2)
            for first, last in marks.reshape(-1, 2):
                opening[first - 2 : last + 2] = 0
            states[i] = np.c_[own, np.convolve(opening, [0.2, 0.6, 0.2], "valid")]
        names = (*names, "gripper.pos")
    return states, names


def steps(states, names, count):
    """Steps of each name."""
    found = discover_keystates(Trajectories(states, names=names, rate=RATE), count=count)
    assert len(set(found.found.names)) == found.steps.shape[1]
    for row in found.steps:
        assert (
            len(set(row.compressed().tolist())) == row.count() <= (8 if count == "auto" else count)
        )
    return {found.name(j): found.steps[:, j].filled(-1).tolist() for j in range(len(found.kind))}


@fuzzed(8)
@given(
    st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 2), st.booleans(),
    chosen((1, 3, 5, "auto")), chosen(("order", "columns", "units", "prefix", "constant", "place")),
)  # fmt: skip
def test_what_does_not_matter(seed, number, moves, with_gripper, count, change):
    states, names = recorded(seed, number, MOVES[:moves], with_gripper)
    expected = steps(states, names, count)
    rng, bodies = np.random.default_rng(seed), len(states[0][0]) // 7
    places = np.arange(7 * bodies) % 7 < 3
    other = np.zeros(len(names) - 7 * bodies)
    if change == "order":
        order = rng.permutation(number)
        states = [states[i] for i in order]
        expected = {name: [own[i] for i in order] for name, own in expected.items()}
    elif change == "columns":
        columns = [7 * b + c for b in rng.permutation(bodies) for c in range(7)]
        columns += range(7 * bodies, len(names))
        states, names = [s[:, columns] for s in states], [names[c] for c in columns]
    elif change == "units":
        states = [s * np.r_[np.where(places, 1024.0, 1), other + 64] for s in states]
    elif change == "prefix":
        names = [f"observation.state.{name}" for name in names]
    elif change == "constant":
        states, names = [np.c_[s, np.full(len(s), 3.0)] for s in states], [*names, "lamp.x"]
    else:
        states = [s + np.r_[4.0 * places, other] for s in states]
    assert steps(states, names, count) == expected
