"""A short build of tiny, and the command `export` in this process: one trace, of a minute, for all.

The network has a round of refinement and a correction of two metrics, so that its graph has every
operator; a second step of the solve would have no other ones.
"""

import copy
import hashlib
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from infoatlas_export import cli, graph_names, model_code, onnx as export_module
from infoatlas_train.build import Build
from infoatlas_train.recipe_file import read_recipe

ROOT = Path(__file__).parents[1]
KEPT, trace = ROOT / "build" / "traces", export_module.traced
FOLDER = tempfile.TemporaryDirectory()
SHORT = read_recipe(ROOT / "recipes" / "tiny.toml")
SHORT["network"] |= {"refinements": 1, "newton_steps": 1}
SHORT["pretrain"] |= {"steps": 4, "tokens": 512, "batch": 8, "evaluate": 2, "warmup": 1}
SHORT["pretrain"] |= {"sizes": {"32": 1, "64": 1}, "held_out": {"50": 8}}
SHORT["examples"] |= {"batches": 20, "largest": 60, "up_to": 40}
SHORT["correction"] |= {"metrics": 2, "share": 0.5, "steps": 8}
SHORT["calibration"] |= {"draws": 3, "wide": 1}
SHORT["evaluation"] |= {"draws": 3, "sizes": [50, 100]}


def traced_once(module, *arguments):
    """`traced` of the export, kept by hashes of the code, the versions, the network and weights."""
    code = [model_code.code().encode()]
    code += [Path(part.__file__).read_bytes() for part in (export_module, graph_names)]
    code += [version(name).encode() for name in ("torch", "onnx", "onnxscript")]
    weights = [str(module.model.config).encode()]
    weights += [values.numpy().tobytes() for values in module.state_dict().values()]
    names = (hashlib.sha256(b"".join(p)).hexdigest()[:16] for p in (code, weights))
    path = KEPT / "{}-{}.onnx".format(*names)
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        for other in KEPT.glob("*"):
            if not other.name.startswith(path.name[:17]):
                other.unlink(missing_ok=True)
        onnx.save(trace(module, *arguments), path.with_suffix(".part"), "protobuf")
        path.with_suffix(".part").replace(path)
    return onnx.load(path)


@contextmanager
def tracing_once(*sizes: tuple[int, int, int]) -> Iterator[None]:
    """A context with `traced_once` in the export, a comparison at these sizes, and one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_module, "traced", traced_once)
        patch.setattr(export_module, "PARITY_SIZES", sizes)
        patch.setattr("infoatlas_train.calibrate.SIZES", (50, 100, 200))
        yield
    torch.set_num_threads(threads)


@cache
def built() -> Path:
    """The folder of an uninterrupted build of `SHORT`."""
    folder = Path(FOLDER.name) / "whole"
    with tracing_once((1, 64, 0), (3, 100, 0)):
        Build(copy.deepcopy(SHORT), folder, 1).run()
    return folder


def export(arguments: Sequence[str]) -> Any:
    parser = ArgumentParser()
    cli.add_arguments(parser)
    cli.run(parser.parse_args(arguments))
