"""Add to a model file the entries of `graph_digest`, for a file that was exported without them.

    python -m infoatlas_export.state_graph FILE.onnx CHECKPOINT.pt

The checkpoint is traced: if its graph is another one than the file's, nothing is written. Graph and
weights stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx

from infoatlas_export.graph_digest import CODE, CONFIG, GRAPH, code, stated, structure
from infoatlas_export.onnx import sealed, to_onnx
from infoatlas_train.pretrain import load


def main(file: str, checkpoint: str) -> None:
    """Add both entries to a file, if today's export of its checkpoint has the same graph."""
    proto = onnx.load(file)
    kept = {p.key: p.value for p in proto.metadata_props}
    model, _ = load(checkpoint)
    traced = to_onnx(model, {CONFIG: kept[CONFIG]})
    if structure(proto) != structure(traced):
        raise SystemExit(
            f"{file} has another graph than today's export of {checkpoint}: export it again"
        )
    onnx.helper.set_model_props(proto, kept | stated(proto))
    Path(file).write_bytes(sealed(proto))
    print(f"{file}: {GRAPH} {structure(proto)}, {CODE} {code()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
