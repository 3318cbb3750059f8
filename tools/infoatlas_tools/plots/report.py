"""A page of annotations in one file: the printed table, pictures, and the episodes to look at."""

import base64
import html
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from infoatlas_rt.errors import OutputError

from ..annotations.content import Annotations
from .annotation_plot import annotation_figure
from .contact_sheet import contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 15  # unusual episodes with pictures, at most
WIDTH = 320  # pixels of a frame
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:1000px;margin:auto;padding:1em}"
    "pre{white-space:pre-wrap;font-size:14px}img{max-width:100%}img.frame{margin-right:8px}"
    "pre span{display:block;white-space:pre;overflow:auto}"
)


def write_report(
    path: str,
    title: str,
    text: str,
    annotations: Annotations,
    shown: Sequence[int],
    unusual: Mapping[str, str],
) -> None:
    """Write the page.

    Parameters
    ----------
    path : str
        HTML file, which is replaced.
    title, text : str
        Heading, and what the command printed.
    annotations : Annotations
        What the pictures show. If a camera was read, unusual episodes have their first and last
        frames.
    shown : sequence of int
        Demonstrations of the first picture.
    unusual : dict of str to str
        Reasons to look at an episode, by its name. The first 15 episodes are shown.

    Raises
    ------
    InputError
        A frame cannot be decoded.
    OutputError
        The file cannot be written.
    """
    figure = annotation_figure(annotations, shown, title=title)
    # Rows of a table begin with a space. They are scrolled where other lines are wrapped.
    wrapped = re.sub(r"(?m)(?:^ .*\n)+", r"<span>\g<0></span>", html.escape(text))
    parts = [f"<pre>{wrapped}</pre>", _picture(figure)]
    if annotations.subtasks.seen:
        sheet = contact_sheet(annotations.subtasks.seen, title=title, episodes=annotations.episodes)
        parts.insert(1, _picture(sheet))
    for name in list(unusual)[:SHOWN]:
        episode = annotations.episodes.index(name)
        parts.append(f"<h2>Episode {html.escape(name)}</h2><p>{html.escape(unusual[name])}</p>")
        parts += [
            *_frames(annotations, episode),
            _picture(annotation_figure(annotations, [episode])),
        ]
    if len(unusual) > SHOWN:
        parts.append(f"<p>{len(unusual) - SHOWN} more unusual episodes are not shown.</p>")
    heading = html.escape(title)
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{heading}</title>'
        f"<style>{STYLE}</style><h1>{heading}</h1>\n" + "\n".join(parts) + "\n</html>\n"
    )
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error})") from error


def _frames(annotations: Annotations, episode: int) -> list[str]:
    """The first and the last frame of an episode."""
    from matplotlib.image import imsave

    camera = annotations.keystates.trajectories.camera
    if camera is None:
        return []
    found = []
    kept = annotations.kept(episode)
    for image in camera.read(episode, [kept.start, kept.stop - 1], WIDTH):
        file = BytesIO()
        imsave(file, image, format="jpg")
        found.append(_image(file.getvalue(), "jpeg", "frame"))
    return found


def _picture(figure: "Figure") -> str:
    from .picture import png

    return _image(png(figure), "png")


def _image(image: bytes, kind: str, style: str = "") -> str:
    data = base64.b64encode(image).decode()
    return f'<img class="{style}" alt="" src="data:image/{kind};base64,{data}">'
