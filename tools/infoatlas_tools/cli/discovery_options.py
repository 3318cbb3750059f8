"""Options of the search for key states, and the search with them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infoatlas_rt.errors import InputError

from .recording_arguments import add_resolution

if TYPE_CHECKING:
    from ..keystates.key_states import KeyStates
    from ..trajectories import Trajectories


def add_discovery(parser: ArgumentParser) -> None:
    """Add --count and --label, and those of `add_description`, for `discover`."""
    parser.add_argument(
        "--count",
        metavar="K",
        default="5",
        help="largest number of key states in a demonstration, its end not counted; or auto",
    )
    parser.add_argument(
        "--label",
        action="append",
        metavar="DEMO:STEPS",
        help="known steps of a demonstration, as 0:75,150 or 0:grasp=75,release=150; "
        "the same kinds are found in the others. Give it for one to three demonstrations, with the "
        "same names, or once with a .json file that infoatlas-rt label wrote, or of {demo: {name: "
        "step}}. DEMO is the number of the "
        "episode in the file, or its position, from 0, if episodes have no numbers",
    )
    add_description(parser)


def add_description(parser: ArgumentParser) -> None:
    """Add --gripper to --resolution, for `described`."""
    parser.add_argument(
        "--gripper", metavar="COLUMNS", help="coordinates of the gripper: only their changes count"
    )
    parser.add_argument(
        "--ignore", metavar="COLUMNS", help="coordinates to leave out, by number or name"
    )
    parser.add_argument(
        "--orientation",
        action="append",
        metavar="COLUMNS=KIND",
        help="columns of an orientation, as 3:7=quaternion_xyzw, tool.r=rotation_vector or "
        "4=angle_degrees; none: do not look for any (default: recognised)",
    )
    parser.add_argument(
        "--rate", type=float, help="recorded steps per second (default: that of the file)"
    )
    parser.add_argument(
        "--stride",
        type=int,
        help="recorded steps in a working step (default: derived from the rate or the motion)",
    )
    add_resolution(parser)


def check_discovery(arguments: Namespace) -> None:
    """Raise InputError for options of other forms, before the computation."""
    if arguments.count != "auto" and not arguments.count.isdecimal():
        raise InputError(f"--count is {arguments.count!r}: pass a number of key states, or auto")


def discover(arguments: Namespace, trajectories: Trajectories) -> KeyStates:
    """Find key states with these options."""
    from ..keystates.discovery import discover_keystates

    return discover_keystates(
        described(arguments, trajectories),
        arguments.count if arguments.count == "auto" else int(arguments.count),
        labels=parse_labels(arguments.label or [], trajectories.episodes),
    )


def described(arguments: Namespace, trajectories: Trajectories) -> Trajectories:
    """Trajectories with what the options of `add_description` say about them."""
    return replace(
        trajectories,
        rate=trajectories.rate if arguments.rate is None else arguments.rate,
        stride=arguments.stride,
        gripper=listed(arguments.gripper),
        ignore=listed(arguments.ignore),
        orientation=parse_orientation(arguments.orientation or []),
        resolution=arguments.resolution,
    )


def parse_labels(texts: list[str], episodes: Sequence[str]) -> Any:
    """Labels of `--label`: a path, or steps by index in the data; None without any.

    InputError for text of another form, or an episode that does not exist.
    """
    from ..keystates.marks import placed_labels

    way_out = "write 0:75,150 or 0:grasp=75,release=150, or name a .json file of them"
    if len(texts) == 1 and texts[0].endswith(".json"):
        return texts[0]
    labels: dict[int, Any] = {}
    for text in texts:
        demonstration, _, steps = text.partition(":")
        pairs = [part.rpartition("=") for part in steps.split(",")]
        if not demonstration.isdecimal() or not all(step.isdecimal() for *_, step in pairs):
            raise InputError(f"--label {text!r}: {way_out}")
        named = {name: int(step) for name, _, step in pairs}
        plain = set(named) == {""}
        if int(demonstration) in labels or not (
            plain or ("" not in named and len(named) == len(pairs))
        ):
            raise InputError(
                f"--label {text!r}: {way_out}, each demonstration once, each name once"
            )
        labels[int(demonstration)] = [int(step) for *_, step in pairs] if plain else named
    return placed_labels(labels, episodes) or None


def parse_orientation(texts: list[str]) -> Any:
    """Orientations of `--orientation`: None, "none", or kinds by columns."""
    if texts == ["none"]:
        return "none"
    pairs = [text.rpartition("=") for text in texts]
    for text, (columns, _, kind) in zip(texts, pairs, strict=True):
        if not columns or not kind:
            raise InputError(f"--orientation {text!r}: write COLUMNS=KIND, as 3:7=quaternion_xyzw")
    return {columns: kind for columns, _, kind in pairs} or None


def listed(text: str | None) -> list[str]:
    """Names or numbers, separated by commas; ranges as 18:21."""
    found: list[str] = []
    for part in (text or "").split(","):
        if match := re.fullmatch(r"(\d+):(\d+)", part.strip()):
            found += map(str, range(int(match[1]), int(match[2])))
        elif part.strip():
            found.append(part.strip())
    return found
