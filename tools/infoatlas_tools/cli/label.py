"""The command label: a page to view, mark and correct demonstrations."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from .recording_arguments import (
    DEMONSTRATIONS,
    add_bodies,
    add_description,
    add_loading,
    add_topic,
    opened,
    options_named,
)

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
    add_bodies(parser)
    add_loading(parser)
    add_description(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))


def run(arguments: Namespace) -> None:
    import webbrowser

    with make_server(arguments) as server:
        print(
            f"{arguments.data}: {server.url}\nMarks: {arguments.labels}. Ctrl-C ends it.",
            *server.session.trajectories.notes,
            sep="\n",
            flush=True,
        )
        if arguments.no_browser or "SSH_CONNECTION" in os.environ:
            port = server.server_port
            print(
                f"From another machine: ssh -L {port}:localhost:{port} {gethostname()} there, and "
                "the same address.",
                flush=True,
            )
        if not arguments.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            saved = Path(arguments.labels).exists()
            print(f"\nMarks are in {arguments.labels}." if saved else "\nNothing was marked.")


def make_server(arguments: Namespace) -> Server:
    """The server of the page, with the data read."""
    from infoatlas_rt.cli.console import check_target

    from ..annotations.annotate import check_bodies
    from ..keystates.subtasks.poses import parse_bodies
    from ..label.server import Server
    from ..label.session import Session

    check_target(Path(arguments.labels))
    with options_named():
        recording = opened(arguments)
        names = recording.trajectories.names
        tools = parse_bodies("--tool", arguments.tool or [], names)
        objects = parse_bodies("--object", arguments.object or [], names)
        check_bodies(tools, objects)
        session = Session(recording, Path(arguments.labels), tools=tools, objects=objects)
        return Server(session, recording.cameras, arguments.port)
