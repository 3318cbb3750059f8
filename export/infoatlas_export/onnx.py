"""torch -> ONNX, one graph, with everything a user must know of the model in its metadata.

    infoatlas-rt export runs/edge/best.pt --out edge.onnx

All axes that vary are dynamic and named; opset 20, which TensorRT 10.3 and later read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from infoatlas_rt.bundle import CHECKSUM, FORMAT, OUTPUTS, checksum
from infoatlas_rt.bundle import load as load_bundle
from infoatlas_rt.errors import InputError, ModelError
from infoatlas_rt.preprocess import canonicalise
from infoatlas_rt.uncertainty import check_constants
from infoatlas_train.config import PAIRS, SHIFTS
from infoatlas_train.model import InfoAtlas
from infoatlas_train.pretrain import SIZES, load

OPSET = 20
PARITY_SIZES = ((1, 17), (2, 100), (3, 1000), (40, 100), (40, 1000), (1, 5000), (40, 17), (2, 5000))
TOLERANCE = 1e-2  # nats, ONNX Runtime against torch with the exact solve


class Graph(torch.nn.Module):
    """What is traced: the model with the graph's own solver."""

    def __init__(self, model: InfoAtlas) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, shifts: torch.Tensor, sequence: torch.Tensor
    ):
        return self.model(x, y, shifts, sequence, exact=False)


def example(slices: int, samples: int, dim: int, seed: int = 0, shifts: int = 8):
    """Canonical samples of mixed strength, from independence to x = y: inputs by name (NumPy)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(slices, samples, dim))
    noise = 10 ** rng.uniform(-3, 1, size=(slices, 1, 1))
    y = np.sin(1.5 * x) + x[..., ::-1] ** 2 / 2 + noise * rng.normal(size=x.shape)
    y[0] = x[0]
    c = canonicalise(x, y, dim)
    offsets = 1 + rng.permutation(samples - 1)[:shifts]
    return {"x": c.x, "y": c.y, "shifts": offsets, "sequence": rng.permutation(samples)}


def to_onnx(model: InfoAtlas, metadata: dict[str, str]) -> onnx.ModelProto:
    """Trace the model. At one slice the tracer would fix that axis, so it is traced at three."""
    inputs = {name: torch.from_numpy(a) for name, a in example(3, 17, model.config.dim).items()}
    slices, samples, m = (torch.export.Dim(name, min=1) for name in ("slices", "samples", "shifts"))
    program = torch.onnx.export(
        Graph(model).eval(),
        tuple(inputs.values()),
        input_names=list(inputs),
        output_names=list(OUTPUTS),
        dynamic_shapes={
            "x": {0: slices, 1: samples},
            "y": {0: slices, 1: samples},
            "shifts": {0: m},
            "sequence": {0: samples},
        },
        opset_version=OPSET,
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    return clean(program.model_proto, metadata)


def clean(proto: onnx.ModelProto, metadata: dict[str, str]) -> onnx.ModelProto:
    """The graph without the tracer's notes, with metadata, checked."""
    for node in proto.graph.node:  # the tracer's notes name files of the machine that traced
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        del value.metadata_props[:]
    del proto.graph.metadata_props[:], proto.metadata_props[:]
    onnx.helper.set_model_props(proto, metadata)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def metadata(model: InfoAtlas, run: dict[str, Any], name: str, version: str) -> dict[str, str]:
    accuracy = {k: round(v, 4) for k, v in run.get("figures", {}).items()} | run.get("accuracy", {})
    values = {
        "name": name,
        "version": version,
        "format": FORMAT,
        "dim": model.config.dim,
        "n_min": max(min(SIZES), 3 * model.config.dim),
        "n_max": max(SIZES),
        "shifts": max(SHIFTS, model.config.solve_shifts),
        "pairs": PAIRS,
        "padding": model.config.padding,
        "readout": model.config.readout,
        "preprocess": "1",
        "steps": run["step"],
        "datasets": run["datasets"],
        "seed": run["seed"],
        "git_revision": run["git_revision"],
        "accuracy": json.dumps(accuracy),
        "licence": "Apache-2.0",
    }
    return {f"infoatlas.{key}": str(value) for key, value in values.items()}


def parity(model: InfoAtlas, onnx_bytes: bytes) -> list[dict[str, float]]:
    """ONNX Runtime against torch with the exact solve, largest difference in nats at each size."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(onnx_bytes, options, ["CPUExecutionProvider"])
    rows = []
    for slices, samples in PARITY_SIZES:
        inputs = example(slices, samples, model.config.dim, seed=samples)
        with torch.no_grad():
            expected = model(**{name: torch.from_numpy(a) for name, a in inputs.items()})
        got = session.run(None, inputs)
        row: dict[str, float] = {"slices": slices, "samples": samples}
        for key, a, b in zip(OUTPUTS, expected, got, strict=True):
            row[key] = float(np.abs(a.numpy() - b).max())
        rows.append(row)
    return rows


def read_calibration(path: str | Path) -> dict[str, str]:
    """Metadata from what python -m infoatlas_train.calibrate wrote.

    Raises
    ------
    InputError
        If it cannot be read, or holds something else.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        return {"infoatlas.calibration": json.dumps(check_constants(values))}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"cannot read the calibration {path} ({error!r}): "
            "give what python -m infoatlas_train.calibrate wrote"
        ) from error


def recalibrate(model: str | Path, out: str | Path, calibration: dict[str, str]) -> None:
    """Write a model file again with other constants of the standard error, the graph unchanged."""
    proto = onnx.load_from_string(load_bundle(model).bytes)
    kept = {p.key: p.value for p in proto.metadata_props}
    del proto.metadata_props[:]
    onnx.helper.set_model_props(proto, kept | calibration)
    Path(out).write_bytes(sealed(proto))


def sealed(proto: onnx.ModelProto) -> bytes:
    """The content of a model file, with its checksum in the metadata."""
    kept = {p.key: p.value for p in proto.metadata_props if p.key != CHECKSUM}
    onnx.helper.set_model_props(proto, kept)
    found = checksum(proto.SerializeToString(deterministic=True))
    onnx.helper.set_model_props(proto, kept | {CHECKSUM: found})
    return proto.SerializeToString(deterministic=True)


def export(
    checkpoint: str | Path,
    out: str | Path,
    *,
    name: str,
    version: str,
    calibration: dict[str, str] | None = None,
) -> list[dict[str, float]]:
    """Write the ONNX file of a checkpoint and return its parity table.

    Raises
    ------
    ModelError
        If the checkpoint cannot be read, or the graph and torch differ by more than the tolerance
        (then nothing is written).
    """
    try:
        model, run = load(checkpoint)
    except Exception as error:
        raise ModelError(
            f"cannot read the checkpoint {checkpoint}: {error}; "
            "give the best.pt that python -m infoatlas_train.pretrain wrote"
        ) from error
    properties = metadata(model, run, name, version) | (calibration or {})
    content = sealed(to_onnx(model, properties))
    rows = parity(model, content)
    worst = max(row["mi"] for row in rows)
    if not worst <= TOLERANCE:
        message = f"graph and torch differ by {worst:.2g} nats, more than {TOLERANCE}: {rows}"
        raise ModelError(message)
    Path(out).write_bytes(content)
    return rows
