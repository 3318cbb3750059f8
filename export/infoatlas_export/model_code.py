"""Digest of the code of the model, which a model file states in its metadata.

The C++ engine implements this code, and reads only weights and configuration from a file. It has a
list of the digests that it implements, and refuses a file that states another one. The digest
ignores comments, docstrings, annotations and layout, and does not depend on the versions of Python
and torch. It protects against mistakes, not forgery.
"""

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import ModelError

CODE = "infoatlas.code"  # key of the metadata
PACKAGE = "infoatlas_train.model"
FIRST = f"{PACKAGE}.infoatlas"  # the graph depends on it and on its imports from the package,
TRACED = "infoatlas_export.onnx", "Graph"  # and on the module that is traced
# Fields of nodes of the syntax tree that do not affect the computation.
NOT_COMPUTED = {"annotation", "returns", "type_comment", "type_params", "kind"}


@cache
def code() -> str:
    """Digest of the code that determines the graph: the model and the module that is traced."""
    found: dict[str, Any] = {}
    waiting = [FIRST]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        tree = syntax(name)
        found[name] = computed(tree)
        waiting += imported(tree, name)
    module, traced = TRACED
    classes = (node for node in syntax(module).body if isinstance(node, ast.ClassDef))
    found[module] = [computed(node) for node in classes if node.name == traced]
    text = repr(sorted(found.items())).encode()
    return hashlib.sha256(len(text).to_bytes(8, "little") + text).hexdigest()


def imported(tree: ast.Module, name: str) -> list[str]:
    """Modules of the package that a module imports.

    ValueError if an import is not of the form `from infoatlas_train.model.MODULE import NAME`, the
    only one that is followed.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.startswith(PACKAGE + ".") and not node.level:
                found.append(module)
                continue
            other = bool(node.level) or module == PACKAGE
        elif isinstance(node, ast.Import):
            other = any(alias.name.startswith(PACKAGE) for alias in node.names)
        else:
            continue
        if other:
            raise ValueError(
                f"{name} has `{ast.unparse(node)}` in line {node.lineno}: write `from "
                f"{PACKAGE}.MODULE import NAME`, so that the digest of the code covers it"
            )
    return found


def syntax(module: str) -> ast.Module:
    """The syntax tree of a module, without importing it."""
    package, *rest = module.split(".")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"{package} is not installed: export from a checkout of infoatlas-rt")
    path = Path(spec.submodule_search_locations[0], *rest).with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def computed(node: Any) -> Any:
    """A syntax tree as nested lists, without fields that do not affect the computation.

    Empty fields are left out, because versions of Python differ in them.
    """
    if isinstance(node, list):
        return [computed(part) for part in node if not is_text(part)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        (name, computed(value))
        for name, value in ast.iter_fields(node)
        if name not in NOT_COMPUTED and value is not None and value != []
    ]
    return [type(node).__name__, fields]


def is_text(node: Any) -> bool:
    """Whether a node is a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
