"""Build from a recipe: reproducible, resumable, and with refusals of changed recipes."""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import exporting
from infoatlas_rt import Estimator
from infoatlas_rt.models import model_file
from infoatlas_train import build, calibrate, pretrain, stages
from infoatlas_train.build import OUTPUTS, Build
from infoatlas_train.config import PRESETS
from infoatlas_train.model.expansion import expanded
from infoatlas_train.recipe_file import RecipeError, read_recipe
from refusals import fails

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def short():
    """A recipe of tiny for seconds."""
    return copy.deepcopy(exporting.SHORT)


@pytest.fixture(scope="module")
def built():
    """Folders of an uninterrupted build and of one in pieces."""
    whole = exporting.built()
    parts = whole.with_name("parts")
    with exporting.tracing_once((1, 64, 0), (3, 100, 0)):
        Build(exporting.SHORT, parts, 1).run(until="pretrain")
        for i in (1, 0):
            Build(exporting.SHORT, parts, 1).run(shard=(i, 2))
        Build(exporting.SHORT, parts, 1).run(until="correction")
        Build(exporting.SHORT, parts, 1).run()
    return whole.parent


def test_the_same_recipe_gives_the_same_bits(built):
    """Uninterrupted or in pieces: the model files are equal byte for byte."""
    whole, parts = ((built / name / "model.onnx").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_the_model_is_one_that_the_runtime_reads(built):
    file = built / "whole" / "model.onnx"
    assert model_file.load(file).name == "tiny"
    x = torch.randn(64, 2, dtype=torch.float64).numpy()
    estimate = Estimator(str(file)).estimate(x, x + 1)
    assert estimate.mi > 0 and estimate.stderr > 0
    rows = json.loads((built / "whole" / "evaluation.json").read_text())
    assert [row["n"] for row in rows] == [50, 100]


def test_the_manifest_has_hashes_of_inputs_and_outputs(built, short):
    manifest = json.loads((built / "parts" / "manifest.json").read_text())
    stages = manifest["stages"]
    assert manifest["recipe"] == short and ["start", *stages] == list(OUTPUTS)
    for name, record in stages.items():
        file = built / "parts" / OUTPUTS[name]
        assert record["complete"] and record["outputs"] == {OUTPUTS[name]: build.digest(file)}
        assert {"torch", "python", "infoatlas-rt"} <= set(record["versions"])
    assert stages["pretrain"]["datasets"] == 4 * 8 and stages["examples"]["datasets"] == 20 * 8
    made = {file: value for record in stages.values() for file, value in record["outputs"].items()}
    for record in stages.values():
        assert all(made[file] == value for file, value in record["inputs"].items())


def test_complete_files_are_unchanged(built, short):
    files = [file for file in (built / "whole").rglob("*") if file.name != "manifest.json"]
    before = [file.stat().st_mtime_ns for file in files]
    Build(short, built / "whole").run()
    assert [file.stat().st_mtime_ns for file in files] == before


def test_a_recipe_can_start_with_a_smaller_network(short, tmp_path):
    """With two dimensions first; the larger network starts from its weights."""
    short["start"] = {"network": {"dim": 2}, "pretrain": {"steps": 2, "seed": 3}}
    short["pretrain"] |= {"steps": 1, "lr": 1e-300}
    Build(short, tmp_path, 1).run(until="pretrain")
    first, about = pretrain.load(tmp_path / "start" / "last.pt")
    assert first.config.dim == 2 and about["step"] == 2 and about["seed"] == 3
    whole, about = pretrain.load(tmp_path / "pretrain" / "last.pt")
    assert whole.config.dim == 5 and about["datasets"] == 3 * 8
    begun = whole.hypernetwork.state_dict()
    grown = expanded(first.hypernetwork.state_dict(), first.config, whole.config)
    for name, values in grown.items():
        if name == "q_joint" or name.startswith("f_x"):  # it has no new random weights
            assert torch.equal(begun[name], values), name
    stages = json.loads((tmp_path / "manifest.json").read_text())["stages"]
    assert stages["pretrain"]["inputs"] == stages["start"]["outputs"]
    short["start"]["pretrain"]["steps"] = 3
    with pytest.raises(RecipeError, match="has the stage 'start' of another recipe"):
        Build(short, tmp_path, 1).run(until="pretrain")


def test_a_recipe_can_start_with_the_network_of_another(built, short, tmp_path):
    """An existing build in start/ is used; changes to its calibration have no effect."""
    (tmp_path / "start" / "pretrain").mkdir(parents=True)
    for file in ("manifest.json", "pretrain/best.pt"):
        shutil.copy(built / "whole" / file, tmp_path / "start" / file)
    recipe = copy.deepcopy(short)
    recipe["start"] = {"recipe": copy.deepcopy(short)}
    recipe["start"]["recipe"]["calibration"]["seed"] += 1
    recipe["network"] |= {"dim": 7}
    Build(recipe, tmp_path, 1).run(until="pretrain")
    assert pretrain.load(tmp_path / "pretrain" / "last.pt")[0].config.dim == 7
    stages = json.loads((tmp_path / "manifest.json").read_text())["stages"]
    assert list(stages["pretrain"]["inputs"]) == ["start/pretrain/best.pt"]
    assert stages["start"]["datasets"] == 4 * 8
    recipe["start"]["recipe"]["pretrain"]["lr"] *= 2
    fails(RecipeError, "has the stage 'start' of another recipe", Build(recipe, tmp_path, 1).run)


@pytest.mark.parametrize(
    "section, option, stage",
    [("pretrain", "lr", "pretrain"), ("correction", "steps", "correction"),
     ("calibration", "draws", "calibrate")],
)  # fmt: skip
def test_another_recipe_is_refused_where_it_differs(built, short, section, option, stage):
    short[section][option] *= 2
    with pytest.raises(RecipeError, match=f"has the stage '{stage}' of another recipe"):
        Build(short, built / "whole").run()


def test_a_stage_without_output_starts_again(built, short, tmp_path):
    """After an interrupted export, the recipe of the export may change."""
    short["version"] = "9.9.9"
    shutil.copytree(built / "whole", tmp_path / "whole")
    file = tmp_path / "whole" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["stages"]["export"]["complete"] = False
    file.write_text(json.dumps(manifest))
    exported = []

    class Exporting(Build):
        def export(self):
            exported.append(self.recipe["version"])
            return 0

    Exporting(short, tmp_path / "whole").run(until="export")
    assert exported == ["9.9.9"]


def test_recipes_are_complete_and_their_networks_the_presets():
    for file in RECIPES.glob("*.toml"):
        recipe = read_recipe(file)
        found = Build(recipe, Path("/tmp")).config
        assert found == PRESETS[recipe["name"]] and recipe["name"] == file.stem


def test_code_of_no_commit_is_refused(tmp_path):
    def git(*args):
        options = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *options, "-C", str(tmp_path), *args], check=True)

    fails(RecipeError, r"of no git checkout.*pip install -e", build.check_clean, tmp_path)
    git("init", "-q")
    (tmp_path / "code.py").write_text("1")
    git("add", ".")
    git("commit", "-qm", "one")
    build.check_clean(tmp_path)
    (tmp_path / "code.py").write_text("2")
    fails(RecipeError, r"changes that are not committed .*code.py", build.check_clean, tmp_path)
    copy_of_it = tmp_path / ".venv" / "site-packages"  # an ordinary installation
    copy_of_it.mkdir(parents=True)
    fails(RecipeError, "of no git checkout", build.check_clean, copy_of_it)


