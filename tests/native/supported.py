"""Write a small model whose bias correction uses an estimate from neighbours as support.

    .venv-dev/bin/python tests/native/supported.py build/native/supported.onnx

The model is untrained. test_supported.py compares the engine with ONNX Runtime on it.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import torch

from infoatlas_export.onnx import metadata, to_onnx
from infoatlas_train.config import PRESETS
from infoatlas_train.model.infoatlas import InfoAtlas

RUN = {"step": 1, "datasets": 8, "seed": 0, "git_revision": "none"}


def main() -> None:
    torch.manual_seed(0)
    config = dataclasses.replace(
        PRESETS["tiny"], metrics=1, widths=2, shared=True, newton_steps=1, gap=2, gap_share=0.4
    )
    model = InfoAtlas(config).eval()
    with torch.no_grad():
        for heads in (model.gap.missing, model.gap.doubt):
            heads.last.normal_(std=0.05)
        model.gap.missing.constant.fill_(0.8)  # nats; more than neighbours support
        for values in model.state_dict().values():  # the export folds 0 and 1
            values.add_(0.01 * torch.randn_like(values))
    content = to_onnx(model, metadata(model, RUN, "supported", "0")).SerializeToString()
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(sys.argv[1]).write_bytes(content)


if __name__ == "__main__":
    main()
