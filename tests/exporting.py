"""Run the command `export` in this process, with graphs that are traced once: it needs minutes."""

import hashlib
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import onnx

from infoatlas_export import cli, graph_names, model_code, onnx as export_module

KEPT, trace = Path(__file__).parents[1] / "build" / "traces", export_module.traced


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


def export(arguments: Sequence[str]) -> None:
    parser = ArgumentParser()
    cli.add_arguments(parser)
    cli.run(parser.parse_args(arguments))