WRONG = [
    ("width = 32", "width = 33", r"\[network\] .* width 33 is no multiple of heads 2"),
    ("features = 32", "features = 33", "features 33 is no multiple of units 16"),
    ("width = 32", "width = 32.5", "width = 32.5: write a whole number"),
    ("heads = 2", "heads = true", "heads = True: write a whole number"),
    ("units = 16", 'units = 16\nreadout = "best"', "use solved or generated"),
    ("steps = 400", 'steps = "many"', r"\[pretrain\] has steps = 'many': write a whole number"),
    ("steps = 400", "steps = 0", "steps is 0: use a number above 0"),
    ("decay = 0.4", "decay = 2", "decay is 2: use 0 to 1"),
    ("32 = 2", "many = 2", "has sizes.many = 2"),
    ("32 = 2", "3 = 2", "use 8 samples or more"),
    ("mixture = 0.21", "mixtures = 0.21", r"\[pretrain.atlas\] .* no family mixtures"),
    ("mixture = 0.21", "mixture = -1", "use shares of 0 or more"),
    ("straight = 3", 'straight = "x"', r"\[examples\] has kinds.straight = 'x'"),
    ("up_to = 1000", "up_to = 3", "use 32 samples or more"),
    ("wide = 6", "wide = 0", r"\[calibration\] .* wide is 0"),
    ("wide = 6", "", r"\[calibration\] .* missing .*wide"),
    ("1000]", '"all"]', r"\[evaluation\] .* use numbers of samples"),
    ('name = "tiny"', "name = 3", "write a text in quotes"),
    ("[network]", "[network]\nwidht = 3", "has no widht"),
    ("[network]", "[colour]\n[network]", "colour missing or unknown"),
    ("[network]", "name = \n[network]", "cannot read the recipe"),
    ("[network]", "[start.correction]\n[network]", r"\[start\] has no correction"),
    ("[network]", "[start.network]\nwidht = 3\n[network]", r"\[start.network\] has no widht"),
    ("[network]", '[start]\nrecipe = "none.toml"\n[network]', "cannot read the .*none.toml"),
    ("[network]", "[start]\nrecipe = 3\n[network]", "the name of a file, in quotes"),
    ('name = "tiny"', 'start = "edge.toml"\nname = "tiny"', r"write \[start\] on a line of"),
    ("[network]", '[start]\nrecipe = "r.toml"\n[network]', "r.toml starts with itself"),
    ("[network]", "[start.network]\nwidth = 33\n[network]", r"\[start.network\] .* width 33 is no"),
    ("[network]", "[start.pretrain]\nsteps = 0\n[network]", r"\[start.pretrain\] .* steps is 0: "),
    ("[pretrain]", "[pretrain]\nstepz = 3", r"\[pretrain\] has no stepz; there are accelerator, "),
    ("[correction]", "[correction]\ntimes = {strait = 2}", "no strait"),
    ("[correction]", "[correction]\ntimes = {straight = 0}", "= 0: 1"),
    ("[correction]", "[correction]\nshare = 0.5", "a share of 0.5 .* with 1 metrics"),
]


