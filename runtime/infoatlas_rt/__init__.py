"""infoatlas-rt: mutual information at control-loop rate.

`__init__.pyi` lists the public names. They are imported when they are first used, so that importing
the package costs nothing.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any


def _modules() -> dict[str, str]:
    """Module of each public name."""
    with open(__file__ + "i", encoding="utf-8") as stub:
        imports = re.findall(r"^from (\S+) import ([^()\n]+|\([^()]+\))", stub.read(), re.M)
    return {name: module for module, names in imports for name in re.findall(r"(\w+) as", names)}


_MODULES = _modules()
__version__ = "0.2.0"
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
