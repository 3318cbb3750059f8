"""One recording of several real executions, with rests and smooth returns between them."""

from pathlib import Path

import numpy as np

from infoatlas_tools import Trajectories, load_trajectories

RATE = 20.0
STACK = Path(__file__).parents[1] / "examples/data/stack"


def recording(count=5, rest=2.0, last=1.0, retried=None):
    """A recording of demonstrations of stack, and the starts and ends [N, 2] in it.

    The `last` share of the last one is there; the gripper of the one that is `retried` closes and
    opens once more. Rests are half before and half after a return.
    """
    demos = load_trajectories(STACK)
    parts = [np.asarray(own, np.float64) for own in demos.split()[:count]]
    parts[-1] = parts[-1][: round(last * len(parts[-1]))]
    if retried is not None:
        own = parts[retried]
        closed = int((own[:, -1] < own[:, -1].mean()).argmax())
        way = own[closed - 30 : closed + 15]
        parts[retried] = np.concatenate([own[: closed + 15], way[::-1], own[closed - 30 :]])
    share = (1 - np.cos(np.linspace(0, np.pi, 40)))[:, None] / 2
    rows, truth, still = [parts[0]], [(0, len(parts[0]))], np.ones((round(rest * RATE / 2), 1))
    for own in parts[1:]:
        end = rows[-1][-1]
        rows += [still * end, end + (own[0] - end) * share, still * own[0]]
        at = sum(map(len, rows))
        truth.append((at, at + len(own)))
        rows.append(own)
    states = np.concatenate(rows)
    states += np.random.default_rng(0).normal(0, 0.002, states.shape) * np.ptp(states, axis=0)
    return Trajectories([states], names=demos.names, rate=RATE), np.array(truth)
