"""Errors that a user can cause and correct.

Every message names the value, the limit and the remedy.
"""


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
