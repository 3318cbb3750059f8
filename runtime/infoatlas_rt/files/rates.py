"""Rates of recordings in Hz: what a file states, or what its times of samples show."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..inputs.checks import as_rate


def stated_rate(value: Any) -> float | None:
    """A rate that a file states, Hz; None if it is missing or no finite number above 0."""
    try:
        return as_rate(value, "rate")
    except InputError:
        return None
