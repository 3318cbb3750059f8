"""The page of `infoatlas-rt label` in a real browser, and data to label.

Chromium or Chrome has to be installed; without it, tests of the page are skipped.
"""

import shutil
import threading
from argparse import ArgumentParser
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from infoatlas_tools.cli import label
from numbered_videos import write_video

ROOT = Path(__file__).parents[1]
PEOPLE = ROOT / "benchmarks" / "tasks" / "data" / "sawyer_place.npz"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def open_browser():
    """A browser without a window."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def serving(*arguments):
    """The server of the page, with these arguments of the command."""
    parser = ArgumentParser()
    label.add_arguments(parser)
    with label.make_server(parser.parse_args([*map(str, arguments), "--no-browser"])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


FRAMES = """new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""


class Person:
    """What a person does on the page: keys, clicks, drags, names."""

    def __init__(self, page, url):
        self.page, self.errors = page, []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(url)
        page.wait_for_selector("#legend div")

    def settled(self):
        """Wait until what was asked for is shown."""
        for _ in range(2):  # a dialog that closes asks in the next frame
            self.page.evaluate(FRAMES)
            self.until("!document.body.hasAttribute('aria-busy')")
        return self

    def until(self, expression):
        """Wait for a condition; the page's own policy allows no `wait_for_function`."""
        for _ in range(200):
            if self.page.evaluate(expression):
                return self
            self.page.wait_for_timeout(50)
        raise TimeoutError(expression)

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.settled()
        return self

    def place(self, step):
        """Where a step is on the page."""
        box = self.page.locator("#plot").bounding_box()
        last = self.page.evaluate("import('./model.js').then((model) => model.last())")
        return box["x"] + box["width"] * step / last, box["y"] + 20

    def point(self, step):
        self.page.mouse.click(*self.place(step))
        return self

    def mark(self, step, name, key=None):
        """Mark a step, by the key of a kind or else with a new name."""
        self.point(step)
        if key:
            return self.press(key)
        self.press("n")
        self.page.keyboard.type(name)
        return self.press("Enter")

    def drag(self, kind, step):
        mark = self.page.locator(f"#lanes [data-kind='{kind}']")
        box = mark.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        at = self.step(kind)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + (self.place(step)[0] - self.place(at)[0]), y + 1, steps=4)
        self.page.mouse.up()
        return self.settled()

    def step(self, kind):
        """Step of a kind in the episode that is shown; None if it is absent."""
        return self.page.evaluate(
            "(kind) => import('./model.js').then((model) => "
            "model.entries().find((entry) => entry.kind === kind)?.step ?? null)",
            kind,
        )

    def episode(self):
        return int(self.page.locator("#episode").inner_text().split()[1])

    def states(self):
        return self.page.locator("#episodes .state").all_inner_texts()

    def message(self):
        return self.page.locator("#message span").inner_text()


def drawn(states, height=240, width=320):
    """A side view of tool, fingers and object, [T, h, w, 3], drawn from states of `PEOPLE`."""
    import cv2

    names = np.load(PEOPLE)["names"].tolist()
    images = np.full((len(states), height, width, 3), (222, 225, 228), np.uint8)
    images[:, 205:] = (168, 160, 150)
    across = (width * (states[:, names.index("tool.y")] + 0.5) / 1.2).astype(int)
    above = (205 - 420 * (states[:, names.index("tool.z")] - 0.945)).astype(int)
    fingers = states[:, [names.index(f"finger{i}.position") for i in (1, 2)]]
    opening = (4 + 500 * np.abs(np.diff(fingers, axis=1)[:, 0])).astype(int)
    lies = np.c_[
        width * (states[:, names.index("object.y")] + 0.5) / 1.2,
        205 - 420 * (states[:, names.index("object.z")] - 0.82),
    ].astype(int)

    def box(image, x, y, half, height, colour):
        corners = (int(x - half), int(y - height)), (int(x + half), int(y))
        cv2.rectangle(image, *corners, colour, -1)

    for image, x, y, gap, (left, low) in zip(images, across, above, opening, lies, strict=True):
        box(image, left, low + 9, 8, 18, (176, 74, 52))
        box(image, x, y - 46, 5, 240, (96, 104, 112))
        box(image, x, y - 26, 20, 22, (70, 76, 84))
        for side in (-1, 1):
            box(image, x + side * (gap + 3), y, 3, 27, (40, 44, 50))
    return images


def write_videos(folder, demonstrations, codec="libx264"):
    """A video of each demonstration."""
    for i, states in enumerate(demonstrations):
        write_video(folder / f"{i:02d}.mp4", drawn(states), codec, preset="ultrafast")
    return folder


def people(count=14):
    """States of the first demonstrations of `PEOPLE`, and their names."""
    with np.load(PEOPLE) as file:
        lengths = file["lengths"][:count]
        states = np.split(file["states"][: lengths.sum()], np.cumsum(lengths)[:-1])
        return states, file["names"].tolist()
