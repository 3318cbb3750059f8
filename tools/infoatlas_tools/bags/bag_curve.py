"""The curve of a bag: the estimates of a stream of its messages."""

import csv
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError, OutputError
from infoatlas_rt.estimation.result import FLAGS, Estimate
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver, Sample
from infoatlas_rt.messages.stream import Output, Stream
from infoatlas_rt.streams.events import Event
from infoatlas_rt.streams.extrema import Extremum, ExtremumDetector

from ..presentation import nulls
from .part_samples import Part, PartSamples, far_partners
from .states import Bag, shorten

KEPT = 1000  # states of a topic that are kept for a picture; sometimes up to twice as many
ESTIMATES = 1500  # of a recording by default, at most: as many as a picture can show
SURVEYED = 500  # messages from which their interval is estimated
COLUMNS = ("stamp", "mi", "stderr", "noise", "local", "fill", *FLAGS, "at_least")  # of an estimate


class StreamTopic(NamedTuple):
    """A topic of a stream: the type of its messages, the fields that are read, and their names."""

    name: str
    type: str
    fields: Sequence[str]
    coordinates: Sequence[str]


@dataclass(frozen=True, eq=False)
class StreamCurve:
    """The T estimates of a bag, and the detections in them.

    `mi`, `stderr`, `noise` and `local` are in nats, as in `Estimate` and `WindowEstimate`.
    """

    data: str  # path of the bag
    topics: list[StreamTopic]  # one or two
    # Of the window, the detector of extrema and the stream, by name; JSON-safe. At least "lag",
    # "lag_seconds", "history", "window", "reset_after", "z" and "delay".
    settings: dict[str, Any]

    stamp: NDArray[np.float64]  # [T], of the newest state of each window, seconds
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    noise: NDArray[np.float64]
    local: NDArray[np.float64]
    fill: NDArray[np.float64]  # [T], pairs in the window as a share of its steps
    saturated: NDArray[np.bool_]
    atoms: NDArray[np.int64]
    heavy_tails: NDArray[np.bool_]
    at_least: NDArray[np.float64]  # NaN if there is no bound
    # In order of time; `index` and `detected_at` are numbers of the detector's estimates.
    extrema: list[Extremum]
    start: float  # first stamp, seconds
    # Of each topic: stamps [m] and states [m, d], thinned out, for a picture.
    states: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    how: str  # estimator and settings, one line
    counts: dict[str, int] = field(default_factory=dict)  # messages, by what became of them
    notices: list[str] = field(default_factory=list)  # sentences about changes, as of the joints
    events: list[Event] = field(default_factory=list)  # of couplings, in order of time
    # [2, M], stamps and mutual information of the motions of two topics, for couplings.
    motions: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 0)))
    lags: dict[str, Any] | None = None  # of two topics: the result of `scan_lags`

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values without the states; motions, events and lags only for two topics."""
        found = {
            "data": self.data,
            "topics": [topic._asdict() for topic in self.topics],
            **self.settings,
            "counts": self.counts,
            "how": self.how,
            "notices": self.notices,
            "start": self.start,
            "curve": {name: nulls(getattr(self, name)) for name in COLUMNS},
            "extrema": [asdict(extremum) for extremum in self.extrema],
        }
        if len(self.topics) == 2:
            stamps, mi = self.motions
            found["motions"] = {"stamp": stamps.tolist(), "mi": mi.tolist()}
            found["events"] = [event.to_dict() for event in self.events]
            found["lags"] = self.lags
        return found

    def write_csv(self, target: str | Path) -> None:
        """Write a row for each estimate, extremum and coupling, in order of time."""
        values = zip(*(nulls(getattr(self, name)) for name in COLUMNS), strict=True)
        rows: list[dict[str, Any]] = [
            {"kind": "estimate", **dict(zip(COLUMNS, own, strict=True))} for own in values
        ]
        detections: list[Extremum | Event] = [*self.extrema, *self.events]
        for found in detections:
            at = found.detected_stamp
            reported = None if at is None else round(at - self.start, 6)
            own = {"kind": found.kind, "stamp": found.stamp, "mi": found.value, "z": found.z}
            rows.append(own | {"reported": reported})
        rows.sort(key=lambda row: float(row["stamp"]))
        try:
            with Path(target).open("w", newline="", encoding="utf-8") as file:
                names = ("seconds", "kind", *COLUMNS[1:], "z", "reported", "stamp")
                writer = csv.DictWriter(file, names)
                writer.writeheader()
                for row in rows:
                    writer.writerow(row | {"seconds": round(row["stamp"] - self.start, 6)})
        except OSError as error:
            raise OutputError(f"{target} cannot be written ({error})") from error


def survey(bag: Bag, topic: str, extractor: Extractor) -> tuple[float | None, float]:
    """Median seconds between the first states of a topic, and the number of its states.

    The seconds are None if the stamps do not show them. The number is that of messages times the
    share of the first ones that have a state; others may be those of another body.
    """
    receiver = Receiver(extractor)
    bag.anchor(topic, receiver)
    messages = islice(bag.messages(topic), SURVEYED)
    samples = [receiver.receive(message, received) for _, received, message in messages]
    receiver.forget()
    own = [sample.stamp for sample in samples if not sample.skip and sample.stamp is not None]
    steps = np.diff(own)
    steps = steps[steps > 0]  # without bad stamps and restarts of the recording
    share = len(own) / max(len(samples), 1)
    return float(np.median(steps)) if steps.size else None, share * bag.topics[topic].messages


def choose_grid(states: float, step: float | None, part: Part, detector: ExtremumDetector) -> float:
    """The grid for the estimates of a recording, seconds; 0 for an estimate of each state.

    Up to 1,500 states have an estimate each. Otherwise there are 1,500 evenly spaced estimates,
    including those for the detector. If the detector would need more, it is coarsened to half as
    many (one in each tenth of its delay), and the curve has the same ones. `states` and `step` are
    results of `survey`.
    """
    if step is None:
        return 0.0
    seconds = min(max(states * step - part.start, step), part.end - part.start)
    if seconds / step <= ESTIMATES:
        return 0.0
    parts = int(ESTIMATES * detector.period / seconds)
    if parts < 1:
        detector.coarsen()
    return detector.period / max(parts, 1)


def read(
    bag: Bag,
    topics: Sequence[str],
    receivers: Sequence[Receiver],
    stream: Stream,
    progress: Callable[[float], None] | None = None,
    *,
    part: Part | None = None,
) -> StreamCurve:
    """Feed a bag to a stream, as the node would receive it.

    A message is dated by the stamp in its header, or otherwise by its arrival. There is a receiver
    for each of one or two topics. `progress` is called with the completed share, 0 to 1. Messages
    outside `part` are skipped, as if the recording did not have them.
    """
    samples = PartSamples(bag, topics, receivers, part, progress)
    found = _Found(topics, [receiver.extractor for receiver in receivers])
    for sample in samples:
        found.add(sample, samples.start)
        for output in stream.take(sample):
            found.add_output(output)
        latest = None if stream.coupling is None else stream.coupling.latest
        if latest is not None and (not found.motions or found.motions[-1][0] != latest.stamp):
            found.motions.append((latest.stamp, latest.estimate.mi))
    far = far_partners(topics, found.stamps, stream.sync.tolerance) if stream.sync else ""
    one = found.estimate
    if one is None:
        far = far or (found.bad if not stream.counts["accepted"] else "")
        where = f"{bag.path} gave no estimate of {' and '.join(topics)}"
        raise InputError(f"{where}: {_why_no_estimate(stream, samples.part, found.fault, far)}")
    notices = [*bag.notices, *found.notices, *[far] * bool(far)]
    slices = "unsliced" if one.k is None else f"{one.slices} slices of {one.k} dimensions"
    columns = dict(zip(COLUMNS, np.array(found.rows, np.float64).T, strict=True))
    kinds = {"saturated": bool, "atoms": np.int64, "heavy_tails": bool}
    columns |= {name: columns[name].astype(kind) for name, kind in kinds.items()}
    read_by = [receiver.extractor for receiver in receivers]
    return StreamCurve(
        data=str(bag.path),
        topics=[
            StreamTopic(name, bag.topics[name].type, own.fields, own.names)
            for name, own in zip(topics, read_by, strict=True)
        ],
        settings=_settings(stream) | {"part": asdict(samples.part)},
        **columns,
        extrema=sorted(found.extrema, key=lambda extremum: extremum.stamp),
        start=samples.start,
        states=[some.stacked() for some in found.kept],
        how=f"{slices}, model {one.model} on {one.provider}, seed {one.seed}",
        counts=stream.counts,
        notices=notices + samples.notices(),
        events=found.events,
        motions=np.array(found.motions).reshape(-1, 2).T,
    )


class _Found:
    """What a stream gives, sample by sample."""

    def __init__(self, topics: Sequence[str], extractors: Sequence[Extractor]) -> None:
        self.extractors = extractors
        self.kept = [_Thinned() for _ in topics]
        self.stamps = [array("d") for _ in topics]  # of states
        self.rows: list[tuple[float, ...]] = []  # values of COLUMNS
        self.extrema: list[Extremum] = []
        self.events: list[Event] = []
        self.motions: list[tuple[float, float]] = []
        self.notices: list[str] = []
        self.fault = ""  # of the first message without a state
        self.bad = ""  # text about coordinates that are NaN
        self.estimate: Estimate | None = None  # the last one that is shown

    def add(self, sample: Sample, start: float) -> None:
        assert sample.stamp is not None
        self.fault = self.fault or ("" if sample.skip else sample.fault)
        if sample.notice:
            self.notices.append(f"at {sample.stamp - start:.2f} s: {sample.notice}")
        self.kept[sample.side].add(sample)
        if not sample.fault:
            self.stamps[sample.side].append(sample.stamp)
            if not self.bad and not np.isfinite(sample.state).all():
                names = self.extractors[sample.side].names
                bad = [names[c] for c in np.flatnonzero(~np.isfinite(sample.state))]
                self.bad = f"{shorten(bad)} is NaN: choose others with --field or --joints"

    def add_output(self, output: Output) -> None:
        self.extrema += output.extrema
        self.events += output.events
        found = output.estimate
        if found is not None and output.shown:
            one = self.estimate = found.estimate
            flags = (getattr(one, name) for name in (*FLAGS, "at_least"))
            values = one.mi, one.stderr, one.noise, found.local, found.fill
            self.rows.append((found.stamp, *values, *flags))


def _settings(stream: Stream) -> dict[str, Any]:
    """Settings of the window, the detector and the stream, JSON-safe."""
    window, detector = stream.window, stream.detector
    found = {
        "lag": window.lag,
        "lag_seconds": window.lag_seconds,
        "history": window.history,
        "window": window.length,
        "every": window.every,
        "reset_after": window.reset_after,
        "z": detector.z,
        "delay": detector.delay,
        "rate_limit": stream.rate_limit,
        "grid": stream.grid or None,
        "extremum_grid": detector.period,
    }
    if stream.sync is not None:
        found["sync_tolerance"] = stream.sync.tolerance
    return found


def fates(counts: Mapping[str, int], tolerance: float | None) -> str:
    """Numbers of messages by what became of them; of pairs within `tolerance`, s, of two topics."""
    left, words = dict(counts), []
    if tolerance is not None:
        pairs, alone, used = (left.pop(key) for key in ("paired", "unpaired", "accepted"))
        words = [f"{pairs} pairs"] + [f"{used} of them used"] * (used < pairs)
        words += [f"{alone} without a partner within {tolerance:g} s (--sync-tolerance)"]
    return ", ".join([*words, *(f"{n} {kind}" for kind, n in left.items() if n)])


def _why_no_estimate(stream: Stream, part: Part, fault: str, far: str) -> str:
    """Why a bag gave no estimate; `far` is the reason if it is known."""
    # The last message may have no partner, and the window misses pairs.
    reason = stream.window.reason if stream.counts["accepted"] else stream.reason
    hint = ": try a shorter window" if reason.startswith("filling") else ""
    if hint and part.duration is not None:
        hint += ", or a longer duration"
    # "ok" or "degenerate" is an estimate that only the detector of extrema needed.
    if stream.counts["accepted"] and reason.startswith(("ok", "degenerate", "waiting")):
        reason, hint = f"fewer pairs than --every {stream.window.every}", ": choose less"
    if far:
        reason, hint = far, ""
    first = f". The first fault: {fault}" if fault else ""
    tolerance = None if stream.sync is None else stream.sync.tolerance
    return f"{reason}{hint}. Messages: {fates(stream.counts, tolerance)}{first}"


class _Thinned:
    """Stamps and states of a topic, at most 2 * KEPT, from samples at equal distances."""

    def __init__(self) -> None:
        self.seen, self._stride = 0, 1
        self._rows: list[Sample] = []

    def add(self, sample: Sample) -> None:
        if self.seen % self._stride == 0 and not sample.fault:
            self._rows.append(sample)
            if len(self._rows) > 2 * KEPT:
                self._rows, self._stride = self._rows[::2], 2 * self._stride
        self.seen += 1

    def stacked(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Those of the newest size; others are of another robot, before a restart."""
        same = [row for row in self._rows if len(row.state) == len(self._rows[-1].state)]
        return np.array([row.stamp for row in same]), np.array([row.state for row in same])
