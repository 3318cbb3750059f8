"""The first picture of the README."""

import json
import re

from benchmarks import front
from pictures import crossing, words


def test_picture():
    figure = front.front()
    assert crossing(figure) == ([], [])
    *tasks, policies = figure.axes
    for axes, names in zip(tasks, ({"reach object"}, {"reach cube_a"}), strict=True):
        assert names <= {" ".join(text.split()) for text in words(axes)}
        lanes = [bar for group in axes.containers for bar in group]
        assert len(lanes) == 2 * front.LANES
    shown = sorted(int(text) for text in words(policies))
    rates = [rate for task in front.success().values() for rate in task]
    assert shown == sorted(map(round, rates)) and len(shown) == 8


def test_the_picture_is_of_the_present_results():
    content = (front.ROOT / "docs/front.png").read_bytes()
    (comment,) = re.findall(rb"tEXtComment\0(\{.*?\})", content)
    assert json.loads(comment) == front.success()


def test_readme_shows_it():
    text = (front.ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"!\[[^]]+\]\(docs/front\.png\)", text)
