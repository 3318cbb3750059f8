"""Replace the graph of a model file by that of the current code, with the same weights.

    python -m infoatlas_export.regraph FILE.onnx CHECKPOINT.pt MANIFEST.json

Use it after a change to the form of the graph. The results of the new graph have to be the same,
bit for bit. An entry of the manifest records the hashes of the recipe's file and of the new one.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx

from infoatlas_export.onnx import example, on_cpu, sealed, to_onnx
from infoatlas_rt.cli.main import exit_code
from infoatlas_rt.errors import InputError
from infoatlas_train.pretrain import load

WEIGHTS = ("hypernetwork.", "gap.")  # prefixes of the names of weights
SIZES = (1, 33), (1, 100), (3, 64), (40, 100), (2, 1000)  # slices, samples of the comparison


def regraphed(content: bytes, checkpoint: str) -> bytes:
    """A model file with the current graph of its checkpoint.

    Weights are taken from the file. Some of them are products of other weights, whose rounding
    depends on the machine of the export. InputError if the graphs have different weights or
    different results.
    """
    old = onnx.load_from_string(content)
    model, _ = load(checkpoint)
    # Earlier files also have a digest of their own graph.
    new = to_onnx(model, {p.key: p.value for p in old.metadata_props if p.key != "infoatlas.graph"})
    had = {w.name: w for w in old.graph.initializer if w.name.startswith(WEIGHTS)}
    wanted = [w for w in new.graph.initializer if w.name.startswith(WEIGHTS)]
    if {(w.name, *w.dims) for w in wanted} != {(w.name, *w.dims) for w in had.values()}:
        raise InputError("the file has other weights than its checkpoint: build the model again")
    for weight in wanted:
        weight.CopyFrom(had[weight.name])
    made = sealed(new)
    sessions = on_cpu(content, 1), on_cpu(made, 1)
    for slices, samples in SIZES:
        inputs = example(slices, max(samples, 3 * model.config.dim), model.config.dim, seed=samples)
        outputs = (session.run(None, inputs) for session in sessions)
        for before, after in zip(*outputs, strict=True):
            if not np.array_equal(before, after):
                worst = np.abs(before - after).max()
                raise InputError(
                    f"{samples} samples in {slices} slices: values differ by up to {worst:.1e}; "
                    "build the model again"
                )
    return made


def main(file: str, checkpoint: str, manifest: str) -> None:
    """Rewrite the model file and the manifest."""
    try:
        content, record = Path(file).read_bytes(), json.loads(Path(manifest).read_text("utf-8"))
        made = record["stages"]["calibrate"]["outputs"]["model.onnx"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{file} or {manifest} cannot be read ({error}): check them") from error
    present = record.get("regraphed", {"to": made})["to"]
    if hashlib.sha256(content).hexdigest() != present:
        raise InputError(f"{file} is not the file that {manifest} records")
    new = regraphed(content, checkpoint)
    record["regraphed"] = {"from": made, "to": hashlib.sha256(new).hexdigest()}
    Path(file).write_bytes(new)
    Path(manifest).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{file}: {record['regraphed']['to']}")


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for argument in ("file", "checkpoint", "manifest"):
        p.add_argument(argument)
    given = vars(p.parse_args())
    sys.exit(exit_code(lambda: main(**given), "infoatlas_export.regraph", "nothing was written"))
