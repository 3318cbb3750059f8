"""Pictures: no text overlaps another or leaves the picture, for any number of labels."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import rcParams

from infoatlas_rt.streams.events import Event
from infoatlas_rt.streams.extrema import Extremum
from infoatlas_tools.bags.bag_curve import StreamCurve, StreamTopic
from infoatlas_tools.plots import drawing, picture
from infoatlas_tools.plots.annotation_plot import annotation_figure
from infoatlas_tools.plots.curve_plot import curve_figure
from infoatlas_tools.plots.keystate_plots import raster_figure
from infoatlas_tools.plots.stream_plot import stream_figure
from infoatlas_tools.trajectories import Trajectories
from pictures import crossing, texts_drawn

LONG = "a_recording_of_the_left_arm_with_the_new_gripper_2026-11-20T10-15-00"


def extrema(at, values):
    kinds = ["maximum", "change", "minimum", "change"]
    return [
        Extremum(kinds[i % 4], i, float(t), float(v), (-1) ** (i // 2), 4.0, i, float(t))
        for i, (t, v) in enumerate(zip(at, values, strict=True))
    ]


def stream(seconds, events, marks, topics, **settings):
    """A wave with marks close to each other, and events in pairs."""
    time = np.linspace(0, seconds, 600)
    mi = 1 + np.sin(time / seconds * 40)
    where = np.linspace(50, 300, marks).astype(int)
    moments = np.linspace(0.02, 0.99, events) * seconds
    kinds = ["coupled", "decoupled"]
    usual = {"lag": 0, "lag_seconds": None, "history": 1, "window": 32, "reset_after": 1.0}
    return StreamCurve(
        data="", topics=[StreamTopic(topic, "", (), "xyz") for topic in topics],
        settings=usual | {"z": 3.5, "delay": 2.0} | settings, how="edge",
        stamp=time, mi=mi, stderr=mi * 0 + 0.1, noise=mi * 0 + 0.1, local=mi, fill=mi,
        saturated=mi > 9, atoms=mi * 0, heavy_tails=mi > 9, at_least=mi,
        extrema=extrema(time[where], mi[where]), start=0.0,
        states=[(time, np.stack([mi, -mi, mi**2], axis=1))] * len(topics),
        motions=(time, mi + 0.3),
        events=[Event(kinds[i % 2], 0, float(t), 0, float(t)) for i, t in enumerate(moments)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "seconds, events, marks", [(12, 3, 2), (40, 16, 7), (300, 48, 20), (7200, 400, 60)]
)
def test_stream(seconds, events, marks):
    topics = ("/tool_pose", "/robot_1/left_arm/gripper/camera_link/object_pose_estimate")
    figure = stream_figure(stream(seconds, events, marks, topics), title=LONG)
    assert crossing(figure) == ([], [])
    shown = [text for text, _ in texts_drawn(figure)]
    assert {"coupled: they move together", "of the motions"} <= set(shown)
    times = {f"{t:.1f}" for t in np.linspace(0.02, 0.99, events) * seconds}
    assert len(times & set(shown)) >= min(events, 24)  # most are shown


def bands(figure):
    """Begin and end of the bands of couplings."""
    back = figure.axes[0].transData.inverted()
    return [patch.get_extents().transformed(back).intervalx for patch in figure.axes[0].patches]


STEPS, FINE = np.linspace(0, 12, 121), np.linspace(0, 12, 601)
LOST = FINE[(FINE <= 5.01) | (FINE >= 5.59)]
PAUSED = STEPS[(STEPS <= 5.01) | (STEPS >= 7.99)]
SHORT = STEPS[(STEPS < 8.01) & ((STEPS < 4.01) | (STEPS > 5.99))]
ENDS = {2: "coupled", 9: "decoupled"}


@pytest.mark.parametrize(
    ("events", "times", "motions", "expected", "restarts"),
    [
        ({2: "coupled", 6: "coupled"}, None, None, [(2, 6), (6, 12)], False),
        # As drawn by `ros2_node/demo.py`: the band ends with the curve.
        ({2: "coupled"}, None, np.zeros((2, 0)), [(2, 12)], False),
        (ENDS, (FINE, LOST), None, [(2, 9)], False),
        (ENDS, (PAUSED, PAUSED), None, [(2, 5), (8, 9)], True),
        # The second topic ends first. It also has a pause, in which the first one goes on.
        ({2: "coupled"}, (STEPS, SHORT), (np.arange(1, 8.1, 0.1), np.ones(71)), [(2, 4), (6, 8)],
         False),
    ],
    ids=["no end", "no motions", "lost messages", "pause", "a topic ends"],
)  # fmt: skip
def test_each_coupling_has_a_band(events, times, motions, expected, restarts):
    curve = stream(12, 2, 1, ("/a", "/b"))
    curve = replace(
        curve,
        events=[Event(kind, 0, float(t), 0, float(t)) for t, kind in events.items()],
        motions=curve.motions if motions is None else motions,
        states=[(own, np.sin(own)[:, None]) for own in times] if times else curve.states,
    )
    figure = stream_figure(curve, title="")
    np.testing.assert_allclose(bands(figure), expected, atol=1e-6)
    assert ("recording restarts" in [text for text, _ in texts_drawn(figure)]) == restarts
    assert crossing(figure) == ([], []) or not restarts


def test_stream_of_one_topic_without_events():
    curve = stream(300, 0, 12, ("/joint_states",), lag=10, lag_seconds=0.1, history=3)
    assert crossing(stream_figure(curve, title="bag")) == ([], [])


@pytest.mark.parametrize("marks", [4, 20])
def test_curve(marks):
    position = np.linspace(0, 1, 60)
    mi = np.sin(position * 20)
    where = np.linspace(5, 35, marks).astype(int)
    curve = SimpleNamespace(
        position=position, mi=mi, noise=mi * 0 + 0.1, samples=np.full(60, 100), mode="normalised",
        lag=4, history=1, how="unsliced, model edge on cpu, seed 0",
    )  # fmt: skip
    found = extrema(position[where], mi[where])
    assert crossing(curve_figure(curve, found, title=LONG, lengths=(50, 100))) == ([], [])


def discovered(columns, named):
    """Key states of twelve demonstrations, each with a name."""
    rng = np.random.default_rng(0)
    names = [f"{body}.{axis}" for body in ("tool", "left_gripper_fingertip") for axis in "xyz"]
    return SimpleNamespace(
        steps=np.ma.masked_array(np.sort(rng.integers(10, 12000, (12, columns)), axis=1)),
        trajectories=Trajectories(
            [rng.standard_normal((12000, 6)).cumsum(axis=0) for _ in range(12)],
            names=names if named else (), rate=20.0,
        ),
        order=[0], shared=np.arange(columns) % 2 == 0, met=0.9, agreement=0.6, labels=(),
        name=lambda j: f"key state {j + 1}: the object is placed on the table" if named else "",
    )  # fmt: skip


@pytest.mark.parametrize("columns, named", [(3, True), (14, True), (25, False)])
def test_key_states(columns, named):
    assert crossing(raster_figure(discovered(columns, named), title=LONG)) == ([], [])


@pytest.mark.parametrize("parts, marks", [(2, 3), (30, 48)])
@pytest.mark.parametrize("entries", [False, True])
def test_annotations(parts, marks, entries):
    found = discovered(1, False)
    if entries:  # of a message
        names = [f"position[fr3_wide_joint{i}]" for i in range(6)]
        found.trajectories = replace(found.trajectories, names=names)
    cuts = np.linspace(0, 12000, parts + 1).astype(int)
    tools = ("left", "right")
    annotations = SimpleNamespace(
        keystates=found, rate=20.0, episodes=[f"{LONG}_{i}" for i in range(12)],
        lengths=np.full(12, 12000), seconds=lambda i: np.arange(12001) / 20,
        events=lambda i: [
            SimpleNamespace(step=int(step), name=f"key state {j + 1}")
            for j, step in enumerate(np.linspace(3000, 6000, marks))
        ],
        subtasks=SimpleNamespace(
            tools=tools, names=[f"carry object {i} to the table" for i in range(2 * parts)],
            parts=[
                SimpleNamespace(tool=tool, start=np.full(12, a), end=np.full(12, b), reference="")
                for tool in tools
                for a, b in itertools.pairwise(cuts)
            ],
        ),
    )  # fmt: skip
    figure = annotation_figure(annotations, [0, 5], title=LONG)
    assert crossing(figure) == ([], [])
    assert not any("[" in text or "]" in text for text, _ in texts_drawn(figure))


def test_other_fonts_are_used_and_those_that_are_lacking_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(rcParams, "font.family", ["sans-serif"])
    monkeypatch.setattr(picture, "FONTS", ("DejaVu Serif", "absent"))
    figure = drawing.new_figure(2, 1)
    drawing.fit(figure.text(0, 0, "\U0010fffd"), 9)
    with pytest.warns(UserWarning, match=r"^no font has '.+': install one, as 'DejaVu Serif'"):
        figure.savefig(tmp_path / "a.png")
    assert rcParams["font.family"] == ["sans-serif", "DejaVu Serif"]
