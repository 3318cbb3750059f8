"""Options of a pretraining run, with their defaults and command line.

The flags of :mod:`infoatlas_train.pretrain` are generated from the fields of :class:`Options`.
Recipes and comparisons create the object directly.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from infoatlas_train.config import PRESETS, check_positive

LOCAL = ("out", "init", "quiet", "threads", "resume")  # not in recipes or checkpoints
# Only in recipes: they have no flag.
FROM_RECIPES = ("objective", "shifts", "average", "sizes", "atlas", "held_out")
HELD_OUT = {50: 96, 100: 96, 500: 96, 2000: 96}  # sample size -> datasets


@dataclass(frozen=True)
class Options:
    """Settings of a run of :func:`infoatlas_train.pretrain.pretrain`.

    Checkpoints record the names and values of :meth:`record` in this order.
    """

    preset: str = field(default="tiny", metadata={"choices": PRESETS})  # or the name of a recipe
    out: Path = field(
        default=Path("runs/tiny"),
        metadata={"help": "folder for checkpoints and metrics.jsonl", "type": Path},
    )
    steps: int = field(default=1200, metadata={"help": "total number of optimizer steps"})
    resume: bool = field(default=False, metadata={"help": "continue exactly from OUT/last.pt"})
    init: Path | None = field(
        default=None,
        metadata={
            "help": "start from the weights of this checkpoint, of the same or a smaller network",
            "type": Path,
        },
    )
    seed: int = 0
    batch: int = field(default=64, metadata={"help": "most datasets of a batch"})
    tokens: int = field(default=8192, metadata={"help": "most datasets times samples of a batch"})
    accumulate: int = field(default=1, metadata={"help": "batches of a step in each process"})
    objective: str = "distilled"  # one of OBJECTIVES of `model/objective.py`
    shifts: int = 6  # product pairs per sample in the readout
    lr: float = 1.5e-3
    warmup: int = 100
    decay: float = field(
        default=0.3, metadata={"help": "share of the steps in which the learning rate decays"}
    )
    average: float = 0.998  # decay of the averaged weights
    evaluate: int = field(default=200, metadata={"help": "steps between held-out evaluations"})
    precision: str = field(
        default="32-true", metadata={"help": "of Lightning Fabric, e.g. bf16-mixed"}
    )
    accelerator: str = "auto"
    devices: str = field(default="auto", metadata={"help": "number of devices; torchrun sets it"})
    threads: int = field(default=0, metadata={"help": "CPU threads; 0: torch decides"})
    quiet: bool = field(default=False, metadata={"help": "no progress bar"})
    sizes: dict[int, float] | None = None  # sample size -> weight
    atlas: dict[str, Any] | None = None  # arguments of Atlas
    held_out: dict[int, int] = field(default_factory=HELD_OUT.copy)  # sample size -> datasets

    def __post_init__(self) -> None:
        check_positive(self, "steps batch tokens accumulate shifts lr warmup evaluate")
        for name in ("decay", "average"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: use 0 to 1")
        for name in ("sizes", "held_out"):
            given = getattr(self, name) or {8: 1}
            if min(given) < 8 or not min(given.values()) >= 0 or not any(given.values()):
                raise ValueError(f"{name} is {given}: use 8 samples or more, and numbers above 0")

    def record(self) -> dict[str, str]:
        """Entries of a checkpoint: the options that affect the result, without local paths.

        The figures of a checkpoint name the sizes of held-out datasets.
        """
        left_out = (*LOCAL, "held_out")
        return {name: str(value) for name, value in vars(self).items() if name not in left_out}


def parse(description: str, argv: Sequence[str] | None = None) -> Options:
    """Options of a command line."""
    style = argparse.ArgumentDefaultsHelpFormatter
    p = argparse.ArgumentParser(description=description, formatter_class=style)
    for f in fields(Options):
        if f.name in FROM_RECIPES:
            continue
        if isinstance(f.default, bool):
            how: dict[str, Any] = {"action": "store_true"}
        else:
            how = {"type": type(f.default), "default": f.default}
        p.add_argument(f"--{f.name}", **how | f.metadata)
    given = vars(p.parse_args(argv))
    try:
        return Options(**given)
    except ValueError as error:
        p.error(f"--{error}")
