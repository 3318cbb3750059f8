"""Command lines: an error has one line and an exit code, and equal data gives equal results."""

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import ESTIMATOR, chosen, files_of, folder, fuzzed
from fuzz.samples import BROKEN, NOW, integers, pairs
from infoatlas_rt.cli import main
from table_files import WRITERS

pytestmark = pytest.mark.filterwarnings("error")
QUICK = ["--threads", "1"]


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main.main([*map(str, arguments)])
        except SystemExit as usage:
            code = usage.code if isinstance(usage.code, int) else 1
    return code, out.getvalue(), error.getvalue()


def result(*arguments: Any) -> dict[str, Any]:
    """The result of an estimate."""
    code, out, error = run("estimate", *arguments, *QUICK, "--json")
    assert (code, error) == (0, "")
    return json.loads(out)


def check_refused(code: int, out: str, error: str, expected: int = 2) -> None:
    assert code == expected and out == "" and error != "" and "Traceback" not in error
    assert error.startswith("usage:") or error.count("\n") == 1


def written(path: Any, kind: str, samples: np.ndarray) -> Any:
    """A file of samples [n, d]."""
    columns = {f"c{i}": column for i, column in enumerate(samples.T)}
    rows = samples.astype(int) + NOW if kind == "integers" else samples
    if kind.startswith("npz"):
        path = path.with_suffix(".npz")
        save = np.savez if kind == "npz" else np.savez_compressed
        save(path, a=samples.astype("u4" if kind == "npz of u4" else float))
    elif kind == "npy":
        path = path.with_suffix(".npy")
        np.save(path, samples)
    elif kind in WRITERS:
        path = path.with_suffix(kind)
        WRITERS[kind](path, {name: column.tolist() for name, column in columns.items()})
    else:
        path = path.with_suffix(".csv")
        header = [",".join(columns)] if kind == "header" else []
        path.write_text("\n".join([*header, *(",".join(map(repr, row)) for row in rows.tolist())]))
    return path


KINDS = ("npy", "npz", "npz of u4", "csv", "header", "integers", *WRITERS)


@fuzzed(20)
@given(pairs(), chosen(KINDS), chosen(KINDS))
def test_files_of_any_kind_have_the_same_result(sides, as_x, as_y):
    with folder() as path:
        files = written(path / "x", as_x, sides[0]), written(path / "y", as_y, sides[1])
        before = files_of(path)
        found = result(*files)
        assert files_of(path) == before
    assert found["mi"] == pytest.approx(ESTIMATOR.estimate(*sides).mi, abs=1e-6)


@fuzzed(10)
@given(st.integers(40, 90), st.data())
def test_missing_values_drop_their_pair_or_are_refused(n, data):
    x = np.random.default_rng(n).standard_normal((n, 1))
    gone = np.zeros(n, bool)
    with folder() as path:
        for name, values in (("x", x), ("y", x + 0.5)):
            cells = [repr(v) for v in values[:, 0].tolist()]
            for at in data.draw(st.sets(st.integers(1, n - 2), min_size=1, max_size=2)):
                cells[at] = data.draw(chosen(("NA", "nan", '""', "NULL")))
                gone[at] = True
            (path / f"{name}.csv").write_text("\n".join(cells) + "\n")
        sides = path / "x.csv", path / "y.csv"
        check_refused(*run("estimate", *sides, *QUICK))
        found = result(*sides, "--drop-missing")
    expected = ESTIMATOR.estimate(x[~gone], x[~gone] + 0.5)
    assert (found["mi"], found["dropped"]) == (expected.mi, gone.sum())


@fuzzed(40)
@given(
    integers(2, 2), chosen((".npy", ".npz")), st.booleans(), st.data(),
    chosen(("cut", "text", "empty", "folder", "absent", "device", "link", "header", "broken")),
)  # fmt: skip
def test_damaged_files_are_refused(x, suffix, first, data, kind):
    with folder() as folder_path:
        good, path = folder_path / "good.npy", folder_path / f"a{suffix}"
        np.save(good, x)
        (np.savez_compressed if suffix == ".npz" else np.save)(path, x)
        content = bytearray(path.read_bytes())
        sides = (path, good) if first else (good, path)
        if kind == "header":
            content[data.draw(st.integers(8, 59))] ^= 1 << data.draw(st.integers(0, 7))
            path.write_bytes(content)
            code, out, error = run("estimate", *sides, *QUICK, "--json")
            if code == 0:  # one bit selects the byte order
                expected = ESTIMATOR.estimate(x, x).mi
                assert json.loads(out)["mi"] == expected or b"'>f8'" in content
            else:
                check_refused(code, out, error)
            return
        path.unlink()
        if kind == "cut":
            path.write_bytes(content[: data.draw(st.integers(0, len(content) - 2))])
        elif kind == "text":
            path.write_text("x,y\n1,2\n")
        elif kind == "empty":
            path.write_bytes(b"")
        elif kind == "folder":
            path.mkdir()
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "link":
            path.symlink_to(path)
        elif kind == "broken":
            names = [name for name in BROKEN if "mask" not in name and name != "generator"]
            try:
                values = np.asarray(BROKEN[data.draw(chosen(names))](x, 5))
            except ValueError:
                return  # ragged
            with path.open("wb") as file:
                np.save(file, values, allow_pickle=True)
        check_refused(*run("estimate", *sides, *QUICK))


OPTIONS = {
    "--k": ("0", "-1", "9", "x", "1.5", "1e9", ""),
    "--slices": ("0", "-3", "many", "1000000000000"),
    "--seed": ("-1", "x", "1.5", "9" * 5000),
    "--threads": ("0", "-2", "two"),
    "--model": ("none", "", "/", "no/such.onnx", "/dev/null", "\0", "~nouser/a.onnx", "x" * 5000),
    "--provider": ("", "abacus", "CPU"),
    "--json": ("/", "/nowhere/a.json", "x" * 300, "a\0b"),
    "--permutations": ("0", "-1", "1e3", "x"),
    "--plot": ("a.bmp", "/nowhere/a.png", "", "x" * 300 + ".png"),
    "--unheard-of": ("1",),
}
VALUES = [(option, value) for option, values in OPTIONS.items() for value in values]


@pytest.mark.parametrize(("option", "value"), VALUES, ids=lambda value: value[:20])
def test_invalid_values_of_options_are_refused(option, value, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((40, 3)))
    command = "test" if option in ("--permutations", "--plot") else "estimate"
    more = [] if option == "--k" else ["--k", "2"]
    before = files_of(tmp_path)
    code = 3 if option in ("--model", "--provider") else 2
    check_refused(*run(command, path, path, *more, *QUICK, f"{option}={value}"), code)
    assert files_of(tmp_path) == before
