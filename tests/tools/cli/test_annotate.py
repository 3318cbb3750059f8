"""The command annotate, as a user runs it (in this process)."""

import csv
import json
import os
import re

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from browsers import serving
from command_line import answer, complaint, printed
from episodes import pickcube
from hdf5_sets import write_isaac, write_mimicgen
from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError, OutputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.annotations import lerobot_writer
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.cli.annotate import print_quality
from infoatlas_tools.keystates.key_states import KeyStates
from infoatlas_tools.plots import report
from pictures import words

BODIES = ["--tool", "tool", "--object", "cube", "--object", "goal:position", "--rate", "20"]


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """Twelve demonstrations; one stops early, one pauses."""
    path = tmp_path_factory.mktemp("data") / "twelve.npz"
    states, _, names = pickcube()
    parts = states[:12]
    parts[3] = parts[3][: int(0.45 * len(parts[3]))]
    parts[5] = np.concatenate([np.repeat(parts[5][:1], 2 * len(parts[5]), axis=0), parts[5]])
    np.savez(path, states=np.concatenate(parts), lengths=[len(part) for part in parts], names=names)
    return path


def everything(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_without_a_target_nothing_is_written(folder, capsys):
    before = everything(folder.parent)
    text = printed(capsys, "annotate", folder, "--count", "2")
    assert "3 sub-tasks of 12 demonstrations" in text and "20 Hz" in text and "until change" in text
    assert "No data set is written. --out COPY writes lerobot: columns subtask_index" in text
    assert everything(folder.parent) == before


def test_in_place(folder, tmp_path, capsys, monkeypatch):
    before = everything(tmp_path)
    write = lerobot_writer._write_progress

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(lerobot_writer, "_write_progress", fail)
    command = ["annotate", str(folder), "--count", "2", "--in-place", "--language", "motion"]
    command += ["--names", "reach, carry,rest", "--qa"]
    assert main(command) == 1 and "cannot be written (disk full)" in capsys.readouterr().err
    assert everything(tmp_path) == before
    monkeypatch.setattr(lerobot_writer, "_write_progress", write)
    assert main(command) == 0
    assert os.listdir(tmp_path) == ["set"] and (folder / "sarm_progress.parquet").is_file()
    assert load_trajectories(folder, features=["subtask_index"]).states.max() == 2
    assert f"Written: {folder} (lerobot)" in capsys.readouterr().out
    table = pq.read_table(sorted((folder / "data").glob("*/*.parquet"))[0])
    assert {"key_state", "quality_flag"} <= set(table.column_names)
    rows = table["language_persistent"][0].as_py()
    assert [row["content"] for row in rows] == ["reach", "carry", "rest"]
    assert {row["style"] for row in rows} == {"motion"}


def test_rare_parts_are_announced_unless_bodies_are_named(folder, twelve, capsys):
    rare = re.compile(r"(\d+) of (\d+) sub-tasks are in fewer than half .*count auto.*label two")
    text = printed(capsys, "annotate", folder, "--count", "5")
    (found,) = rare.findall(text)
    shares = [int(number) for number in re.findall(r" (\d+)/12 ", text)]
    assert found == (str(sum(2 * n < 12 for n in shares)), str(len(shares)))
    text = printed(capsys, "annotate", twelve, *BODIES, "--date", "command")
    assert not rare.search(text)
    assert re.search(r"^Agreement .*: \d\.\d+ \(0: as evenly spaced", text, re.M)


@pytest.mark.parametrize(
    ("option", "what", "kind", "code"),
    [
        ("--report=made.html", (report, "write_report"), OutputError, 1),
        ("--save=made.json", (KeyStates, "follow"), InputError, 2),
        ("--out=made.csv", (Annotations, "write"), InputError, 2),
    ],
)
def test_others_are_written_if_one_result_cannot_be(
    twelve, tmp_path, monkeypatch, capsys, option, what, kind, code
):
    def fails(*arguments, **named):
        raise kind("not possible")

    monkeypatch.setattr(*what, fails)
    monkeypatch.chdir(tmp_path)
    assert main(["annotate", str(twelve), *BODIES, "--json=tree.json", option]) == code
    text, error = capsys.readouterr()
    assert "carry cube to goal" in (tmp_path / "tree.json").read_text() and "made." not in text
    assert "not possible" in error and os.listdir(tmp_path) == ["tree.json"]


def test_many_unusual_episodes_are_grouped_by_reason(capsys):
    """A row for each kind of reason: the numbers in it are those of the first episode."""
    reasons = [f"length {n} (usual 50 to 85)" + "; idle 67%" * (n < 3) for n in range(40)]
    own = zip(map(str, range(41)), [*reasons, ""], strict=True)
    episodes = [{"episode": name, "quality": {"reasons": text}} for name, text in own]
    print_quality({"look_at_first": [*map(str, range(40))], "episodes": episodes})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Quality: 40 of 41 episodes are unusual"
    assert [line.split() for line in lines[2:4]] == [
        ["40", "length", "0", "(usual", "50", "to", "85)", "0,", "1,", "2"],
        ["3", "idle", "67%", "0,", "1,", "2"],
    ]
    assert lines[4].endswith("13, 14, ...] (--json FILE has all)") and len(lines) == 5


def test_references_names_and_quality(twelve, tmp_path, capsys, figures):
    out, picture, target = tmp_path / "a.csv", tmp_path / "a.png", tmp_path / "all.json"
    command = ["annotate", str(twelve), *BODIES, "--qa", "--out", str(out), "--plot", str(picture)]
    report = tmp_path / "a.html"
    command += ["--report", str(report), "--episode", "0", "--episode", "5"]
    text = printed(capsys, *command, "--json", target)
    assert f"Report: {report}\n" in text
    page = report.read_text(encoding="utf-8")
    assert "carry cube to goal" in page and page.count('src="data:image/png;base64,iVBOR') == 3
    unusual = dict(re.findall("<h2>Episode (.*?)</h2><p>(.*?)</p>", page))
    assert [*unusual] == ["3", "5"] and "idle 67% (usual 0%" in unusual["5"]
    assert "reach cube" in text and "carry cube to goal" in text
    assert "Quality: 2 of 12 episodes are unusual" in text and "Look at first: [3, 5]" in text
    lacks = "lacks grasp cube, carry cube to goal"
    assert re.search(rf"^  3 .*{lacks};.* length 39 \(usual", text, re.M)
    assert re.search(r"^  5 .*idle 67% \(usual 0%", text, re.M)
    assert "Order 2, in 1 of 12 episodes (3): reach cube\n" in text
    assert re.search(r"^  1  reach cube .* 11/12 ", text, re.M)  # the third did not complete it
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    own = [r for r in rows if r["episode"] == "0" and r["what"] == "subtask"]
    assert [r["name"] for r in own] == ["reach cube", "carry cube to goal"]
    assert own[0]["start"] == "0" and own[0]["end"] == own[1]["start"]
    assert float(own[0]["end_seconds"]) == int(own[0]["end"]) / 20
    assert own[1]["reference"] == "goal" and own[1]["held"] == "cube" and own[1]["tool"] == "tool"
    events = [r for r in rows if r["what"] == "key_state"]
    assert events and all(r["end"] == "" and float(r["strength"]) for r in events)
    closing = [[int(r[key]) for key in ("begins", "start", "ends")] for r in events]
    assert all(a < b == c for a, b, c in closing)  # a closing is dated at its end
    assert {r["episode"] for r in rows if r["reasons"]} == {"3", "5"}
    figure, *reported = figures
    assert len(reported) == 3
    first, second = (axes for axes in figure.axes if "episode" in axes.get_xlabel())
    assert (first.get_xlabel()[-9:], second.get_xlabel()[-9:]) == ("episode 0", "episode 5")
    assert first.get_xlim() == (0.0, load_trajectories(twelve).lengths[0] / 20)
    assert {"reach cube", "carry cube to goal"} <= {w for axes in figure.axes for w in words(axes)}
    dashed = [line for line in first.lines if line.get_linestyle() == "--"]
    steps = [int(r["start"]) / 20 for r in events if r["episode"] == "0"]
    assert sorted(line.get_xdata()[0] for line in dashed) == sorted(steps)

    result = json.loads(target.read_text())
    assert result["format"] == "csv" and result["written"] == str(out)
    assert [part["reference"] for part in result["subtasks"]] == ["cube", "goal"]
    assert sum(part["share"] for part in result["subtasks"]) == pytest.approx(1)
    episode = result["episodes"][5]
    assert result["look_at_first"] == ["3", "5"]
    assert episode["quality"]["lag"] is None and "idle" in episode["quality"]["reasons"]
    assert sum(map(len, result["orders"].values())) == 12
    assert episode["quality"]["idle"] > 0.5 and episode["quality"]["idle_start"] > 50
    assert episode["subtasks"][-1]["end"] == episode["frames"]
    out = tmp_path / "a.json"
    command = ["annotate", str(twelve), *BODIES, "--format", "json", "--out", str(out)]
    assert main(command) == 0
    written = json.loads(out.read_text())
    assert written["subtasks"] == result["subtasks"] and written["look_at_first"] is None


def test_without_the_rate_no_episode_is_to_be_looked_at(twelve, capsys):
    text = printed(capsys, "annotate", twelve, "--count", "auto", "--qa")
    assert "The rate is not known: 20 working steps count as a second. Pass it." in text
    assert "Quality: episodes are not compared without the rate" in text and "Look at" not in text
    result = answer(capsys, "annotate", twelve, "--count", "auto", "--qa")
    assert result["look_at_first"] is None
    assert not any(one["quality"]["reasons"] for one in result["episodes"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--format", "mimicgen"], "is for data of Isaac Lab or robomimic"),
        (["--format", "csv", "--in-place"], "is a file of its own: pass --out FILE"),
        (["--out", "new", "--in-place"], "both given: choose one"),
        (["--format", "csv", "--out", "x.parquet"], "let its name end in .csv"),
        (["--out", "{set}"], "exists: choose a name that does not"),
        (["--out", "{set}/new"], "is inside"),
        (["--out", "{set}/absent/new"], "its folder is missing"),
        (["--language", "motion", "--format", "csv"], "--language is for LeRobot"),
        (["--trim", "--format", "csv"], "--trim is for copies of LeRobot data sets"),
        (["--episode", "1"], "pass --plot FILE, or leave it out"),
        (["--topic", "/joints"], "--topic is for a folder of ROS bags"),
        (["--topic", "/a", "--topic", "/b"], "--topic was given twice, /a and /b: give it once"),
        (["--ignore", "0", "--ignore", "1"], "--ignore was given twice, 0 and 1: give it once"),
        (["--features", "a", "--features", "b", "c"], "--features was given twice, a and b c"),
        (["--camera", "a", "--camera", "b"], "--camera was given twice, a and b: give it once"),
        (["--count", "many"], "pass a number of key states, or auto"),
        (["--report", "{tmp}/a.txt"], "is a page: name it FILE.html"),
        (["--report", "{tmp}/a.html", "--in-place"], "data that stay as they are: pass --out"),
        (["--tool", "tool"], "no coordinate begins with 'tool'"),
        (["--tool", "tool=0:3"], "--tool is given without --object"),
        (["--object", "=0:3"], "write NAME, NAME:position or NAME=COLUMNS"),
        (["--object", "a=0:3", "--object", "a=1"], "give each body a name of its own"),
        (["--names", "a,b", "--count", "2"], "--names has 2 names, and 3 sub-tasks were found"),
        (
            ["--plot", "{tmp}/a.png", "--episode", "x"],
            "--episode: there is no demonstration x, but 0, 1, 2, 3, 4, 5, 6, 7, ...: give",
        ),
    ],
)
def test_refusals(folder, tmp_path, capsys, options, why):
    before = everything(tmp_path)
    given = [option.format(set=folder, tmp=tmp_path) for option in options]
    error = complaint(capsys, "annotate", folder, *given)
    assert why in error and error.count("\n") == 1 and everything(tmp_path) == before


def test_the_page_says_what_its_copy_lacks_and_how_to_get_it(folder, tmp_path):
    labels = tmp_path / "labels.json"
    with serving(folder, "--labels", labels) as server:
        session = server.session
        session.change(session.revision, "mark", episode=0, kind="take", step=12)
        text = session.annotate(str(tmp_path / "copy"))
    assert "Left out: text of sub-tasks, because 'until take' does not say what is done" in text
    assert f" infoatlas-rt annotate {folder} --label {labels} --names NAMES." in text
    assert main([*text.split("infoatlas-rt ")[1].replace("NAMES.", "reach,carry").split()]) == 0


@pytest.mark.parametrize("name", ["mimicgen", "isaaclab", "maniskill"])
def test_hdf5_in_place(name, tmp_path, states, capsys):
    path = tmp_path / "demos.hdf5"
    if name == "maniskill":
        with h5py.File(path, "w") as file:
            for i, own in enumerate(states):
                file[f"traj_{i}/obs"], file[f"traj_{i}/actions"] = own, own[1:]
    else:
        {"mimicgen": write_mimicgen, "isaaclab": write_isaac}[name](path)
    before = load_trajectories(path)
    assert main(["annotate", str(path), "--label", "0:12", "--in-place"]) == 0
    assert f"Written: {path} ({name})" in capsys.readouterr().out
    assert os.listdir(tmp_path) == ["demos.hdf5"]
    np.testing.assert_array_equal(load_trajectories(path).states, before.states)
    found = []
    with h5py.File(path) as file:
        file.visit(found.append)
    signal = "traj_0/subtask" if name == "maniskill" else "subtask_term_signals/"
    assert any(signal in node for node in found)


@pytest.mark.parametrize("option", ["--save", "--json", "--report"])
def test_a_recording_is_not_replaced(twelve, capsys, option):
    before, folder = twelve.read_bytes(), twelve.parent
    error = complaint(capsys, "annotate", twelve, option, folder / ".." / folder.name / twelve.name)
    assert f"{option} {twelve} is read, too: name another file" in error
    assert twelve.read_bytes() == before


@pytest.mark.parametrize("option", ["--save", "--report", "--out"])
def test_two_results_need_two_files(twelve, capsys, option):
    file = twelve.with_name("new.html")
    error = complaint(capsys, "annotate", twelve, "--json", file, option, file)
    assert f"{file} is written, too: name another file" in error and not file.exists()
