"""Writes key states and sub-tasks with the signals and videos of a data set for Rerun (.rrd).

Each demonstration is a recording in a file of its own: `rerun FOLDER/*.rrd`, or the viewer's menu,
opens them. The timelines are `time` (s) and `step`. `signals/<name>` are curves, `subtasks/<tool>`
and `key_states` are lanes of states. `events` is a log of the key states, and `video/<camera>` has
the frames of a LeRobot data set. A blueprint shows them below one another. Older releases of
rerun-sdk have no lanes; there the number of the part is a curve.
"""

import os
import re
from collections.abc import Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError, OutputError

from ..array_types import Float, Int
from ..episode_numbers import find_episode
from ..files.lerobot.features import STATE
from ..files.lerobot.images import video_places
from ..files.lerobot.meta import LeRobotFolder
from ..files.lerobot.reader import is_lerobot
from ..presentation import require, unused_name
from .content import Annotations

APPLICATION = "infoatlas-rt"
TIME, STEP = "time", "step"
SIGNALS, SUBTASKS, KEY_STATES = "signals", "subtasks", "key_states"
EVENTS, VIDEO = "events", "video"
# Bytes of video: in v3 of LeRobot many episodes share a file, which each recording contains.
LARGEST_VIDEO = 5 * 10**9
CURVES_IN_VIEW = 12  # curves in one view
VIEWS = 3  # views of curves in one tab
AXIS = re.compile(r"[wxyz]|r[xyz]|roll|pitch|yaw|\d+")
# Colours of Okabe and Ito, which differ for every kind of colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


class Clip(NamedTuple):
    """The part of a video file that shows one demonstration."""

    camera: str
    file: Path
    start: float  # s


