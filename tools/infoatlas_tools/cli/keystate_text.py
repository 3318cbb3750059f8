"""Text output of the command keystates."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from infoatlas_rt.cli.console import table

from ..keystates.explanation import GroupChange
from ..keystates.key_states import SIMILAR, KeyStates
from ..keystates.quality import Quality
from ..keystates.steps import kind_letter


def print_keystates(
    found: KeyStates,
    changes: Sequence[GroupChange],
    groups: dict[str, list[int]],
    arguments: Namespace,
) -> None:
    """Print key states with warnings and notes, and details if they are asked for."""
    print(found)
    for note in (*found.trajectories.notes, *found.notes):
        print(note)
    if arguments.details:
        _print_details(found, arguments)
    names = found.trajectories.names
    for name, columns in groups.items():
        print(f"Group {name}: {', '.join(names[c] if names else str(c) for c in columns)}")
    for change in changes:
        print(f"Key state {change.keystate + 1}, {change}")
    if arguments.save:
        _print_live(found)
        print(f"Saved: {arguments.save} (a task for KeyStateTracker and the ROS 2 node)")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_details(found: KeyStates, arguments: Namespace) -> None:
    """Print kinds and strengths, what comes next, and unusual demonstrations."""
    stride = found.recordings.timing.stride
    kinds = [
        kind_letter(kind) if shared else "-"
        for kind, shared in zip(found.kind.tolist(), found.shared, strict=True)
    ]
    about = zip(kinds, found.rank.tolist(), found.strength.tolist(), strict=True)
    table(
        "Details (kind: one letter is one kind, -: like no other)",
        ("key state", "kind", "rank", "strength"),
        [
            (f"{j + 1} {found.name(j)}".strip(), kind, str(rank), f"{strength:.1f}")
            for j, (kind, rank, strength) in enumerate(about)
        ],
    )
    if stride > 1:
        print(f"A working step is {stride} recorded steps.")
    if found.reproduced == found.reproduced:
        print(f"Found again by detectors of other demonstrations: {found.reproduced:.0%}.")
    following = found.found.following
    weakest = found.strength[found.shared].min(initial=float("inf"))
    if following and arguments.count != "auto" and following[0] > SIMILAR * weakest:
        more = int(arguments.count) + len(following)
        listed = ", ".join(f"{strength:.1f}" for strength in following)
        print(f"The next are nearly as strong ({listed}): --count {more}")
    for i, quality in enumerate(found.quality):
        if unusual := _unusual(quality):
            name = found.trajectories.episodes[i] if found.trajectories.episodes else i
            print(f"Demonstration {name}: {unusual}.")


def _unusual(quality: Quality) -> str:
    """Text about unusual properties of a demonstration; empty if there are none."""
    found = []
    if quality.missing:
        found.append("lacks " + ", ".join(f"key state {j + 1}" for j in quality.missing))
    if quality.repeated:
        kinds = ", ".join(kind_letter(kind) for kind in quality.repeated)
        found.append(f"repeats kind {kinds}")
    if quality.outliers:
        found.append(f"bad frames at {', '.join(map(str, quality.outliers[:5]))}")
    if quality.unlike:
        found.append(f"unlike the others (likeness {quality.likeness:.2f})")
    if quality.idle > 0.3:
        found.append(f"idle {quality.idle:.0%} of the time")
    return "; ".join(found)


def _print_live(found: KeyStates) -> None:
    """Print how well key states were followed in held-out demonstrations."""
    live = found.detectors
    table(
        "Live, in demonstrations left out (0.5 s)",
        ("", "followed", "found", "median delay", "false reports an episode"),
        [
            (
                f"{j + 1} {found.name(j)}".strip(),
                "yes" if live.followed[j] else "no",
                *(
                    "-" if value != value else text.format(value)
                    for text, value in (
                        ("{:.0%}", live.recall[j]),
                        ("{:.2f} s", live.delay[j]),
                        ("{:.1f}", live.false_reports[j]),
                    )
                ),
            )
            for j in range(len(live.offset))
        ],
    )
