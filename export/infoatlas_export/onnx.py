"""Export of a model from torch to one ONNX graph, with a description in its metadata.

    infoatlas-rt export runs/edge/best.pt --out edge.onnx

Variable axes are dynamic and named. The opset is 20, which TensorRT 10.3 and later accept.
"""

import copy
import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnxscript import rewriter

from infoatlas_export import limits
from infoatlas_export.graph_names import name_nodes, name_weights, recorded
from infoatlas_export.model_code import CODE, code
from infoatlas_rt.errors import InputError, ModelError
from infoatlas_rt.estimation.canonical import canonicalise
from infoatlas_rt.models.model_file import GRAPH_FORMAT, OUTPUTS, check_constants
from infoatlas_rt.models.onnx_content import CHECKSUM, checksum
from infoatlas_train.config import PAIRS, SHIFTS
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.pretrain import SIZES, load

OPSET = 20
# Slices, samples and coordinates of a side (0: the model's D). With one coordinate and many samples
# the features are nearly collinear, which is the hardest case for the solve.
PARITY_SIZES = (
    (1, 17, 0), (2, 100, 0), (3, 1000, 0), (40, 100, 0), (40, 1000, 0), (1, 5000, 0), (40, 17, 0),
    (2, 5000, 0), (3, 1000, 1), (3, 5000, 1),
)  # fmt: skip
TOLERANCE = 1e-2  # nats; difference of ONNX Runtime and torch with the exact solve


class Graph(torch.nn.Module):
    """The module that is traced: the model with the solver of graphs."""

    def __init__(self, model: InfoAtlas) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        self.model.hypernetwork.fix()

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, shifts: torch.Tensor, sequence: torch.Tensor
    ) -> Any:
        return self.model(x, y, shifts, sequence, exact=False)


def example(
    slices: int,
    samples: int,
    dim: int,
    seed: int = 0,
    shifts: int = 8,
    coordinates: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Inputs by name (NumPy): canonical samples of all strengths, from independence to x = y."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(slices, samples, coordinates or dim))
    noise = 10 ** rng.uniform(-3, 1, size=(slices, 1, 1))
    y = np.sin(1.5 * x) + x[..., ::-1] ** 2 / 2 + noise * rng.normal(size=x.shape)
    y[0] = x[0]
    c = canonicalise(x, y, dim)
    offsets = 1 + rng.permutation(samples - 1)[:shifts]
    return {"x": c.x, "y": c.y, "shifts": offsets, "sequence": rng.permutation(samples)}


def to_onnx(model: InfoAtlas, metadata: dict[str, str]) -> onnx.ModelProto:
    """Trace the model and add the metadata, including the digest of the code.

    The tracer would make the axis of a single slice constant, so the example has three slices.
    """
    inputs = {name: torch.from_numpy(a) for name, a in example(3, 17, model.config.dim).items()}
    slices, samples, m = (torch.export.Dim(name, min=1) for name in ("slices", "samples", "shifts"))
    dynamic = {"x": {0: slices, 1: samples}, "y": {0: slices, 1: samples}}
    dynamic |= {"shifts": {0: m}, "sequence": {0: samples}}
    stated = metadata | {CODE: code()}
    return clean(traced(Graph(model), inputs, OUTPUTS, dynamic), stated)


def traced(
    module: torch.nn.Module,
    inputs: dict[str, torch.Tensor],
    outputs: Sequence[str],
    dynamic_shapes: dict[str, Any],
) -> onnx.ModelProto:
    """Trace a module; `dynamic_shapes` names the variable axes of each input."""
    with recorded(), quick():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=dynamic_shapes,
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None  # never None with dynamo=True
    return program.model_proto


@contextmanager
def quick() -> Iterator[None]:
    """A context in which traces need a quarter less time.

    Rules of onnxscript with several output nodes list the entire graph for each node. Here they do
    so for nodes of the operator that they begin with. A trace keeps all of its many objects, so
    searches for unused ones find hardly any.
    """
    matcher: Any = getattr(getattr(rewriter, "_matcher", None), "SimplePatternMatcher", None)
    default: Any = getattr(matcher, "match", None)
    enabled = gc.isenabled()

    def ours(self: Any, model: Any, graph: Any, node: Any, **options: Any) -> Any:
        first = self.pattern.output_nodes[0].op_identifier()
        if not self.pattern.has_single_output_node and first not in (None, node.op_identifier()):
            return rewriter.MatchResult().fail("another operator")
        return default(self, model, graph, node, **options)

    gc.disable()
    try:
        if default is not None:
            matcher.match = ours
        yield
    finally:
        if default is not None:
            matcher.match = default
        if enabled:
            gc.enable()


def clean(proto: onnx.ModelProto, metadata: dict[str, str]) -> onnx.ModelProto:
    """Name nodes and weights, replace the tracer's notes by metadata, and check the graph."""
    name_nodes(proto.graph)
    name_weights(proto.graph)
    for node in proto.graph.node:  # the tracer's notes contain local file names
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        del value.metadata_props[:]
    del proto.graph.metadata_props[:], proto.metadata_props[:]
    onnx.helper.set_model_props(proto, metadata)
    onnx.checker.check_model(proto, full_check=True)
    limits.refuse(proto)
    return proto


def metadata(model: InfoAtlas, run: dict[str, Any], name: str, version: str) -> dict[str, str]:
    accuracy = {k: round(v, 4) for k, v in run.get("figures", {}).items()} | run.get("accuracy", {})
    values = {
        "name": name,
        "version": version,
        "format": GRAPH_FORMAT,
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
        "config": json.dumps(model.config.to_dict()),
        "accuracy": json.dumps(accuracy),
        "licence": "Apache-2.0",
    }
    return {f"infoatlas.{key}": str(value) for key, value in values.items()}


def on_cpu(content: bytes, threads: int = 2) -> onnxruntime.InferenceSession:
    """A session of ONNX Runtime on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])


def parity(model: InfoAtlas, onnx_bytes: bytes) -> list[dict[str, float]]:
    """Largest difference in nats of ONNX Runtime and torch with the exact solve, at each size.

    Torch computes in float64. In float32 it is less accurate than ONNX Runtime if one side nearly
    determines the other, with an error of 0.1 nats at n = 5000.
    """
    whole, session = copy.deepcopy(model).double(), on_cpu(onnx_bytes)

    def exact(inputs: dict[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
        with torch.no_grad():
            tensors = {name: torch.from_numpy(values) for name, values in inputs.items()}
            for side in ("x", "y"):
                tensors[side] = tensors[side].double()
            return [values.numpy() for values in whole(**tensors)]

    return differences(
        exact, lambda inputs: session.run(OUTPUTS, inputs), PARITY_SIZES, model.config.dim
    )


def differences(
    expected: Callable[[dict[str, NDArray[Any]]], Sequence[NDArray[Any]]],
    found: Callable[[dict[str, NDArray[Any]]], Sequence[NDArray[Any]]],
    sizes: Sequence[tuple[int, int, int]],
    dim: int,
) -> list[dict[str, float]]:
    """Largest differences of all outputs in nats at each size; infinite if one is not finite."""
    rows = []
    for slices, samples, coordinates in sizes:
        inputs = example(slices, samples, dim, seed=samples, coordinates=coordinates or dim)
        row: dict[str, float] = {"slices": slices, "samples": samples}
        row["coordinates"] = coordinates or dim
        for key, a, b in zip(OUTPUTS, expected(inputs), found(inputs), strict=True):
            row[key] = float(np.abs(a - b).max()) if np.isfinite(b).all() else np.inf
        rows.append(row)
    return rows


def read_calibration(path: str | Path) -> dict[str, str]:
    """Metadata entries from a file of python -m infoatlas_train.calibrate.

    InputError if the file cannot be read, or is not a calibration.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        return {"infoatlas.calibration": json.dumps(check_constants(values))}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"cannot read the calibration {path} ({error!r}): "
            "give what python -m infoatlas_train.calibrate wrote"
        ) from error


