"""The page of infoatlas-rt label with the recordings of the README, in a file without a server.

python docs/site/demo.py build/docs/source/label.html
"""

import base64
import json
import re
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from infoatlas_tools.cli import label

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tools/infoatlas_tools/label/page"
DATA, CAMERA = ROOT / "examples/data/stack", "front"
# Each after those that it imports.
MODULES = ("model", "lanes", "plot", "strip", "list", "keys", "pictures", "objects", "app")
NAMES = re.compile(r"^export (?:const|async function|function|class) ([\w$]+)", re.MULTILINE)


def answers() -> dict[str, object]:
    """What the server would answer after the marks of one episode."""
    parser = ArgumentParser()
    label.add_arguments(parser)
    with TemporaryDirectory() as folder:
        given = [str(DATA), "--camera", CAMERA, "--labels", str(Path(folder) / "labels.json")]
        with label.make_server(parser.parse_args(given)) as server:
            session, camera = server.session, server.cameras[CAMERA]
            session.follow()
            session.change(session.revision, "accept", episode=0)
            session.follow()
            state = server.state()
    count, signals = len(session.names), session.signals
    videos = [camera.video(i) for i in range(count)]
    (file,) = {path for path, _, _ in videos}
    last = [len(states) - 1 for states in signals.states]
    shown = {"labels": "this page until it is left", "undo": False}
    return {
        "state": state | shown,
        "signals": [signals.piece(i, 0, end, end + 1) for i, end in enumerate(last)],
        "overview": [signals.overview(group) for group in range(len(signals.groups))],
        "times": [{"begin": begin, "end": end} for _, begin, end in videos],
        "video": base64.b64encode(file.read_bytes()).decode(),
    }


def module(name: str, text: str) -> str:
    """A module as a constant with its exports: browsers load no modules from a folder."""
    text = re.sub(r'^import (\{.*?\}) from "\./(\w+)\.js";', r"const \1 = \2;", text, flags=re.M)
    own = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    exports = ", ".join(NAMES.findall(text))
    return f"const {name} = (() => {{\n{own}\nreturn {{ {exports} }};\n}})();\n"


def main(target: str) -> None:
    data = json.dumps(answers(), separators=(",", ":")).replace("</", "<\\/")
    text = (Path(__file__).parent / "demo.js").read_text(encoding="utf-8")
    scripts = [module("api", text.replace("RECORDED", data))]
    scripts += [module(name, (PAGE / f"{name}.js").read_text(encoding="utf-8")) for name in MODULES]
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    style = (PAGE / "label.css").read_text(encoding="utf-8")
    page = page.replace('<link rel="stylesheet" href="label.css">', f"<style>\n{style}</style>")
    page = page.replace('<script type="module" src="app.js"></script>\n', "")
    page = page.replace("</body>", f"<script>\n{''.join(scripts)}</script>\n</body>")
    Path(target).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
