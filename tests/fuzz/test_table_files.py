"""Tables of demonstrations in text files and Parquet files: sound, with a fault, or damaged."""

import csv
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fuzz.outcomes import REFUSED, chosen, folder, fuzzed, seeds
from fuzz.reading import check_same, damage, read
from infoatlas_tools.files.load import load_samples
from infoatlas_tools.files.tables.table_formats import TABLES
from table_files import WRITERS

pytestmark = pytest.mark.filterwarnings("error")
LABELS = (
    *("episode", "episode_index", "Episode-Index", "ep", "traj", "Traj_ID", "trajectory id"),
    *("demo", "demo_no", "Demonstration", "run", "rollout_idx", "trial.num", "episode name"),
)
COUNTERS = ("frame", "frame_index", "step", "Timestep", "sample_id", "row", "tick", "seq", "index")
CLOCKS = {
    **{"time": 1.0, "t": 1.0, "timestamp": 1.0, "Time [s]": 1.0, "header.stamp": 1.0},
    **{"t_ms": 1e-3, "Time (ms)": 1e-3, "stamp_us": 1e-6, "timestamp_ns": 1e-9, "__time": 1.0},
}
STATES = (
    *("q_w{} []", "roll{} [rad]", "p{}_x (m)"),
    *("q{}", "arm.joint_{}", "x{}", "position[{}]", "\u00fc{}"),
)
KINDS = ("label", "label", "nothing", "counter", "none", "by counter")
SUFFIXES = (*WRITERS, ".npy", ".npz")
EMPTY = ("frame_id", "field.header.frame_id", "empty")
MARKS = ("{}", "demo_{}", '"{}", a; b')


class Table(NamedTuple):
    """Columns (lists of n values), states [n, d] by name, and what has to be read."""

    columns: dict[str, list[Any]]
    names: list[str]
    recorded: dict[str, np.ndarray] | None  # None: it has to be refused
    rate: Any
    options: dict[str, str]


@st.composite
def tables(draw: Any, kinds: tuple[str, ...] = KINDS, least: int = 1) -> Table:
    rng, lengths = draw(seeds), draw(st.lists(st.integers(8, 40), min_size=least, max_size=5))
    number = np.repeat(np.arange(len(lengths)), lengths)
    frame = np.concatenate([np.arange(n) for n in lengths])
    columns: dict[str, Any] = {}
    for i in range(draw(st.integers(1, 4))):
        scale, digits = draw(chosen((1.0, 100.0, 1e-4, 1e6))), draw(chosen((1, 3, 6, 12)))
        values = (scale * rng.standard_normal(len(number))).round(digits)
        whole = draw(chosen((False,) * 4 + (True,)))  # never a counter or a label by chance
        values = rng.integers(-(10**6), 10**6, len(number)) if whole else values
        columns[draw(chosen(STATES)).format(i)] = values
    names = [*columns]
    kind = draw(chosen(kinds))
    restarts = kind != "label" or draw(st.booleans())
    place, rate, options = frame if restarts else np.arange(len(number)), None, {}
    counter = draw(chosen(COUNTERS))
    if kind in ("counter", "by counter") or (kind in ("label", "none") and draw(st.booleans())):
        columns[counter] = place * draw(chosen((1, 5))) + draw(chosen((0, 1, 7)))
    if kind in ("label", "none") and draw(st.booleans()):
        name, period = draw(chosen(CLOCKS)), draw(chosen((0.02, 0.05, 0.1)))
        jitter, start = draw(chosen((0, 0, 0.03, 0.9))), draw(chosen((0, 0.5, 1.7e9)))
        times = place * period + jitter * period * rng.uniform(-0.5, 0.5, len(place)) + start
        unit = CLOCKS[name]
        columns[name] = np.rint(times / unit).astype(int) if unit < 1 else times.round(9)
        rate = ... if jitter or start > 1 or kind == "none" else 1 / period
    states = np.column_stack([columns[name] for name in names])
    parts: Any = {"0": states}
    if kind in ("label", "by counter"):
        parts = dict(enumerate(np.split(states, np.cumsum(lengths)[:-1])))
    if kind == "label":
        label, mark = draw(chosen((*LABELS, "who"))), draw(chosen(MARKS))
        columns[label] = [mark.format(i) for i in number]
        parts = {mark.format(i): part for i, part in parts.items()}
        options = {"episode_column": "who"} if label == "who" else {}
    elif kind in ("none", "by counter"):
        options = {"episode_column": counter if kind == "by counter" else "none"}
    elif kind == "counter" and len(lengths) > 1:
        parts = None  # nothing names the demonstrations
    if draw(chosen((False, False, True))):
        columns[draw(chosen(EMPTY))] = [None] * len(number)
    order = draw(st.permutations([*columns]))
    names = [name for name in order if name in names]
    if parts is not None:
        index = [[*columns].index(name) for name in names]
        parts = {str(name): part[:, index] for name, part in parts.items()}
    columns = {name: np.asarray(columns[name]).tolist() for name in order}
    return Table(columns, names, parts, rate, options)


