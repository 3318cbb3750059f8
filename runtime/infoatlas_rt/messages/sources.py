"""Detects states of one topic that come from two sources in turn, by stamps and states alone.

The ROS 2 node separates publishers by their ids if the middleware reports them. A recording, a
bridge and a relay have one publisher for two robots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 32  # messages that are evaluated together: fewer than the smallest window
WIDEST = 100  # coordinates of a state that are evaluated, at most
BACK = 12  # stamps of a block that are older than the one before, at least
SWITCHES = 12  # between two places, at least: single robots also go back and forth sometimes
JUMPING = 1.2  # times the squared deviations from the mean: squared steps of a jumping coordinate
FEWEST = 8  # states of a block at each place, at least
MOST = 0.9  # of the states or steps of a block: share that a criterion needs
SHARE = 1 / 3  # of the varying coordinates: share in which the places are apart
FLIP = 0.3  # of the distance of two places: their middle is nearer to 0 if a sign flips
FAR = 4.0  # times the median step of one source: distance of two places, at least
PATH = 4.0  # times that step: motion of a source within a block, more than noise
UNEVEN = 0.2  # difference of the durations of steps to a place and back, relative to their sum
OWN = 0.4  # share of the motion of two sources that is neither common nor mirrored
LARGEST = 1e100

_WAYS_OUT = (
    "give each source a topic of its own, or names (joints, header.frame_id) by which one is chosen"
)


class Sources:
    """Searches for two sources in the states of a topic, block by block of messages.

    Attributes
    ----------
    fault : str
        Why states are refused; empty while they are of one source. After two sources were found, it
        remains until a block is of one robot in motion.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Assume that the next messages are of one source."""
        self.fault = ""
        self._stamps: list[float] = []
        self._states: list[NDArray[np.float64]] = []

    def add(self, stamp: float | None, state: NDArray[np.float64]) -> bool:
        """Take a state; return whether the judgement has changed.

        Parameters
        ----------
        stamp : float or None
            Seconds.
        state : [d]
            Stored without a copy for a block: do not write to it later.
        """
        states = self._states
        states.append(state)
        self._stamps.append(np.nan if stamp is None else stamp)
        if len(states) < BLOCK:
            return False
        stamps, before = np.array(self._stamps), self.fault
        self._stamps, self._states = [], []
        if len({len(each) for each in states}) == 1:
            every = 1 + len(state) // WIDEST
            found = self._judge(stamps, np.array([each[::every] for each in states]))
            self.fault = found and (before or found)  # the first reason is kept
        return bool(self.fault) != bool(before)

    def _judge(self, stamps: NDArray[np.float64], states: NDArray[np.float64]) -> str:
        if turns_back(stamps):
            return (
                "messages of two sources alternate on this topic: their stamps go to and fro, and "
                f"those of each ascend; {_WAYS_OUT}"
            )
        # A driver may alternate with zeros (1 is w of an unset orientation), which are no source.
        constant = (states == states[0]).all(0)
        unset = ((states == 0) | (states == 1) | constant).all(1)
        usable = (np.abs(states) <= LARGEST).all(1) & ~unset
        if not usable.all():
            stamps, states = stamps[usable], states[usable]
        if len(states) < 2 * FEWEST:
            return self.fault
        places = Places.of(states)
        if places is None:  # two sources may also be close to each other
            return "" if self.fault and moves_alone(states) else self.fault
        if places.uneven(stamps) or places.move():
            return (
                "messages of two sources alternate on this topic: states jump to and fro between "
                f"two places, {places.switches} times in {BLOCK} messages, much farther than each "
                f"source moves; {_WAYS_OUT}"
            )
        return self.fault


def turns_back(stamps: NDArray[np.float64]) -> bool:
    """Whether stamps [n] go back and forth, as those of two sources whose own stamps ascend."""
    if np.count_nonzero(stamps[1:] < stamps[:-1]) < BACK:
        return False
    older = stamps[stamps < np.maximum.accumulate(stamps)]
    return bool(np.count_nonzero(older[1:] > older[:-1]) >= MOST * (len(older) - 1))


def moves_alone(states: NDArray[np.float64]) -> bool:
    """Whether states [n, d] are of one robot in motion: two steps are longer than one."""
    one, two = states[1:] - states[:-1], states[2:] - states[:-2]
    one, two = np.einsum("ij,ij->j", one, one), np.einsum("ij,ij->j", two, two)
    moving = one > 0
    return bool(2 * np.count_nonzero(two > 2 * one) > np.count_nonzero(moving))


class Places:
    """Two places between which the states of a block jump.

    Parameters
    ----------
    states : [n, d]
        Only coordinates in which the places are apart.
    first : [n] bool
        Whether a state is at the first place.
    step : [d]
        Median step within a place.
    """

    def __init__(
        self, states: NDArray[np.float64], first: NDArray[np.bool_], step: NDArray[np.float64]
    ) -> None:
        self.first, self._step = first, step
        self.switches = int(np.count_nonzero(first[1:] != first[:-1]))
        # For each state, the newest states at both places.
        order = np.arange(len(first))
        newest = [np.maximum.accumulate(np.where(at, order, -1)) for at in (first, ~first)]
        both = np.minimum(*newest) >= 0
        self._paths = [states[each[both]] for each in newest]

    @classmethod
    def of(cls, states: NDArray[np.float64]) -> Places | None:
        """The places of states [n, d]; None unless nearly all of them are at one of two."""
        n = len(states)
        x = states - states.sum(0) / n
        steps = x[1:] - x[:-1]
        squares = np.einsum("ij,ij->j", x, x)
        # Coordinates of states that jump at least SWITCHES times; steps of motion are small for its
        # range.
        jumping = np.einsum("ij,ij->j", steps, steps) > JUMPING * squares
        if np.count_nonzero(jumping) < 2:
            return None
        varying = squares > 0
        states, scale = states[:, varying], np.sqrt(squares[varying] / n)
        x, steps = x[:, varying] / scale, steps[:, varying] / scale
        longest = int(np.einsum("ij,ij->i", steps, steps).argmax())
        first = (x - (x[longest] + x[longest + 1]) / 2) @ steps[longest] > 0
        for _ in range(2):
            k = np.count_nonzero(first)
            mean = first @ x / k  # of the first place; k times it and n - k times the other are 0
            along = x @ mean / (mean @ mean) * (n - k) / n - (n - 2 * k) / (2 * n)
            first = along > 0
        near = np.abs(np.abs(along) - 0.5) <= 0.25
        if (
            np.count_nonzero(near) < MOST * n
            or not FEWEST <= np.count_nonzero(first) <= n - FEWEST
            or np.count_nonzero(first[1:] != first[:-1]) < SWITCHES
        ):
            return None
        own = np.concatenate([np.diff(states[first], axis=0), np.diff(states[~first], axis=0)])
        step = np.median(np.abs(own), axis=0)
        a, b = states[first].mean(0), states[~first].mean(0)
        # A single robot has flips of the sign of quaternions, and of half a turn in wrapped angles.
        flips = np.abs(a + b) < FLIP * np.abs(a - b)
        apart = (np.abs(a - b) > FAR * step) & ~flips
        if np.count_nonzero(apart) < max(2, SHARE * len(apart)):
            return None
        return cls(states[:, apart], first, step[apart])

    def uneven(self, stamps: NDArray[np.float64]) -> bool:
        """Whether steps to a place and back differ in duration, unlike those of an oscillation."""
        took, first = np.diff(stamps), self.first
        to = took[first[1:] & ~first[:-1]]
        back = took[~first[1:] & first[:-1]]
        means = np.median(to), np.median(back)
        return bool(abs(means[0] - means[1]) > UNEVEN * (means[0] + means[1]))

    def move(self) -> bool:
        """Whether the sources move, and independently."""
        scale = np.where(self._step > 0, self._step, 1.0)
        u, v = (path / scale for path in self._paths)
        if all(((path[-1] - path[0]) ** 2).sum() < PATH**2 * len(scale) for path in (u, v)):
            return False
        u, v = u - u.mean(0), v - v.mean(0)
        return bool(abs((u * v).sum()) * 2 < (1 - OWN) * ((u * u).sum() + (v * v).sum()))
