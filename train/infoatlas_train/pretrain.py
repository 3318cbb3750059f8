"""Pretraining: python -m infoatlas_train.pretrain --preset edge --out runs/edge

The command draws datasets from the atlas on the training device and trains the hypernetwork on
them. It writes to `--out`: last.pt, from which --resume continues exactly; best.pt, the averaged
weights of least held-out loss; and metrics.jsonl.

With `torchrun --nproc-per-node 8 -m infoatlas_train.pretrain --preset base ...` each process draws
its own batches, and gradients are averaged. P processes that accumulate N batches each give the
same weights as one process that accumulates P N batches.
"""

import copy
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import torch

from infoatlas_rt.cli.main import exit_code
from infoatlas_rt.errors import InputError
from infoatlas_train.config import PRESETS, HypernetworkConfig
from infoatlas_train.data.atlas import Atlas, Datasets
from infoatlas_train.model.expansion import expanded
from infoatlas_train.model.infoatlas import InfoAtlas, parameters
from infoatlas_train.model.objective import losses
from infoatlas_train.options import HELD_OUT, Options, parse

if TYPE_CHECKING:
    from lightning_fabric import Fabric

# Weights of sample sizes. The list is short because kernels are compiled for each shape.
SIZES = {32: 2, 48: 2, 64: 3, 100: 4, 128: 3, 192: 3, 256: 4, 384: 3, 512: 4, 768: 2, 1024: 2,
         2048: 1, 5000: 0.4}  # fmt: skip
SAVE_EVERY = 180.0  # seconds between checkpoints to resume from


def draw_shifts(n: int, count: int) -> torch.Tensor:
    """Draw `count` distinct cyclic shifts from 1..n-1."""
    return 1 + torch.randperm(n - 1)[:count]


