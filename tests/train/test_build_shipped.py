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


@pytest.mark.parametrize("name", ["edge", "base", "wide"])
def test_a_shipped_model_is_what_its_recipe_made(name):
    made = json.loads((CHECKPOINTS / f"{name}.manifest.json").read_text("utf-8"))
    recipe, stages = made["recipe"], made["stages"]
    assert recipe == json.loads(json.dumps(read_recipe(ROOT / "recipes" / f"{name}.toml")))
    assert all(stages[stage]["complete"] for stage in OUTPUTS)
    outputs = {file: value for s in stages.values() for file, value in s["outputs"].items()}
    for stage in stages.values():  # each took what the one before has left
        assert all(outputs[file] == value for file, value in stage["inputs"].items())

    checkpoint = CHECKPOINTS / f"{name}.pt"
    assert stages["correction"]["outputs"]["corrected.pt"] == digest(checkpoint)
    shipped = digest(model_file.MODELS / f"{name}.onnx")
    assert stages["calibrate"]["outputs"]["model.onnx"] == shipped

    file, (model, run) = model_file.load(name), pretrain.load(checkpoint)
    assert file.version == recipe["version"] and file.name == recipe["name"]
    assert file.git_revision == run["git_revision"]
    # Settings that are newer than the file have their defaults.
    assert HypernetworkConfig(**json.loads(file.metadata["config"])) == model.config
    constants = json.loads((CHECKPOINTS / f"{name}.calibration.json").read_text("utf-8"))
    assert file.calibration == {part: constants[part] for part in ("whole", "sliced")}
