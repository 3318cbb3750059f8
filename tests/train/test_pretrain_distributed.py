"""Several processes and accumulated gradients learn like one process with all batches.

torchrun starts the processes, which exchange gradients through gloo.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from infoatlas_train import pretrain
from infoatlas_train.options import parse

STEPS, SIZES = 4, {32: 1.0, 64: 1.0, 100: 1.0}
OPTIONS = ["--preset", "tiny", "--accelerator", "cpu", "--quiet", "--tokens", "512", "--batch", "8",
           "--warmup", "2", "--evaluate", "3", "--decay", "0", "--threads", "1"]  # fmt: skip


def train(out: Path, *args: str) -> dict:
    """Weights after the last step, and the shapes of the batches of this process."""
    shapes, losses = [], pretrain.losses

    def watched(model, data, shifts, *objective):
        if objective:  # (an evaluation has none)
            shapes.append(tuple(data.x.shape))
        return losses(model, data, shifts, *objective)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrain, "losses", watched)
        options = parse("", [*OPTIONS, "--out", str(out), *args])
        model = pretrain.pretrain(replace(options, sizes=SIZES, held_out={50: 8}))
    return {"model": model.state_dict(), "shapes": shapes}


def worker(out: Path) -> None:
    """One of the processes: a complete run, and one in two parts."""
    whole = train(out / "whole", "--steps", str(STEPS))
    train(out / "parts", "--steps", str(STEPS - 2))
    resumed = train(out / "parts", "--steps", str(STEPS), "--resume")
    torch.save({"whole": whole, "resumed": resumed}, out / f"process{os.environ['RANK']}.pt")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The folder of the runs, and the final results of both processes."""
    out = tmp_path_factory.mktemp("two")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, __file__, str(out)], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return out, [torch.load(out / f"process{i}.pt", weights_only=True) for i in range(2)]


def equal(a: dict, b: dict) -> bool:
    return all(torch.equal(value, b["model"][name]) for name, value in a["model"].items())


def test_processes_hold_the_same_weights_and_wait_for_none(two):
    first, second = (process["whole"] for process in two[1])
    assert equal(first, second)
    assert first["shapes"] == second["shapes"]  # no process has more work than the other
    assert len(first["shapes"]) == STEPS and len(set(first["shapes"])) > 1


def test_two_processes_are_two_accumulated_batches(two, tmp_path):
    together = two[1][0]["whole"]["model"]
    alone = train(tmp_path / "alone", "--steps", str(STEPS), "--accumulate", "2")
    assert len(alone["shapes"]) == 2 * STEPS
    for name, value in together.items():
        torch.testing.assert_close(value, alone["model"][name], rtol=1e-4, atol=2e-5)
    half = train(tmp_path / "half", "--steps", str(STEPS))["model"]
    # Both batches have an effect.
    assert max((together[k] - v).abs().max() for k, v in half.items()) > 1e-3


def test_files_are_written_once_and_count_all_datasets(two):
    out, (process, _) = two
    lines = [json.loads(line) for line in (out / "whole/metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [3, 4]
    assert sorted(f.name for f in (out / "whole").iterdir()) == [
        "best.pt", "last.pt", "metrics.jsonl"
    ]  # fmt: skip
    model, record = pretrain.load(out / "whole/last.pt")
    assert record["datasets"] == 2 * sum(batch for batch, *_ in process["whole"]["shapes"])
    assert record["processes"] == 2 and record["step"] == STEPS
    assert equal({"model": model.state_dict()}, process["whole"])


def test_resume_of_two_processes_is_exact(two):
    for process in two[1]:
        assert len(process["resumed"]["shapes"]) == 2
        assert equal(process["resumed"], process["whole"])


if __name__ == "__main__":
    worker(Path(sys.argv[1]))