@pytest.mark.parametrize("old, new, match", WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_value_is_one_line_before_the_build(tmp_path, capsys, old, new, match):
    text = (RECIPES / "tiny.toml").read_text("utf-8")
    assert old in text
    (tmp_path / "r.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    argv = [str(tmp_path / "r.toml"), "--out", str(tmp_path / "run"), "--allow-dirty"]
    assert build.main(argv) == 2
    error = capsys.readouterr().err
    assert re.search(match, error) and error.count("\n") == 1 and not (tmp_path / "run").exists()


def test_a_recipe_that_is_missing_is_named_before_the_state_of_the_code(capsys, monkeypatch):
    monkeypatch.setattr(build, "check_clean", lambda folder: pytest.fail("checked first"))
    assert build.main(["none.toml", "--out", "x"]) == 2
    assert "cannot read the recipe none.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "module, argv, way",
    [
        (build, [str(RECIPES / "tiny.toml"), "--allow-dirty", "--out"], "same command continues"),
        (pretrain, ["--out"], "the same command with --resume continues"),
        (calibrate, ["edge", "--out"], "is not written: begin anew"),
    ],
)
def test_an_interrupt_is_one_line_with_the_way_to_go_on(
    tmp_path, capsys, monkeypatch, module, argv, way
):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Build, "run", stop)
    monkeypatch.setattr(pretrain, "engine", stop)
    monkeypatch.setattr(calibrate, "calibrate", stop)
    assert module.main([*argv, str(tmp_path / "x")]) == 130
    error = capsys.readouterr().err
    assert error.startswith("interrupted: ") and way in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "event, code, said",
    [
        ("KeyboardInterrupt", 130, "interrupted"),
        ("ModuleNotFoundError(name='torch')", 2, "[train]"),
    ],
)
def test_torch_is_absent_or_its_import_is_interrupted(tmp_path, event, code, said):
    (tmp_path / "torch.py").write_text(f"raise {event}")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "infoatlas_train.build", "x"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True)
    assert done.returncode == code and said.encode() in done.stderr
    assert done.stderr.count(b"\n") == 1


def lacks_onnx():
    raise ModuleNotFoundError("No module named 'onnx'")


@pytest.mark.parametrize(
    "found, match",
    [((), "needs the export, which is not installed: pip install 'infoatlas-rt"),
     ((SimpleNamespace(load=lacks_onnx),), r"needs the export \(No module named 'onnx'\): pip")],
)  # fmt: skip
def test_a_build_without_the_export_does_not_begin(tmp_path, capsys, monkeypatch, found, match):
    monkeypatch.setattr(stages, "entry_points", lambda **_: found)
    argv = [str(RECIPES / "tiny.toml"), "--out", str(tmp_path / "run"), "--allow-dirty"]
    assert build.main(argv) == 2 and re.search(match, capsys.readouterr().err)
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize("text", ["1", "2/2", "a/3", "-1/2"])
def test_a_shard_is_one_of_several(text, capsys):
    with pytest.raises(SystemExit):
        build.main(["r.toml", "--out", "x", f"--shard={text}"])
    assert "is no shard" in capsys.readouterr().err
