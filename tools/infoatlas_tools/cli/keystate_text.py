"""Text output of the command keystates."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from infoatlas_rt.cli.console import table

from ..analysis.group_changes import GroupChange
from ..keystates.key_states import KeyStates
from ..keystates.marks import episode_names
from ..keystates.trust.quality import Quality


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
        _print_details(found)
    names = found.trajectories.names
    for name, columns in groups.items():
        print(f"Group {name}: {', '.join(names[c] if names else str(c) for c in columns)}")
    for change in changes:
        print(f"{found.name(change.keystate)}, {change}")
    if arguments.save:
        _print_live(found)
        print(
            f"Saved: {arguments.save} (key states for KeyStateTracker and the ROS 2 node; "
            "annotate --save has sub-tasks, too)"
        )
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_details(found: KeyStates) -> None:
    """Print strengths, how often detectors find key states again, and unusual demonstrations."""
    stride = found.recordings.timing.stride
    again = found.reproduced.tolist()
    table(
        "Details (found again: by detectors of other demonstrations, 0% for evenly spaced steps)",
        ("key state", "strength", "found again"),
        [
            (name, f"{own:.2f}", "-" if share != share else f"{share:.0%}" if share > 0 else "no")
            for name, own, share, shared in zip(
                found.found.names, found.strength.tolist(), again, found.shared, strict=True
            )
            if shared
        ],
    )
    if stride > 1:
        print(f"A working step is {stride} recorded steps.")
    names = episode_names(found.trajectories)
    for i, quality in enumerate(found.quality):
        if unusual := _unusual(quality):
            print(f"Demonstration {names[i]}: {unusual}.")


def _unusual(quality: Quality) -> str:
    """Text about unusual properties of a demonstration; empty if there are none."""
    found = quality.reasons
    if quality.idle > 0.3:
        found.append(f"idle {quality.idle:.0%} of the time")
    return "; ".join(found)


def _print_live(found: KeyStates) -> None:
    """Print how well key states were followed in held-out demonstrations."""
    live = found.detectors
    table(
        "Live, in demonstrations left out (found: within 0.5 s; one more counts as half found)",
        ("key state", "followed", "found", "median delay", "false reports per demonstration"),
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
            if found.shared[j]
        ],
    )
