"""The command label: a page in the browser to look at demonstrations, mark and correct."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

from ..annotate.written_formats import FORMATS
from . import annotate
from .discovery_options import add_description, described
from .loading import DEMONSTRATIONS, add_loading, load_data
from .recording_arguments import add_topic, check_data

if TYPE_CHECKING:
    from ..label.server import Server

HELP = "a page in the browser to mark and correct key states"
DESCRIPTION = (
    "Serve a page on 127.0.0.1 that shows the demonstrations. Mark the key states of two; the "
    "others follow, for correction. Marks are saved at every change, and Ctrl-C ends the command. "
    "Options shared with annotate have the same meaning, also for the copy that the page writes."
)
EXAMPLES = (
    "label my_dataset --camera top",
    "label demos.npz --rate 20 --tool tool --object object --labels my_labels.json",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=DEMONSTRATIONS)
    parser.add_argument(
        "--labels", metavar="FILE", default="labels.json", help="file of the marks, made if absent"
    )
    parser.add_argument(
        "--camera",
        action="append",
        metavar="NAME",
        help="camera to show, as that of annotate; give it once for each camera",
    )
    parser.add_argument(
        "--port", type=int, default=0, help="port of the page (default: a free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="open no browser")
    annotate.add_bodies(parser)
    add_loading(parser)
    add_description(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))


def run(arguments: Namespace) -> None:
    import webbrowser

    with make_server(arguments) as server:
        print(
            f"{arguments.data}: {server.url}\nMarks: {arguments.labels}. Ctrl-C ends it.",
            flush=True,
        )
        if not arguments.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(f"\nMarks are in {arguments.labels}.")


def make_server(arguments: Namespace) -> Server:
    """The server of the page, with the data read."""
    from ..label.server import Server
    from ..label.session import Session

    dataset = check_data(arguments.data, "keystates")
    data = Path(arguments.data)
    parser = ArgumentParser()
    annotate.add_arguments(parser)
    one = copy(arguments)
    cameras = {}
    for one.camera in arguments.camera or [None]:
        trajectories = described(one, load_data(one, dataset))
        if trajectories.camera is not None:
            cameras[one.camera] = trajectories.camera

    def options(labels: Path) -> Namespace:
        """Those of annotate, as far as they are given here."""
        full = parser.parse_args([arguments.data, "--label", str(labels)])
        vars(full).update({k: v for k, v in vars(one).items() if k in vars(full)})
        return full

    def write_copy(labels: Path, out: Path) -> str:
        full = options(labels)
        full.out = str(out)
        name = annotate.check_format(full, dataset)
        found = annotate.annotate(full, dataset, trajectories)
        written, notes = annotate.write(found, full, name)
        texts = [f"Written: {Path(written).absolute()}.", *(f"Left out: {note}." for note in notes)]
        if any("--names" in note for note in notes):  # which this command lacks
            command = f"infoatlas-rt annotate {data} --label {labels} --names NAMES"
            texts.append(f"With names: {command}.")
        return " ".join(texts)

    target = annotate.check_format(options(Path()), dataset)
    ending = data.suffix if FORMATS[target].in_place else {"csv": ".csv"}.get(target, "")
    session = Session(
        trajectories, data, Path(arguments.labels), write_copy, f"{data.stem}_annotated{ending}"
    )
    return Server(session, cameras, arguments.port)
