"""Code of the README, the pages and the examples runs as shown."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infoatlas_rt
from infoatlas_rt.cli import main
from infoatlas_rt.models import model_file

ROOT = Path(__file__).parents[1]


def blocks(page):
    """Python code blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_outputs_of_the_readme_and_the_tutorial():
    """Their blocks run in order, and print what the pages show."""
    run("docs/site/outputs.py", "--check")


def test_true_value_in_the_readme():
    """x and y = exp(x + 0.6 noise): a monotone map of three Gaussian channels."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = re.search(r"# 1\.99 nats in truth; .*\n# -> I = ([\d.]+) ± ([\d.]+) nats", text)
    mi, stderr = map(float, printed.groups())
    truth = 3 * 0.5 * np.log(1 + 1 / 0.6**2)
    assert round(truth, 2) == 1.99
    assert abs(mi - truth) < 1.645 * stderr


def summary():
    """The script of the figures; it uses the file that it wrote."""
    from benchmarks import summary as module

    return module, json.loads((ROOT / "benchmarks/results/summary.json").read_text("utf-8"))


def test_figures_of_the_readme_come_from_the_results():
    module, found = summary()
    assert found == module.figures(), "run python -m benchmarks.summary"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$|`[^`]*`|\([^)\s]*\.md\)", "", text, flags=re.S | re.M)
    shown = set(re.findall(r"(?<![\w.])\d+\.\d+(?= nats)|\d+(?= ms)", prose))
    assert len(shown) == 5
    assert shown - {figure["value"] for figure in found} == set()
    assert len(re.findall(r"\d+(?:\.\d+)?", prose)) <= 25


def test_models_in_the_readme():
    """The widest side for unsliced estimates, and the smallest number of samples."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("edge", "base", "wide"):
        dim = model_file.load(name).dim
        assert re.search(rf"^\| `{name}` \| [^|]*sides of up to {dim} coordinates \|", text, re.M)
    assert "Below 32 samples (`wide`: 60) the estimator raises an error" in text
    assert [model_file.load(name).n_min for name in ("edge", "base", "wide")] == [32, 32, 60]


def test_model_card():
    """Versions, sizes and data sets are those of the shipped files and their manifests."""
    text = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    rows = {}
    for line in re.findall(r"^\|(.+)\|$", text, re.M):
        first, *cells = (cell.strip() for cell in line.split("|"))
        rows.setdefault(first, cells)
    for i, name in enumerate(("edge", "base", "wide")):
        model = model_file.load(name)
        manifest = ROOT / f"train/checkpoints/{name}.manifest.json"
        stages = json.loads(manifest.read_text(encoding="utf-8"))["stages"]
        assert rows["version"][i] == model.version
        assert rows["coordinates a side, unsliced"][i] == f"1 to {model.dim}"
        assert rows["samples in one pass"][i] == f"{model.n_min} to {model.n_max:,}"
        assert rows["file"][i] == f"{len(model.bytes) / 1e6:.1f} MB"
        for row, stage in (("pretraining", "pretrain"), ("calibration", "calibrate")):
            done = stages[stage]
            expected = f"{done['datasets']:,} data sets, {int(done['seconds']):,} s"
            assert rows[row][i] == expected


def test_key_states_page():
    (code,) = blocks("docs/key-states.md")
    path = ROOT / "task.json"
    try:
        assert "grasp cube" in run("-c", code) and path.exists()
    finally:
        path.unlink(missing_ok=True)


def test_annotate_page(tmp_path):
    """The comment after a print is its output."""
    (code,) = blocks("docs/annotate.md")
    code = code.replace("parts.csv", str(tmp_path / "parts.csv"))
    said = re.findall(r"^print\(.*\)  # (.*)$", code, re.M)
    assert len(said) == 2 and run("-c", code).splitlines() == said
    assert len((tmp_path / "parts.csv").read_text("utf-8").splitlines()) > 300


def test_trust_page():
    """The comment after a print is its output."""
    code = "\n".join(blocks("docs/when-to-trust.md")).replace("permutations=99", "permutations=9")
    said = re.findall(r"^print.*?# (\d\.\d+):", code, re.M)
    printed = re.findall(r"^I = (\S+) ±", run("-c", code), re.M)
    assert len(said) == 7
    assert np.allclose(np.array(printed, float), np.array(said, float), atol=0.03)


