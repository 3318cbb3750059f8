"""Reads a folder of bags, one for each demonstration, as trajectories."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.in_order import InOrder
from infoatlas_rt.messages.receiver import Receiver, Sample

from ..cameras.camera import Camera
from ..files.rates import rate_by, real_seconds, time_faults
from ..trajectories import Trajectories
from .bag_images import BagImages, check_camera
from .states import Bag, bags_in, shorten, undated_notice

LATE = 0.1  # seconds by which steps at an even rate may differ from the times of their messages
LOST = 10.0  # median intervals between messages: a longer one is a hole
RATES_APART = 0.2  # of the median: rates of demonstrations differ from it by at most so much


class _Demonstration(NamedTuple):
    """States of one bag, their times (seconds), and the messages that were skipped."""

    states: NDArray[np.float64]
    times: NDArray[np.float64]  # stamps, or else arrivals
    arrivals: NDArray[np.float64]
    names: tuple[str, ...]
    body: str
    passed: Counter[str]
    notices: list[str]


def load_demonstrations(
    path: str | os.PathLike[str],
    topic: str | None,
    fields: Sequence[str] | None = None,
    joints: Sequence[str] = (),
    camera: str | None = None,
) -> Trajectories:
    """Read one topic of every bag of a folder, or of one bag; each bag is a trajectory.

    As in a stream, messages of other joints and other bodies are skipped; `notes` gives their
    number. A message that cannot be used is an error, because a trajectory cannot have holes.
    `topic`, `fields` and `joints` are those of `Bag.extractor`. `camera` is a topic of images; a
    step has the one that arrived nearest in time.

    States are in the order of their stamps; a step is a message. Coordinates are ordered as in the
    first bag. Their rate (Hz) is 1 / mean interval between stamps, of all bags together; None
    if that interval is 0, or no bag has two messages. Episodes are the names of the bags.
    """
    found: dict[str, _Demonstration] = {}
    left_out: dict[str, list[str]] = {}
    paths = bags_in(path) or [Path(path)]
    for bag_path in paths:
        with _of(bag_path), Bag(bag_path) as bag:
            if topic is None:
                raise InputError(f"name the topic to read, with --topic. {bag.listing()}")
            if camera is not None:
                check_camera(bag, camera)
            own = _read(bag, topic, fields, joints)
            found[bag_path.name] = _like(own, next(iter(found.items()), None))
            for notice in bag.notices + own.notices:
                left_out.setdefault(notice, []).append(bag_path.name)
    notes = [f"{shorten(bags)}: {notice}." for notice, bags in left_out.items()]
    for fate in dict.fromkeys(fate for own in found.values() for fate in own.passed):
        counts = [
            f"{own.passed[fate]} in {name}" for name, own in found.items() if own.passed[fate]
        ]
        notes.append(f"Messages on {topic} passed over ({fate}): {shorten(counts)}.")
    lengths = np.array([len(own.states) for own in found.values()], np.int64)
    times = np.concatenate([own.times for own in found.values()])
    if faults := time_faults(times, lengths, tuple(found), LOST):
        notes.append(f"Times of messages on {topic}: {faults}.")
    try:
        rate = _common_rate({name: np.diff(own.times) for name, own in found.items()})
    except InputError as error:
        raise InputError(f"{path}, {topic}: {error}") from error
    away = {name: _away(own.times, rate) for name, own in found.items() if rate is not None}
    if late := [name for name, seconds in away.items() if seconds > LATE]:
        notes.append(
            f"{shorten(late)}: messages are lacking. Seconds are those of the stamps, and differ "
            f"from steps divided by the rate by up to {max(away.values()):.2g} s."
        )
    images = [
        BagImages(bag, camera, own.arrivals)
        for bag, own in zip(paths, found.values(), strict=True)
        if camera is not None
    ]
    return Trajectories(
        np.concatenate([own.states for own in found.values()]),
        lengths,
        next(iter(found.values())).names,
        rate,
        episodes=tuple(found),
        notes=tuple(notes),
        times=real_seconds(times, lengths, rate),
        camera=None if camera is None else Camera(camera, lengths, images),
    )


def _away(times: NDArray[np.float64], rate: float) -> float:
    """Largest difference of times from those at an even rate (Hz) since the first, s."""
    return float(np.abs(times - times[:1] - np.arange(len(times)) / rate).max(initial=0.0))


@contextmanager
def _of(path: Path) -> Iterator[None]:
    """Add the name of the bag to errors."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error