def write_rerun(
    annotations: Annotations, path: Path, out: Path, *, episodes: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Write a recording of the Rerun viewer for each demonstration.

    `episodes` are names or numbers of demonstrations (all unless given). Videos of a LeRobot data
    set are copied. Without a rate, there is only the timeline `step`, and no video.
    """
    what = f"{path}: rerun-sdk writes its view and"
    rerun, _ = (require(name, what, "view") for name in ("rerun", "rerun.blueprint"))
    every = annotations.episodes
    rows = [find_episode(name, every) for name in (every if episodes is None else episodes)]
    if not rows:
        raise InputError(f"no demonstration is chosen: pass some of {', '.join(every[:5])}")
    chosen = [every[i] for i in rows]
    states = annotations.keystates.trajectories.doubles()
    clips: dict[int, list[Clip]] = {i: [] for i in rows}
    notes: list[str] = []
    if annotations.rate is not None and is_lerobot(path):
        found, notes = _clips(Path(path), [int(name) for name in chosen])
        clips = dict(zip(rows, found.values(), strict=True))
        size = sum(os.path.getsize(clip.file) for own in clips.values() for clip in own)
        if size > LARGEST_VIDEO:
            raise InputError(
                f"{path}: videos of {len(rows)} demonstrations take {size / 1e9:.1f} GB, and "
                f"{LARGEST_VIDEO / 1e9:.0f} GB are the most: choose episodes, as "
                f"--episode {chosen[0]}"
            )
    try:
        out.mkdir()
        for i in rows:
            name = annotations.episodes[i]
            recording = rerun.RecordingStream(
                APPLICATION, recording_id=f"{path.resolve().name}/{name}"
            )
            file = out / f"{_plain(name)}.rrd"
            recording.save(file, default_blueprint=_blueprint(rerun, annotations, clips[i]))
            recording.send_recording_name(name)
            _log(rerun, recording, annotations, i, states[i], clips[i])
            recording.flush()
            recording.disconnect()
    except OSError as error:
        raise OutputError(f"{out} cannot be written ({error}): choose another folder") from error
    return tuple(notes)


def _log(
    rerun: Any,
    recording: Any,
    annotations: Annotations,
    i: int,
    states: Float,
    clips: Sequence[Clip],
) -> None:
    """Write one demonstration."""
    seconds, rate = annotations.seconds(i), annotations.rate

    def send(entity: str, steps: Any, columns: Any) -> None:
        index = [rerun.TimeColumn(STEP, sequence=np.asarray(steps))]
        if rate is not None:
            index.append(rerun.TimeColumn(TIME, duration=seconds[np.asarray(steps, np.int64)]))
        recording.send_columns(entity, index, columns)

    length = len(states)
    for entity, columns, names in _groups(annotations):
        recording.log(entity, rerun.SeriesLines(names=names), static=True)
        values = np.ascontiguousarray(states[:, columns])
        # Several curves in one entity: the values of a step belong together.
        scalars = rerun.Scalars.columns(scalars=values.reshape(-1))
        send(entity, np.arange(length), scalars.partition([len(columns)] * length))
    for lane in _lanes(annotations, i):
        _lane(rerun, recording, send, *lane)
    events = annotations.events(i)
    if events:
        texts = [event.name for event in events]
        send(EVENTS, [event.step for event in events], rerun.TextLog.columns(text=texts))
    for clip in clips:
        entity = f"{VIDEO}/{clip.camera}"
        recording.log(entity, rerun.AssetVideo(path=clip.file), static=True)
        assert rate is not None
        nanoseconds = np.rint((clip.start + np.arange(length) / rate) * 1e9).astype(np.int64)
        send(entity, np.arange(length), rerun.VideoFrameReference.columns_nanos(nanoseconds))


def _lane(
    rerun: Any, recording: Any, send: Any, entity: str, labels: Sequence[str], active: Int
) -> None:
    """Write a lane of states; -1 is no state."""
    starts = np.flatnonzero(np.r_[True, active[1:] != active[:-1]])
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(labels))]
    if hasattr(rerun, "StateChange"):
        if hasattr(rerun, "StateConfiguration"):
            values = np.array([int(f"{colour[1:]}FF", 16) for colour in colours], np.uint32)
            configuration = rerun.StateConfiguration(
                values=list(labels), labels=list(labels), colors=values
            )
            recording.log(entity, configuration, static=True)
        texts = [labels[k] if k >= 0 else "" for k in active[starts].tolist()]
        send(entity, starts, rerun.StateChange.columns(state=texts))
        return
    legend = ", ".join(f"{k}: {label}" for k, label in enumerate(labels))
    recording.log(entity, rerun.SeriesLines(names=[legend]), static=True)
    send(entity, np.arange(len(active)), rerun.Scalars.columns(scalars=active.astype(np.float64)))


def _lanes(annotations: Annotations, i: int) -> Iterator[tuple[str, tuple[str, ...], Int]]:
    """Names of entities, labels of their states, and the state at each step."""
    subtasks = annotations.subtasks
    for tool in subtasks.tools:
        yield f"{SUBTASKS}/{_plain(tool)}", subtasks.names, subtasks.active(i, tool)
    columns = annotations.keystates.steps.shape[1]
    if columns:
        names = tuple(f"after {annotations.keystates.name(j)}" for j in range(columns))
        yield KEY_STATES, names, annotations.newest(i)


def _groups(annotations: Annotations) -> Iterator[tuple[str, list[int], list[str]]]:
    """Entities of signals, with the columns and names of the curves that belong together.

    Examples are cube.x to cube.z, or joint1.position to joint7.position. Bodies of the sub-tasks
    come first.
    """
    recorded = annotations.keystates.trajectories
    width = recorded.states.shape[1]
    names = recorded.names or tuple(f"coordinate {j}" for j in range(width))
    names = tuple(name.removeprefix(f"{STATE}.") for name in names)
    groups: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        groups.setdefault(_beginning(name), []).append(j)
    bodies = {body for part in annotations.subtasks.parts for body in (part.reference, part.held)}
    bodies |= set(annotations.subtasks.tools)
    used: set[str] = set()
    for beginning, every in sorted(groups.items(), key=lambda group: group[0] not in bodies):
        for first in range(0, len(every), CURVES_IN_VIEW):
            columns = every[first : first + CURVES_IN_VIEW]
            entity = unused_name(f"{SIGNALS}/{_plain(beginning)}", used)
            used.add(entity)
            yield entity, columns, [names[j] for j in columns]


def _beginning(name: str) -> str:
    """cube of cube.x and cube.0, cube.q of cube.qw, joint.position of joint1.position.

    For a name without a dot, it is the name without a number at its end.
    """
    beginning, _, last = name.rpartition(".")
    if not beginning:
        return name.rstrip("0123456789 _") or name
    plain = beginning.rstrip("0123456789 _") or beginning
    if re.fullmatch("q[wxyz]", last):  # on another scale than a position
        return f"{beginning}.q"
    return beginning if AXIS.fullmatch(last) else f"{plain}.{last}"


def _plain(name: str) -> str:
    """A part of a path of entities, which may have letters, digits, "_", "-" and "."."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_") or "_"


