"""The command annotate: writes key states and sub-tasks into data sets and other formats."""

from __future__ import annotations

import io
import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import Target
from infoatlas_rt.cli.console import progress, table, write_json
from infoatlas_rt.errors import InfoAtlasError, InputError, OutputError

from ..annotations.written_formats import FORMATS, check_format, check_out
from ..files.hub import hub_id
from ..presentation import first_names, require_matplotlib, with_count
from .recording_arguments import (
    add_bodies,
    add_demonstrations,
    opened,
    options_named,
    parse_count,
    parse_labels,
)

if TYPE_CHECKING:
    from ..annotations.content import Annotations
    from ..bags.any_recording import Recording
    from ..keystates.subtasks.subtask_results import SeenObjects

HELP = "key states and sub-tasks, written into a copy of a data set"
DESCRIPTION = (
    "Find key states and sub-tasks, and write them into a copy of the data set, or as a table. "
    "Options shared with keystates have the same meaning."
)
EXAMPLES = (
    "annotate my_dataset --out my_dataset_annotated",
    "annotate demos.npz --tool tool --object cube --object goal:position --out parts.csv",
)


LISTED = 10  # orders that are printed, at most
SHOWN = 15  # episodes, or reasons to look at one, that are printed, at most
NUMBER = re.compile(r"[\d.,%]+")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--out", metavar="COPY", help="file or folder to write; it must not exist")
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="replace DATA by an annotated data set, which is written beside it first",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="what to write (default: by DATA: lerobot, mimicgen, isaaclab, maniskill, mcap for "
        "bags, else csv)",
    )
    add_bodies(parser)
    parser.add_argument(
        "--object-name",
        action="append",
        metavar="N=NAME",
        help="name of an object that --camera sees, as 1=bottle; --plot shows their numbers",
    )
    parser.add_argument(
        "--names", metavar="NAMES", help='names of the sub-tasks, in their order, as "reach,carry"'
    )
    parser.add_argument(
        "--qa",
        action="store_true",
        help="list unusual episodes with the reasons: failed grasps, missing parts, idle time, "
        "faults of the recording; and write them if the format can store them. Also list by how "
        "much cameras and commands precede or follow the states; each camera is read for about "
        "30 s",
    )
    parser.add_argument(
        "--fix-clock",
        action="store_true",
        help="move the pictures of cameras that are late or early to the time of their states, in "
        "a copy of a LeRobot data set of v3.0. Frames without such a picture are removed",
    )
    parser.add_argument(
        "--trim",
        action="store_true",
        help="remove frames at the start and end of each episode of a LeRobot data set in which "
        "nothing moves and no action changes",
    )
    parser.add_argument(
        "--language",
        choices=("subtask", "motion"),
        help="also write the names of the sub-tasks as rows of this style of LeRobot's "
        "language_persistent, for LeRobot from 0.6 and its lerobot_collate_fn",
    )
    parser.add_argument(
        "--report",
        action=Target,
        metavar="FILE",
        help="page of one file (.html) with the table and the pictures; with --qa also of unusual "
        "episodes, with --camera their first and last frames",
    )
    parser.add_argument(
        "--episode",
        action="append",
        metavar="NAME",
        help="number or name of an episode of the picture or of the recordings for Rerun; may be "
        "given several times. Default: the one of median length in the picture, all for Rerun. "
        "With --camera, the picture shows the objects unless this is given",
    )
    add_demonstrations(parser)


