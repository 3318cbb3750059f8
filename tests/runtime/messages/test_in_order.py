"""Messages of a running robot that arrive in another order than that of their stamps."""

import numpy as np
import pytest

from infoatlas_rt.messages.in_order import LiveOrder
from infoatlas_rt.messages.receiver import Sample

STEP = 0.01


def released(arrivals, step=STEP):
    """Numbers of the messages released with each arrival, and of those put in order."""
    order = LiveOrder(1.0)
    samples = [Sample(0, 1.7e9 + i * step, np.zeros(0), "", header=i) for i in arrivals]
    return [[s.header for s in order.push(sample)] for sample in samples], order.moved[0]


@pytest.mark.parametrize("lost", [(), (20, 21, 40, 60)])
def test_messages_in_order_are_never_delayed(lost):
    arrivals = [i for i in range(80) if i not in lost]
    assert released(arrivals) == ([[i] for i in arrivals], 0)


def test_swapped_messages_are_put_in_order_after_the_first_pair():
    arrivals = [*range(20), 21, 20, *range(22, 40), 41, 40, *range(42, 50)]
    found, moved = released(arrivals)
    assert found[:40] == [[i] for i in arrivals[:40]]  # 20 came too late
    assert found[40:42] == [[], [40, 41]] and found[42:] == [[i] for i in range(42, 50)]
    assert moved == 1


def test_all_pairs_swapped():
    found, moved = released(np.arange(80).reshape(-1, 2)[:, ::-1].ravel().tolist())
    assert [i for batch in found[20:] for i in batch] == [*range(20, 80)] and moved >= 30


def test_a_message_after_a_hole_waits_for_one_more():
    found, moved = released([*range(20), 21, 20, *range(22, 40), *range(45, 50)])
    assert found[40:43] == [[], [45, 46], [47]] and moved == 0


def test_a_restart_releases_what_is_held():
    order = LiveOrder(1.0)
    for i in [*range(20), 21, 20, *range(22, 40)]:
        order.push(Sample(0, 1e9 + i * STEP, np.zeros(0), ""))
    held = Sample(0, 1e9 + 0.5, np.zeros(0), "")
    assert order.push(held) == []
    again = Sample(0, 1e9 - 5.0, np.zeros(0), "")
    assert order.push(again) == [held, again]
    order.forget()
    assert order.push(held) == [held]
