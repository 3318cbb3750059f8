"""The page of `infoatlas-rt label`, in a browser.

PICTURES=1 renews docs/label_*.png.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.request import Request, urlopen

import numpy as np
import pytest

from benchmarks.tasks.demonstrations import load
from browsers import PEOPLE, ROOT, Person, open_browser, people, serving, write_videos
from infoatlas_tools import discover_keystates, load_trajectories

TRUTH = load("sawyer_place").times.astype(int)  # grasp and release of each


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    return write_videos(tmp_path_factory.mktemp("cameras") / "side", people()[0])


@pytest.fixture
def data(tmp_path):
    return shutil.copy(PEOPLE, tmp_path / "place.npz")


@pytest.fixture
def opened(browser, data, tmp_path):
    """The page of 14 people's demonstrations; the person, the server and the file of labels."""
    labels = tmp_path / "labels.json"
    with serving(data, "--rate", 20, "--labels", labels) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        person = Person(context.new_page(), server.url)
        yield person, server, labels
        context.close()
        assert not person.errors


def kept(labels):
    """Steps in a file of labels, by episode."""
    episodes = json.loads(labels.read_text())["episodes"]
    return {
        name: {kind: mark and mark["step"] for kind, mark in one["marks"].items()}
        for name, one in episodes.items()
    }


def label_two(person, first=0, second=5, truth=TRUTH):
    for number, which in enumerate((first, second)):
        person.page.locator("#episodes button").nth(which).click()
        person.settled()
        for key, name, step in zip("12", ("grasp", "release"), truth[which], strict=True):
            person.mark(int(step), name, key if number else None)


def test_mark_two_follow_correct_a_third_reload_and_annotate(opened, data, tmp_path):
    person, _, labels = opened
    page = person.page
    assert "No key states yet" in page.locator("#lanes").inner_text()
    assert set(person.states()) == {"open"}
    label_two(person)
    assert person.states()[0] == person.states()[5] == "labelled"
    marked = kept(labels)
    assert all(abs(marked["0"][k] - t) <= 1 for k, t in zip(marked["0"], TRUTH[0], strict=True))

    person.press("f")
    assert len([text for text in person.states() if re.fullmatch(r"\d+% sure", text)]) == 12
    assert "proposals are off by more than 0.25 s" in page.locator("#next").inner_text()
    page.locator("#episodes button").nth(2).click()
    before = person.settled().step("release")
    assert page.locator(".mark.proposed").count() == 2
    person.drag("release", before - 20)
    assert abs(person.step("release") - (before - 20)) <= 1
    assert person.states()[2] == "corrected" and page.locator(".mark.proposed").count() == 1
    corrected = kept(labels)["2"]
    assert list(corrected) == ["release"]
    person.press("f")
    assert person.step("release") == corrected["release"]  # a correction wins

    page.reload()
    page.wait_for_selector("#legend div")
    person.settled()
    assert person.episode() == 2 and person.step("release") == corrected["release"]
    assert person.states()[0] == "labelled"

    person.press("w")
    page.locator("#answer").fill(str(tmp_path / "copy.csv"))
    page.locator("#ok").click()
    person.until("/^Written/.test(document.querySelector('#message span')?.textContent)")
    rows = (tmp_path / "copy.csv").read_text().splitlines()
    header = rows[0].split(",")
    assert any(str(corrected["release"]) in row.split(",") for row in rows if row.startswith("2,"))
    assert "demonstration" in header[0] or "episode" in header[0]
    found = discover_keystates(load_trajectories(data, rate=20), labels=labels)
    assert found.steps[2].compressed()[1] == corrected["release"]


def test_of_many_episodes_only_what_changed_or_is_in_view_is_drawn(browser, tmp_path):
    moves = np.linspace(0, 1, 8)[:, None] * np.ones(2)
    np.savez(tmp_path / "many.npz", states=np.tile(moves, (600, 1)), lengths=np.full(600, 8))
    with serving(tmp_path / "many.npz", "--labels", tmp_path / "labels.json") as server:
        page = browser.new_page()
        person = Person(page, server.url).press("a").until("strip.parentElement.style.height")
        page.evaluate("document.querySelector('main').scrollTop = 1e6")
        ink = "strip.getContext('2d').getImageData(0, strip.height - 15, strip.width, 10).data"
        box = person.until(f"{ink}.some(Boolean)").page.locator("#strip").bounding_box()
        assert box["height"] <= page.viewport_size["height"]
        page.mouse.click(box["x"] + 90, box["y"] + box["height"] - 8)
        assert person.settled().episode() == 599
        page.evaluate("document.querySelectorAll('#episodes li').forEach((one) => (one.old = 1))")
        person.mark(3, "grasp")
        new = "[...document.querySelectorAll('#episodes li')].flatMap((o, i) => (o.old ? [] : [i]))"
        assert page.evaluate(new) == [599] and person.states()[599] == "labelled"
        page.close()


