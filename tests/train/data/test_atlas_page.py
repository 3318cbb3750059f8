"""The page of the atlas: a row for each family, with examples and a histogram."""

from infoatlas_train.data import atlas_page
from infoatlas_train.data.atlas import DRAWS


def test_page_shows_every_family(tmp_path):
    families = dict.fromkeys(DRAWS, 1.0)
    figure = atlas_page.page(families, seed=1, batches=2, points=60)
    columns = len(atlas_page.COLUMNS) + 1
    assert len(figure.axes) == len(families) * columns + 1  # and the colour scale
    assert set(families) <= {text.get_text() for ax in figure.axes for text in ax.texts}
    for first in range(0, len(figure.axes) - 1, columns):
        *examples, histogram = figure.axes[first : first + columns]
        assert all(len(ax.collections[0].get_offsets()) == 60 for ax in examples)
        share = sum(bar.get_height() for bar in histogram.patches)
        assert abs(share - 1) < 1e-6  # all draws are in the bins
    figure.savefig(tmp_path / "atlas.png", dpi=30)
    assert (tmp_path / "atlas.png").read_bytes().startswith(b"\x89PNG")
