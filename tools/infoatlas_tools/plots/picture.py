"""Figures with fonts for all letters, which notebooks show."""

import warnings
from io import BytesIO
from typing import Any

from matplotlib import font_manager, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

# With Chinese, Japanese and Korean letters, which the font of matplotlib lacks.
FONTS = "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Microsoft YaHei", "PingFang SC"


class Picture(Figure):
    """A figure without a window. Matplotlib's own are shown in notebooks by pyplot alone."""

    def __init__(self, width: float, height: float) -> None:
        # Texts take their fonts from the settings when they are made, also those of later figures.
        family, known = rcParams["font.family"], {f.name for f in font_manager.fontManager.ttflist}
        rcParams["font.family"] = [*family, *(f for f in FONTS if f in known and f not in family)]
        # In place of these warnings, one for each letter and size, `savefig` gives one.
        warnings.filterwarnings("ignore", "Glyph .* missing from", module=r"infoatlas_tools\.")
        super().__init__(figsize=(width, height), dpi=160, facecolor="white")
        FigureCanvasAgg(self)  # measures texts; sizes of other formats differ by a pixel or two

    def _repr_png_(self) -> bytes:
        return png(self)

    def savefig(self, *given: Any, **options: Any) -> None:
        """Write the picture, with a warning of letters that no installed font has."""
        own = (font_manager.FontProperties(family=[name]) for name in rcParams["font.family"])
        fonts = [font_manager.get_font(font_manager.findfont(one)) for one in own]
        known = {*"\n\r\t"}.union(*(map(chr, font.get_charmap()) for font in fonts))
        texts = [text.get_text() for text in self.findobj(Text) if text.get_visible()]
        if lacking := sorted(set("".join(texts)) - known):
            warnings.warn(
                f"no font has {''.join(lacking[:9])!r}: install one, as {FONTS[0]!r} for "
                "Chinese, Japanese and Korean",
                stacklevel=2,
            )
        super().savefig(*given, **options)


def png(figure: Figure) -> bytes:
    """The picture at the size for a page."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()
