"""Data sets by ids of the Hugging Face Hub, against a server that speaks the Hub's API."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.files.hub import hub_id, name_of
from refusals import refuses

STACK, SHA = Path(__file__).parents[3] / "examples/data/stack", "a" * 40


class Hub(BaseHTTPRequestHandler):
    """One data set `people/stack`; `paths` are those that were asked for."""

    paths: list[str]

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        self.paths.append(path)
        found = [file for file in STACK.rglob("*") if file.is_file()]
        files = {str(file.relative_to(STACK)): file.read_bytes() for file in found}
        if path.startswith("/api/datasets/people/stack/revision/"):
            return self.answer(json.dumps({"id": "people/stack", "sha": SHA}).encode())
        if path == f"/api/datasets/people/stack/tree/{SHA}":
            rows = [
                {"type": "file", "path": name, "size": len(content), "oid": self.oid(content)}
                for name, content in files.items()
            ]
            return self.answer(json.dumps(rows).encode())
        content = files.get(path.removeprefix(f"/datasets/people/stack/resolve/{SHA}/"))
        if content is None:
            return self.answer(b"{}", 404)
        self.answer(content)

    def answer(self, content, status=200):
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("ETag", f'"{self.oid(content)}"')
        self.send_header("X-Repo-Commit", SHA)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def oid(self, content):
        return hashlib.sha1(content).hexdigest()

    def log_message(self, *_):
        pass


def reach(monkeypatch, port):
    """Set what the package reads from HF_ENDPOINT when it is imported."""
    address, names = f"http://127.0.0.1:{port}", "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + names)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Paths that the server was asked for; the cache is empty."""
    Hub.paths = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reach(monkeypatch, server.server_port)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield Hub.paths
    server.shutdown()
    server.server_close()


def test_states_first_then_the_video_that_is_asked_for(hub):
    there, here = load_trajectories("people/stack"), load_trajectories(STACK)
    assert (there.states == here.states).all() and there.names == here.names
    assert hub and not [path for path in hub if "videos" in path]
    with_camera = load_trajectories("hf://people/stack@main", camera="front")
    assert with_camera.camera.read(0, [0], 32).shape == (1, 24, 32, 3)
    assert [path for path in hub if "videos" in path]


def test_the_cache_without_a_network(hub, monkeypatch):
    first = load_trajectories("people/stack")
    reach(monkeypatch, 9)
    assert (load_trajectories("people/stack").states == first.states).all()
    with pytest.raises(InputError, match="people/other does not exist, and as a data set of the"):
        load_trajectories("people/other")


def test_a_command_and_its_copy(hub, capsys, tmp_path):
    assert main(["annotate", "people/stack", "--out", str(tmp_path / "copy")]) == 0
    text = capsys.readouterr().out
    assert "3 sub-tasks of 20 demonstrations in people/stack" in text
    assert "Left out: videos of observation.images.front, which are not on this machine" in text
    assert load_trajectories(tmp_path / "copy").lengths.sum() == 3551
    assert main(["annotate", "people/stack", "--in-place"]) == 2
    assert "--in-place is for files of this machine" in capsys.readouterr().err


def test_an_unknown_id(hub):
    refuses(r"people/none does not exist.*404.*check the id", load_trajectories, "people/none")


def test_what_is_an_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    assert hub_id("people/stack") == ("people/stack", None)
    assert hub_id("hf://datasets/people/stack@v3.0") == ("people/stack", "v3.0")
    for path in ("runs/missing.npz", "a.npz", "/data/stack", "a/b/c", Path("runs") / "stack"):
        assert hub_id(path) is None
    assert name_of(Path("datasets--people--stack/snapshots") / SHA) == "stack"
    assert hub_id("hf://runs/stack") == ("runs/stack", None)
