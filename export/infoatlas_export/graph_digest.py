"""Digests that identify the graph of a model file: of its structure, and of the traced code.

The C++ engine implements the model's code, and reads only weights and configuration from a file.
Two entries of the metadata therefore identify the graph:

    infoatlas.graph   digest of the structure: operators, attributes, connections, constants that
                      are not weights, and the configuration; runtime/native/src/graph_digest.cpp
                      computes the same and refuses a file that was changed after its export
    infoatlas.code    digest of the code that was traced; the engine has a list of the digests that
                      it implements

The structure depends on the configuration and on the version of torch, so the engine cannot have a
list of its digests. The digest of the code depends on neither, and not on the version of Python. It
ignores comments, docstrings, annotations and layout. Both protect against mistakes, not forgery.
"""

from __future__ import annotations

import ast
import hashlib
import struct
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx

from infoatlas_rt.errors import ModelError

GRAPH, CODE = "infoatlas.graph", "infoatlas.code"  # keys of the metadata
CONFIG = "infoatlas.config"
WEIGHTS = ("hypernetwork.", "gap.")  # prefixes of weights, whose values are not structure
PACKAGE = "infoatlas_train.model"
FIRST = f"{PACKAGE}.infoatlas"  # the graph depends on it and on its imports from the package,
TRACED = "infoatlas_export.onnx", "Graph"  # and on the module that is traced
# Fields of nodes of the syntax tree that do not affect the computation.
NOT_COMPUTED = {"annotation", "returns", "type_comment", "type_params", "kind"}


def structure(proto: onnx.ModelProto) -> str:
    """Digest of the structure of a graph.

    The digest does not depend on the order and names of nodes and the names of intermediate values.
    It includes name, type and shape of a weight, and type, shape and value of any other constant.

    Returns
    -------
    str, 64 hexadecimal digits

    Raises
    ------
    ValueError
        If the graph has functions, nested graphs, constants that are not stored as raw data, or
        values that no node computes.
    """
    graph = proto.graph
    if proto.functions or graph.sparse_initializer:
        raise ValueError("the graph has functions or sparse constants")
    known = {"": digest(b"absent")}  # digest of each value, by name

    def define(name: str, value: bytes) -> None:
        if name in known:
            raise ValueError(f"{name or 'a value without a name'} is defined twice")
        known[name] = value

    for value in graph.input:
        kind = value.type.tensor_type.elem_type
        define(value.name, digest(b"input", value.name.encode(), numbers([kind])))
    for tensor in graph.initializer:
        kind_and_shape = numbers([tensor.data_type]), numbers(tensor.dims)
        if tensor.name.startswith(WEIGHTS):
            own = digest(b"weight", tensor.name.encode(), *kind_and_shape)
        elif tensor.HasField("raw_data"):
            own = digest(b"constant", *kind_and_shape, tensor.raw_data)
        else:
            raise ValueError(f"the constant {tensor.name} is not stored as raw data")
        define(tensor.name, own)
    for node in graph.node:
        missing = [name for name in node.input if name not in known]
        if missing:
            raise ValueError(f"nothing computes {missing[0]}, an input of {node.name}")
        parts = [node.domain.encode(), node.op_type.encode(), numbers([len(node.input)])]
        parts += [known[name] for name in node.input]
        for attribute in sorted(node.attribute, key=lambda a: a.name.encode()):
            parts += [attribute.name.encode(), *attribute_value(attribute)]
        own = digest(b"node", *parts)
        for i, name in enumerate(node.output):
            if name:
                define(name, digest(b"output", own, numbers([i])))
    opsets = sorted(f"{opset.domain}:{opset.version}" for opset in proto.opset_import)
    config = next((p.value for p in proto.metadata_props if p.key == CONFIG), "")
    parts = [",".join(opsets).encode(), config.encode()]
    for value in graph.output:
        if value.name not in known:
            raise ValueError(f"nothing computes {value.name}, an output")
        parts += [value.name.encode(), known[value.name]]
    return digest(b"graph", *parts).hex()


def digest(*parts: bytes) -> bytes:
    """SHA-256 of parts, each preceded by its length in 8 bytes."""
    return hashlib.sha256(b"".join(struct.pack("<Q", len(p)) + p for p in parts)).digest()


def numbers(values: Any) -> bytes:
    return ",".join(str(int(value)) for value in values).encode()


def attribute_value(attribute: onnx.AttributeProto) -> tuple[bytes, bytes]:
    """Type and value of an attribute."""
    types = onnx.AttributeProto
    kind = attribute.type
    if kind == types.FLOAT:
        value = struct.pack("<f", attribute.f)
    elif kind == types.INT:
        value = numbers([attribute.i])
    elif kind == types.STRING:
        value = attribute.s
    elif kind == types.FLOATS:
        value = b"".join(struct.pack("<f", v) for v in attribute.floats)
    elif kind == types.INTS:
        value = numbers(attribute.ints)
    else:
        raise ValueError(f"the attribute {attribute.name} is neither a number nor a text")
    return numbers([kind]), value


@cache
def code() -> str:
    """Digest of the code that determines the graph: the model and the module that is traced.

    Returns
    -------
    str, 64 hexadecimal digits
    """
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
    return digest(repr(sorted(found.items())).encode()).hex()


def imported(tree: ast.Module, name: str) -> list[str]:
    """Modules of the package that a module imports.

    Raises
    ------
    ValueError
        If an import is not of the form `from infoatlas_train.model.MODULE import NAME`, the only
        one that is followed.
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


def stated(proto: onnx.ModelProto) -> dict[str, str]:
    """Metadata entries of a graph that was just traced."""
    return {GRAPH: structure(proto), CODE: code()}
