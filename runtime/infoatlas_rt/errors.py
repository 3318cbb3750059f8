"""Errors that a user can cause and correct.

Every message names the value, the limit and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice


def first_names(names: Iterable[str], count: int) -> str:
    """Text of the first names of a list, for messages; "..." stands for the rest."""
    some = list(islice(names, count + 1))
    return ", ".join([*some[:count], *["..."] * (len(some) > count)])


class InfoAtlasError(Exception):
    """Base class of all errors that infoatlas-rt raises on purpose."""


class InputError(InfoAtlasError, ValueError):
    """The data or an argument cannot be used as it is."""


class ModelError(InfoAtlasError, RuntimeError):
    """A model is missing, damaged, foreign or of another version, or its output is unusable."""


class OutputError(InfoAtlasError, OSError):
    """A result cannot be written: the disk is full, or the reader has closed the pipe."""


class ProviderError(InfoAtlasError, RuntimeError):
    """The engine or the execution provider that was requested is not available."""
