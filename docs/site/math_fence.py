"""Formulas as MathML, which browsers draw without a script: the fence ```math of a page."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def fence(source: str, *_: Any, **__: Any) -> str:
    """Format one fenced block; called by pymdownx.superfences."""
    return f'<div class="formula">{convert(source, display="block")}</div>'
