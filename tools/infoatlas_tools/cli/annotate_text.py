"""Text output of the command annotate."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from infoatlas_rt.cli.console import table

from ..annotate.content import Annotations
from ..keystates.summary import agreement
from ..presentation import counted

LISTED = 10  # orders, at most


def print_annotations(
    annotations: Annotations, result: dict[str, Any], arguments: Namespace, written: str, live: str
) -> None:
    """Print the parts as a table, quality if requested, what was written, and what is followed."""
    total = len(annotations.episodes)
    pace = "" if annotations.rate is None else f", {annotations.rate:g} Hz"
    rows = []
    subtasks = annotations.subtasks
    labelled = bool(annotations.keystates.labels)  # names of events in a person's own words
    parts = zip(subtasks.parts, result["subtasks"], subtasks.completed, strict=True)
    for number, (part, about, completed) in enumerate(parts, start=1):
        nats, other = part.nats
        what = about["reference"] or "-"
        if what not in ("-", "world"):
            what += f" ({about['orientation']})"
        rows.append(
            (
                str(number),
                about["name"],
                *[part.until] * labelled,
                f"{part.duration:.0f}",
                f"{about['share']:.0%}",
                f"{completed}/{total}",
                what,
                nats,
                f"{about['runner_up']} {other}".strip(),
            )
        )
    table(
        f"{counted(len(rows), 'sub-task')} of {counted(total, 'demonstration')} in "
        f"{result['data']}{pace}",
        (
            *("", "sub-task", *["until"] * labelled, "steps", "share of time", "found in"),
            *("about", "nats", "next best"),
        ),
        rows,
    )
    seen, every = subtasks.seen, subtasks.parts
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
        numbered = [(f"object {k}", n) for k, n in zip(seen.numbers, seen.names, strict=True)]
        called = [a if a == name else f"{name} ({a})" for a, name in numbered]
        informative = seen.informative
        listed = ", ".join(called[o] for o in sorted(informative)) or "none"
        rest = ", ".join(a for o, a in enumerate(called) if o not in informative)
        print(
            f"Objects whose places differ between demonstrations, by camera {seen.camera}: "
            f"{listed}{f'; without clear information: {rest}' if rest else ''}."
        )
        if not arguments.plot:
            print("--plot FILE shows these objects, and --object-name 1=bottle names one.")
    found = annotations.keystates
    for text in (
        *agreement(found.found, found.met, found.reproduced),
        *result["notes"],
        *result["warnings"],
    ):
        print(text)
    if arguments.qa or arguments.format == "splits":
        for number, (order, own) in enumerate(list(annotations.orders.items())[:LISTED], start=1):
            which = f" ({', '.join(own)})" if 2 * len(own) < total else ""
            print(f"Order {number}, in {len(own)} of {total} episodes{which}: {order}")
        if len(annotations.orders) > LISTED:
            print(f"{len(annotations.orders) - LISTED} more orders: --json FILE has them.")
    if arguments.qa:
        print(annotations.review.about_actions)
        _print_quality(result)
    for text in result["left_out"]:
        print(f"Left out: {text}.")
    if result["written"]:
        print(f"Written: {result['written']} ({result['format']})")
    else:
        print(f"No data set is written. --out COPY writes {result['format']}: {written}")
    if arguments.save:
        print(f"Saved: {arguments.save} (a task for KeyStateTracker and the ROS 2 node)")
        print(f"Live, in demonstrations left out:\n{live}")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_quality(result: dict[str, Any]) -> None:
    """Print the episodes to look at first, with the reasons."""
    first, total = result["look_at_first"], len(result["episodes"])
    if first is None:
        print("Quality: episodes are not compared without the rate: pass --rate HZ.")
        return
    table(
        f"Quality: {len(first)} of {total} episodes {'is' if len(first) == 1 else 'are'} unusual",
        ("episode", "why"),
        [
            (one["episode"], one["quality"]["reasons"])
            for one in result["episodes"]
            if one["quality"]["reasons"]
        ],
        empty="none",
    )
    if first:
        print(f"Look at first: [{', '.join(first)}]")
