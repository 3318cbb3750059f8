"""The command keystates: finds key states, draws and saves them."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from infoatlas_rt.cli.console import progress, table, write_json

from . import recording_arguments

if TYPE_CHECKING:
    from ..keystates.key_states import KeyStates

HELP = "key states that recorded demonstrations share"
DESCRIPTION = (
    "Find the key states of demonstrations of one task: boundaries between sub-tasks, in any order."
)
EXAMPLES = (
    "keystates demos.npz --plot keystates.png --save task.json",
    "keystates demos.npz --label 0:grasp=75,release=150 --label 4:grasp=81,release=140",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--details",
        action="store_true",
        help="print kinds, strengths and unusual demonstrations, too",
    )
    recording_arguments.add_demonstrations(parser)


def run(arguments: Namespace) -> None:
    from ..each_episode import workers
    from ..keystates.discovery import discover_keystates
    from ..keystates.summary import finite
    from ..trajectories import episode_names

    count = recording_arguments.parse_count(arguments.count)
    with recording_arguments.options_named():
        trajectories = recording_arguments.opened(arguments).trajectories
    labels = recording_arguments.parse_labels(arguments.label or [], episode_names(trajectories))
    with progress("key states"), workers(arguments.jobs, len(trajectories.lengths)) as executor:
        found = discover_keystates(
            trajectories, count, labels=labels, date=arguments.date, executor=executor
        )
    if arguments.save:
        found.save(arguments.save)
    if arguments.plot:
        from ..plots.keystate_plots import raster_figure

        raster_figure(found, title=Path(arguments.data).stem).savefig(arguments.plot)
    about = {"episodes": list(trajectories.episodes)}
    result = {"data": str(arguments.data), **found.to_dict(), **about}
    for column, state in enumerate(result["keystates"]):
        if arguments.save:
            live, names = found.detectors, ("recall", "delay", "false_reports")
            state["followed"] = bool(live.followed[column])
            state["live"] = finite({name: float(getattr(live, name)[column]) for name in names})
    if not write_json(arguments.json, result):
        print_keystates(found, arguments)


def print_keystates(found: "KeyStates", arguments: Namespace) -> None:
    """Print key states with warnings and notes, and details if they are asked for."""
    print(found)
    for note in (*found.trajectories.notes, *found.notes):
        print(note)
    if arguments.details:
        _print_details(found)
    if arguments.save:
        _print_live(found)
        print(
            f"Saved: {arguments.save} (key states for KeyStateTracker and the ROS 2 node; "
            "annotate --save has sub-tasks, too)"
        )
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_details(found: "KeyStates") -> None:
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
    names = found.trajectories.episodes or [*range(len(found.quality))]
    for name, quality in zip(names, found.quality, strict=True):
        idle = [f"idle {quality.idle:.0%} of the time"] if quality.idle > 0.3 else []
        if unusual := "; ".join([*quality.reasons, *idle]):
            print(f"Demonstration {name}: {unusual}.")


def _print_live(found: "KeyStates") -> None:
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
