"""The first picture of the README."""

import re

from benchmarks import front
from benchmarks.summary import load
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
    rates = [
        round(100 * row["rate"])
        for row in load("generation")["rows"]
        if row["study"] == "policies" and row["arm"] in front.ARMS
    ]
    assert shown == sorted(rates) and len(shown) == 8


def test_readme_shows_it():
    text = (front.ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"!\[[^]]+\]\(docs/front\.png\)", text)
