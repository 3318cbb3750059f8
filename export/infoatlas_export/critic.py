"""Export of the graph that writes a critic and returns its parameters.

    infoatlas-rt export train/checkpoints/edge.pt --critic --out critics/edge.onnx

The estimator's graph evaluates a critic on the sample that it was written from. This graph returns
the critic itself, so that the runtime can evaluate it on new pairs. It has no neighbour features,
whose cost exceeds their benefit on new trajectories (docs/key-states.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from infoatlas_export.onnx import clean, example, metadata, sealed, traced
from infoatlas_rt.errors import ModelError
from infoatlas_rt.estimation.critic import FORMAT, PARAMETERS, Weights, start_session
from infoatlas_train.model.critic import (
    anchor,
    best_share,
    critic_share,
    donsker_varadhan,
    features,
    partners,
    shift_index,
    side,
    side_inputs,
    solve_readout,
)
from infoatlas_train.model.infoatlas import InfoAtlas
from infoatlas_train.pretrain import load

TOLERANCE = 0.05  # nats of a single new pair; ONNX Runtime with NumPy compared with torch


class Writer(torch.nn.Module):
    """Maps samples to the complete parameters of their critic (`PARAMETERS`)."""

    def __init__(self, model: InfoAtlas, *, exact: bool) -> None:
        super().__init__()
        self.model, self.exact = model, exact

    def forward(self, x: torch.Tensor, y: torch.Tensor, shifts: torch.Tensor) -> Any:
        c = self.model.config
        theta = self.model.hypernetwork(x, y)
        sx, sy = side(theta.side_x, side_inputs(x)) + theta.bias, side(theta.side_y, side_inputs(y))
        everyone = torch.cat([torch.zeros_like(shifts[:1]), shifts])  # the joint pairs first
        partner = shift_index(everyone, x.shape[1])
        psi = features(theta, sx[:, None], partners(sy, partner))  # [B, M+1, n, F]
        t0 = anchor(theta.shrunk_z, x, y, partner)
        some = c.solved_pairs
        a = solve_readout(
            psi[:, some].flatten(1, 2),
            t0[:, some].flatten(1),
            theta.ridge[:, : c.features],
            x.shape[1],
            newton_steps=c.newton_steps,
            exact=self.exact,
        )
        step = (psi @ a[:, None, :, None]).squeeze(-1)
        share = best_share(t0[:, 0], step[:, 0], t0[:, 1:].flatten(1), step[:, 1:].flatten(1))
        a = share[:, None] * a
        t = t0 + share[:, None, None] * step
        joint, product = t[:, 0], t[:, 1:].flatten(1)
        whole = critic_share(joint, product)
        mi, log_z = donsker_varadhan(whole[:, None] * joint, whole[:, None] * product)
        sizes = [values.square().sum(-1).mean(1) for values in (x, y)]
        parameters = theta.shrunk_z, *theta.side_x, *theta.side_y, theta.bias, theta.mix
        return *parameters, a, whole, *sizes, log_z, mi


def export_critic(checkpoint: str | Path, out: str | Path, *, name: str, version: str) -> float:
    """Write the graph, and return the largest difference to torch in nats.

    Raises
    ------
    ModelError
        If the checkpoint cannot be read, its critics are refined or not solved, or graph and torch
        differ by more than the tolerance (then nothing is written).
    """
    try:
        model, run = load(checkpoint)
    except Exception as error:
        raise ModelError(
            f"cannot read the checkpoint {checkpoint}: {error}; "
            "give the best.pt that python -m infoatlas_train.pretrain wrote"
        ) from error
    if model.config.refinements or model.config.readout != "solved":
        raise ModelError(
            f"{checkpoint} refines its critics or generates their read-out, and only solved ones "
            "without refinement can be kept: pass another checkpoint"
        )
    inputs = example(3, 64, model.config.dim)
    del inputs["sequence"]
    slices, samples, m = (torch.export.Dim(axis, min=1) for axis in ("slices", "samples", "shifts"))
    tensors = {name: torch.from_numpy(values) for name, values in inputs.items()}
    dynamic = {"x": {0: slices, 1: samples}, "y": {0: slices, 1: samples}, "shifts": {0: m}}
    proto = traced(Writer(model, exact=False), tensors, PARAMETERS, dynamic)
    properties = metadata(model, run, name, version) | {"infoatlas.format": FORMAT}
    content = sealed(clean(proto, properties))
    worst = difference(model, content)
    if not worst <= TOLERANCE:
        raise ModelError(f"graph and torch differ by {worst:.2g} nats, more than {TOLERANCE}")
    Path(out).write_bytes(content)
    return worst


def difference(model: InfoAtlas, content: bytes) -> float:
    """Largest difference on new pairs between graph with NumPy and torch (exact solve), nats."""
    worst = 0.0
    for slices, samples in ((1, 64), (10, 300), (3, 1500)):
        inputs = example(slices, samples, model.config.dim, seed=samples)
        del inputs["sequence"]
        new = example(slices, 40, model.config.dim, seed=samples + 1)
        with torch.no_grad():
            exact = Writer(model, exact=True)(*(torch.from_numpy(a) for a in inputs.values()))
        expected = Weights(*(values.numpy() for values in exact))(new["x"], new["y"])
        got = Weights(*start_session(content).run(PARAMETERS, inputs))(new["x"], new["y"])
        # Slice 0 of the example is x = y, for which the critic is nearly singular.
        worst = max(worst, float(np.abs(got - expected)[1:].max(initial=0)))
    return worst
