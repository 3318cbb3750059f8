"""Public names of a package, imported when they are first used.

Importing a package then costs nothing. Its stub `__init__.pyi` lists the names, and type checkers
read it.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any


def public(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its `__name__` and `__file__`."""
    with open(file + "i", encoding="utf-8") as stub:
        imports = re.findall(r"^from (\S+) import ([^()\n]+|\([^()]+\))", stub.read(), re.M)
    modules = {name: home for home, names in imports for name in re.findall(r"(\w+) as", names)}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], package), name)

    return get, lambda: sorted(modules), sorted(modules)
