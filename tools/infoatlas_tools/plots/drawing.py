"""Shared by all pictures: colours, the style of axes, headings, and a check of the format."""

from typing import TYPE_CHECKING

from infoatlas_rt.errors import InputError

from ..presentation import require_matplotlib
from .label_placement import fit, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .picture import Picture

INK, QUIET, GRID = "#1c2733", "#6b7785", "#e6e9ed"
CURVE = "#1f5f99"
RED = "#c2262d"
COUPLING, MOTIONS = "#2e8b57", "#a8538f"
FORMATS = (".png", ".pdf", ".svg")
# Inches from the upper edge of a picture to the middle of a line.
HEADING, NOTE, MORE, LEGEND = 0.25, 0.52, 0.73, 0.98


def check_format(path: str) -> None:
    """Raise InputError if a picture cannot have that name, or matplotlib is not installed."""
    require_matplotlib("a picture")
    if not path.endswith(FORMATS):
        raise InputError(f"picture {path}: end its name in one of {', '.join(FORMATS)}")


def new_figure(width: float, height: float) -> "Picture":
    """An empty figure, sizes in inches; InputError if matplotlib is not installed."""
    require_matplotlib("a picture")
    from .picture import Picture

    return Picture(width, height)


def style_axes(axes: "Axes") -> None:
    """Two grey spines, small grey ticks, and dark labels."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9, length=3)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=INK, fontsize=10)


def draw_heading(figure: "Figure", heading: str, note: str, more: str = "", *, title: str) -> None:
    """Draw a heading after a title, and one or two lines of small print, within the picture."""
    heading = f"{shorten(title, 32)}: {heading}" if title else heading
    height = figure.get_figheight()
    room = 0.9 * figure.bbox.width
    for inches, words, colour, size, weight in (
        (HEADING, heading, INK, 13, "bold"),
        (NOTE, note, QUIET, 9, "normal"),
        (MORE, more, QUIET, 9, "normal"),
    ):
        if words:
            text = figure.text(0.075, 1 - inches / height, words, va="center")
            text.set(color=colour, fontsize=size, fontweight=weight)
            fit(text, room)


def draw_legend(figure: "Figure") -> None:
    """Draw a legend in one row below the small print."""
    figure.legend(
        loc="center left",
        bbox_to_anchor=(0.068, 1 - LEGEND / figure.get_figheight()),
        ncols=6,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        borderpad=0,
        handlelength=1.4,
        handletextpad=0.4,
        columnspacing=1.2,
        markerscale=0.7,
    )
