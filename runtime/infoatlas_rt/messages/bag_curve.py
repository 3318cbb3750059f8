"""The curve of a bag: all estimates of a stream that a bag is played into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..curves.extrema import Extremum
from ..errors import InputError
from ..estimation.result import Estimate
from ..streams.events import Event
from .bags import Bag
from .receiver import Receiver
from .stream import Stream

KEPT = 2000  # states of a topic that are kept for a picture


@dataclass(frozen=True, eq=False)
class StreamCurve:
    """The estimates of a bag, T of them, and what is detected in them.

    Attributes
    ----------
    stamp : [T] float64
        Seconds; of the newest state of each window.
    mi, stderr, noise, local : [T] float64
        Nats; as in `Estimate` and `WindowEstimate`.
    fill : [T] float64
        Pairs in the window as a share of its steps.
    saturated : [T] bool
    extrema : list of Extremum
        In order of time; `index` and `detected_at` are numbers of the detector's estimates.
    start : float
        First stamp, seconds.
    states : list of ([m] float64, [m, d] float64), one for each topic
        Stamps and states, thinned out, for a picture.
    names : list of tuple of str
        Names of the coordinates of each topic.
    how : str
        Estimator and settings, one line.
    notices : list of str
        What changed within the bag, such as the joints of the messages.
    events : list of Event
        Couplings of two topics, in order of time.
    motions : (stamp, mi) of [M] float64
        Of two topics: mutual information of their motions, from which couplings are detected.
    """

    stamp: NDArray[np.float64]
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    noise: NDArray[np.float64]
    local: NDArray[np.float64]
    fill: NDArray[np.float64]
    saturated: NDArray[np.bool_]
    extrema: list[Extremum]
    start: float
    states: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    names: list[tuple[str, ...]]
    how: str
    notices: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    motions: tuple[NDArray[np.float64], NDArray[np.float64]] = (np.zeros(0), np.zeros(0))


def read(
    bag: Bag,
    topics: Sequence[str],
    receivers: Sequence[Receiver],
    stream: Stream,
    progress: Callable[[float], None] | None = None,
) -> StreamCurve:
    """Play a bag into a stream, as the node would receive it.

    A message is dated by the stamp in its header, or else by its arrival. Memory holds the curve
    and one message.

    Parameters
    ----------
    bag : Bag
    topics : one or two str
    receivers : sequence of Receiver
        One for each topic.
    stream : Stream
        Of as many topics.
    progress : callable, optional
        Called with the share that is done, 0 to 1.

    Returns
    -------
    StreamCurve

    Raises
    ------
    InputError
        The bag is damaged, or has no estimate; the message gives the reason.
    """
    total = sum(bag.topics[topic].messages for topic in topics)
    strides = [-(-bag.topics[topic].messages // KEPT) for topic in topics]
    seen = [0] * len(topics)
    kept: list[list[tuple[float, NDArray[np.float64]]]] = [[] for _ in topics]
    rows: list[tuple[float, ...]] = []
    saturated: list[bool] = []
    extrema: list[Extremum] = []
    start = np.inf
    fault = ""
    notices = [*bag.notices]
    events: list[Event] = []
    motions: list[tuple[float, float]] = []
    estimate: Estimate | None = None
    for side, received, message in bag.messages(*topics):
        sample = receivers[side].receive(message, received)
        assert sample.stamp is not None
        start = min(start, sample.stamp)
        fault = fault or sample.fault
        if sample.notice:
            notices.append(f"at {sample.stamp - start:.2f} s: {sample.notice}")
        if seen[side] % strides[side] == 0 and not sample.fault:
            kept[side].append((sample.stamp, sample.state))
        seen[side] += 1
        for output in stream.take(sample):
            extrema += output.extrema
            events += output.events
            found = output.estimate
            if found is None or not output.shown:
                continue
            estimate = found.estimate
            errors = estimate.stderr, estimate.noise
            rows.append((found.stamp, estimate.mi, *errors, found.local, found.fill))
            saturated.append(estimate.saturated)
        newest = None if stream.coupling is None else stream.coupling.latest
        if newest is not None and (not motions or motions[-1][0] != newest.stamp):
            motions.append((newest.stamp, newest.estimate.mi))
        if progress is not None:
            progress(sum(seen) / total)
    if estimate is None:
        hint = ": try a shorter window" if stream.reason.startswith("filling") else ""
        fates = ", ".join(f"{n} {kind}" for kind, n in stream.counts.items() if n)
        raise InputError(
            f"{bag.path} gave no estimate of {' and '.join(topics)}: {stream.reason}{hint}. "
            f"Messages by fate: {fates}" + (f". The first fault: {fault}" if fault else "")
        )
    stamps, mi, stderr, noise, local, fill = np.array(rows).T
    slices = "unsliced"
    if estimate.k is not None:
        slices = f"{estimate.slices} slices of {estimate.k} dimensions"
    return StreamCurve(
        stamp=stamps,
        mi=mi,
        stderr=stderr,
        noise=noise,
        local=local,
        fill=fill,
        saturated=np.array(saturated),
        extrema=sorted(extrema, key=lambda extremum: extremum.stamp),
        start=start,
        states=[_stack(some) for some in kept],
        names=[receiver.extractor.names for receiver in receivers],
        how=f"{slices}, model {estimate.model} on {estimate.provider}, seed {estimate.seed}",
        notices=notices,
        events=events,
        motions=(np.array([at for at, _ in motions]), np.array([mi for _, mi in motions])),
    )


def _stack(
    some: Sequence[tuple[float, NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stamps and states; those of another size (another robot, before a restart) are left out."""
    alike = [row for row in some if len(row[1]) == len(some[-1][1])]
    return np.array([stamp for stamp, _ in alike]), np.array([state for _, state in alike])
