"""ROS bags (folders, .mcap and .db3 files), read message by message without ROS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .coupling import CouplingEvent
from .data import check_regular
from .errors import InputError
from .extrema import KeyState
from .result import Estimate
from .schema import Schema
from .stream import Stream
from .truncated import copy_intact

SUFFIXES = (".mcap", ".db3", ".bag")
_KEPT = 2000  # states of a topic that are kept for a picture


def is_bag(path: str | os.PathLike[str]) -> bool:
    """Whether a path is read as a bag: a folder, or a file with a bag's ending."""
    return Path(path).is_dir() or Path(path).suffix in SUFFIXES


class Topic(NamedTuple):
    """A topic of a bag: the type of its messages, and how many of them."""

    type: str
    messages: int


class Bag:
    """A bag, open for reading; closed at the end of `with`.

    Parameters
    ----------
    path : path
    partial : bool
        Read the intact part of an .mcap file that was cut off; takes a copy of it in the folder
        for temporary files.

    Attributes
    ----------
    path : Path
    topics : dict of Topic
    notices : list of str
        What was left out.

    Raises
    ------
    InputError
        rosbags is not installed; or the bag is missing, damaged, empty or of another kind.
    """

    def __init__(self, path: str | os.PathLike[str], *, partial: bool = False) -> None:
        try:
            import rosbags.highlevel  # noqa: F401
        except ImportError as error:
            raise InputError(
                "reading a bag needs rosbags: pip install 'infoatlas-rt[bags]'"
            ) from error
        self.path = Path(path)
        check_regular(self.path)
        files = [file for end in SUFFIXES for file in sorted(self.path.glob(f"*{end}"))]
        if self.path.is_dir() and not (self.path / "metadata.yaml").exists():
            hint = f"pass {files[0]}, or" if files else "pass a bag, or"
            raise InputError(f"{path} has no metadata.yaml: {hint} run `ros2 bag reindex` on it")
        for file in files:
            check_regular(file)
        self.notices: list[str] = []
        self._folder = TemporaryDirectory(prefix="infoatlas-") if partial else None
        try:
            self._open()
        except BaseException:
            self._clean_up()
            raise
        self.topics = {
            name: Topic(info.msgtype or "several types", info.msgcount)
            for name, info in self._reader.topics.items()
        }

    def _open(self) -> None:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore

        source = self.path
        if self._folder is not None:
            if self.path.suffix != ".mcap" or self.path.is_dir():
                raise InputError(f"{self.path}: the intact part can be read of an .mcap file only")
            source = Path(self._folder.name, "intact.mcap")
            with _reading(self.path):
                lost = copy_intact(self.path, source)
            self.notices.append(f"the intact part is read; {lost} bytes at the end are left out")
        with _reading(self.path):
            # Recordings of older distributions do not say what their types look like.
            self._reader = AnyReader([source], default_typestore=get_typestore(Stores.LATEST))
            self._reader.open()

    def _clean_up(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._clean_up()

    def schema(self, topic: str) -> Schema:
        """What the messages of a topic look like.

        Raises
        ------
        InputError
            There is no such topic, it is empty, or its type is unknown.
        """
        if topic not in self.topics:
            raise InputError(f"{self.path} has no topic {topic!r}. {self.listing()}")
        kind, messages = self.topics[topic]
        if messages == 0:
            raise InputError(f"{self.path} has no messages on {topic}. {self.listing()}")
        if kind not in self._reader.typestore.fielddefs:
            way = "convert the bag to mcap where that type is installed"
            if self.path.suffix == ".mcap" or [*self.path.glob("*.mcap")]:
                way = "record it again where that type is installed"  # its schema is missing
            raise InputError(
                f"{self.path} does not say what messages of {topic} look like ({kind}): {way}, "
                "or ask for another topic"
            )
        return Schema.of_typestore(self._reader.typestore, kind)

    def listing(self) -> str:
        """Its topics, in one line."""
        topics = [f"{name} ({kind}, {n})" for name, (kind, n) in self.topics.items()]
        return f"It has {', '.join(topics)}" if topics else "It is empty"

    def messages(self, *topics: str) -> Iterator[tuple[int, float, Any]]:
        """Messages in the order of their arrival, one by one.

        Yields
        ------
        side : int
            Which of `topics` a message is from.
        received : float
            When it arrived, seconds.
        message

        Raises
        ------
        InputError
            The bag is damaged.
        """
        sides = {topic: side for side, topic in enumerate(topics)}
        chosen = [c for c in self._reader.connections if c.topic in sides]
        found = 0
        with _reading(self.path):
            for connection, nanoseconds, raw in self._reader.messages(chosen):
                message = self._deserialize(raw, connection.msgtype)
                yield sides[connection.topic], nanoseconds / 1e9, message
                found += 1
        told = sum(self.topics[topic].messages for topic in topics)
        if found != told:  # a damaged part may just be passed over
            raise InputError(
                f"{self.path} is damaged: it holds {found} of {told} messages on "
                f"{' and '.join(topics)}: try `mcap recover` or `ros2 bag reindex`"
            )

    def _deserialize(self, raw: bytes, kind: str) -> Any:
        """A message; rclpy's `serialize_message` leaves up to 8 bytes after an empty last array."""
        for surplus in (0, 4, 8):
            try:
                return self._reader.deserialize(raw[: len(raw) - surplus], kind)
            except Exception:
                if surplus == 8:
                    raise


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    # rosbags, SQLite, YAML and three decompressors each have errors of their own for bad bytes.
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a bag ({type(error).__name__}: {error}): if its recorder "
            "was killed, try `ros2 bag reindex`, `mcap recover`, or --partial for an .mcap file"
        ) from error