def test_questions_page():
    """The closed forms in the comments are inside the intervals."""
    code = "\n".join(blocks("docs/questions.md"))
    text = run("-c", code)
    printed = re.findall(r"^[IT]\(.*\) = (\S+) ± (\S+) nats \(p = (\S+),", text, re.M)
    values = np.array(printed, float)
    truths = [0, 0.11, np.log(2), 0.154, 0]
    assert (abs(values[:, 0] - truths) < 2 * values[:, 1] + 0.01).all()
    assert (values[[1, 2, 3], 2] <= 0.02).all() and (values[[0, 4], 2] > 0.02).all()
    assert re.search(r"^5\.0\nI\(x\(t-lag\); y\(t\)\): largest at lag 5", text, re.M)
    assert re.search(r"^force +0\.\d+ .*\n(tilt|noise|speed) ", text, re.M)


def test_gradients_page():
    """The share of the column that y depends on grows."""
    text = run("-c", "\n".join(blocks("docs/gradients.md")))
    found = re.findall(r"^(-?[\d.]+) nats, share of the first column ([\d.]+)$", text, re.M)
    (first, before), (last, after) = np.array(found, float)
    assert last > first + 0.3 and after > 0.9 > before


def test_outputs_that_differ_are_found_and_written(tmp_path, capsys):
    module, page = script("outputs"), tmp_path / "page.md"
    module.PAGES = (page,)
    right = "```python\nprint('ten', 10.5)\n```\n\n```text\nten 10.5\n```\n\nText.\n"
    silent = right.replace("\n```text\nten 10.5\n```\n", "")
    command = "```console\n$ infoatlas-rt keystates gone\n```\n"
    inside = "```python\nprint('ten', 10)\nprint(0.5)\n# -> ten 10\n# -> 0.5\n```\n"
    part = "```console\n$ infoatlas-rt info\nModel edge\n...\n```\n"
    for shown, code in [
        (right, 0),
        (right.replace("ten 10.5", "ten 10.9"), 0),  # a number that is near
        (right.replace("ten 10.5", "ten 50"), 1),
        (right.replace("ten 10.5", "nine 10.5"), 1),
        (silent, 1),
        (command, 1),
        (inside, 0),
        (inside.replace("> 0.5", "> 1.5"), 1),
        (part, 0),
        (part.replace("Model", "Models"), 1),
    ]:
        page.write_text(shown, encoding="utf-8")
        assert module.main(["--check"]) == code, shown
        assert page.read_text(encoding="utf-8") == shown
        assert ("page.md: " in capsys.readouterr().err) == bool(code)
    page.write_text(command, encoding="utf-8")
    assert module.main([]) == 0
    assert "gone\ninfoatlas-rt: gone " in page.read_text(encoding="utf-8")
    page.write_text(silent, encoding="utf-8")
    assert module.main([]) == 0 and page.read_text(encoding="utf-8") == right


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("I = 1.907 ± 0.091 on native", "I = 1.908 ± 0.090 on cpu", True),
        ("I = 1.907 ± 0.091", "I = 1.35 ± 0.39", False),
        ("I = 3.844 ± 2.132", "I = 5.556 ± 4.013", True),
        ("I = 3.844 ± 2.132", "I = 8.556 ± 4.013", False),
        ("I = 3.844 ± 2.132", "I = 3.844 ± 0.132", False),
        ("p = 0.01", "p = 0.30", False),
        ("92% found", "94% found", True),
        ("92% found", "78% found", False),
        ("in [10 10]", "in [7 7]", False),
        ("key state 1 at step 21", "key state 1 at step 22", True),
        ("key state 1 at step 21", "key state 4 at step 21", False),
        ("key state 1 at step 21", "key state 1 at step 27", False),
    ],
)
def test_outputs_agree_if_numbers_are_near(shown, printed, agree):
    assert script("outputs").agree(shown, printed) == agree


def test_every_example_is_run():
    """Here, as a part of bag.py or of the tutorial, or in tests/ros2 and tests/lerobot."""
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    others = {"make_bag.py", "make_dataset.py", "ros_client.py", "lerobot_until_done.py"}
    assert scripts == {*EXAMPLES, *others}


EXAMPLES = {  # output of each
    "estimate.py": r"in groups: I = -?0\.",
    "independence.py": r"dependent: +I = \S+ nats, p = 0\.01(.|\n)*independent:.* p = 0\.[1-9]",
    "online.py": r"filling: (.|\n)*I = (.|\n)*(maximum|change) at",
    "curve.py": r"1\.00: \S+ ± \S+ nats\nmaximum at 0\.\d+",
    "keystates.py": r"key states of 15 demonstrations(.|\n)*unseen episode, step \d+: key state \d",
    "maximise.py": r"step 0: (.|\n)* nats; of the sources themselves: 1\.\d",
    "bag.py": r"coupled +\d+(.|\n)*201 pairs",
}


