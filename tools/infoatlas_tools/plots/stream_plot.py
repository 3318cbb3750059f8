"""Draws a stream: its curve with extrema and couplings, and the states below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.streams.events import COUPLED

from .curve_plot import draw_axes, draw_curve, draw_extrema, past_label, place_extrema
from .drawing import COUPLING, MOTIONS, QUIET, draw_heading, draw_legend, new_figure
from .label_placement import Label, Place, fit, new_label, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..bags.bag_curve import StreamCurve


def stream_figure(curve: StreamCurve, *, title: str) -> Figure:
    """The curve of a robot's stream with its extrema, above the states that it was made from.

    After a pause of more than the setting `reset_after`, seconds, a stream restarts.
    """
    two, settings = len(curve.topics) == 2, curve.settings
    figure = new_figure(10, 6.8 if two else 6)
    main, *below = draw_axes(figure, (5, 1.5, 1.5) if two else (5, 1.7))
    stamp, mi, noise = _with_extrema(curve)
    time = stamp - curve.start
    broken = _breaks(time)
    draw_curve(main, *(np.insert(v, broken, np.nan) for v in (time, mi, noise)))
    extrema = [replace(found, stamp=found.stamp - curve.start) for found in curve.extrema]
    numbers: list[Label] = []
    times: list[Label] = []
    if extrema or not curve.events:
        numbers, times = draw_extrema(main, extrema, "{:.1f}")
    longest = settings["reset_after"]
    pauses = [_pauses(stamps - curve.start, longest) for stamps, _ in curve.states]
    labels = _draw_coupling(main, below, curve, [gap for of in pauses for gap in of])
    for panel in (main, *below):
        for number, (_, after) in enumerate(pauses[0]):
            entry = "recording restarts" if panel is main and not number else None
            panel.axvline(after, color=QUIET, lw=0.8, ls=":", label=entry)
    if extrema or pauses[0] or curve.events or len(curve.motions[0]):
        draw_legend(figure)
    names = "ab" if two else "s"
    _draw_states(below, names, curve)
    below[-1].set_xlabel("seconds since the first message")
    begin = min(float(stamps[0]) for stamps, _ in curve.states) - curve.start
    end = max(float(stamps[-1]) for stamps, _ in curve.states) - curve.start
    edge = 0.015 * (end - begin)
    below[-1].set_xlim(begin - edge, end + edge)
    lag, lag_seconds = settings["lag"], settings["lag_seconds"]
    length = f"{lag} steps" if lag_seconds is None else f"{lag_seconds:g} s"
    what = "information between two topics" if two else "information of a state with its past"
    past = past_label(names[-1], lag, settings["history"], lag_seconds)
    draw_heading(
        figure,
        f"{what},  $I({names[0]}_t\\,;\\,{past})$",
        f"time average over windows of {settings['window']} steps · lag {length} · {curve.how} "
        "· band: ± noise (samples and slices)",
        "discs: changes above {z:g} standard errors within {delay:g} s".format(**settings)
        if extrema
        else "",
        title=title,
    )
    place_labels(figure, labels)
    place_extrema(figure, numbers, times)
    return figure


def _draw_states(panels: Sequence[Axes], names: str, curve: StreamCurve) -> None:
    """The coordinates of each topic, scaled to their own range; constant ones are left out."""
    topics = [topic.name for topic in curve.topics]
    for axes, name, topic, (stamps, values) in zip(
        panels, names, topics, curve.states, strict=True
    ):
        spread = np.ptp(values, axis=0)
        scaled = (values - values.min(axis=0)) / np.where(spread > 0, spread, 1)
        pause = _breaks(stamps)
        axes.plot(
            np.insert(stamps - curve.start, pause, np.nan),
            np.insert(scaled[:, spread > 0], pause, np.nan, axis=0),
            linewidth=0.8,
            alpha=0.7,
        )
        axes.set(ylim=(-0.08, 1.08), yticks=[])
        prefix = f"${name}$: " if len(topics) == 2 else ""
        label = axes.set_ylabel(f"{prefix}{topic}", fontsize=9)
        fit(label, 1.05 * axes.bbox.height, upright=True, prefix=prefix)


def _draw_coupling(
    axes: Axes, below: Sequence[Axes], curve: StreamCurve, pauses: Sequence[tuple[float, float]]
) -> list[Label]:
    """The information of the motions, and bands from where a coupling begins to where it ends.

    Labels above the axes have the times. If there are many events, some labels have no place; the
    table of the command has all times.
    """
    stamps, mi = curve.motions
    if len(stamps):
        time, pause = stamps - curve.start, _breaks(stamps)
        values = np.insert(mi, pause, np.nan)
        axes.plot(
            np.insert(time, pause, np.nan), values, color=MOTIONS, lw=1, label="of the motions"
        )
        low, high = axes.get_ylim()
        room = 0.12 * float(np.ptp(mi))
        axes.set_ylim(min(low, float(mi.min()) - room), max(high, float(mi.max()) + room))
    labels: list[Label] = []
    begin = None
    bands: list[tuple[float, float]] = []
    for event in curve.events:
        assert event.stamp is not None  # events of a bag have one
        at = event.stamp - curve.start
        if begin is not None:  # a coupling that a restart interrupts has no end of its own
            bands.append((begin, at))
        begin = at if event.kind == COUPLED else None
        places: list[Place] = [((0, row), "center", "bottom") for row in (3.0, 13.0)]
        style = {"xycoords": axes.get_xaxis_transform(), "annotation_clip": False}
        labels.append(
            new_label(axes, f"{at:.1f}", (at, 1), places, **style, color=COUPLING, fontsize=8)
        )
    if begin is not None:  # up to where both topics are compared
        compared = stamps if len(stamps) else curve.stamp
        bands.append((begin, float(compared.max()) - curve.start))
    for before, after in (gap for gap in pauses if gap[0] < gap[1]):  # stamps may jump back
        parts = [((a, min(b, before)), (max(a, after), b)) for a, b in bands]
        bands = [(a, b) for part in parts for a, b in part if a < b]
    for panel in (axes, *below):
        for number, (left, right) in enumerate(bands):
            label = "coupled: they move together" if panel is axes and not number else None
            panel.axvspan(left, right, color=COUPLING, alpha=0.16, lw=0, zorder=0, label=label)
    return labels


def _with_extrema(curve: StreamCurve) -> tuple[NDArray[np.float64], ...]:
    """Stamps, estimates and noise [T], those of the extrema among them.

    The detector may have used estimates that are not in the curve.
    """
    stamp, mi, noise = curve.stamp, curve.mi, curve.noise
    anew = bool((np.diff(stamp) <= 0).any())  # a recording that restarts
    for found in curve.extrema:
        if anew or found.stamp in stamp:
            continue
        after = np.flatnonzero(stamp > found.stamp)
        place = int(after[0]) if after.size else len(stamp)
        near = noise[max(place - 1, 0) : place + 1].mean()
        stamp, mi = np.insert(stamp, place, found.stamp), np.insert(mi, place, found.value)
        noise = np.insert(noise, place, near)
    return stamp, mi, noise


def _breaks(time: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places at which a line is interrupted: after a pause, or at a restart of the recording."""
    step = np.diff(time, prepend=time[0])
    return np.flatnonzero((step < 0) | (step > 5 * np.median(np.abs(step))))


def _pauses(time: NDArray[np.float64], longest: float) -> list[tuple[float, float]]:
    """Times before and after a pause of more than `longest` seconds, or a jump back."""
    gaps = [(float(time[i - 1]), float(time[i])) for i in _breaks(time)]
    return [(before, after) for before, after in gaps if not 0 <= after - before <= longest]