@dataclass(frozen=True, eq=False)
class StreamCurve:
    """What was read from a bag: T readings, and the key states in them.

    Attributes
    ----------
    stamp : [T] float64
        Seconds; of the newest state of each reading.
    mi, stderr, noise, local : [T] float64
        Nats; as in `Estimate` and `Reading`.
    fill : [T] float64
        Pairs in the window as a share of its steps.
    saturated : [T] bool
    keystates : list of KeyState
        In order of time; `index` and `detected_at` are numbers of the detector's readings.
    start : float
        First stamp, seconds.
    states : list of ([m] float64, [m, d] float64), one for each topic
        Stamps and states, every so many, for a picture.
    names : list of tuple of str
        What the coordinates of each topic are.
    how : str
        Estimator and settings, one line.
    notices : list of str
        What changed on the way, such as the joints of the messages.
    coupling : list of CouplingEvent
        Of two topics, in order of time.
    motions : (stamp, mi) of [M] float64
        Of two topics: mutual information of their motions, which couplings are detected in.
    """

    stamp: NDArray[np.float64]
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    noise: NDArray[np.float64]
    local: NDArray[np.float64]
    fill: NDArray[np.float64]
    saturated: NDArray[np.bool_]
    keystates: list[KeyState]
    start: float
    states: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    names: list[tuple[str, ...]]
    how: str
    notices: list[str] = field(default_factory=list)
    coupling: list[CouplingEvent] = field(default_factory=list)
    motions: tuple[NDArray[np.float64], NDArray[np.float64]] = (np.zeros(0), np.zeros(0))


def read(
    bag: Bag,
    topics: Sequence[str],
    stream: Stream,
    progress: Callable[[float], None] | None = None,
) -> StreamCurve:
    """Play a bag into a stream, as the node would get it.

    A message counts as of the stamp in its header, or else of its arrival. Memory is that of the
    curve and of one message.

    Parameters
    ----------
    bag : Bag
    topics : one or two str
        As many as the stream has.
    stream : Stream
    progress : callable, optional
        Called with the share that is done, 0 to 1.

    Returns
    -------
    StreamCurve

    Raises
    ------
    InputError
        The bag is damaged, or gave no reading: the message says why.
    """
    total = sum(bag.topics[topic].messages for topic in topics)
    strides = [-(-bag.topics[topic].messages // _KEPT) for topic in topics]
    seen = [0] * len(topics)
    kept: list[list[tuple[float, NDArray[np.float64]]]] = [[] for _ in topics]
    rows: list[tuple[float, ...]] = []
    saturated: list[bool] = []
    keystates: list[KeyState] = []
    start = np.inf
    fault = ""
    notices = [*bag.notices]
    coupling: list[CouplingEvent] = []
    motions: list[tuple[float, float]] = []
    estimate: Estimate | None = None
    for side, received, message in bag.messages(*topics):
        sample = stream.extract(message, received, side)
        assert sample.stamp is not None
        start = min(start, sample.stamp)
        fault = fault or sample.fault
        if sample.notice:
            notices.append(f"at {sample.stamp - start:.2f} s: {sample.notice}")
        if seen[side] % strides[side] == 0 and not sample.fault:
            kept[side].append((sample.stamp, sample.state))
        seen[side] += 1
        for reading, found, shown in stream.take(sample):
            coupling += [event for event in found if isinstance(event, CouplingEvent)]
            keystates += [state for state in found if isinstance(state, KeyState)]
            if reading is None or not shown:
                continue
            estimate = reading.estimate
            errors = estimate.stderr, estimate.noise
            rows.append((reading.stamp, estimate.mi, *errors, reading.local, reading.fill))
            saturated.append(estimate.saturated)
        newest = None if stream.coupling is None else stream.coupling.reading
        if newest is not None and (not motions or motions[-1][0] != newest.stamp):
            motions.append((newest.stamp, newest.estimate.mi))
        if progress is not None:
            progress(sum(seen) / total)
    if estimate is None:
        hint = ": try a shorter window" if stream.reason.startswith("filling") else ""
        fates = ", ".join(f"{n} {kind}" for kind, n in stream.counts.items() if n)
        raise InputError(
            f"{bag.path} gave no reading of {' and '.join(topics)}: {stream.reason}{hint}. "
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
        keystates=sorted(keystates, key=lambda state: state.stamp),
        start=start,
        states=[_stack(some) for some in kept],
        names=[extractor.names for extractor in stream.extractors],
        how=f"{slices}, model {estimate.model} on {estimate.provider}, seed {estimate.seed}",
        notices=notices,
        coupling=coupling,
        motions=(np.array([at for at, _ in motions]), np.array([mi for _, mi in motions])),
    )


def _stack(
    some: Sequence[tuple[float, NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stamps and states; those of another size (another robot, before a restart) are left out."""
    alike = [row for row in some if len(row[1]) == len(some[-1][1])]
    return np.array([stamp for stamp, _ in alike]), np.array([state for _, state in alike])
