"""The command info: prints the metadata of a model file, and the providers of this machine."""

from argparse import ArgumentParser, Namespace
from typing import Any

from ..models.engine_file import EngineFile, memory_text
from .arguments import add_json, add_model
from .console import table, write_json

HELP = "description of a model file, and the providers of this machine"
DESCRIPTION = "Describe a model file, and list the providers of this machine."
EXAMPLES = ("info --model base",)


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from ..backends.choice import find_libraries
    from ..models.model_file import load

    model_file = load(arguments.model)
    values = {**model_file.to_dict(), "providers": find_libraries()}
    if not write_json(arguments.json, values):
        rows = []
        for key, value in values.items():
            if key not in ("providers", "engine"):
                rows += _rows(key, value)
        if model_file.engine is not None:
            rows += _engine_rows(model_file.engine)
        rows += [(f"provider {name}", text) for name, text in values["providers"].items()]
        table(f"Model {model_file.name}", ("", ""), rows)


def _rows(key: str, value: Any) -> list[tuple[str, str]]:
    """Rows of a value: one for each number of a nested dict, as "calibration sliced noise"."""
    if isinstance(value, dict):
        return [row for name, own in value.items() for row in _rows(f"{key} {name}", own)]
    return [(key, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value))]


def _engine_rows(engine: EngineFile) -> list[tuple[str, str]]:
    """Rows about the machine and settings of an engine."""
    return [
        ("built from", f"{engine.model} ({engine.model_sha256[:12]}), {engine.precision}"),
        ("built by", f"{engine.library} {engine.version}"),
        ("built for", f"{engine.gpu or 'any GPU'}, compute capability "
         + ", ".join(engine.compute_capabilities)),
        *(
            ("profile", f"{profile}: up to {memory_text(memory)}")
            for profile, memory in zip(engine.profiles, engine.memory, strict=True)
        ),
        ("tensors", ", ".join(f"{count} {kind}" for kind, count in engine.tensors.items())),
    ]  # fmt: skip