def write(draw: Any, path: Any, table: Table) -> Any:
    """Write a table of any format, text with quotes as needed or everywhere."""
    kind = draw(chosen(TABLES))
    suffix = draw(chosen((*kind.suffixes, kind.suffixes[0].upper())))
    path = path / f"a{suffix}"
    if kind.text:
        end = draw(chosen(("\n", "\r\n")))
        options = {"end": end, "quoting": draw(chosen((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))}
    else:
        options = {"group": draw(st.integers(5, 100))}
    WRITERS.get(suffix.lower(), WRITERS[kind.suffixes[0]])(path, table.columns, **options)
    return path


@fuzzed(60)
@given(st.data(), tables())
def test_tables_are_read_as_recorded(data, table):
    with folder() as path:
        found = read(write(data.draw, path, table), **table.options)
    if table.recorded is None:
        assert found is REFUSED
        return
    check_same(found, table.recorded)
    assert found.names == tuple(table.names)
    rate = table.rate
    assert rate is ... or found.rate == (rate and pytest.approx(rate, rel=1e-6))


@fuzzed(40)
@given(st.data(), tables(), chosen(("missing", "infinite", "text")))
def test_tables_with_a_fault_are_refused(data, table, kind):
    name = data.draw(chosen(table.names))
    values = [float(v) for v in table.columns[name]]
    row = data.draw(st.integers(0, len(values) - 1))
    values[row] = {"missing": None, "infinite": np.inf, "text": np.nan}[kind]
    table.columns[name] = values
    with folder() as path:
        file = write(data.draw, path, table)
        if kind == "text" and file.suffix not in (".parquet", ".pq"):
            file.write_text(file.read_text("utf-8").replace("nan", "yes"), "utf-8")
        assert read(file, **table.options) is REFUSED


@fuzzed(20)
@given(st.data(), tables(kinds=("label",), least=2), st.booleans())
def test_rows_of_a_demonstration_are_together(data, table, last):
    for key, values in table.columns.items():  # a row moves to the other end
        table.columns[key] = [values[-1], *values[:-1]] if last else [*values[1:], values[0]]
    with folder() as path:
        assert read(write(data.draw, path, table), **table.options) is REFUSED


@fuzzed(40)
@given(st.data(), tables())
def test_damaged_tables_end_with_one_error(data, table):
    with folder() as path:
        file = write(data.draw, path, table)
        kind = data.draw(damage(path))
        found = [read(file, **table.options), read(file, load_samples)]
        assert kind != "pointer" or found == [REFUSED] * 2


@fuzzed(40)
@given(st.data(), tables(kinds=("label",)), st.floats(1.7, 50.0), st.booleans())
def test_faults_of_times_are_noted(data, table, longer, back):
    """A clock that goes back a little, or has a hole, in one demonstration."""
    for name in CLOCKS:
        table.columns.pop(name, None)
    lengths = [len(part) for part in table.recorded.values()]
    which = data.draw(st.integers(0, len(lengths) - 1))
    step = data.draw(st.integers(lengths[which] // 2 + 1, lengths[which] - 1))
    times = [np.arange(n) * 0.05 + 3 for n in lengths]
    times[which][step:] += 0.05 * (-2 if back else longer)
    table.columns["stamp"] = np.concatenate(times).round(6).tolist()
    with folder() as path:
        found = read(write(data.draw, path, table), **table.options)
    check_same(found, table.recorded)
    said = f"1 of {sum(lengths) - len(lengths)} steps {'go back' if back else 'are longer'}"
    assert any(f"{said}" in note and f"before step {step} of" in note for note in found.notes)


@fuzzed(40)
@given(st.data(), tables(kinds=("nothing",)), st.integers(1, 4), chosen(SUFFIXES))
def test_folders_with_a_file_for_each_demonstration(data, table, files, suffix):
    states = table.recorded["0"]
    cuts = np.linspace(0, len(states), files + 1).astype(int)
    recorded = {f"ep{9 * i}": states[a:b] for i, (a, b) in enumerate(pairwise(cuts))}
    with folder() as path:
        (path / "all").mkdir()
        for name, own in recorded.items():
            file = path / "all" / f"{name}{suffix}"
            if suffix in (".npy", ".npz"):
                np.save(file, own) if suffix == ".npy" else np.savez(file, states=own)
            else:
                WRITERS[suffix](file, dict(zip(table.names, own.T.tolist(), strict=True)))
        stray = data.draw(chosen(("", "README.md", "pointer", "other")))
        if stray == "README.md":
            (path / "all" / stray).write_text("x")
        elif stray:
            text = "version https://git-lfs.github.com/spec/v1\n" if stray == "pointer" else "\0no"
            (path / "all" / f"z{suffix}").write_text(text)
        found = read(path / "all")
    if stray in ("pointer", "other"):
        assert found is REFUSED
    else:
        check_same(found, recorded)