def test_everything_by_keyboard(opened):
    person, _, labels = opened
    page = person.page
    person.press("ArrowDown", "Home", *["Shift+ArrowRight"] * 3, "ArrowRight", "n")
    page.keyboard.type("grasp")
    person.press("Enter")
    there = str(person.episode())
    assert kept(labels)[there] == {"grasp": 31}
    person.press("End", "ArrowLeft", "n")
    page.keyboard.type("rest")
    person.press("Enter", "[")
    person.press("Shift+ArrowRight", "ArrowRight")  # moves the selected mark
    assert kept(labels)[there]["grasp"] == 42
    person.press("Delete")
    assert "grasp" not in kept(labels)[there]
    person.press("u")
    assert kept(labels)[there]["grasp"] == 42
    person.press("]", "r")
    page.keyboard.type("stop")
    person.press("Enter")
    assert list(kept(labels)[there]) == ["grasp", "stop"]
    person.press("f", "ArrowDown", "[", "Delete")  # of a proposal: it is not here
    assert None in kept(labels)[str(person.episode())].values()
    person.press("Enter")
    assert set(kept(labels)[str(person.episode())]) == {"grasp", "stop"}
    assert person.states()[person.episode()] == "labelled"
    person.press("+", "+")
    wide = page.locator("#axis").inner_text()
    person.press("0")
    assert page.locator("#axis").inner_text() != wide
    person.press("Home", "Space")
    page.wait_for_timeout(400)
    person.press("Space")
    assert 1 <= int(page.locator("#clock").inner_text().split()[1]) < 40
    person.press("a")
    assert page.locator("#strip").is_visible() and not page.locator("#plot").is_visible()
    person.press("a", "?")
    assert page.locator("#help").is_visible()
    person.press("Escape", "g")
    assert str(person.episode()) in page.locator("#go").inner_text()


def test_buttons_folds_and_speed(opened):
    person, server, labels = opened
    page = person.page

    def click(name, shown="#axis"):
        page.locator(name).first.click()
        box = person.settled().page.locator(shown)
        return box.inner_text(), box.bounding_box()["height"]

    seen = {"numbers": [2], "names": ["object 2"], "boxes": [[[0] * 4]], "size": [9, 9]}
    server.session.objects = lambda: seen
    page.evaluate("document.querySelector('#objects').hidden = false")
    click("#objects")
    page.locator("#crops input").fill("tin")
    click("#things .main")
    assert server.session.object_names == {2: "tin"}
    person.mark(60, "grasp")
    there = str(person.episode())
    click("[data-kind=grasp]")
    click("#absent")
    assert kept(labels)[there] == {"grasp": None}
    click("#remove")
    assert kept(labels) == {}
    person.mark(70, "grasp").mark(90, "Grasp")
    assert "grasp was at step 70: moved to 90" in person.message()
    assert click("#closer") != click("#whole")
    assert click("#wider", "#plot")[1] > click("#legend button", "#plot")[1]
    person.press(".")
    assert page.locator("#speed").input_value() == "2"
    page.route("**/change", lambda route: route.abort())
    person.press("1")
    assert "This change may not be saved" in person.message()
    assert kept(labels)[there] == {"grasp": 90} and person.step("grasp") == 90


def test_a_second_tab_never_overwrites_the_first(opened, browser):
    person, server, labels = opened
    page = person.page.context.new_page()
    other = Person(page, f"{server.origin}/#0")  # the cookie admits it
    person.page.bring_to_front()
    person.press("ArrowDown").mark(60, "grasp")
    there = person.episode()
    page.evaluate("history.replaceState(null, '', '#0')")
    other.press("n")
    page.keyboard.type("release")
    other.press("Enter")
    assert "changed in another tab" in other.message()
    assert list(kept(labels)) == [str(there)] and other.states()[there] == "labelled"
    other.press("n")
    page.keyboard.type("release")
    other.press("Enter")
    assert sum(len(own) for own in kept(labels).values()) == 2
    page.close()


def test_a_file_that_changed_under_it(opened, data):
    person, _, labels = opened
    person.mark(60, "grasp")
    text = labels.read_text()
    labels.write_text(text.replace('"step": 60', '"step": 66').replace("3.0", "3.3"))
    step = kept(labels)[str(person.episode())]["grasp"]
    person.press("1")
    assert "in the file. They are shown now" in person.message() and person.step("grasp") == step
    labels.write_text("{")
    person.press("1")
    assert "cannot be read" in person.message() and labels.read_text() == "{"
    labels.write_text(text)
    person.press("f")
    with np.load(data) as file:
        np.savez(data, **{**file, "states": file["states"][::-1]})
    person.press("1")
    assert "place.npz has changed since it was opened" in person.message()
    assert labels.read_text() == text
    with pytest.raises(Exception, match="of other data: the states of demonstration"):
        discover_keystates(load_trajectories(data, rate=20), labels=labels)


