"""The command as a user runs it (in this process), with the shipped model."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from command_line import answer, complaint, printed
from episodes import PICKCUBE, pickcube
from infoatlas_rt import Task
from infoatlas_rt.cli import main
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.estimation.result import SIMILAR_ROWS
from infoatlas_tools.cli.curve import extrema_rows, print_flags
from pictures import series
from refusals import fails

QUICK = ["--slices", "3", "--threads", "1"]


def test_estimate(samples, capsys, tmp_path):
    line = printed(capsys, "estimate", *samples)
    assert line.startswith("I = ") and line.count("\n") == 1 and "n=80" in line

    assert main.main(["estimate", *samples, "--json", "--time-series", "--seed", "3"]) == 0
    result = json.loads(capsys.readouterr().out)
    expected = Estimator(seed=3).estimate(
        np.load(samples[0]), np.loadtxt(samples[1], delimiter=","), time_series=True
    )
    result.pop("warnings")  # of a missing engine
    assert result == {**expected.to_dict(), "dropped": 0, "notes": []}

    target = tmp_path / "out.json"
    more = ["--k", 1, "--slices", 4, "--json", target]
    assert printed(capsys, "estimate", *samples, *more).startswith("I = ")
    assert json.loads(target.read_text())["slices"] == 4


@pytest.mark.parametrize("command", [["estimate"], ["test", "--permutations", "9"]])
def test_warnings_are_in_the_json(command, capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.tile(np.random.default_rng(0).standard_normal((100, 1)), (2, 1)))
    for _ in range(2):  # the second run has no warnings of the first one
        said = answer(capsys, *command, *[str(tmp_path / "x.npy")] * 2, *QUICK)["warnings"]
        copies = [text[:41] for text in said if "copies" in text]
        assert copies == ["100 of 200 rows are exact copies of other"]


@pytest.mark.parametrize("command", ["estimate", "test"])
def test_random_walks_without_their_order_have_a_note(command, capsys, tmp_path):
    walks = np.random.default_rng(0).standard_normal((2, 200, 1)).cumsum(axis=1)
    files = [str(tmp_path / name) for name in ("x.npy", "y.npy")]
    for file, walk in zip(files, walks, strict=True):
        np.save(file, walk)
    options = QUICK if command == "estimate" else [*QUICK, "--permutations", "9"]
    for order in ([], ["--time-series"]):
        said = printed(capsys, command, *files, *options, *order)
        notes = answer(capsys, command, *files, *options, *order)["notes"]
        assert notes == ([] if order else [SIMILAR_ROWS]) and (SIMILAR_ROWS in said) != bool(order)


def test_curve_table_picture_and_json(capsys, tmp_path, figures):
    picture, target = tmp_path / "a.png", tmp_path / "a.json"
    command = ["curve", str(PICKCUBE), *QUICK, "--plot", str(picture), "--json", str(target)]
    text = printed(capsys, *command)
    assert text.startswith("Extrema of I(s_t; s_t-lag)") and "Key states" not in text
    assert text.endswith(f"\nPicture: {picture}\nJSON: {target}\n")
    assert "determined by others: goal.x goal.y goal.z tool_to_cube.x tool_to_cube.y" in text
    assert picture.read_bytes().startswith(b"\x89PNG")

    result = json.loads(target.read_text())
    ((main_axes, below),) = (figure.axes for figure in figures)
    assert main_axes.get_ylabel() == "mutual information (nats)"
    assert below.get_ylabel() == "trajectories" and "50 to 100 steps" in below.get_xlabel()
    curve = result["curve"]
    assert series(main_axes, 100) == [curve["position"], curve["mi"]]
    dots = [tuple(dot) for marks in main_axes.collections[1:] for dot in marks.get_offsets()]
    assert sorted(dots) == sorted((s["stamp"], s["value"]) for s in result["extrema"])

    assert result["mode"] == "normalised" and result["dropped"] == [25, 26, 27, 35, 36, 37]
    curve = result["curve"]
    assert {len(values) for values in curve.values()} == {100} and set(curve["samples"]) == {100}
    assert min(curve["noise"]) > 0 and min(curve["stderr"]) > 0
    assert curve["noise"] != curve["stderr"]


@pytest.fixture(scope="module")
def thirty(tmp_path_factory):
    """30 of the demonstrations, to save time."""
    path = tmp_path_factory.mktemp("data") / "thirty.npz"
    states, _, names = pickcube()
    lengths = list(map(len, states[:30]))
    np.savez(path, states=np.concatenate(states[:30]), lengths=lengths, names=names)
    return path


def near_grasps(result):
    """Share of the demonstrations with a key state within two steps of the grasp."""
    own = np.array([state["steps"] for state in result["keystates"]], float)
    return (np.nanmin(np.abs(own - pickcube()[1][:30]), axis=0) <= 2).mean()


def test_keystates_table_picture_json_and_file(thirty, capsys, tmp_path):
    picture, target, saved = (tmp_path / name for name in ("a.svg", "a.json", "task.json"))
    files = ["--plot", str(picture), "--json", str(target), "--save", str(saved)]
    command = ["keystates", str(thirty), "--rate", "20", "--count", "2", *files]
    text = printed(capsys, *command, "--details")
    head = r"\d key states of 30 demonstrations at 20 Hz, up to 2 in each\n  key state +med"
    assert re.match(head, text)
    assert re.search(r"^  grasp cube +\d+ \(\d+ to \d+\) +30/30  contact seen$", text, re.M)
    assert "Agreement with contacts, switches and " in text and "Details (found" in text
    assert "Live, in demonstrations left out" in text and str(saved) in text
    result = json.loads(target.read_text())
    states = sorted(result["keystates"], key=lambda state: -state["strength"])
    first, second = states[:2]
    assert first["strength"] > second["strength"] and first["shared"] and first["followed"]
    assert {len(state["steps"]) for state in states} == {30}
    assert first["name"] == "grasp cube" and first["source"] == "contact"
    assert result["met"] > 0.5 and first["reproduced"] > 0.3 and result["warnings"] == []
    assert len(result["quality"]) == 30 and near_grasps(result) == 1
    task = Task.load(saved)
    assert task.detectors.followed[result["keystates"].index(first)] == first["followed"]
    assert "<!-- grasp cube -->" in picture.read_text()


def test_texts_of_pictures_match_their_content(capsys, tmp_path, figures):
    """Without key states there is no legend, and texts describe nothing else."""
    rng = np.random.default_rng(0)
    file, picture = str(tmp_path / "plain.npz"), str(tmp_path / "plain.png")
    np.savez(file, states=rng.standard_normal((240, 3)), lengths=np.full(6, 40))
    for command in ("keystates", "annotate"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            options = ["--count", "auto", "--plot", picture]
            assert main.main([command, file, *options]) == 0
    raster, annotated = (" ".join(t.get_text() for t in f.texts) for f in figures)
    assert raster.startswith("plain: 0 key states 6 demonstrations")
    assert "vertical lines" not in annotated and figures[0].axes[0].get_legend() is None


def test_normalised_curves_of_short_trajectories_have_fewer_points(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lengths = np.r_[np.full(30, 6), np.full(10, 7)]
    states = rng.standard_normal((lengths.sum(), 2)).cumsum(axis=0)
    np.savez(tmp_path / "a.npz", states=states, lengths=lengths)
    command = ["curve", str(tmp_path / "a.npz"), *QUICK, "--json", str(tmp_path / "a.json")]
    assert "Points: 8 of 100; trajectories are so short" in printed(capsys, *command)
    position = json.loads((tmp_path / "a.json").read_text())["curve"]["position"]
    assert len(position) == 8 and (np.diff(position) > 0).all() and position[-1] == 1


def test_labels_of_two_demonstrations(thirty, capsys, tmp_path):
    grasps = pickcube()[1][:30]
    file = tmp_path / "labels.json"
    file.write_text(json.dumps({str(i): {"grasp": int(grasps[i])} for i in (0, 7)}))
    by_hand = ["--label", f"0:grasp={grasps[0]}", "--label", f"7:grasp={grasps[7]}"]
    results = []
    for options in (by_hand, ["--label", str(file)]):
        assert main.main(["keystates", str(thirty), *options, "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["keystates"] == results[1]["keystates"]
    (state,) = results[0]["keystates"]
    assert state["name"] == "grasp" and np.abs(np.array(state["steps"]) - grasps).max() <= 3


def test_gripper_rate_and_what_is_left_out(thirty, capsys):
    options = ["--gripper", "finger", "--ignore", "cube,0:2", "--rate", "20", "--count", "3"]
    result = answer(capsys, "keystates", thirty, *options)
    assert result["rate"] == 20 and result["stride"] == 1 and near_grasps(result) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "-1"], "--count is '-1'"),
        (["--topic", "/a"], "--topic is for a folder of ROS bags"),
        (["--label", "x"], "--label 'x'"),
        (["--label", "0:1", "--label", "0:2"], "each demonstration once"),
        (["--label", "0:a=1,a=2"], "each name once"),
        (["--label", "none.json"], "cannot be read"),
        (["--label", "99:4"], "there is no demonstration 99, but 0, 1"),
        (["--orientation", "turn"], "COLUMNS=KIND"),
        (["--rate", "-1"], "rate is -1"),
        (["--save", "/missing/task.json"], "/missing"),
    ],
)
def test_options_that_cannot_be_used(thirty, options, message, capsys):
    assert message in complaint(capsys, "keystates", thirty, *options)


def test_raw_steps(capsys, tmp_path, figures):
    walks = np.cumsum(np.random.default_rng(0).standard_normal((60, 12, 6)), axis=1).reshape(-1, 6)
    np.savez(tmp_path / "a.npz", states=walks, lengths=np.full(60, 12))
    picture = tmp_path / "a.svg"
    command = ["curve", str(tmp_path / "a.npz"), *QUICK, "--k", "2", "--plot", str(picture)]
    assert "(times: steps)" in printed(capsys, *command)
    assert picture.read_text().lstrip().startswith("<?xml")
    ((main_axes, below),) = (figure.axes for figure in figures)
    assert below.get_xlabel() == "step" and series(main_axes, 10)[0] == list(range(2, 12))


def test_info(capsys):
    text = printed(capsys, "info")
    assert "n_min" in text and "sha256" in text and "provider auto" in text
    result = answer(capsys, "info")
    assert result["name"] == "edge" and result["dim"] >= 5 and "bytes" not in result
    assert result["providers"]["cpu"] == "CPUExecutionProvider"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["estimate", "no.npy", "no.npy"], 2, "no.npy does not exist"),
        (["keystates", "no.npz"], 2, "no.npz does not exist"),
        (["curve", str(PICKCUBE), "--z", "-1"], 2, "z is -1.0"),
        (["curve", str(PICKCUBE), "--k", "99"], 2, "k is 99"),
        (["keystates", str(PICKCUBE), "--plot", "none/a.png"], 2, "(its folder is missing)"),
        (["keystates", str(PICKCUBE), "--save", "."], 2, ". cannot be written (it is a folder)"),
        (["annotate", str(PICKCUBE), "--out", "."], 2, ". exists: choose a name that does not"),
        (["build", "edge", "--out", "none/a.engine"], 2, "its folder is missing"),
        (["keystates", ""], 2, "the path of the data is empty"),
        (["bag", str(PICKCUBE)], 2, "is no ROS bag: pass one, or use infoatlas-rt keystates"),
        (["test", "no.npy", "no.npy", "--plot", ""], 2, "end its name in one of"),
        (["label", str(PICKCUBE), "--labels", "none/a.json"], 2, "its folder is missing"),
        (["label", str(PICKCUBE), "--object", "cube"], 2, "--object is given without --tool"),
        (["label", str(PICKCUBE), "--object", "cub"], 2, "bodies: use one of cube, cube_to_goal"),
        (["label", str(PICKCUBE), "--camera", "none"], 2, "neither a camera of the data nor a"),
        (["bench", "--duration", "0"], 2, "duration is 0.0"),
        (["bench", "--samples", "3"], 2, "3 samples are fewer"),
        (["info", "--model", "no.onnx"], 3, "no.onnx"),
    ],
)
def test_failures_have_a_reason_and_a_code(arguments, code, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.main(arguments) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("infoatlas-rt: ") and message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["keystates"],
        ["bench", "--dims", "1"],
        ["bench", "--slice", "3"],
        ["keystates", str(PICKCUBE), "--lag", "3"],
        ["keystates", str(PICKCUBE), "--method", "curve"],
        ["curve", str(PICKCUBE), "--count", "3"],
        ["keystates", str(PICKCUBE), "--episode", "3"],  # not --episode-column
        ["bag", "bag.mcap", "--camera", "top"],
    ],
)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main.main(arguments)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert "usage: infoatlas-rt" in said
    assert "--slice" not in arguments or "--slice 3 (is it --slices?)" in said


def test_missing_extras_are_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main.main(["keystates", "no.npz", "--plot", str(tmp_path / "a.png")]) == 2
    assert "pip install 'infoatlas-rt[plot]'" in capsys.readouterr().err
    error = complaint(capsys, "export", "a.pt", "--out", tmp_path / "a.onnx")
    assert "pip install 'infoatlas-rt[export]'" in error and error.count("\n") == 1
    fails(SystemExit, "0", main.main, ["export", "--help"])
    assert "--calibration" in capsys.readouterr().out
    text = printed(capsys, "info")
    assert "n_min" in text and "accuracy error_100" in text and "{" not in text


def test_a_missing_package_that_nothing_foresaw(monkeypatch, capsys):
    def load(name):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr("infoatlas_rt.models.model_file.load", load)
    missing = "numpy_extra.part"
    error = complaint(capsys, "info")
    assert f"No module named {missing!r}: install that package in this environment" in error
    missing = "infoatlas_rt.absent"  # a fault of this package: no advice to install
    with pytest.raises(ModuleNotFoundError):
        main.main(["info"])


def test_on_a_terminal(monkeypatch, capsys):
    """Tables and a progress bar by rich, and plain ones without rich."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    quick = ["bench", "--duration", "0.1", "--slices", "2", "--threads", "1"]
    assert "─" in printed(capsys, *quick)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert main.main(quick) == 0 and "\rbench auto: 100%\n" in capsys.readouterr().err