LONG = {"maximise.py"}  # with --quick


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    assert re.search(EXAMPLES[name], run(f"examples/{name}", *["--quick"] * (name in LONG)))


def script(name):
    """A script of the site as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/site/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_and_example_is_reached_from_the_readme():
    reached = script("stage").reachable(ROOT / "README.md")  # raises an error for a dead link
    for file in [*(ROOT / "docs").glob("*"), *(ROOT / "examples").glob("*.py")]:
        assert file in reached or file.is_dir(), f"no page links to {file.relative_to(ROOT)}"


def test_links_of_the_notebook_lead_to_files():
    reached = script("stage").reachable(ROOT / "notebook/README.md")
    assert {*(ROOT / "notebook").glob("*.md")} <= reached


def test_notebooks_are_short_and_without_outputs():
    """`make docs` runs them; the site shows their outputs."""
    pages = sorted((ROOT / "examples").glob("*.ipynb"))
    for page in pages:
        cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
        assert len(cells) <= 12 and not any(cell.get("outputs") for cell in cells), page.name
        assert f"examples/{page.stem}.md" in (ROOT / "docs/site/mkdocs.yml").read_text("utf-8")
    assert len(pages) == 3


def test_a_dead_link_is_an_error(tmp_path):
    module = script("stage")
    module.ROOT = tmp_path
    (tmp_path / "README.md").write_text("[page](page.md)", encoding="utf-8")
    (tmp_path / "page.md").write_text("[gone](folder/gone.md#part)", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"page\.md links to .*gone\.md"):
        module.reachable(tmp_path / "README.md")


def test_tables_are_those_of_the_sources(tmp_path, capsys):
    module = script("tables")
    assert module.main(["--check"]) == 0, "run python docs/site/tables.py"
    reference = module.PAGES[1]
    pages = {}
    for old, name, text, other in [
        (reference, "PAGES", "| `lag` | `10` |", "| `lag` | `11` |"),
        (module.COMMAND_LINE, "COMMAND_LINE", "(default: 40)", "(default: 41)"),
    ]:
        pages[tmp_path / old.name] = content = old.read_text(encoding="utf-8")
        assert text in content
        page = tmp_path / old.name
        page.write_text(content.replace(text, other), encoding="utf-8")
        setattr(module, name, (page,) if name == "PAGES" else page)
    assert module.main(["--check"]) == 1
    assert "command-line.md, ros2-reference.md: run python docs/site" in capsys.readouterr().err
    assert module.main([]) == 0
    assert {page: page.read_text(encoding="utf-8") for page in pages} == pages


def test_help_has_what_the_page_of_commands_has():
    """Examples, which the parser accepts, and exit codes."""
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    parser = script("tables").make_parser(main.load_commands())
    assert re.search(r"exit codes:\n(  \d+: .*\n)+", parser.format_help())
    for name, command in main.load_commands().items():
        for line in command.EXAMPLES:
            assert line.split()[0] == name and f"$ infoatlas-rt {line}\n" in page
            assert callable(parser.parse_args(shlex.split(line)).run)


def test_one_version_everywhere():
    version = infoatlas_rt.__version__
    for file, line in [
        ("pyproject.toml", f'version = "{version}"'),
        ("CITATION.cff", f"version: {version}"),
        ("packaging/recipe.yaml", f'version: "{version}"'),
        ("runtime/native/include/infoatlas/infoatlas.h", f'INFOATLAS_VERSION "{version}"'),
        ("ros2_node/infoatlas_msgs/package.xml", f"<version>{version}</version>"),
        ("ros2_node/infoatlas_ros2/package.xml", f"<version>{version}</version>"),
        ("ros2_node/infoatlas_ros2/setup.py", f'version="{version}"'),
        ("CHANGELOG.md", f"## {version}"),
    ]:
        assert line in (ROOT / file).read_text(encoding="utf-8"), file


def test_versions_of_the_models_in_the_changelog():
    versions = [model_file.load(name).version for name in ("edge", "base", "wide")]
    row = " | ".join([infoatlas_rt.__version__, *versions])
    row = f"| {row} | {model_file.GRAPH_FORMAT} | {model_file.PREPROCESS} |"
    assert row in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_pages_are_short():
    for name, most in {"README.md": 80, "docs/concepts.md": 60, "docs/tutorial.md": 300}.items():
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most, name
    for picture in (ROOT / "docs").glob("tutorial_*.png"):
        assert picture.stat().st_size < 160_000, picture.name