def batch_at(atlas: Atlas, step: int, options: Options, index: int, device: Any) -> Datasets:
    """Draw one batch of a step.

    It depends only on (seed, step, index), so that resuming is exact. `index` counts the batches of
    the step over all processes. All batches of a step have the same n, so that no process waits for
    a slower one.
    """
    seed = (options.seed * 1_000_003 + step) * 4096
    torch.manual_seed(seed)
    sizes = options.sizes or SIZES
    n = list(sizes)[int(torch.multinomial(torch.tensor([*sizes.values()]).double(), 1))]
    if index:
        torch.manual_seed(seed + index)
    batch = max(atlas.group, min(options.batch, options.tokens // n // atlas.group * atlas.group))
    return atlas.sample(batch, n, device)


def held_out_batches(
    atlas: Atlas, device: Any, sizes: Mapping[int, int] = HELD_OUT
) -> list[Datasets]:
    """Batches of datasets that are not used in training; `sizes` are sample size -> datasets."""
    with torch.random.fork_rng(devices=[] if str(device) == "cpu" else None):
        torch.manual_seed(20_260_101)  # outside of the range of training seeds
        return [atlas.sample(count, n, device) for n, count in sizes.items()]


@torch.no_grad()
def held_out_error(model: InfoAtlas, batches: list[Datasets]) -> dict[str, float]:
    """Loss and mean absolute error for each n, on datasets that are not used in training.

    `held_out` is the mean loss, which selects the best checkpoint.
    """
    model.eval()
    out = {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for data in batches:
            n = data.x.shape[1]
            shifts = draw_shifts(n, 8)
            parts = [losses(model, part, shifts) for part in data.split(16)]  # to save memory
            for name in ("error", "loss"):
                out[f"{name}_{n}"] = float(torch.stack([part[name] for part in parts]).mean())
    model.train()
    out["held_out"] = sum(out[name] for name in out if name.startswith("loss_")) / len(batches)
    return out


def learning_rate(step: int, options: Options) -> float:
    """Warm-up, plateau, and decay at the end; a run can be prolonged from the plateau."""
    warm = min(1.0, (step + 1) / options.warmup)
    decay_from = options.steps * (1 - options.decay)
    fade = (
        1.0
        if step < decay_from
        else max(0.0, (options.steps - step) / (options.steps - decay_from))
    )
    return options.lr * warm * max(0.02, fade)


def git_revision() -> str:
    try:
        command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def checkpoint(model: InfoAtlas, run: dict[str, Any]) -> dict[str, Any]:
    """Content of a checkpoint: configuration, run record and weights."""
    return {"config": model.config.to_dict(), "run": run, "model": model.state_dict()}


def load(path: str | Path) -> tuple[InfoAtlas, dict[str, Any]]:
    """Load the model and the run record of a checkpoint (last.pt or best.pt).

    InputError if the file cannot be read.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        model = InfoAtlas(HypernetworkConfig(**saved["config"]))
        model.load_state_dict(saved["model"])
    except UnpicklingError as error:  # its own message advises to load unsafely
        raise InputError(f"{path} does not contain weights saved by torch") from error
    except (OSError, EOFError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{path} is no checkpoint that can be read ({error})") from error
    return model.eval(), saved["run"]


def hypernetwork_only(weights: dict[str, Any]) -> dict[str, Any]:
    """Weights without the bias correction, which is valid only for the critic of its fit."""
    name = "hypernetwork."
    return {k.removeprefix(name): v for k, v in weights.items() if k.startswith(name)}


class Average:
    """Moving average of the weights, over few steps at first to follow the early progress."""

    def __init__(self, model: InfoAtlas, decay: float) -> None:
        self.model, self.decay = copy.deepcopy(model).requires_grad_(False), decay

    def update(self, model: InfoAtlas, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        ours, theirs = list(self.model.parameters()), list(model.parameters())
        torch._foreach_lerp_(ours, [p.detach() for p in theirs], 1 - decay)


def engine(options: Options) -> "Fabric":
    """Fabric over the processes of torchrun or, without torchrun, over `--devices`.

    InputError if Lightning Fabric is not installed. Only pretraining needs it, not loading a
    checkpoint.
    """
    try:
        from lightning_fabric import Fabric
    except ModuleNotFoundError as error:
        raise InputError(f"pretraining ({error}): pip install 'infoatlas-rt[train]'") from error
    devices, nodes = options.devices, 1
    if "LOCAL_WORLD_SIZE" in os.environ:
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        nodes = int(os.environ["WORLD_SIZE"]) // devices
    given = {"accelerator": options.accelerator, "devices": devices, "precision": options.precision}
    try:
        return Fabric(num_nodes=nodes, **given)
    except Exception as error:  # Lightning's errors have no common class
        raise InputError(f"Lightning Fabric cannot use {given}: {error}") from error


def pretrain(options: Options, config: HypernetworkConfig | None = None) -> InfoAtlas:
    """Run the loop and return the model of the last step.

    `config` replaces the configuration of the preset.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    fabric = engine(options)
    fabric.launch()
    first = fabric.is_global_zero
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    fabric.seed_everything(options.seed, verbose=False)
    model = InfoAtlas(config or PRESETS[options.preset]).to(fabric.device)
    atlas = Atlas(dim=model.config.dim, **(options.atlas or {}))
    average = Average(model, options.average)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.lr, betas=(0.9, 0.98), weight_decay=0.01
    )
    run: dict[str, Any] = {
        "preset": options.preset,
        "seed": options.seed,
        "step": 0,
        "datasets": 0,
        "seconds": 0.0,
        "best": math.inf,
        "git_revision": git_revision(),
        "processes": fabric.world_size,
        "arguments": options.record(),
    }
    if options.resume or options.init:
        _load_start(options, model, average, optimizer, run)
    wrapped, optimizer = fabric.setup(model, optimizer)
    wrapped.mark_forward_method("critic")
    held_out = held_out_batches(atlas, fabric.device, options.held_out) if first else []
    fabric.print(
        f"{options.preset}: {parameters(model):,} parameters on {fabric.device}, "
        f"{fabric.world_size} process(es), precision {options.precision}"
    )

    def save() -> None:
        state = checkpoint(model, run)
        state |= {"average": average.model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, out / "last.pt.tmp")
        (out / "last.pt.tmp").replace(out / "last.pt")

    started, smooth = time.monotonic(), None
    saved_at, error = started, ""
    before = run["seconds"]
    with shown_progress(options.steps, enabled=first and not options.quiet) as show:
        for step in range(run["step"], options.steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, options)
            loss, sets = _accumulate_gradients(fabric, wrapped, atlas, step, options)
            norm = fabric.clip_gradients(wrapped, optimizer, max_norm=1.0, error_if_nonfinite=False)
            if torch.isfinite(norm):  # a batch with a float32 overflow is skipped and counted
                optimizer.step()
                average.update(model, step)
            else:
                run["skipped"] = run.get("skipped", 0) + 1
            optimizer.zero_grad()

            loss = float(fabric.all_reduce(loss, reduce_op="mean"))
            if math.isfinite(loss):
                smooth = loss if smooth is None else 0.98 * smooth + 0.02 * loss
            run["step"] = step + 1
            run["datasets"] += sets * fabric.world_size
            run["seconds"] = before + time.monotonic() - started
            rate = run["datasets"] / max(run["seconds"], 1e-9)
            show(step + 1, f"loss {smooth or math.nan:.3f}  {error}{rate:.0f} datasets/s")
            # The other processes continue until the next exchange of gradients.
            if first and ((step + 1) % options.evaluate == 0 or step + 1 == options.steps):
                figures = held_out_error(average.model, held_out)
                if figures["held_out"] < run["best"]:
                    run["best"] = figures["held_out"]
                    best = checkpoint(average.model, run | {"figures": figures})
                    torch.save(best, out / "best.pt")
                save()
                line = {"step": step + 1, "loss": smooth, "lr": learning_rate(step, options)}
                line |= figures | {"datasets": run["datasets"], "seconds": round(run["seconds"], 1)}
                with open(out / "metrics.jsonl", "a") as file:
                    file.write(json.dumps(line) + "\n")
                error = f"held-out {figures['held_out']:.3f}  "
                saved_at = time.monotonic()
            elif first and time.monotonic() - saved_at > SAVE_EVERY:
                save()
                saved_at = time.monotonic()
    fabric.barrier()
    return model


def _load_start(
    options: Options,
    model: InfoAtlas,
    average: Average,
    optimizer: torch.optim.Optimizer,
    run: dict[str, Any],
) -> None:
    """Load the weights of `--init`, or with --resume also the optimizer and the record `run`.

    InputError if the checkpoint cannot be used.
    """
    start = options.out / "last.pt" if options.resume else options.init
    device = next(model.parameters()).device
    try:
        saved = torch.load(start, map_location=device, weights_only=True)
        source = HypernetworkConfig(**saved["config"])
        weights = saved["model"], saved.get("average", saved["model"])
        for into, values in zip((model, average.model), weights, strict=True):
            values = expanded(hypernetwork_only(values), source, model.config)
            into.hypernetwork.load_state_dict(values)
        if options.resume:
            optimizer.load_state_dict(saved["optimizer"])
    except (OSError, UnpicklingError, LookupError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{start} cannot be continued ({error}): pass a checkpoint of such a network, or "
            "begin anew, in another folder"
        ) from error
    if options.resume:
        resumed = ("step", "best", "skipped")
        run |= {k: saved["run"][k] for k in resumed if k in saved["run"]}
    # The datasets and seconds behind the initial weights are counted, too.
    run |= {k: saved["run"][k] for k in ("datasets", "seconds")}


def _accumulate_gradients(
    fabric: "Fabric", model: Any, atlas: Atlas, step: int, options: Options
) -> tuple[torch.Tensor, int]:
    """Add up the gradients of the batches of a step; their mean loss, and number of datasets."""
    loss, sets = torch.zeros((), device=fabric.device), 0
    for i in range(options.accumulate):
        index = fabric.global_rank * options.accumulate + i
        data = batch_at(atlas, step, options, index, fabric.device)
        shifts = draw_shifts(data.x.shape[1], options.shifts).to(fabric.device)
        with fabric.no_backward_sync(model, enabled=i + 1 < options.accumulate):
            part = losses(model, data, shifts, options.objective)["loss"] / options.accumulate
            fabric.backward(part)
        loss += part.detach()
        sets += data.x.shape[0]
    return loss, sets


@contextmanager
def shown_progress(total: int, enabled: bool) -> Iterator[Callable[[int, str], None]]:
    """A progress bar with the time left; yields a function of the completed steps and a text."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    texts = TextColumn("{task.description}"), TextColumn("{task.fields[text]}")
    columns = texts[0], BarColumn(), MofNCompleteColumn(), texts[1], TimeRemainingColumn()
    with Progress(*columns, disable=not enabled) as bar:
        task = bar.add_task("pretraining", total=total, text="")
        yield lambda step, text: bar.update(task, completed=step, text=text)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(__doc__.splitlines()[0], argv)
    resume = f"the same command with --resume continues from last.pt in {options.out}, if it exists"
    return exit_code(lambda: pretrain(options), "infoatlas_train.pretrain", resume)


if __name__ == "__main__":
    sys.exit(main())