def recalibrated(model: bytes, calibration: dict[str, str]) -> bytes:
    """A model file with new constants of the standard error and the same graph."""
    proto = onnx.load_from_string(model)
    kept = {p.key: p.value for p in proto.metadata_props}
    del proto.metadata_props[:]
    onnx.helper.set_model_props(proto, kept | calibration)
    return sealed(proto)


def sealed(proto: onnx.ModelProto) -> bytes:
    """The content of a model file, with its checksum in the metadata."""
    kept = {p.key: p.value for p in proto.metadata_props if p.key != CHECKSUM}
    onnx.helper.set_model_props(proto, kept)
    found = checksum(proto.SerializeToString(deterministic=True))
    onnx.helper.set_model_props(proto, kept | {CHECKSUM: found})
    return bytes(proto.SerializeToString(deterministic=True))


def content(
    checkpoint: str | Path, *, name: str, version: str, calibration: dict[str, str] | None = None
) -> tuple[bytes, list[dict[str, float]]]:
    """The ONNX file of a checkpoint, and its parity table.

    ModelError if the checkpoint cannot be read, or the graph and torch differ by more than the
    tolerance.
    """
    try:
        model, run = load(checkpoint)
    except Exception as error:
        raise ModelError(
            f"cannot read the checkpoint {checkpoint}: {error}; "
            "give the best.pt that python -m infoatlas_train.pretrain wrote"
        ) from error
    properties = metadata(model, run, name, version) | (calibration or {})
    made = sealed(to_onnx(model, properties))
    rows = parity(model, made)
    worst = max(row["mi"] for row in rows)
    if not worst <= TOLERANCE:
        message = f"graph and torch differ by {worst:.2g} nats, more than {TOLERANCE}: {rows}"
        raise ModelError(message)
    return made, rows