def answer(url, **headers):
    """Status and body of a request."""
    from urllib.error import HTTPError

    data = headers.pop("data", None)
    try:
        with urlopen(Request(url, data, headers), timeout=10) as response:
            return response.status, response.read(), response.headers
    except HTTPError as error:
        return error.code, error.read(), error.headers


def test_requests_without_token_or_from_elsewhere_are_refused(opened, browser):
    person, server, _ = opened
    token = {"X-Token": server.token}
    for path in "/ /state /app.js /signals?episode=0&first=0&last=9&width=99 /?token=x".split():
        status, body, _ = answer(server.origin + path)
        assert status == 403 and b"needs its token" in body
    assert answer(f"{server.origin}/state", **token)[0] == 200
    for name, value in (("Origin", "http://example.org"), ("Host", "example.org")):
        for path in ("/state", "/follow"):
            status, body, _ = answer(server.origin + path, **token, **{name: value})
            assert status == 403 and b"is for http://127.0.0.1" in body
    port = server.server_port  # a forwarded port is another one, or that of localhost
    for host in f"localhost:9000 localhost:{port} 127.0.0.1:9000 [::1]:9000 localhost".split():
        own = {**token, "Host": host}
        for origin, status in ((f"http://{host}", 200), ("http://localhost:8999", 403)):
            assert answer(f"{server.origin}/state", **own, Origin=origin)[0] == status
        for elsewhere in (f"{host}.example.org", f"example.org:{port}", f"x{host}"):
            assert answer(f"{server.origin}/state", **token, Host=elsewhere)[0] == 403
    bad = {**token, "Content-Type": "application/json"}
    for data in (b"{", b"[]", b"{}", b'{"revision": 0, "do": "nothing"}', b"x" * 70_000):
        assert answer(f"{server.origin}/change", data=data, **bad)[0] in (400, 422)
    for path in ("/page/../../session.py", "/session.py", "/..%2fsession.py", "/none.js"):
        assert answer(server.origin + path, **token)[0] == 404
    assert server.server_address[0] == "127.0.0.1"

    # A page of another origin, in the same browser, with the cookie of this one.
    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<p>elsewhere")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        page = person.page.context.new_page()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        asked = page.evaluate(
            "async (origin) => { try { const r = await fetch(origin + '/follow', {method: 'POST', "
            "credentials: 'include', body: '{}'}); return r.status } catch { return 'blocked' } }",
            server.origin,
        )
        assert asked == "blocked" and server.session.state()["followed"] is False
        page.close()
        other.shutdown()


def test_videos_are_in_step_and_sent_in_ranges(browser, data, videos, tmp_path):
    arguments = ("--rate", 20, "--labels", tmp_path / "labels.json", "--camera", videos)
    with serving(data, *arguments) as server:
        server.session.clocks = {str(videos): 5}
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        person = Person(page, server.url)
        person.until("document.querySelector('video')?.readyState >= 2")
        person.until("document.querySelector('figcaption input')")
        for late in (5, 0):
            person.point(99).point(100)
            shown = page.evaluate("document.querySelector('video').currentTime * 20")
            assert abs(shown - late - 100.5) < 1.5
            assert "pictures are 5 steps after the states" in page.inner_text("figcaption")
            page.locator("figcaption input").click()
        person.press("Home", "Space")
        page.wait_for_timeout(700)
        person.press("Space")
        frame = 20 * page.evaluate("document.querySelector('video').currentTime")
        step = int(page.locator("#clock").inner_text().split()[1])
        assert abs(frame - step - 5) < 3 and 2 < step < 40
        person.press("End", "Shift+ArrowLeft", "Space").until("!document.querySelector('#play.on')")
        assert "step 222" in page.locator("#clock").inner_text()  # the video ends before
        url = f"{server.origin}/video?camera={videos}&episode=0"
        token = {"X-Token": server.token}
        status, body, headers = answer(url, Range="bytes=4-11", **token)
        whole = (videos / "00.mp4").read_bytes()
        assert status == 206 and body == whole[4:12]
        assert headers["Content-Range"] == f"bytes 4-11/{len(whole)}"
        assert answer(url, Range="bytes=-5", **token)[1] == whole[-5:]
        assert answer(url, Range=f"bytes={len(whole)}-", **token)[0] == 416
        page.close()


