"""Sizes and places the texts in a picture, so that none covers another or leaves the picture."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation, Text
    from matplotlib.transforms import Bbox

# Offset from the point in points, and the horizontal and vertical alignment there.
Place = tuple[tuple[float, float], str, str]
Label = tuple["Annotation", list[Place]]
SMALLEST = 6.5  # smallest size of a text that is made smaller to fit, in points
ROOM = 1.5  # pixels around a text that stay free


def shorten(name: str, letters: int) -> str:
    """A name, with its middle left out if it has more than `letters` letters."""
    if len(name) <= letters:
        return name
    begin = (letters - 1) // 2
    return f"{name[:begin]}…{name[len(name) - (letters - 1 - begin) :]}"


def fit(text: "Text", pixels: float, *, upright: bool = False, prefix: str = "") -> None:
    """Make a text smaller, and then cut its beginning, until it is at most `pixels` long.

    An `upright` text runs from bottom to top. The beginning `prefix` is never cut off. A formula
    after it is made smaller, but never cut.
    """

    def length() -> float:
        box = text.get_window_extent()
        return box.height if upright else box.width

    size = float(text.get_fontsize())
    while length() > pixels and size > SMALLEST:
        size = max(SMALLEST, size - 0.5)
        text.set_fontsize(size)
    rest = text.get_text().removeprefix(prefix)
    while length() > pixels and len(rest) > 2 and "$" not in rest:
        rest = rest[max(1, len(rest) // 12) :]
        text.set_text(f"{prefix}…{rest}")


def new_label(
    axes: "Axes", text: str, point: tuple[float, float], places: list[Place], **style: Any
) -> Label:
    """A label of a point, which is invisible until `place_labels` places it."""
    label = axes.annotate(
        text, point, places[0][0], textcoords="offset points", visible=False, **style
    )
    return label, places


def place_labels(figure: "Figure", labels: Sequence[Label], taken: "Iterable[Bbox]" = ()) -> None:
    """Place each label where there is no text; labels without such a place are not shown.

    Call it when everything else is drawn and the limits of the axes are set. Labels that a later
    call places are invisible until then. They are in order of importance, each with its possible
    places, the best one first. `taken` are other boxes in pixels that labels must not cover.
    """
    if not labels:
        return
    from matplotlib.transforms import Bbox

    boxes = [*text_boxes(figure), *taken]
    for label, places in labels:
        label.set_visible(True)
        for offset, across, up in places:
            label.set_position(offset)
            label.set_horizontalalignment(across)  # type: ignore[arg-type]
            label.set_verticalalignment(up)  # type: ignore[arg-type]
            box = label.get_window_extent().padded(ROOM)
            inside = Bbox.intersection(box, figure.bbox)
            if inside is not None and inside.bounds == box.bounds and not box.count_overlaps(boxes):
                boxes.append(box)
                break
        else:
            label.set_visible(False)


def text_boxes(figure: "Figure") -> "list[Bbox]":
    """The box in pixels of each text that is shown."""
    from matplotlib.text import Text

    figure.draw_without_rendering()  # sets the texts of ticks
    outside = {
        id(text)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for text in (tick.label1, tick.label2)
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    return [
        text.get_window_extent()
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in outside
    ]
