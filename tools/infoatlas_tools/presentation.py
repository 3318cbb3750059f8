"""Counts, names and parameters as text; results in notebooks; pandas and matplotlib if needed."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from itertools import chain, count, islice
from typing import Any

from infoatlas_rt.errors import InputError


class ParameterError(InputError):
    """An error that names parameters, written as `name`; a command names its options instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text.replace("`", ""))
        self._text = text

    def as_options(self, others: Mapping[str, str]) -> InputError:
        """The error of a command: "--episode-column" for `episode_column`, or as in `others`."""
        text = self._text
        for name in re.findall(r"`(\w+)`", text):
            text = text.replace(f"`{name}`", f"--{others.get(name, name)}".replace("_", "-"))
        return InputError(text)


Rows = list[tuple[str, ...]]
Content = tuple[str, Rows, list[str]]


class Shown:
    """A result that a notebook shows as `print` does, with its rows as a table."""

    def _content(self) -> Content:
        """What is printed: the first line, rows below their headers, and the lines after them."""
        head, *notes = str(self).split("\n")
        return head, [], notes

    def _repr_html_(self) -> str:
        head, rows, notes = self._content()
        kept = [i for i, cells in enumerate(zip(*rows, strict=True)) if any(cells[1:])]
        lines = [
            "".join(f'<{tag} style="text-align: left">{escape(row[i])}</{tag}>' for i in kept)
            for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False)
        ]
        table = "".join(f"<tr>{line}</tr>\n" for line in lines)
        parts = [f"<p>{escape(text)}</p>" for text in (head, *notes)]
        return "\n".join([parts[0], f"<table>\n{table}</table>" if rows else "", *parts[1:]])


def with_count(number: int, noun: str) -> str:
    """A number with its noun, as "1 key state" or "2 key states"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def first_names(names: Iterable[str], count: int) -> str:
    """Text of the first names of a list, for messages; "..." stands for the rest."""
    some = list(islice(names, count + 1))
    return ", ".join([*some[:count], *["..."] * (len(some) > count)])


def unused_name(name: str, taken: Container[str]) -> str:
    """The name, or with the first number from 2 on that is not taken, as "reach_cube_2"."""
    return next(n for n in chain([name], (f"{name}_{k}" for k in count(2))) if n not in taken)


def shift_notes(origins: Mapping[int, int], names: Sequence[str]) -> list[str]:
    """A sentence about what `as_shifted` of the runtime subtracted from columns."""
    if not origins:
        return []
    each = [
        f"{origin} from {repr(names[column]) if names else f'column {column}'}"
        for column, origin in origins.items()
    ]
    return [f"Subtracted, because float64 is exact for integers to 2^53: {', '.join(each)}."]


def require(module: str, what: str, extra: str) -> Any:
    """A package that is imported when used; InputError, which begins with `what`, without it."""
    try:
        return import_module(module)
    except ImportError as error:
        way = f"pip install 'infoatlas-rt[{extra}]'"
        raise InputError(f"{what} is not installed: {way}") from error


def require_pandas(what: str) -> Any:
    """The package pandas; InputError if it is not installed, and the function `what` needs it."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError(f"{what} needs pandas ({error}): pip install pandas") from error
    return pandas


def require_matplotlib(what: str) -> None:
    """Raise InputError if matplotlib is not installed, which `what` needs."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{what} needs matplotlib ({error}): pip install 'infoatlas-rt[plot]'"
        ) from error


def nulls(values: Any) -> list[Any]:
    """Values of an array [n] for JSON and CSV: None for NaN."""
    return [None if value != value else value for value in values.tolist()]


def axes_of(ax: Any = None) -> Any:
    """Axes to draw on: the given ones, or those of a new figure; InputError without matplotlib."""
    if ax is not None:
        return ax
    require_matplotlib("plot()")
    from matplotlib import pyplot

    return pyplot.subplots()[1]