def test_a_command_of_a_missing_package(monkeypatch, capsys):
    """It says what to install, and the help lists the others."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    error = complaint(capsys, "keystates", "a.npz")
    assert "keystates is not part of this installation: pip install" in error
    assert list(main.load_commands()) == ["bench", "info"]


def test_help_lists_all_commands_and_nothing_slow_is_imported(samples):
    """Neither by the help, nor by a complete estimate."""
    code = (
        "import sys; from infoatlas_rt.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'numpy', 'torch', 'onnx'} & set(sys.modules)))\n"
        "main(sys.argv[1:])\n"
        "print(sorted({'torch', 'matplotlib', 'scipy', 'rich', 'onnx'} & set(sys.modules)))"
    )
    text = subprocess.check_output([sys.executable, "-c", code, "estimate", *samples], text=True)
    commands = "cut keystates label annotate curve bag estimate test bench info build export"
    assert re.findall(r"^    (\w+)", text, re.M) == commands.split()
    assert text.count("[]\n") == 2 and text.endswith("[]\n")


def test_flags_of_a_curve(capsys):
    """A value that rounding decides is printed as a bound, and each flag has its meaning."""
    curve = {"stamp": [1.0, 2.0], "at_least": [None, 3.47], "saturated": [False, True]}
    curve |= {"atoms": [0, 13], "heavy_tails": [False, False]}
    extremum = {"kind": "maximum", "value": 5.5, "prominence": 1.0, "z": 4.0, "detected_stamp": 2.5}
    extrema = [extremum | {"stamp": stamp} for stamp in curve["stamp"]]
    rows = extrema_rows({"curve": curve, "extrema": extrema}, "stamp", "{:.1f}")
    assert [row[3] for row in rows] == ["5.500", "above 3.4"]
    print_flags(curve)
    assert [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()] == [
        "Saturated: 1", "Atoms: 1",
    ]  # fmt: skip
