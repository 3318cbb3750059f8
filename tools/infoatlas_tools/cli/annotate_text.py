"""Text output of the command annotate."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from infoatlas_rt.cli.console import table
from infoatlas_rt.estimation.presentation import counted

from ..annotate.content import Annotations
from ..annotate.quality_flags import RESTING, quality_table

LISTED = 10  # episodes to review, at most, and orders


def print_annotations(
    annotations: Annotations, result: dict[str, Any], arguments: Namespace, written: str
) -> None:
    """Print the parts as a table, quality if requested, and what was written."""
    total = len(annotations.episodes)
    pace = "" if annotations.rate is None else f", {annotations.rate:g} Hz"
    rows = []
    for number, (part, about) in enumerate(
        zip(annotations.subtasks.parts, result["subtasks"], strict=True), start=1
    ):
        nats, other = part.nats
        what = about["reference"] or "-"
        if what not in ("-", "world"):
            what += f" ({about['orientation']})"
        rows.append(
            (
                str(number),
                about["name"],
                f"{part.duration:.0f}",
                f"{about['share']:.0%}",
                f"{int((part.end > part.start).sum())}/{total}",
                what,
                nats,
                f"{about['runner_up']} {other}".strip(),
            )
        )
    table(
        f"{counted(len(rows), 'sub-task')} of {counted(total, 'demonstration')} in "
        f"{result['data']}{pace}",
        (
            *("", "sub-task", "median steps", "share of time", "in demonstrations"),
            *("about", "nats", "next best"),
        ),
        rows,
    )
    seen, every = annotations.subtasks.seen, annotations.subtasks.parts
    if any(part.nats != ("-", "-") for part in every):
        about = (
            "the joints at the end of a sub-task and the place of the object in the image"
            if seen
            else "where the tool ends a sub-task and the pose of the object"
        )
        print(f"nats: mutual information of {about}. world: no object, 0 nats.")
    if any(part.runner_up_information < 0 for part in every):
        print("Below 0 nats, the end varies less in the world than relative to the object.")
    if seen:
        numbered = [(f"object {k}", name) for k, name in enumerate(seen.names, start=1)]
        objects = ", ".join(a if a == name else f"{name} ({a})" for a, name in numbered)
        print(
            f"Objects whose places differ between demonstrations, by camera {seen.camera}: "
            f"{objects}. --plot FILE shows them, and --object-name 1=bottle names one."
        )
    trust = [annotations.keystates.trust] if annotations.keystates.trust else []
    for text in (*trust, *result["notes"], *result["warnings"]):
        print(text)
    if arguments.qa or arguments.format == "splits":
        for number, (order, own) in enumerate(list(annotations.orders.items())[:LISTED], start=1):
            print(f"Order {number}, in {len(own)} of {total} episodes: {order}")
    if arguments.qa:
        _print_quality(annotations)
    for text in result["left_out"]:
        print(f"Left out: {text}.")
    if result["written"]:
        print(f"Written: {result['written']} ({result['format']})")
    else:
        print(f"No data set is written. --out COPY writes {result['format']}: {written}")
    if arguments.save:
        print(f"Saved: {arguments.save} (a task for KeyStateTracker and the ROS 2 node)")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_quality(annotations: Annotations) -> None:
    """Print demonstrations with unusual properties, and those to drop."""
    every = quality_table(annotations)
    unusual = [
        q for q in every if q["drop"] or q["outliers"] or q["missing"] or q["repeated"]
        or q["idle"] > RESTING / 2
    ]  # fmt: skip
    table(
        f"Quality: {len(unusual)} of {len(every)} episodes are unusual",
        (
            *("episode", "frames", "idle", "idle at start, end", "outliers", "failed"),
            *("missing", "repeated"),
        ),
        [
            (
                q["episode"],
                str(q["frames"]),
                f"{q['idle']:.0%}",
                f"{q['idle_start']}, {q['idle_end']}",
                str(len(q["outliers"])),
                str(len(q["attempts"])),
                ", ".join(q["missing"]) or "-",
                ", ".join(q["repeated"]) or "-",
            )
            for q in unusual
        ],
        empty="none",
    )
    dropped = [q for q in every if q["drop"]]
    print(f"Drop: [{', '.join(q['episode'] for q in dropped)}]")
    for q in dropped:
        print(f"  {q['episode']}: {q['reasons']}")
    print(annotations.review.about_actions)
    looked = sorted((q for q in every if q["why"]), key=lambda q: q["review"])
    table(
        f"To review: {len(looked)} of {len(every)} episodes, the most unusual first",
        ("episode", "unlike the others in", "frames", "idle", "lag", "jerk", "surprise"),
        [
            (
                q["episode"],
                q["why"],
                str(q["frames"]),
                f"{q['idle']:.0%}",
                *("-" if q[k] != q[k] else f"{q[k]:.3g}" for k in ("lag", "jerk", "surprise")),
            )
            for q in looked[:LISTED]
        ],
        empty="none",
    )