def _blueprint(rerun: Any, annotations: Annotations, clips: Sequence[Clip]) -> Any:
    """Videos above lanes above curves."""
    views = rerun.blueprint
    entities = [entity for entity, _, _ in _groups(annotations)]
    curves = [views.TimeSeriesView(origin=f"/{e}", name=e.partition("/")[2]) for e in entities]
    lanes = [f"/{SUBTASKS}/**", *([f"/{KEY_STATES}"] if annotations.keystates.steps.size else [])]
    lane = views.StateTimelineView if hasattr(views, "StateTimelineView") else views.TimeSeriesView
    rows = [lane(origin="/", contents=lanes, name="Sub-tasks and key states")]
    if lane is views.TimeSeriesView and annotations.keystates.steps.size:
        log = views.TextLogView(origin=f"/{EVENTS}", name="Key states")
        rows = [views.Horizontal(rows[0], log, column_shares=[3.0, 1.0])]
    shares = [2.0]
    tabs = [
        views.Vertical(*curves[k : k + VIEWS], name=f"Signals {k // VIEWS + 1}")
        for k in range(0, len(curves), VIEWS)
    ]
    if tabs:
        rows.append(views.Tabs(*tabs) if len(tabs) > 1 else tabs[0])
        shares.append(5.0)
    if clips:
        videos = [
            views.Spatial2DView(origin=f"/{VIDEO}/{clip.camera}", name=clip.camera)
            for clip in clips
        ]
        rows.insert(0, views.Horizontal(*videos))
        shares.insert(0, 4.0)
    options = {"timeline": TIME if annotations.rate else STEP}
    if "timeline" not in signature(views.TimePanel.__init__).parameters:  # before 0.26
        options = {}
    panel = views.TimePanel(state="collapsed", **options)
    return views.Blueprint(
        views.Vertical(*rows, row_shares=shares),
        panel,
        views.SelectionPanel(state="collapsed"),
        views.BlueprintPanel(state="collapsed"),
    )


def _clips(folder: Path, episodes: Sequence[int]) -> tuple[dict[int, list[Clip]], list[str]]:
    """Videos of episodes of a LeRobot data set, and sentences about those that are missing."""
    opened = LeRobotFolder(folder)
    described = opened.info["features"].items()
    found: dict[int, list[Clip]] = {episode: [] for episode in episodes}
    notes = []
    for camera in (n for n, f in described if isinstance(f, dict) and f.get("dtype") == "video"):
        name = _plain(camera.replace("observation.images.", ""))
        for episode, (file, start) in video_places(opened, camera, episodes).items():
            if file.is_file():
                found[episode].append(Clip(name, file, start))
            else:
                notes.append(f"{file} is missing: there is no video of episode {episode}")
    return found, notes
