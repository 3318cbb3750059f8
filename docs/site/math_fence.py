"""Formulas as MathML, which browsers draw without a script: the fence ```math of a page."""

import re
from typing import Any

from latex2mathml.converter import convert


def fence(source: str, *_: Any, **__: Any) -> str:
    """Format one fenced block; called by pymdownx.superfences."""
    # The converter sets names of functions without the space that TeX puts around them.
    space = '<mspace width="0.167em"/>'
    formula = convert(source, display="block")
    formula = re.sub(r"<mi>(?:log|cosh)</mi>", rf"{space}\g<0>{space}", formula)
    return f'<div class="formula">{formula}</div>'