def run(arguments: Namespace) -> None:
    from ..annotations.annotate import annotate
    from ..annotations.clock_offsets import clock_offsets
    from ..annotations.csv_and_json import as_tree
    from ..each_episode import workers
    from ..keystates.subtasks.poses import parse_bodies
    from ..trajectories import episode_names

    count, names = parse_count(arguments.count), arguments.names
    with options_named(), ExitStack() as running:
        with progress("annotations") as advance:
            recording = opened(arguments)
            name = check_options(arguments, recording)
            given = recording.trajectories
            executor = running.enter_context(workers(arguments.jobs, len(given.lengths)))
            annotations = annotate(
                recording,
                count,
                tools=parse_bodies("--tool", arguments.tool or [], given.names),
                objects=parse_bodies("--object", arguments.object or [], given.names),
                object_names=parse_object_names(arguments.object_name or []),
                names=names and [part.strip() for part in names.split(",")],
                labels=parse_labels(arguments.label or [], episode_names(given)),
                date=arguments.date,
                executor=executor,
                progress=advance,
            )
        clocks = None
        if arguments.qa or arguments.fix_clock:
            with progress("clocks") as advance:
                clocks = clock_offsets(recording, executor=executor, progress=advance)
    shifts = None
    if arguments.fix_clock and clocks:  # frames by which cameras are late, if that is known
        late = [row for row in clocks.rows if row.offset.apart and row.name.startswith("camera ")]
        shifts = {row.name.removeprefix("camera "): round(row.offset.steps) for row in late}
    picture = draw(annotations, arguments)
    refused: list[InfoAtlasError] = []
    written, live, notes = None, "", list[str]()
    with raised_later(refused):
        if arguments.save:
            task = annotations.keystates.follow(annotations.subtasks)
            task.save(arguments.save)
            live = task.describe()
    with raised_later(refused):
        if arguments.out or arguments.in_place:
            target = str(Path(arguments.data if arguments.in_place else arguments.out))
            notes += annotations.write(
                arguments.out,
                format=name,
                in_place=arguments.in_place,
                quality=arguments.qa,
                trim=arguments.trim,
                language=arguments.language,
                episodes=arguments.episode,
                shifts=shifts,
            )
            if clocks and name == "lerobot":
                about = json.dumps({"offsets": clocks.to_dict(), "moved": shifts}, indent=2)
                (Path(target) / "meta" / "clocks.json").write_text(about, encoding="utf-8")
            written = target
    if arguments.qa and not FORMATS[name].quality and written:
        notes.append(f"{name} cannot store the result of --qa")
    with raised_later(refused):
        if picture is not None:
            picture.savefig(arguments.plot)
    result = {
        "data": str(arguments.data),
        "format": name,
        "written": written,
        **as_tree(annotations, quality=arguments.qa),
        "live": live.splitlines(),
        "left_out": notes,
        "clocks": clocks and clocks.to_dict(),
        "moved": shifts,
    }
    said = io.StringIO()
    with redirect_stdout(said):
        print_annotations(annotations, result, arguments, FORMATS[name].written, live)
    printed = not write_json(arguments.json, result)
    if printed:
        print(said.getvalue(), end="")
    with raised_later(refused):  # a frame may not be decoded
        if arguments.report:
            from ..plots.report import write_report

            unusual = unusual_episodes(result) if arguments.qa else {}
            title = Path(arguments.data).name
            shown = choose_episodes(annotations, [])
            write_report(arguments.report, title, said.getvalue(), annotations, shown, unusual)
            if printed:
                print(f"Report: {arguments.report}")
    if refused:
        raise type(refused[0])("; ".join(map(str, refused)))


@contextmanager
def raised_later(refused: list[InfoAtlasError]) -> Iterator[None]:
    """Collect the error of one result, so that the others are written first."""
    try:
        yield
    except InfoAtlasError as error:
        refused.append(error)
    except OSError as error:
        refused.append(OutputError(str(error)))


def check_options(arguments: Namespace, recording: Recording) -> str:
    """Name of the format to write; InputError, before the computation, if it cannot be written."""
    name = check_format(
        recording, arguments.format, language=arguments.language, trim=arguments.trim
    )
    if arguments.episode and not arguments.plot and name != "rerun":
        raise InputError("--episode is the one of the picture: pass --plot FILE, or leave it out")
    if arguments.fix_clock and (name != "lerobot" or not (arguments.out or arguments.in_place)):
        raise InputError("--fix-clock writes a copy of a LeRobot data set of v3.0: pass --out COPY")
    if arguments.in_place and arguments.out:
        raise InputError("--out and --in-place were both given: choose one")
    if arguments.in_place and arguments.report:
        raise InputError("--report is of data that stay as they are: pass --out COPY")
    if arguments.in_place and hub_id(arguments.data):
        raise InputError("--in-place is for files of this machine: pass --out COPY")
    if arguments.in_place and not FORMATS[name].in_place:
        raise InputError(f"--format {name} is a file of its own: pass --out FILE")
    if arguments.report:
        require_matplotlib("--report")
        if not arguments.report.endswith((".html", ".htm")):
            raise InputError(f"--report {arguments.report} is a page: name it FILE.html")
    if arguments.out:
        check_out(recording, arguments.out, name)
    return name


def parse_object_names(texts: list[str]) -> dict[int, str]:
    """Names of `--object-name` by the numbers of objects."""
    found = {}
    for text in texts:
        number, _, name = text.partition("=")
        if not number.isdecimal() or not name:
            raise InputError(f"--object-name {text!r}: write NUMBER=NAME, as 1=bottle")
        found[int(number)] = name
    return found


def draw(annotations: Annotations, arguments: Namespace) -> Any:
    """The picture of `--plot`: of episodes, or of the objects that a camera sees; or None."""
    which = choose_episodes(annotations, arguments.episode or [])
    title = Path(arguments.data).name
    if arguments.plot and annotations.subtasks.seen and not arguments.episode:
        from ..plots.contact_sheet import contact_sheet

        return contact_sheet(annotations.subtasks.seen, title=title, episodes=annotations.episodes)
    if arguments.plot:
        from ..plots.annotation_plot import annotation_figure

        return annotation_figure(annotations, which, title=title)
    return None


