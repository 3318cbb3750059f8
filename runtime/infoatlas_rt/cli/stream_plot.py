"""Picture of a stream: its curve with extrema and couplings, and the states below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..streams.events import COUPLED
from .curve_plot import draw_axes, draw_curve, draw_extrema, draw_legend, past_label
from .drawing import COUPLING, INK, QUIET, draw_heading, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..messages.bag_curve import StreamCurve

LABELLED = 24  # couplings that can be labelled in one picture


def stream_figure(
    curve: StreamCurve,
    *,
    title: str,
    topics: Sequence[str],
    lag: int,
    lag_seconds: float | None = None,
    z: float,
    delay: float,
    history: int = 1,
    window: int,
) -> Figure:
    """The curve of a robot's stream with its extrema, above the states that it was made from.

    Parameters
    ----------
    curve : StreamCurve
    title : str
    topics : one or two str
    lag, history, window : int
        Of the estimator, in steps.
    lag_seconds : float, optional
        Duration of `lag` steps, if past states are found by their stamps.
    z, delay : float
        Of the detector of extrema.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        matplotlib is not installed.
    """
    two = len(topics) == 2
    figure = new_figure(10, 6.6 if two else 5.8)
    main, *below = draw_axes(figure, (5, 1.5, 1.5) if two else (5, 1.7), top=0.83)
    stamp, mi, noise = _with_extrema(curve)
    time = stamp - curve.start
    broken = _breaks(time)
    draw_curve(main, *(np.insert(v, broken, np.nan) for v in (time, mi, noise)))
    extrema = [replace(found, stamp=found.stamp - curve.start) for found in curve.extrema]
    if extrema or not curve.events:
        draw_extrema(main, extrema, "{:.1f}")
    _draw_coupling(main, below, curve)
    if extrema or len(curve.motions[0]):
        draw_legend(figure, 0.872)
    if extrema:
        note = f"marked: changes above {z:g} standard errors within {delay:g} s"
        figure.text(0.975, 0.872, note, color=QUIET, fontsize=9, ha="right", va="center")
    names = "ab" if two else "s"
    for axes, name, topic, (stamps, values) in zip(below, names, topics, curve.states, strict=True):
        spread = np.ptp(values, axis=0)
        scaled = (values - values.min(axis=0)) / np.where(spread > 0, spread, 1)
        pause = _breaks(stamps)
        axes.plot(
            np.insert(stamps - curve.start, pause, np.nan),
            np.insert(scaled[:, spread > 0], pause, np.nan, axis=0),
            linewidth=0.8,
            alpha=0.7,
        )
        axes.set_ylim(-0.08, 1.08)
        axes.set_yticks([])
        axes.set_ylabel(f"${name}$: {topic}" if two else topic, color=INK, fontsize=9)
    below[-1].set_xlabel("seconds since the first message", color=INK, fontsize=10)
    begin = min(float(stamps[0]) for stamps, _ in curve.states) - curve.start
    end = max(float(stamps[-1]) for stamps, _ in curve.states) - curve.start
    edge = 0.015 * (end - begin)
    below[-1].set_xlim(begin - edge, end + edge)
    length = f"{lag} steps" if lag_seconds is None else f"{lag_seconds:g} s"
    what = "information between two topics" if two else "information of a state with its past"
    past = past_label(names[-1], lag, history, lag_seconds)
    draw_heading(
        figure,
        f"{title}:  {what},  $I({names[0]}_t\\,;\\,{past})$",
        f"time average over windows of {window} steps · lag {length} · {curve.how} "
        "· band: ± noise (samples and slices)",
    )
    return figure


def _draw_coupling(axes: Axes, below: Sequence[Axes], curve: StreamCurve) -> None:
    """The information of the motions, and lines where a coupling begins (solid) and ends."""
    stamps, mi = curve.motions
    if len(stamps):
        time, pause = stamps - curve.start, _breaks(stamps)
        values = np.insert(mi, pause, np.nan)
        axes.plot(
            np.insert(time, pause, np.nan), values, color=COUPLING, lw=1, label="of the motions"
        )
        low, high = axes.get_ylim()
        room = 0.12 * float(np.ptp(mi))
        axes.set_ylim(min(low, float(mi.min()) - room), max(high, float(mi.max()) + room))
    for event in curve.events:
        assert event.stamp is not None  # those of a bag have one
        begins, at = event.kind == COUPLED, event.stamp - curve.start
        for panel in (axes, *below):
            panel.axvline(
                at,
                color=COUPLING,
                lw=1.2,
                ls="-" if begins else (0, (2, 2)),
                zorder=1,
            )
        if len(curve.events) > LABELLED:
            continue  # the labels would cover each other; the table has the times
        axes.text(
            at,
            1.015,
            f"{event.kind} {at:.1f}",
            transform=axes.get_xaxis_transform(),
            color=COUPLING,
            fontsize=7 if len(curve.events) > 12 else 8,
            ha="left" if begins else "right",
            va="bottom" if begins else "top",
        )


def _with_extrema(curve: StreamCurve) -> tuple[NDArray[np.float64], ...]:
    """Stamps, estimates and noise [T], those of the extrema among them.

    The detector can have estimates that the curve was not asked for.
    """
    stamp, mi, noise = curve.stamp, curve.mi, curve.noise
    anew = bool((np.diff(stamp) <= 0).any())  # a recording that starts anew
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
    """Where a line has to be interrupted: after a pause, or where a recording starts anew."""
    step = np.diff(time, prepend=time[0])
    return np.flatnonzero((step < 0) | (step > 5 * np.median(np.abs(step))))