def _read(
    bag: Bag, topic: str, fields: Sequence[str] | None, joints: Sequence[str]
) -> _Demonstration:
    """States of one bag."""
    extractor = Extractor(fields, bag.schema(topic), joints)
    receiver = Receiver(extractor, reset_after=np.inf)  # a bag is one episode, of one robot
    order = InOrder(np.inf)
    samples: list[Sample] = []
    passed: Counter[str] = Counter()
    bag.anchor(topic, receiver)
    for number, (_, received, message) in enumerate(bag.messages(topic)):
        sample = receiver.receive(message, received)._replace(header=received)
        if sample.skip == "other bodies":
            raise bag.several(topic, extractor)
        if sample.skip:
            others = getattr(message, "name", ()) if sample.skip == "other joints" else ()
            names = f": {shorten(sorted(others))}" if len(others) else ""
            passed[f"{sample.skip}{names}"] += 1
            continue
        if sample.notice:
            raise InputError(
                f"from message {number} on, most messages on {topic} have other coordinates than "
                f"the first ({shorten(extractor.names)} now): choose those that all messages "
                "have, with --joints or --field"
            )
        why, bad = sample.fault, np.flatnonzero(~np.isfinite(sample.state))
        if not why and len(bad):
            why = f"{shorten([extractor.names[i] for i in bad])} is NaN or infinite"
        if why:
            raise InputError(
                f"message {number} on {topic} cannot be used, and a trajectory has no holes: "
                f"{why}. Choose other coordinates with --field or --joints, or leave this bag out"
            )
        samples += order.push(sample)
    samples += order.flush()
    if not samples:
        raise bag.nothing(topic, extractor)
    arrivals = np.array([sample.header for sample in samples])
    undated = sum(sample.arrived for sample in samples)
    notices = order.notices([topic])
    if undated < len(samples):
        notices += undated_notice(topic, undated, len(samples))
    return _Demonstration(
        np.stack([sample.state for sample in samples]),
        arrivals if undated == len(samples) else np.array([own.stamp for own in samples], float),
        arrivals,
        extractor.names,
        extractor.body,
        passed,
        notices,
    )


def _like(own: _Demonstration, first: tuple[str, _Demonstration] | None) -> _Demonstration:
    """A demonstration, with its coordinates in the order of the first one."""
    if first is None:
        return own
    name, usual = first
    lacks = [each for each in usual.names if each not in own.names]
    more = [each for each in own.names if each not in usual.names]
    if lacks or more:
        differences = [f"lacks {shorten(lacks)}"] * bool(lacks)
        differences += [f"has {shorten(more)}"] * bool(more)
        raise InputError(
            f"its states have {len(own.names)} coordinates and those of the first bag, {name}, "
            f"{len(usual.names)}; this one {' and '.join(differences)}: choose coordinates that "
            "both have, with --field or --joints"
        )
    if own.body != usual.body:
        raise InputError(
            f"its states are of {own.body}, those of the first bag, {name}, of {usual.body}: move "
            "it to another folder, or choose one body with --field (* as a value: all as one)"
        )
    order = [own.names.index(each) for each in usual.names]
    return own._replace(states=own.states[:, order], names=usual.names)


def _common_rate(intervals: dict[str, NDArray[np.float64]]) -> float | None:
    """Rate in Hz of demonstrations, by the seconds between their messages; None if unknown."""
    medians = {name: float(np.median(own)) for name, own in intervals.items() if len(own)}
    if not medians:
        return None
    every = np.concatenate(list(intervals.values()))
    median = float(np.median(every))
    if min(median, *medians.values()) <= 0:  # the clock is coarser than the messages
        return None
    others = [
        f"{name} has {1 / own:.4g} Hz"
        for name, own in medians.items()
        if abs(median / own - 1) > RATES_APART
    ]
    if others:
        raise InputError(
            f"demonstrations have different rates, and a step is a message: {1 / median:.4g} Hz is "
            f"their median, but {shorten(others)}. Record all at one rate, or move "
            "those bags to another folder"
        )
    return rate_by(every, len(medians))