def choose_episodes(annotations: Annotations, names: list[str]) -> list[int]:
    """Demonstrations for the picture: those that are named, or the one of median length."""
    if not names:
        order = annotations.lengths.argsort(kind="stable")
        return [int(order[len(order) // 2])]
    from ..episode_numbers import find_episode

    try:
        return [find_episode(name, annotations.episodes) for name in names]
    except InputError as error:
        raise InputError(f"--episode: {error}") from error


def print_annotations(
    annotations: Annotations, result: dict[str, Any], arguments: Namespace, written: str, live: str
) -> None:
    """Print the parts as a table, quality if requested, what was written, and what is followed."""
    from ..keystates.summary import agreement

    total, seen = len(annotations.episodes), annotations.subtasks.seen
    _print_parts(annotations, result)
    if seen:
        _print_objects(seen)
        if not arguments.plot:
            print("--plot FILE shows these objects, and --object-name 1=bottle names one.")
    found = annotations.keystates
    for text in (*agreement(found.agreement), *result["notes"], *result["warnings"]):
        print(text)
    if arguments.qa or arguments.format == "splits":
        for number, (order, own) in enumerate(list(annotations.orders.items())[:LISTED], start=1):
            which = f" ({first_names(own, SHOWN)})" if 2 * len(own) < total else ""
            print(f"Order {number}, in {len(own)} of {total} episodes{which}: {order}")
        if len(annotations.orders) > LISTED:
            print(f"{len(annotations.orders) - LISTED} more orders: --json FILE has them.")
    if arguments.qa:
        print(annotations.review.about_actions)
        print_quality(result)
    for row in result["clocks"] or ():
        print(f"Clock of {row['text']}.")
    for camera, steps in (result["moved"] or {}).items():
        print(f"Moved: pictures of {camera} by {-steps} frames.")
    for text in result["left_out"]:
        print(f"Left out: {text}.")
    if result["written"]:
        print(f"Written: {result['written']} ({result['format']})")
    elif not (arguments.out or arguments.in_place):
        print(f"No data set is written. --out COPY writes {result['format']}: {written}")
    if live:
        print(f"Saved: {arguments.save} (a task for KeyStateTracker and the ROS 2 node)")
        print(f"Live, in demonstrations left out:\n{live}")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def unusual_episodes(result: dict[str, Any]) -> dict[str, str]:
    """Reasons to look at an episode, by its name."""
    own = {one["episode"]: one["quality"]["reasons"] for one in result["episodes"]}
    return {episode: reasons for episode, reasons in own.items() if reasons}


def print_quality(result: dict[str, Any]) -> None:
    """Print the episodes to look at first, with the reasons; if they are many, by reason."""
    first, total = result["look_at_first"], len(result["episodes"])
    if first is None:
        print("Quality: episodes are not compared without the rate: pass --rate HZ.")
        return
    own = unusual_episodes(result)
    columns: tuple[str, ...] = ("episode", "why")
    rows: list[tuple[str, ...]] = list(own.items())
    if len(first) > SHOWN:
        columns = "episodes", "why, of the first", "first"
        alike = dict[str, list[tuple[str, str]]]()
        for episode, reasons in own.items():
            for reason in reasons.split("; "):
                alike.setdefault(NUMBER.sub("", reason), []).append((episode, reason))
        groups = sorted(alike.values(), key=len, reverse=True)
        rows = [(str(len(g)), g[0][1], ", ".join(e for e, _ in g[:3])) for g in groups[:SHOWN]]
    table(
        f"Quality: {len(first)} of {total} episodes {'is' if len(first) == 1 else 'are'} unusual",
        columns,
        rows,
        empty="none",
    )
    if first:
        rest = " (--json FILE has all)" if len(first) > SHOWN else ""
        print(f"Look at first: [{first_names(first, SHOWN)}]{rest}")


def _print_parts(annotations: Annotations, result: dict[str, Any]) -> None:
    """Print the sub-tasks as a table, and what its columns mean."""
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
        f"{with_count(len(rows), 'sub-task')} of {with_count(total, 'demonstration')} in "
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


def _print_objects(seen: SeenObjects) -> None:
    """Print which objects that a camera sees are at different places."""
    numbered = [(f"object {k}", n) for k, n in zip(seen.numbers, seen.names, strict=True)]
    called = [a if a == name else f"{name} ({a})" for a, name in numbered]
    informative = seen.informative
    listed = ", ".join(called[o] for o in sorted(informative)) or "none"
    rest = ", ".join(a for o, a in enumerate(called) if o not in informative)
    print(
        f"Objects whose places differ between demonstrations, by camera {seen.camera}: "
        f"{listed}{f'; without clear information: {rest}' if rest else ''}."
    )
