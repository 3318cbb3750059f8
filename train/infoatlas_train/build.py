"""Build a model from its recipe: python -m infoatlas_train.build recipes/edge.toml --out runs/edge

A recipe contains all settings: network, mixture of datasets, schedules, numbers, seeds. The stages
write their files to `--out`:

    start -> pretrain -> examples -> correction -> export -> calibrate -> evaluate

The optional stage `start` pretrains a smaller network first. [start.network] and [start.pretrain]
contain its settings that differ, or `recipe = "edge.toml"` in [start] names its recipe.

manifest.json records for each stage its part of the recipe, hashes of its input and output files,
the git revision, versions, seconds and datasets. The same command resumes a build: complete stages
are kept, and a stage that has begun continues. The result is model.onnx.

Two stages can be split among processes. `torchrun --nproc-per-node 8 -m infoatlas_train.build ...`
splits pretraining. `--shard 0/8` to `--shard 7/8`, each in its own process, split the examples; the
next call without --shard merges them.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infoatlas_rt import __version__
from infoatlas_rt.cli.main import exit_code
from infoatlas_train import calibrate, diagnose, fit_correction, pretrain
from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.fit_correction import Plan
from infoatlas_train.options import Options
from infoatlas_train.recipe_file import PRETRAIN, RecipeError, check_names, read_recipe, with_sizes
from infoatlas_train.stages import export_stage

PACKAGES = {  # package -> module; their versions are recorded
    "torch": "torch", "numpy": "numpy", "onnx": "onnx", "onnxruntime": "onnxruntime",
    "lightning-fabric": "lightning_fabric",
}  # fmt: skip

OUTPUTS = {  # stage -> its main output file
    "start": "start/best.pt",
    "pretrain": "pretrain/best.pt",
    "examples": "examples.pt",
    "correction": "corrected.pt",
    "export": "uncalibrated.onnx",
    "calibrate": "model.onnx",
    "evaluate": "evaluation.json",
}
EXPORTED = ("export", "calibrate", "evaluate")  # stages that need the export package
RESUMED = ("start", "pretrain", "examples")  # stages that resume where they stopped


class Build:
    """The build of one recipe in one folder."""

    def __init__(self, recipe: dict[str, Any], out: Path, threads: int = 0) -> None:
        self.recipe, self.out, self.threads = recipe, out, threads
        self.config = HypernetworkConfig(**recipe["network"])
        self.plan = Plan(**recipe["examples"])
        self.outputs = OUTPUTS.copy()
        if "recipe" in recipe.get("start", {}):
            self.outputs["start"] = "start/" + OUTPUTS["pretrain"]
        out.mkdir(parents=True, exist_ok=True)

    def stages(self) -> dict[str, tuple[Callable[[], int], tuple[str, ...], tuple[str, ...]]]:
        """Name -> (function that returns datasets seen, sections of the recipe, input files)."""
        sections = ("network", "pretrain")
        start: dict[str, Any] = {}
        if "start" in self.recipe:
            shared = () if "recipe" in self.recipe["start"] else sections
            start = {"start": (self.start, (*shared, "start"), ())}
        return start | {
            "pretrain": (self.pretrain, sections, (self.outputs["start"],) if start else ()),
            "examples": (self.examples, ("examples", "correction"), ("pretrain/best.pt",)),
            "correction": (
                self.correction,
                ("examples", "correction"),
                ("pretrain/best.pt", "examples.pt"),
            ),
            "export": (self.export, ("name", "version"), ("corrected.pt",)),
            "calibrate": (self.calibrate, ("calibration",), ("uncalibrated.onnx",)),
            "evaluate": (self.evaluate, ("evaluation",), ("model.onnx",)),
        }

    def run(self, until: str = "evaluate", shard: tuple[int, int] = (0, 1)) -> None:
        """Run all stages that are not complete, up to and including `until`."""
        if until in EXPORTED:
            export_stage()  # reports a missing export package now, not after hours of training
        for name, (stage, sections, inputs) in self.stages().items():
            key = self.key(name, sections, inputs)
            done = self.manifest().get("stages", {}).get(name)
            if done and done["key"] != key and (done["complete"] or name in RESUMED):
                raise RecipeError(
                    f"{self.out} has the stage {name!r} of another recipe or of other inputs: "
                    "give another --out, or remove it and what follows from manifest.json and there"
                )
            if not (done and done["complete"]):
                record = {"key": key, "complete": False, "seconds": (done or {}).get("seconds", 0)}
                self.note(name, record)
                started = time.monotonic()
                if name == "examples" and shard != (0, 1):
                    self.shard(shard)
                    return
                datasets = stage()
                record |= {"complete": True, "datasets": datasets}
                record["git_revision"] = pretrain.git_revision()
                record["seconds"] = round(record["seconds"] + time.monotonic() - started, 1)
                record["inputs"] = {f: digest(self.out / f) for f in inputs}
                record["outputs"] = {self.outputs[name]: digest(self.out / self.outputs[name])}
                record["versions"] = {p: version(p) for p in PACKAGES if find_spec(PACKAGES[p])} | {
                    "infoatlas-rt": __version__,
                    "python": platform.python_version(),
                }
                if find_spec("infoatlas_native"):
                    record["versions"]["C++ engine"] = __version__
                self.note(name, record)
            # Only the first process continues after pretraining.
            if name == until or (rank() > 0 and name == "pretrain"):
                return

    def key(self, name: str, sections: tuple[str, ...], inputs: tuple[str, ...]) -> str:
        """Hash of what a stage depends on: its part of the recipe and its input files."""
        part = {section: self.recipe[section] for section in sections}
        if name == "examples":  # they depend on the features of the correction, not on its fit
            options = self.recipe["correction"]
            part["correction"] = options["metrics"]
            if options.get("share"):  # a share needs an additional feature
                part["second"] = True
        if name == "start" and "recipe" in part["start"]:
            other = part["start"]["recipe"]
            part["start"] = {s: other.get(s) for s in ("network", "pretrain", "start")}
        files = [digest(self.out / file) for file in inputs]
        text = json.dumps([name, part, files], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def manifest(self) -> dict[str, Any]:
        file = self.out / "manifest.json"
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    def note(self, stage: str, record: dict[str, Any]) -> None:
        if rank() > 0:
            return
        text = json.dumps(self.recipe, sort_keys=True)
        manifest = {
            "recipe": self.recipe,
            "recipe_hash": hashlib.sha256(text.encode()).hexdigest(),
            "stages": self.manifest().get("stages", {}) | {stage: record},
        }
        temporary = self.out / "manifest.tmp"
        temporary.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.out / "manifest.json")

    # ---- stages ----------------------------------------------------------------------------------

    def start(self) -> int:
        other = self.recipe["start"]
        if "recipe" in other:
            build = Build(other["recipe"], self.out / "start", self.threads)
            build.run(until="pretrain")
            record = build.manifest()["stages"]["pretrain"]
            return int(record.get("datasets", 0))  # (another process may not have noted it yet)
        config = HypernetworkConfig(**self.recipe["network"] | other.get("network", {}))
        return self.train("start", config, self.recipe["pretrain"] | other.get("pretrain", {}))

    def pretrain(self) -> int:
        return self.train("pretrain", self.config, self.recipe["pretrain"])

    def train(self, stage: str, config: HypernetworkConfig, section: dict[str, Any]) -> int:
        """Pretrain one network and return the number of datasets seen.

        The stage `pretrain` begins with the weights of `start` if the recipe has that stage.
        """
        check_names("[pretrain]", section, PRETRAIN)
        out, started = self.out / stage, stage == "pretrain" and "start" in self.recipe
        options = Options(
            preset=self.recipe["name"],
            out=out,
            init=self.out / self.outputs["start"] if started else None,
            resume=(out / "last.pt").exists(),
            threads=self.threads,
            **with_sizes(section),
        )
        pretrain.pretrain(options, config)
        return int(pretrain.load(out / "last.pt")[1]["datasets"])

    def shard(self, shard: tuple[int, int]) -> Path:
        """Gather the examples of one shard into a separate file."""
        keep = self.out / f"examples-{shard[0]}-of-{shard[1]}.pt"
        fit_correction.gather(self.make_diagnose, self.config, self.plan, keep, shard)
        return keep

    def make_diagnose(self) -> diagnose.Diagnose:
        """Diagnose with the C++ engine if it is installed and supports the network, else torch."""
        model, run = pretrain.load(self.out / "pretrain" / "best.pt")
        options = self.recipe["correction"]
        form = options["metrics"], options.get("share", 0.0)
        if find_spec("infoatlas_native"):
            complete = diagnose.with_any_correction(model, *form)
            graph, labels = export_stage().graph, (self.recipe["name"], self.recipe["version"])
            try:
                return diagnose.with_native(graph(complete, run, *labels))
            except RuntimeError as error:
                warnings.warn(f"using torch for the examples: {error}", stacklevel=2)
        return diagnose.with_torch(model, *form)

    def examples(self) -> int:
        found = sorted(self.out.glob("examples-*-of-*.pt"))
        count = {int(file.stem.split("-")[-1]) for file in found}
        if len(count) > 1:
            raise RecipeError(
                f"{self.out} has shards of several partitions: remove the files examples-*-of-*"
            )
        n = count.pop() if count else 1
        files = [self.shard((i, n)) for i in range(n)]  # completes shards that were interrupted
        examples = fit_correction.merged([torch.load(file, weights_only=True) for file in files])
        torch.save(examples, self.out / "examples.pt")
        for file in files:
            file.unlink()
        return fit_correction.TOGETHER * len(examples["batch"].unique())

    def correction(self) -> int:
        model, run = pretrain.load(self.out / "pretrain" / "best.pt")
        data = torch.load(self.out / "examples.pt", weights_only=True)
        options = self.recipe["correction"]
        complete, about = fit_correction.corrected(model, data, plan=self.plan, **options)
        about["git_revision"] = pretrain.git_revision()
        saved = pretrain.checkpoint(complete, run | {"gap": about})  # key of shipped checkpoints
        torch.save(saved, self.out / "corrected.pt")
        return int(about["datasets"])

    def export(self) -> int:
        labels = self.recipe["name"], self.recipe["version"]
        content = export_stage().content(self.out / "corrected.pt", *labels)
        (self.out / "uncalibrated.onnx").write_bytes(content)
        return 0

    def calibrate(self) -> int:
        options = self.recipe["calibration"]
        model = self.out / "uncalibrated.onnx"
        constants, _ = calibrate.calibrate(
            str(model), options["draws"], options["wide"], options["seed"], max(1, self.threads)
        )
        text, file = json.dumps(constants | options, indent=1) + "\n", self.out / "calibration.json"
        file.write_text(text, encoding="utf-8")
        content = export_stage().calibrated(model.read_bytes(), file)
        (self.out / "model.onnx").write_bytes(content)
        return int(options["draws"] + options["wide"])

    def evaluate(self) -> int:
        """Measure error, bias and coverage on datasets like the calibration's, of another seed."""
        options = self.recipe["evaluation"]
        model, threads = str(self.out / "model.onnx"), max(1, self.threads)
        estimator = calibrate.Estimator(model, threads=threads, provider="auto")
        draws = calibrate.unsliced(options["draws"], options["seed"], dim=self.config.dim)
        usable = tuple(n for n in options["sizes"] if n >= estimator.model_file.n_min)
        draws = calibrate.counted(draws, options["draws"], "evaluate")
        data = calibrate.estimates(estimator, draws, usable)
        rows = []
        for n in usable:
            at = {name: column[data["n"] == n] for name, column in data.items()}
            error = at["mi"] - at["truth"]
            rows.append({
                "n": n, "estimates": len(error), "error": round(float(np.abs(error).mean()), 4),
                "bias": round(float(error.mean()), 4), "least": round(float(at["mi"].min()), 4),
                "coverage": round(calibrate.coverage(at, at["stderr"]), 3),
            })  # fmt: skip
        text = json.dumps(rows, indent=1) + "\n"
        (self.out / "evaluation.json").write_text(text, encoding="utf-8")
        return int(options["draws"])


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def check_clean(folder: Path) -> None:
    """Raise RecipeError if the code in a folder has uncommitted changes or is in no checkout."""

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *command], capture_output=True, text=True, check=False
        )
        return "" if done.returncode else done.stdout.strip()

    way = "or pass --allow-dirty; the code that made the model is then not recorded"
    try:
        tracked, changed = git("ls-files"), git("status", "--porcelain", "--untracked-files=no")
    except OSError as error:
        raise RecipeError(f"git is not installed ({error}): install it, {way}") from error
    if not tracked:
        raise RecipeError(
            f"the code in {folder} is of no git checkout, so its revision is not known: in a "
            f"checkout, pip install -e '.[export]' uses that code, {way}"
        )
    if changed:
        raise RecipeError(f"the code has changes that are not committed ({changed}): commit, {way}")


def parse_shard(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and int(i) < int(n)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard: give i/n with i from 0 to n - 1")
    return int(i), int(n)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("recipe", help="recipes/NAME.toml")
    p.add_argument("--out", type=Path, required=True, help="folder for all files of the build")
    p.add_argument("--until", choices=OUTPUTS, default="evaluate", help="last stage to run")
    p.add_argument("--shard", type=parse_shard, default=(0, 1), metavar="I/N",
                   help="gather this part of the examples, and stop")  # fmt: skip
    p.add_argument("--threads", type=int, default=1, help="results are reproducible with 1 thread")
    p.add_argument("--allow-dirty", action="store_true", help="build from uncommitted code")
    args = p.parse_args(argv)

    def run() -> None:
        recipe = read_recipe(args.recipe)
        if not args.allow_dirty:
            check_clean(Path(__file__).parent)
        torch.set_num_threads(args.threads)
        Build(recipe, args.out, args.threads).run(args.until, args.shard)

    resume = (
        "the same command continues at the last checkpoint; "
        f"manifest.json in {args.out} lists the complete stages"
    )
    return exit_code(run, "infoatlas_train.build", resume)


if __name__ == "__main__":
    sys.exit(main())
