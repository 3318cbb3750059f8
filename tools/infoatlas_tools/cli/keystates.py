"""The command keystates: finds key states, draws and saves them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import progress, write_json
from infoatlas_rt.errors import InputError

from .discovery_options import add_discovery, check_discovery, discover, listed
from .loading import DEMONSTRATIONS, add_loading, load_data
from .recording_arguments import add_camera, add_plot, add_save, add_topic, check_data

if TYPE_CHECKING:
    from ..keystates.key_states import KeyStates
    from ..trajectories import Trajectories

HELP = "key states that recorded demonstrations share"
DESCRIPTION = (
    "Find the key states of demonstrations of one task: boundaries between sub-tasks, in any order."
)
EXAMPLES = (
    "keystates demos.npz --count 5 --plot keystates.png --save task.json",
    "keystates demos.npz --label 0:grasp=75,release=150 --label 4:grasp=81,release=140",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DEMOS", help=DEMONSTRATIONS)
    add_loading(parser)
    add_camera(parser)
    add_discovery(parser)
    parser.add_argument(
        "--group",
        action="append",
        metavar="NAME=COLUMNS",
        help="report which groups of coordinates begin or stop to depend on each other at each "
        "key state; give it at least twice. COLUMNS are numbers, as tool=18:21, or the beginning "
        "of names, as cube=cube.",
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help="print kinds, strengths and unusual demonstrations, too",
    )
    add_plot(parser)
    add_save(parser)
    add_json(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))
    add_estimator(parser, slices=10)


def run(arguments: Namespace) -> None:
    from ..keystates.summary import finite
    from .keystate_text import print_keystates

    dataset = check_data(arguments.data, "keystates")
    check_discovery(arguments)
    trajectories = load_data(arguments, dataset)
    groups = parse_groups(arguments.group or [], trajectories)
    estimator = make_estimator(arguments)
    with progress("key states") as advance:
        found = discover(arguments, trajectories)
        advance(0.5)
        changes = found.explain(groups, estimator=estimator) if groups else []
    if arguments.save:
        found.save(arguments.save)
    if arguments.plot:
        from ..plots.keystate_plots import raster_figure

        title = Path(arguments.data).stem
        raster_figure(found, title=title).savefig(arguments.plot)
    result = {"data": str(arguments.data), **found.to_dict()}
    for column, state in enumerate(result["keystates"]):
        state |= _followed(found, column) if arguments.save else {}
        state["groups"] = [finite(asdict(one)) for one in changes if one.keystate == column]
    result |= {
        "episodes": list(trajectories.episodes),
        "model": estimator.model_file.name,
        "slices": arguments.slices,
        "seed": arguments.seed,
        "groups": groups,
    }
    if not write_json(arguments.json, result):
        print_keystates(found, changes, groups, arguments)


def parse_groups(texts: list[str], trajectories: Trajectories) -> dict[str, list[int]]:
    """Groups of `--group NAME=COLUMNS`: numbers, ranges as 18:21, or beginnings of names.

    InputError if there is no "=", no column matches, or there is a single group.
    """
    from ..columns import columns_of

    groups: dict[str, list[int]] = {}
    for text in texts:
        name, _, columns = text.partition("=")
        if not name or name in groups:
            raise InputError(f"--group {text!r}: give each group a name of its own")
        groups[name] = []
        names, width = trajectories.names, trajectories.states.shape[1]
        for part in listed(columns):
            groups[name] += columns_of(part, names, width, f"--group {text!r}")
        if not groups[name]:
            raise InputError(
                f"--group {text!r} names no columns: pass NAME=18:21 or NAME=tool. (the beginning "
                "of coordinate names)"
            )
    if len(groups) == 1:
        raise InputError("--group was given once: name two groups that may depend on each other")
    return groups


def _followed(found: KeyStates, column: int) -> dict[str, Any]:
    """Recall, delay and false reports of the tracker for a key state."""
    from ..keystates.summary import finite

    live = found.detectors
    figures = {
        name: float(getattr(live, name)[column]) for name in ("recall", "delay", "false_reports")
    }
    return {"followed": bool(live.followed[column]), "live": finite(figures)}
