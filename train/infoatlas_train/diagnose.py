"""Diagnostic features of many datasets, by the C++ engine if it is installed.

The C++ engine is five to ten times faster than torch, and evaluates the graph of a model. The
critic is therefore exported with a bias correction of arbitrary weights, and the engine returns the
inputs of that correction. The engine solves as exported models do, and torch by factorisation. The
asinh of their features differs by less than 3e-3.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from infoatlas_rt.backends import native
from infoatlas_train.model.bias_correction import BiasCorrection
from infoatlas_train.model.infoatlas import InfoAtlas

AT_ONCE = 1024  # most samples that torch evaluates together: more do not fit into the cache

# Canonical x, y [B, n, D], shifts [M], sequence [n] -> diagnostics [B, E]
Diagnose = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def with_torch(model: InfoAtlas, metrics: int, share: float = 0.0) -> Diagnose:
    correction = BiasCorrection(metrics, share)

    @torch.no_grad()
    def diagnose(x: Tensor, y: Tensor, shifts: Tensor, sequence: Tensor) -> Tensor:
        size = max(1, AT_ONCE // x.shape[1])
        return torch.cat([
            correction.diagnostics(xs, ys, model.critic(xs, ys, shifts), sequence)[0]
            for xs, ys in zip(x.split(size), y.split(size), strict=True)
        ])  # fmt: skip

    return diagnose


def with_native(file: bytes) -> Diagnose:
    """Diagnose with the C++ engine on one thread and an exported model with a correction.

    ProviderError if the engine is not installed, or its interface has another version; RuntimeError
    if it does not support the form of the network.
    """
    engine = native.load_native().Engine(file)

    def diagnose(x: Tensor, y: Tensor, shifts: Tensor, sequence: Tensor) -> Tensor:
        inputs = (v.contiguous().numpy() for v in (x, y, shifts, sequence))
        return torch.from_numpy(engine.diagnose(*inputs))

    return diagnose


def with_any_correction(model: InfoAtlas, metrics: int, share: float = 0.0) -> InfoAtlas:
    """The critic with a correction of arbitrary weights, to be exported for `with_native`."""
    with torch.random.fork_rng(devices=[]):
        complete = InfoAtlas(replace(model.config, gap=metrics, gap_share=share))
        for values in complete.gap.state_dict().values():
            values.uniform_(0.5, 1.5)  # the export would fold weights of 0 and 1
    complete.hypernetwork.load_state_dict(model.hypernetwork.state_dict())
    return complete.eval()
