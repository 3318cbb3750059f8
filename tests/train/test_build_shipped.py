"""Shipped models match their recipes: checkpoint, graph, metadata and manifest agree."""

import json
from pathlib import Path

import pytest

from infoatlas_rt.models import model_file
from infoatlas_train import pretrain
from infoatlas_train.build import OUTPUTS, digest
from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.recipe_file import read_recipe

ROOT = Path(__file__).parents[2]
CHECKPOINTS = ROOT / "train" / "checkpoints"
REMADE = "edge", "base", "wide"


def manifest(name):
    return json.loads((CHECKPOINTS / f"{name}.manifest.json").read_text("utf-8"))


@pytest.mark.parametrize("name", REMADE)
def test_the_manifest_is_complete_and_of_the_recipe(name):
    made = manifest(name)
    assert made["recipe"] == json.loads(json.dumps(read_recipe(ROOT / "recipes" / f"{name}.toml")))
    assert all(made["stages"][stage]["complete"] for stage in OUTPUTS)


@pytest.mark.parametrize("name", REMADE)
def test_each_stage_took_what_the_one_before_left(name):
    stages = manifest(name)["stages"]
    outputs = {file: value for s in stages.values() for file, value in s["outputs"].items()}
    for stage in stages.values():
        for file, value in stage["inputs"].items():
            assert outputs[file] == value


@pytest.mark.parametrize("name", REMADE)
def test_checkpoint_and_graph_are_those_of_the_manifest(name):
    stages = manifest(name)["stages"]
    checkpoint = CHECKPOINTS / f"{name}.pt"
    assert stages["correction"]["outputs"]["corrected.pt"] == digest(checkpoint)
    shipped = digest(model_file.MODELS / f"{name}.onnx")
    assert stages["calibrate"]["outputs"]["model.onnx"] == shipped


@pytest.mark.parametrize("name", REMADE)
def test_metadata_are_those_of_checkpoint_and_recipe(name):
    file, (model, run) = model_file.load(name), pretrain.load(CHECKPOINTS / f"{name}.pt")
    recipe = manifest(name)["recipe"]
    assert file.version == recipe["version"] and file.name == recipe["name"]
    assert file.git_revision == run["git_revision"]
    # Settings that are newer than the file have their defaults.
    assert HypernetworkConfig(**json.loads(file.metadata["config"])) == model.config
    constants = json.loads((CHECKPOINTS / f"{name}.calibration.json").read_text("utf-8"))
    assert file.calibration == {part: constants[part] for part in ("whole", "sliced")}
