"""Options of the search for key states, and the search with them."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.errors import InputError, first_names

from .recording_arguments import add_resolution

if TYPE_CHECKING:
    from ..keystates.key_states import KeyStates
    from ..trajectories import Trajectories


def add_discovery(parser: ArgumentParser) -> None:
    """Add --count to --resolution, for `discover`."""
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
        help="known steps of a demonstration, as 0:75,150 or 0:grasp=75,release=150: the safe way; "
        "the same kinds are found in the others. Give it for one to three demonstrations, with the "
        "same names, or once with a .json file of {demo: {name: step}}. DEMO is the number of the "
        "episode in the file, or its position, from 0, if episodes have no numbers",
    )
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

    described = replace(
        trajectories,
        rate=trajectories.rate if arguments.rate is None else arguments.rate,
        stride=arguments.stride,
        gripper=listed(arguments.gripper),
        ignore=listed(arguments.ignore),
        orientation=parse_orientation(arguments.orientation or []),
        resolution=arguments.resolution,
    )
    return discover_keystates(
        described,
        arguments.count if arguments.count == "auto" else int(arguments.count),
        labels=placed_labels(parse_labels(arguments.label or []), trajectories.episodes) or None,
    )


def parse_labels(texts: list[str]) -> dict[int, Any]:
    """Labels of `--label`: steps by demonstration.

    Raises
    ------
    InputError
        Text of another form, or a file that cannot be read.
    """
    way_out = "write 0:75,150 or 0:grasp=75,release=150, or name a .json file of them"
    if len(texts) == 1 and texts[0].endswith(".json"):
        try:
            given = json.loads(Path(texts[0]).read_text(encoding="utf-8"))
            return {int(demonstration): steps for demonstration, steps in given.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"--label {texts[0]} cannot be read ({error}): {way_out}") from error
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
    return labels


def placed_labels(labels: dict[int, Any], episodes: Sequence[str]) -> dict[int, Any]:
    """Labels by index in the data, from labels by number of the episode.

    Numbers of episodes may not begin at 0, and some may be absent.

    Raises
    ------
    InputError
        There is no such episode.
    """
    if not episodes or not all(name.isdecimal() for name in episodes):
        return labels
    places = {int(name): i for i, name in enumerate(episodes)}
    if len(places) < len(episodes):  # "1" and "01" are names, not numbers
        return labels
    absent = [number for number in labels if number not in places]
    if absent:
        shown = first_names(episodes, 8)
        raise InputError(f"--label: there is no demonstration {absent[0]}, but {shown}")
    return {places[number]: steps for number, steps in labels.items()}


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
