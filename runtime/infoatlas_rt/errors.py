"""What can go wrong by a user's hand, apart from faults of the library itself.

Every message names the value, the limit, and the way out.
"""

from __future__ import annotations


class InfoAtlasError(Exception):
    """Base class of all errors that infoatlas-rt raises on purpose."""


class InputError(InfoAtlasError, ValueError):
    """The data or an argument cannot be used as it is."""


class ModelError(InfoAtlasError, RuntimeError):
    """A model is missing, damaged, foreign or of another version, or its output is unusable."""


class OutputError(InfoAtlasError, OSError):
    """A result cannot be written: the disk is full, or nobody reads it any more."""


class ProviderError(InfoAtlasError, RuntimeError):
    """The engine or the execution provider that was asked for is not available."""