@pytest.mark.parametrize("kind", ["of a codec that browsers lack", "broken"])
def test_a_video_that_the_browser_cannot_decode(browser, data, tmp_path, kind):
    states, _ = people(14)
    folder = write_videos(tmp_path / "front", [s[:60] for s in states[:1]], codec="mpeg4")
    np.savez(data, states=states[0][:60], lengths=[60])
    if kind == "broken":
        video = folder / "00.mp4"
        content = bytearray(video.read_bytes())
        at = content.index(b"mdat") + 4
        content[at : at + 4000] = bytes(4000)
        video.write_bytes(content)
    with serving(data, "--labels", tmp_path / "labels.json", "--camera", folder) as server:
        page = browser.new_page()
        person = Person(page, server.url)
        if kind == "broken":
            person.until("/decoded|read/.test(document.querySelector('figcaption').innerText)")
            assert page.locator("figure img").count() == 0
        else:
            person.until("document.querySelector('figure img')?.naturalWidth > 0")
        person.mark(20, "grasp")  # marks do not need it
        assert person.step("grasp") is not None and not person.errors
        page.close()


def test_a_port_that_is_taken_and_the_end_by_ctrl_c(data, tmp_path):
    command = [
        *(sys.executable, "-m", "infoatlas_rt", "label", str(data), "--rate", "20", "--no-browser"),
        *("--labels", str(tmp_path / "labels.json")),
    ]
    run = {"cwd": tmp_path, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A background job may inherit an ignored SIGINT.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    first = subprocess.Popen(command, **run, preexec_fn=heard)
    try:
        url = first.stdout.readline().split()[-1]
        first.stdout.readline()  # of the marks
        elsewhere = first.stdout.readline()
        port = re.search(r":(\d+)/\?token=", url)[1]
        taken = subprocess.run([*command, "--port", port], **run, timeout=60)
        assert taken.returncode == 2 and f"port {port} cannot be used" in taken.stderr
        assert "another --port" in taken.stderr
        token = {"X-Token": url.partition("=")[2], "Content-Type": "application/json"}
        change = {"revision": 0, "do": "mark", "episode": 1, "kind": "grasp", "step": 50}
        body = json.dumps(change).encode()
        assert answer(f"http://127.0.0.1:{port}/change", data=body, **token)[0] == 200
        first.send_signal(2)
        text, errors = first.communicate(timeout=20)
        assert first.returncode == 0 and "Marks are in" in text and not errors
        again = subprocess.Popen([*command, "--port", port], **run, preexec_fn=heard)
        assert again.stdout.readline().split()[-1].startswith(f"http://127.0.0.1:{port}/")
        again.send_signal(2)
        again.communicate(timeout=20)
        assert f"ssh -L {port}:localhost:{port} " in elsewhere
    finally:
        first.kill()
    assert kept(tmp_path / "labels.json") == {"1": {"grasp": 50}}


def test_pictures_of_the_tutorial(browser, tmp_path, monkeypatch):
    """At 1280 and 390 px nothing is wider than the page; the dark ones are only made for docs."""
    shutil.copytree(ROOT / "examples/data/stack", tmp_path / "stack")
    wanted = os.environ.get("PICTURES")
    monkeypatch.chdir(tmp_path)
    with serving("stack", "--camera", "front") as server:
        context = browser.new_context(viewport={"width": 1280, "height": 820})
        person = Person(context.new_page(), server.url)
        page = person.page
        label_two(person, 0, 3, {0: (52, 118), 3: (94, 170)})
        person.press("f")
        assert "No more labels are needed." in page.locator("#next").inner_text()
        page.locator("#episodes button").nth(1).click()
        person.settled()
        person.press("[")

        def shot(name, width=1280, scheme="light"):
            page.set_viewport_size({"width": width, "height": 820 if width > 400 else 844})
            page.emulate_media(color_scheme=scheme)
            person.settled()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if wanted:
                page.wait_for_timeout(400)
                page.screenshot(path=ROOT / "docs" / f"label_{name}.png")

        shot("episode")
        shot("narrow", 390)
        if wanted:
            shot("dark", scheme="dark")
            shot("narrow_dark", 390, "dark")
        person.press("a")
        shot("all")
        assert not person.errors
        context.close()


def test_the_copy_on_the_site_needs_no_server(browser, tmp_path):
    """An episode can be confirmed, and that undone; a request without an answer is refused."""
    file = tmp_path / "label.html"
    subprocess.run([sys.executable, ROOT / "docs/site/demo.py", file], check=True)
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    progress = page.locator("#progress")
    page.wait_for_function("document.querySelector('video')?.readyState >= 2")
    page.locator("#episodes button").nth(3).click()
    assert "1 of 20 episodes labelled" in progress.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#progress').textContent.startsWith('2 of 20')")
    page.keyboard.press("u")
    page.wait_for_function("document.querySelector('#progress').textContent.startsWith('1 of 20')")
    page.keyboard.press("f")
    page.locator("#message:not([hidden])").wait_for()
    assert "saves nothing" in page.locator("#message").inner_text()
    page.keyboard.press("a")
    page.locator("#strip").wait_for()
    assert not errors
    page.close()
