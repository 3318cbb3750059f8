"""Command lines: an error has one line and an exit code, and equal data gives equal results."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from calls import check, counts, dependent, sliced, unsliced
from values import NOW, Rng, broken, clothes, pick

from infoatlas_rt.cli import main

QUICK = ["--threads", "1"]


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main.main(arguments)
        except SystemExit as usage:
            code = usage.code if isinstance(usage.code, int) else 1
    return code, out.getvalue(), error.getvalue()


def refuse(arguments: list[str], codes: tuple[int, ...] = (2,)) -> str:
    code, out, error = run(arguments)
    what = " ".join(arguments)
    check(code in codes, f"{what}: code {code}, {out:.200} {error:.200}")
    check("Traceback" not in error and error != "", f"{what}: {error:.500}")
    check(error.startswith("usage:") or error.count("\n") == 1, f"{what}: {error:.500}")
    check(out == "", f"{what}: stdout has {out:.200}")
    return "refused"


def write(rng: Rng, path: Path, samples: np.ndarray) -> Path:
    """Write samples to a file of some kind."""
    kinds = ("npy", "npz", "csv", "csv with header", "csv of integers", "compressed", "parquet")
    # One column with decimal commas may be read as two columns of integers.
    kind = pick(rng, (*kinds, ";", "\t", " ") if samples.shape[1] > 1 else kinds)
    _, given = clothes(rng, samples, large=False)
    if kind == "npy":
        np.save(path.with_suffix(".npy"), np.asarray(given, np.float64))
        return path.with_suffix(".npy")
    if kind in ("npz", "compressed"):
        save = np.savez if kind == "npz" else np.savez_compressed
        save(path.with_suffix(".npz"), a=samples.astype(pick(rng, ("f4", "f8", "i8", "u4"))))
        return path.with_suffix(".npz")
    rows = samples.astype(np.int64) + NOW if kind == "csv of integers" else samples
    if kind == "parquet":
        columns = {f"c{i}": column for i, column in enumerate(rows.T)}
        pq.write_table(pa.table(columns), path.with_suffix(".parquet"), row_group_size=17)
        return path.with_suffix(".parquet")
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    if len(kind) == 1:  # a separator, with decimal commas
        cells = ((f"{v:.17e}".replace(".", ",") for v in row) for row in rows.tolist())
        lines = [kind.join(row) for row in cells]
    if kind == "csv with header":
        lines.insert(0, ",".join(f"c{i}" for i in range(samples.shape[1])))
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n" * int(rng.integers(0, 4)))
    return path.with_suffix(".csv")


def files(rng: Rng, folder: Path) -> str:
    """The same samples in different files give the same result."""
    x = counts(rng, int(rng.integers(32, 90)), int(rng.integers(1, 3)))
    y = dependent(rng, x, 2)
    paths = [str(write(rng, folder / name, side)) for name, side in (("x", x), ("y", y))]
    code, out, error = run(["estimate", *paths, *QUICK, "--json"])
    check((code, error) == (0, ""), f"{paths}: {code}, {error}")
    found, expected = json.loads(out)["mi"], unsliced().estimate(x, y).mi
    check(abs(found - expected) <= 1e-6, f"{paths}: {found} instead of {expected}")
    return "ok"


def missing(rng: Rng, folder: Path) -> str:
    """Missing values are an error that names file and line, or drop their pair on both sides."""
    n = int(rng.integers(40, 90))
    sides, gone = [], np.zeros(n, bool)
    x = np.random.default_rng(n).standard_normal((n, 1))
    for name, values in (("x", x), ("y", x + 0.5)):
        cells = [repr(v) for v in values[:, 0].tolist()]
        for at in rng.integers(n - 1, size=rng.integers(0, 3)):
            cells[at] = pick(rng, ("", "NA", "nan", " ", '""', "NULL"))
            gone[at] = True
        path = folder / f"{name}.csv"
        path.write_text("\n".join(cells) + "\n")
        sides.append(str(path))
    if not gone.any():
        return "ok"
    refuse(["estimate", *sides, *QUICK])
    code, out, error = run(["estimate", *sides, *QUICK, "--json", "--drop-missing"])
    check((code, error) == (0, ""), f"{code}, {error}")
    found = json.loads(out)
    expected = unsliced().estimate(x[~gone], x[~gone] + 0.5)
    check(found["mi"] == expected.mi and found["dropped"] == gone.sum(), f"{out}")
    return "ok"


def damaged(rng: Rng, folder: Path) -> str:
    """Files with flipped bytes, truncated, of another kind, or with invalid samples."""
    x = counts(rng, 60, 2)
    good = folder / "good.npy"
    np.save(good, x)
    path = folder / pick(rng, ("a.npy", "a.npz"))
    (np.savez_compressed if path.suffix == ".npz" else np.save)(path, x)
    content = bytearray(path.read_bytes())
    kind = pick(
        rng, ("cut", "header", "text", "empty", "folder", "absent", "device", "link", "broken")
    )
    if kind == "cut":
        path.write_bytes(content[: int(rng.integers(len(content) - 1))])
    elif kind == "header":
        content[int(rng.integers(8, 60))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        code, out, error = run(["estimate", str(path), str(good), *QUICK, "--json"])
        if code:
            check(code == 2 and out == "" and error.count("\n") == 1, f"{kind}: {code} {error}")
            return "refused"
        expected = unsliced().estimate(x, x).mi
        # One bit of a header selects the byte order, so a flip is undetectable.
        check(
            json.loads(out)["mi"] == expected or b"'>f8'" in content,
            f"{path.suffix}, {bytes(content[:80])!r}: {json.loads(out)['mi']}, not {expected}",
        )
        return "ok"
    elif kind == "broken":
        name, values = broken(rng, x)
        if "mask" in name:  # files have no masks
            return "ok"
        try:
            np.save(path.with_suffix(".npy"), np.asarray(values), allow_pickle=True)
        except (ValueError, TypeError, RuntimeError):
            return "ok"
        path = path.with_suffix(".npy")
    else:
        path.unlink()
        if kind == "text":
            path.write_text("x,y\n1,2\n")
        elif kind == "empty":
            path.write_bytes(b"")
        elif kind == "folder":
            path.mkdir()
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "link":
            path.symlink_to(path)
    sides = [str(path), str(good)]
    return refuse(["estimate", *(sides if rng.integers(2) else sides[::-1]), *QUICK])


OPTIONS = {
    "--k": ("0", "-1", "9", "x", "1.5", "1e9", ""),
    "--slices": ("0", "-3", "many", "1000000000000"),
    "--sides": ("left", "", "xy"),
    "--seed": ("-1", "x", "1.5", "9" * 5000),
    "--threads": ("0", "-2", "two"),
    "--model": ("none", "", "/", "no/such.onnx", "/dev/null", "\0", "~nouser/a.onnx", "x" * 5000),
    "--provider": ("", "abacus", "CPU"),
    "--json": ("/", "/nowhere/a.json", "x" * 300, "a\0b"),
    "--permutations": ("0", "-1", "1e3", "x"),
    "--plot": ("a.bmp", "/nowhere/a.png", "", "x" * 300 + ".png"),
    "--unheard-of": ("1",),
}


def options(rng: Rng, folder: Path) -> str:
    """Invalid values of options."""
    path = folder / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((40, 3)))
    name = pick(rng, OPTIONS)
    value = pick(rng, OPTIONS[name])
    command = "test" if name in ("--permutations", "--plot") else pick(rng, ("estimate", "test"))
    quick = [] if name == "--threads" else QUICK
    with_k = [] if name == "--k" else ["--k", "2"]
    arguments = [command, str(path), str(path), *quick, *with_k, f"{name}={value}"]
    before = os.listdir(folder)
    result = refuse(arguments, (3,) if name in ("--model", "--provider") else (2,))
    check(os.listdir(folder) == before, f"{arguments}: left {os.listdir(folder)}")
    return result


def results(rng: Rng, folder: Path) -> str:
    """Valid settings give the same results as the API."""
    x = np.random.default_rng(int(rng.integers(100))).standard_normal((50, 3))
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", x**2)
    target = folder / "out.json"
    sides = [str(folder / "x.npy"), str(folder / "y.npy")]
    settings = ["--k", "2", "--slices", "4", *QUICK, "--json", str(target)]
    code, out, error = run(["estimate", *sides, *settings])
    check(code == 0 and error == "" and out.startswith("I = "), f"{code} {out} {error}")
    expected = sliced().estimate(x, x**2)
    check(json.loads(target.read_text())["mi"] == expected.mi, "the JSON differs from the API")
    return "ok"


CASES = {files: 30, missing: 15, damaged: 25, options: 25, results: 5}
