"""What the command bag prints."""

from typing import Any

import numpy as np

from infoatlas_rt.cli.console import table
from infoatlas_rt.estimation.result import value_text
from infoatlas_rt.messages.stream import SPACING
from infoatlas_rt.streams.event_thresholds import DECOUPLED_BELOW
from infoatlas_rt.streams.events import DECOUPLED
from infoatlas_rt.streams.resolution import FINEST

from ..analysis.independence import LEVEL
from ..bags.bag_curve import fates
from .curve import extrema_rows, print_flags


def print_bag(result: dict[str, Any], plot: str | None, csv: str | None) -> None:
    """Print the result of the command, as in its JSON, and where the picture and the table are."""
    stamps, start = result["curve"]["stamp"], result["start"]
    if "events" in result:
        _print_couplings(result)
        if result["lags"]:
            _print_lags(result)
    table(
        f"Extrema of the curve of {result['data']} (times: seconds since the first message)",
        ("", "kind", "time", "MI (nats)", "prominence", "reported at"),
        extrema_rows(result, "stamp", "{:.2f}", start),
        empty=f"none above the noise: no rise or fall within {result['delay']:g} s exceeds "
        f"{result['z']:g} standard errors (--z, --delay)",
    )
    # A significant lag shows a dependence.
    if "events" in result and result["extrema"] and (tested := _describe_test(result["lags"])):
        print(f"Two unrelated smooth motions have high estimates and extrema, too{tested}")
    for topic in result["topics"]:
        names = topic["coordinates"]
        shown = names if len(names) < 5 else [*names[:2], "...", names[-1]]
        print(f"{topic['name']}: {len(names)} coordinates ({', '.join(shown)})")
    print(f"Messages: {fates(result['counts'], result.get('sync_tolerance'))}")
    for notice in result["notices"]:
        print(f"Notice: {notice}")
    mi = np.array(result["curve"]["mi"])
    print(
        f"Estimates: {len(mi)}, {stamps[0] - start:.2f} to {stamps[-1] - start:.2f} s, "
        f"{mi.min():.2f} to {mi.max():.2f} nats (median {np.median(mi):.2f}); each is an average "
        f"over {result['window']} steps"
    )
    if result["grid"]:
        half = result["extremum_grid"] > result["delay"] / 20 * 1.01
        print(
            f"Grid: the first estimate in each {result['grid']:.3g} s; extrema use one in each "
            f"{result['extremum_grid']:.3g} s{', half as many as on a robot' if half else ''} "
            "(--every 1: all estimates)"
        )
    print_flags(result["curve"])
    if plot:
        print(f"Picture: {plot}")
    if csv:
        print(f"Table: {csv}")


def print_clocks(result: dict[str, Any]) -> None:
    """Print by how much topics follow each other, and when their messages arrive."""

    def text(found: list[float] | None) -> str:
        return "not known" if found is None else "{:+.3f} s ({:+.3f} to {:+.3f})".format(*found)

    table(
        "Clocks: by how much the second topic follows the first",
        ("topics", "by stamps", "by arrival", ""),
        [
            (" > ".join(p["topics"]), text(p["stamps"]), text(p["arrivals"]), p["why"])
            for p in result["pairs"]
        ],
    )
    for topic, delay in result["delays"].items():
        print(f"{topic}: messages arrive {delay:.3f} s after their stamps (median)")
    for topic, why in result["left_out"].items():
        print(f"Left out: {topic} ({why})")


def _print_couplings(result: dict[str, Any]) -> None:
    start, steps = result["start"], result["coupling_window"]
    if steps is None:
        return  # with a notice
    table(
        "Coupling: when the two topics begin and stop to move together",
        ("", "event", "time", "MI of the motions (nats)", "detected at"),
        [
            (
                str(number),
                event["kind"],
                f"{event['stamp'] - start:.2f}",
                _reason(result, number),
                f"{event['detected_stamp'] - start:.2f}",
            )
            for number, event in enumerate(result["events"], start=1)
        ],
        empty=f"none above the noise: motions at equal times, over {steps} steps"
        + ("" if result["lags"] else "; --lags 0.5 also compares forces, and at lags"),
    )
    if result["events"]:
        print(
            f"Coupled motions are similar over {steps} steps of at least {1000 * SPACING:.0f} ms. "
            "This is no proof of contact: if a person\nmoves the object while the robot moves, "
            "they are coupled, and so are many unrelated smooth motions"
            f"{_describe_test(result['lags'])}"
        )
    resolution = result["coupling_resolution"]
    spans = (
        f"{topic['name']} " + " to ".join(f"{v:.2g}" for v in sorted({min(of), max(of)}))
        for topic, of in zip(result["topics"], resolution["values"], strict=True)
    )
    estimated = f"from the noise at rest, {FINEST:g} without a rest"
    how = estimated if resolution["estimated"] else "as given"
    print(f"Smallest motion within a step ({how}): {', '.join(spans)}")


def _reason(result: dict[str, Any], number: int) -> str:
    """The information while two topics are coupled, or why this ended; events count from 1."""
    event, *later = result["events"][number - 1 :]
    if event["kind"] == DECOUPLED:
        rests = event["value"] >= DECOUPLED_BELOW
        return "one side rests" if rests else f"{event['value']:.2f}"
    end = max(later[0]["stamp"], event["detected_stamp"]) if later else np.inf
    stamps, mi = np.array(result["motions"]["stamp"]), np.array(result["motions"]["mi"])
    return f"{mi[(stamps >= event['stamp']) & (stamps <= end)].mean():.2f} on average"


def _describe_test(lags: dict[str, Any] | None) -> str:
    """What is known of the dependence of two topics, as the end of a sentence."""
    if not lags:
        return ": --lags 0.5 tests whether these two depend on each other"
    if any(scan["significant"] for scan in lags["scans"]):
        return ""
    return ". No lag is significant, which is no proof against a contact either"


def _print_lags(result: dict[str, Any]) -> None:
    lags, names = result["lags"], [topic["name"] for topic in result["topics"]]
    rows, ends, rare = [], False, False
    for scan in lags["scans"]:
        if "why" in scan:
            rows.append((*scan["quantities"], "none", scan["why"], "", ""))
            continue
        best = scan["top"]
        found = scan["significant"]
        ends |= best in (0, len(scan["mi"]) - 1)
        rare |= found and scan["p_adjusted"][best] > LEVEL
        low, high = scan["interval"]
        rows.append(
            (
                *scan["quantities"],
                _format_signed(scan["best"]) if found else "none",
                f"{_format_signed(low)} to {_format_signed(high)}" if found else "",
                value_text(*(scan[name][best] for name in ("mi", "stderr", "at_least"))),
                f"{scan['p_adjusted'][best]:.2g}",
            )
        )
    count = 2 * round(lags["seconds"] / lags["step"]) + 1
    table(
        f"Lags at which the two depend on each other most: positive if {names[1]} is ahead",
        (*names, "lag (s)", "90% interval", "MI (nats)", f"p, for {count} lags"),
        rows,
    )
    print(
        f"Lags: each {lags['step']:.3g} s up to {lags['seconds']:g} s, over {lags['span']:.0f} s "
        "of the recording, without long rests"
        + (". The largest value is at an end: try longer --lags" if ends else "")
        + (". So short a recording allows no smaller p" if rare else "")
    )


def _format_signed(seconds: float) -> str:
    return f"{round(seconds, 3) + 0.0:+.3f}"  # no -0.000
