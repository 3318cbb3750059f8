"""In a notebook, results have the words that `print` shows, in tables."""

import html
import re

import numpy as np
import pytest

from infoatlas_rt import estimate
from infoatlas_tools import annotate, independence_test, rank_features
from infoatlas_tools.plots.keystate_plots import raster_figure

MOVES = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0).cumsum(axis=0) for i in range(6)]
X = np.random.default_rng(0).standard_normal((60, 2))


@pytest.mark.parametrize(
    ("result", "rows", "columns"),
    [
        (lambda: annotate(MOVES, 1), 5, 13),  # two tables
        (lambda: rank_features(X, X[:, 0], "edge", features={"<a>": [0], "b": [1]}), 3, 5),
        (lambda: rank_features(X, X[::-1, 0], "edge", permutations=0), 3, 2),  # no tests or flags
        (lambda: estimate(X, X), 0, 0),
        (lambda: independence_test(X, X[::-1], "edge", permutations=9), 0, 0),
    ],
)
def test_a_notebook_shows_what_print_does(result, rows, columns):
    found = result()
    page = found._repr_html_()
    texts = html.unescape(re.sub("</?(p|table|tr|th|td)( [^>]*)?>", " ", page))
    assert set(re.findall(r"[\w.<>]+", str(found))) <= set(re.findall(r"[\w.<>]+", texts))
    assert [page.count(tag) for tag in ("<tr>", "<th ")] == [rows, columns]


def test_progress_ends_and_pictures_are_shown():
    shares = []
    found = annotate(MOVES, 1, progress=shares.append)
    assert shares[-1] == 1.0
    assert raster_figure(found.keystates)._repr_png_().startswith(b"\x89PNG")
