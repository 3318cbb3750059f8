"""The server of the page: reachable from this machine only, by pages that have the token."""

import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infoatlas_rt.errors import InfoAtlasError, InputError

from .session import Session, Stale
from .work import Cancelled

ADDRESS = "127.0.0.1"
# Names of this machine by which a browser may ask, with any port: a port may be forwarded, as by
# ssh -L. A page of another site cannot send them.
NAMES = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; form-action 'none'"
LARGEST = 1 << 16  # bytes of a request
BLOCK = 1 << 20  # bytes of a video that are read at a time
ELSEWHERE = "The marks were changed in another tab or in the file. They are shown now: try again."


class Server(ThreadingHTTPServer):
    """Serves one session, with a token that is made for it; port 0 chooses a free one."""

    daemon_threads = True
    # A fixed port serves again at once; on Windows the option would share it with another server.
    allow_reuse_address = os.name != "nt"

    def __init__(self, session: Session, cameras: Mapping[str, Any], port: int = 0) -> None:
        self.session, self.cameras, self.token = session, cameras, secrets.token_urlsafe(24)
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"port {port} cannot be used ({error}): pass another --port, or none for a free one"
            ) from error
        self.origin = f"http://{ADDRESS}:{self.server_port}"
        self.url = f"{self.origin}/?token={self.token}"

    def state(self) -> dict[str, Any]:
        """All that the page shows, except for signals and pictures."""
        cameras = self.cameras.items()
        shown = [{"name": name, "video": c.video(0) is not None} for name, c in cameras]
        return self.session.state() | {"cameras": shown}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: browsers end connections while a video is sent."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed for a request."""

    def do_GET(self) -> None:
        """A file of the page, the state, or a part of the data."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """A change, and the state after it."""
        self._answer(self._post)

    def _answer(self, reply: Any) -> None:
        try:
            if self._admitted():
                reply()
        except Stale:
            self._json({"error": ELSEWHERE, "state": self.server.state()}, HTTPStatus.CONFLICT)
        except Cancelled:
            self._json(self.server.state() | {"said": "Cancelled: nothing was changed."})
        except InfoAtlasError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"The request is not understood ({error!r}).")

    def _admitted(self) -> bool:
        """Whether the request is from this page; otherwise it has been answered."""
        origin, host = self.headers.get("Origin"), self.headers.get("Host", "")
        if not NAMES.fullmatch(host) or origin not in (None, f"http://{host}"):
            self._refuse(
                HTTPStatus.FORBIDDEN,
                f"This page is for {self.server.origin} alone, or http://localhost with a port "
                "that is forwarded to it.",
            )
            return False
        query = parse_qs(urlsplit(self.path).query)
        if self._is_token(query.get("token", [""])[0]):  # from now on, the cookie has it
            self.send_response(HTTPStatus.SEE_OTHER)
            cookie = f"{self._cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            self.send_header("Set-Cookie", cookie)
            self.send_header("Location", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False
        pairs = [part.strip().partition("=") for part in self.headers.get("Cookie", "").split(";")]
        given = {name: value for name, _, value in pairs}.get(self._cookie, "")
        if not self._is_token(given) and not self._is_token(self.headers.get("X-Token", "")):
            self._refuse(
                HTTPStatus.FORBIDDEN,
                "This address needs its token: open the one that infoatlas-rt label printed.",
            )
            return False
        return True

    @property
    def _cookie(self) -> str:
        return f"infoatlas_{self.server.server_port}"  # cookies are shared between ports

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.server.token.encode())

    def _get(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        session, parts = self.server.session, url.path.strip("/").split("/")
        if parts[0] == "state":
            self._json(self.server.state())
        elif parts[0] == "work":
            self._json(vars(work) if (work := session.work) else {})
        elif parts[0] == "clocks":
            self._json(session.clocks)
        elif parts[0] == "signals":
            numbers = (int(query[name]) for name in ("episode", "first", "last", "width"))
            self._json(session.signals.piece(*numbers))
        elif parts[0] == "overview":
            self._json(session.signals.overview(int(query["group"])))
        elif parts[0] in ("video", "frame"):
            camera = self.server.cameras[query["camera"]]
            self._picture(camera, int(query["episode"]), query.get("step"))
        else:
            self._file(url.path.strip("/") or "index.html")

    def _post(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST or self.headers.get("Content-Type") != "application/json":
            raise ValueError("it is too long, or not JSON")
        given, session = json.loads(self.rfile.read(length)), self.server.session
        what, said = urlsplit(self.path).path, dict[str, Any]()
        if what == "/change":
            session.change(**given)
        elif what == "/follow":
            said = {"said": session.follow()}
        elif what == "/annotate":
            said = {"said": session.annotate(**given)}
        elif what == "/objects":
            said = {"objects": session.objects()}
        elif what == "/names":
            session.object_names = {int(n): t for n, name in given.items() if (t := name.strip())}
        elif what == "/cancel":
            if work := session.work:  # it may end meanwhile
                work.cancelled = True
        else:
            raise ValueError(what)
        self._json(self.server.state() | said)

    def _file(self, name: str) -> None:
        file = files(__package__) / "page" / name
        if not re.fullmatch(r"[a-z_]+\.[a-z]+", name) or not file.is_file():
            self._refuse(HTTPStatus.NOT_FOUND, f"There is no {name}.")
            return
        self._send(file.read_bytes(), f"{TYPES[Path(name).suffix]}; charset=utf-8")

    def _picture(self, camera: Any, episode: int, step: str | None) -> None:
        """A frame as JPEG, the times of an episode in its video, or a part of the video."""
        if step is not None:
            import cv2

            (frame,) = camera.demonstrations[episode].read([int(step)], 640)  # as recorded
            self._send(cv2.imencode(".jpg", frame[..., ::-1])[1].tobytes(), "image/jpeg")
            return
        path, begin, end = camera.video(episode)
        if self.path.startswith("/video/times"):
            self._json({"begin": begin, "end": end, "file": path.name})
            return
        size = path.stat().st_size
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, size - 1
        if asked and asked[1]:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        elif asked and asked[2]:
            first = max(0, size - int(asked[2]))
        if first > last:
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"The video has {size} bytes.")
            return
        self.send_response(HTTPStatus.PARTIAL_CONTENT if asked else HTTPStatus.OK)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(first)
            left = last - first + 1
            while left > 0 and (block := file.read(min(BLOCK, left))):
                self.wfile.write(block)
                left -= len(block)

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True  # the rest of the request is not read
        self._json({"error": text}, status)

    def _json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(value, allow_nan=False).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)
