"""Clocks of a bag: by how much one topic follows another, by stamps and by times of arrival."""

import os
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.camera_lag import WIDTH
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.streams.offsets import find_offset, motion

from ..array_types import Float
from ..cameras.images import resize
from .bag_images import image_of, image_topics
from .states import Bag

RATE = 30.0  # Hz of the grid of times, at most
FEWEST = 60  # messages of a topic, at least


class Track(NamedTuple):
    """The values of a topic over time: states [n, d], or small grey pictures [n, h, w]."""

    topic: str
    values: Float
    stamps: Float  # [n], s; those of arrival if the messages have none
    arrivals: Float


def bag_clocks(
    path: str | os.PathLike[str], progress: Callable[[float], object] = lambda share: None
) -> dict[str, Any]:
    """Offsets of all pairs of topics that move: images, and the usual fields of other messages.

    The result is JSON-safe. "pairs" has a dict for each pair of `topics`. Its lists "stamps" and
    "arrivals" have the offset of the second topic after the first, and both ends of its 90%
    interval, s. They are None if it is not known; `why` has the reason. "delays" has the median
    time from stamp to arrival, s, and "left_out" why other topics are not compared.
    InputError if fewer than two topics can be compared.
    """
    tracks, left_out = [], {}
    with Bag(path) as bag:
        for number, topic in enumerate(bag.topics):
            try:
                tracks.append(_track(bag, topic))
            except InputError as error:
                left_out[topic] = str(error)
            progress((number + 1) / len(bag.topics))
    if len(tracks) < 2:
        why = "; ".join(f"{topic}: {own}" for topic, own in left_out.items())
        raise InputError(f"{path} has fewer than two topics whose motions can be compared: {why}")
    pairs = []
    for first, second in combinations(tracks, 2):
        pair: dict[str, Any] = {"topics": [first.topic, second.topic], "why": ""}
        for name in ("stamps", "arrivals"):
            times = getattr(first, name), getattr(second, name)
            rate = min(RATE, *(len(own) / max(np.ptp(own), 1e-9) for own in times))
            begin, end = max(own[0] for own in times), min(own[-1] for own in times)
            ticks = np.arange(begin, end, 1 / rate)
            if len(ticks) < FEWEST:
                pair |= {name: None, "why": "they share too little time"}
                continue
            found = find_offset(
                [motion(first.values, times[0], ticks)],
                [motion(second.values, times[1], ticks)],
                rate,
            )
            steps = [found.steps, *found.interval]
            pair[name] = None if found.why else [float(value / rate) for value in steps]
            pair["why"] = pair["why"] or found.why
        pairs.append(pair)
    delays = {own.topic: float(np.median(own.arrivals - own.stamps)) for own in tracks}
    return {"pairs": pairs, "delays": delays, "left_out": left_out}


def _track(bag: Bag, topic: str) -> Track:
    """The values of a topic; InputError if it has none that move."""
    images = topic in image_topics(bag)
    if bag.topics[topic].messages < FEWEST:
        raise InputError(f"it has fewer than {FEWEST} messages")
    receiver = Receiver(bag.extractor(topic)) if not images else None
    values, stamps, arrivals = [], [], []
    for _, received, message in bag.messages(topic):
        if receiver is None:
            image = resize(image_of(message, f"{bag.path}: {topic}"), WIDTH)
            value = image.mean(axis=-1, dtype=np.float32)
            stamp = message.header.stamp.sec + message.header.stamp.nanosec / 1e9 or received
        else:
            sample = receiver.receive(message, received)
            if sample.skip or sample.fault or not np.isfinite(sample.state).all():
                continue
            value, stamp = sample.state, received if sample.stamp is None else sample.stamp
        values.append(value)
        stamps.append(stamp)
        arrivals.append(received)
    if len({each.shape for each in values}) != 1 or len(values) < FEWEST:
        raise InputError(f"fewer than {FEWEST} of its messages have the same coordinates")
    every = np.stack(values)
    if not np.ptp(every, axis=0).any():
        raise InputError("its values do not change")
    order = np.argsort(stamps, kind="stable")
    dated, received_at = np.array(stamps, float), np.array(arrivals, float)
    return Track(topic, every[order], dated[order], np.sort(received_at))
