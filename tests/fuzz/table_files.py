"""Random tables of demonstrations: text files in many dialects, and Parquet files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from calls import check
from values import Rng, pick
from written import ANY, EITHER, READ, REFUSED, Found, Written, damage, load

from infoatlas_rt import InputError
from infoatlas_tools.files.load import load_samples

LABELS = (
    *("episode", "episode_index", "Episode-Index", "ep", "traj", "Traj_ID", "trajectory id"),
    *("demo", "demo_no", "Demonstration", "run", "rollout_idx", "trial.num", "episode name"),
)
COUNTERS = ("frame", "frame_index", "step", "Timestep", "sample_id", "row", "tick", "seq", "index")
CLOCKS = {
    **{"time": 1.0, "t": 1.0, "timestamp": 1.0, "Time [s]": 1.0, "header.stamp": 1.0},
    **{"t_ms": 1e-3, "Time (ms)": 1e-3, "stamp_us": 1e-6, "timestamp_ns": 1e-9, "__time": 1.0},
}
HEADERS = ("plain", "plain", "quoted", "# ", "% ", "#", "none")


class Columns:
    """Columns of a table, their roles, and the expected result."""

    def __init__(self, rng: Rng, case: Written) -> None:
        self.rng, self.case = rng, case
        self.parquet = rng.integers(4) == 0
        self.lengths = rng.integers(8, 50, rng.integers(1, 6))
        self.starts = np.cumsum(self.lengths)[:-1]
        self.number = np.repeat(np.arange(len(self.lengths)), self.lengths)  # of each row
        self.frame = np.concatenate([np.arange(n) for n in self.lengths])
        self.several = len(self.lengths) > 1
        self.columns: dict[str, Any] = {}
        self.digits = int(pick(rng, (99, 99, 1, 2, 3, 4, 6)))
        self.states = self._states()
        self.header = "plain" if self.parquet else pick(rng, HEADERS)
        kinds = ("label",) * 4 + ("nothing", "counter", "none", "by counter")
        self.kind = "nothing" if self.header == "none" else pick(rng, kinds)
        self._bookkeeping()
        order = rng.permutation(len(self.columns)).tolist()
        names = [*self.columns]
        self.columns = {names[i]: self.columns[names[i]] for i in order}

    def _states(self) -> dict[str, np.ndarray]:
        rng, n = self.rng, len(self.number)
        found: dict[str, np.ndarray] = {}
        words = pick(rng, ("q{}", "arm.joint_{}", "x{}", "position[{}]", "\u00fc{}"))
        for i in range(int(rng.integers(1, 5))):
            scale = pick(rng, (1.0, 1.0, 100.0, 1e-4, 1e6))
            values = (scale * rng.standard_normal(n)).round(self.digits if self.digits < 9 else 12)
            if rng.integers(5) == 0:  # never a counter or a label by chance
                values = rng.integers(-(10**6), 10**6, n)
            found[words.format(i)] = values
        self.columns |= found
        return found

    def _bookkeeping(self) -> None:
        """Add labels, counters and clocks that restart or continue."""
        rng, case = self.rng, self.case
        counter = rng.integers(2) if self.kind in ("label", "none") else self.kind != "nothing"
        clock = rng.integers(2) and self.kind in ("label", "none", "counter")
        restarts = self.kind != "label" or bool(rng.integers(2))
        whole = np.arange(len(self.number))
        if counter:
            every = pick(rng, (1, 1, 5)) * (self.frame if restarts else whole)
            self.name = pick(rng, COUNTERS)
            self.columns[self.name] = every + int(pick(rng, (0, 1, 7)))
        if clock:
            name, unit = pick(rng, list(CLOCKS.items()))
            period = pick(rng, (0.02, 0.05, 0.1))
            times = (self.frame if restarts else whole) * period
            jitter = pick(rng, (0, 0, 0.03, 0.9))
            times = times + jitter * period * rng.uniform(-0.5, 0.5, len(whole))
            times += pick(rng, (0, 0.5, 1.7e9))
            times = np.rint(times / unit).astype(np.int64) if unit < 1 else times.round(9)
            self.columns[name] = times
            case.rate = ... if jitter or times.max() > 1e9 else 1 / period
        else:
            case.rate = None
        if self.kind == "label":
            self._label()
        elif self.several and self.kind == "counter" and (counter or clock):
            case.outcome = REFUSED  # without names
            if jitter_hides(self.columns, self.starts):
                case.outcome = EITHER
        elif self.kind == "by counter":
            case.options["episode_column"] = self.name
        elif self.kind == "none":
            case.options["episode_column"] = "none"
            case.rate = ... if self.several else case.rate

    def _label(self) -> None:
        rng = self.rng
        count = len(self.lengths)
        self.name = pick(rng, LABELS) if rng.integers(4) else "who"
        if self.name == "who":
            self.case.options["episode_column"] = "who"
        names: list[Any] = np.arange(count).tolist()
        form = pick(rng, ("numbers", "any", "text", "separators"))
        if form == "any":
            names = rng.choice(1000, count, replace=False).tolist()
        elif form == "text":
            names = [f"demo_{i}" for i in names]
        elif form == "separators":
            names = [f'"{i}", a; b' for i in names]
        self.columns[self.name] = [names[i] for i in self.number]
        self.texts = form == "separators"

    def expect(self) -> None:
        """Demonstrations as written."""
        case = self.case
        case.names = tuple(name for name in self.columns if name in self.states)
        states = np.column_stack([self.states[name] for name in case.names])
        apart = self.kind in ("label", "by counter")
        parts = np.split(states, self.starts) if apart else [states]
        names = [str(i) for i in range(len(parts))]
        if self.kind == "label":
            firsts = np.cumsum(np.r_[0, self.lengths[:-1]])
            names = [str(self.columns[self.name][i]) for i in firsts]
        case.recorded = dict(zip(names, parts, strict=True))
        if self.header == "none":
            case.names = ()


def jitter_hides(columns: dict[str, Any], starts: np.ndarray) -> bool:
    """Whether a clock is so uneven that steps back within demonstrations hide its restarts."""
    clocks = [np.asarray(columns[name], float) for name in columns if name in CLOCKS]
    downs = [np.flatnonzero(np.diff(times) < 0) + 1 for times in clocks]
    return any(not np.array_equal(down, starts) for down in downs)


def table(rng: Rng, folder: Path) -> Written:
    """A table: intact, with a fault, or damaged."""
    case = Written(folder / "a", {}, load=as_table)
    columns = Columns(rng, case)
    columns.expect()
    before = case.outcome
    cells = {name: list(map(plain, values)) for name, values in columns.columns.items()}
    kind = pick(rng, ("sound", "sound", "sound", "fault", "damage"))
    if kind == "fault":
        fault(columns, cells)
    if columns.parquet:
        case.path = folder / pick(rng, ("a.parquet", "a.pq"))
        write_parquet(columns, cells, case.path)
    else:
        write_text(columns, cells, folder)
    if REFUSED in (before, case.outcome):
        case.outcome = REFUSED
    if kind == "damage":
        case.outcome = ANY
        case.what.append(damage(rng, folder))
    return case


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def as_table(path: Path, **options: Any) -> Found:
    """Trajectories; the same file is also read as samples, for which any result is valid."""
    try:
        load_samples(path)
    except InputError as error:
        check(str(path) in str(error) and "\n" not in str(error), str(error)[:3000])
    return load(path, **options)


def fault(columns: Columns, cells: dict[str, list[Any]]) -> None:
    """Insert a missing or non-numeric value, or separate rows of a demonstration."""
    rng, case = columns.rng, columns.case
    kinds = ["missing", "not finite", "text"]
    if columns.several and columns.kind == "label":
        kinds += ["mixed", "mixed"]
    kind = pick(rng, kinds)
    case.what.append(kind)
    name = pick(rng, list(columns.states))
    row = int(rng.integers(len(columns.number)))
    case.outcome = REFUSED
    if kind == "missing":
        if columns.kind == "label" and rng.integers(3) == 0:
            name = columns.name
        blank = pick(rng, ("", "NA", "nan", "null", "-")) if name != columns_label(columns) else ""
        cells[name][row] = None if columns.parquet else blank
    elif kind == "not finite":
        value = float(pick(rng, ("nan", "inf", "-inf")))
        cells[name] = [*map(float, cells[name])]
        cells[name][row] = value
    elif kind == "text":
        if columns.parquet:  # a column of text is left out
            case.outcome = READ
            cells["success"] = ["yes"] * len(cells[name])
        else:
            if row == 0 and columns.header == "none":
                case.outcome = ANY  # it may be a header
            cells[name][row] = pick(rng, ("yes", "1.2.3", "1_000", "12:30:01", "1,2,3"))
    else:
        order = rng.permutation(len(columns.number))
        moved = columns.number[order]
        if (np.count_nonzero(np.diff(moved)) + 1) == len(columns.lengths):
            order = order[::-1]
        for key, values in cells.items():
            cells[key] = [values[i] for i in order]


def columns_label(columns: Columns) -> str:
    return columns.name if columns.kind == "label" else ""


def write_parquet(columns: Columns, cells: dict[str, list[Any]], path: Path) -> None:
    """Write columns with their own types, some of them combined as a list."""
    rng, case = columns.rng, columns.case
    arrays: dict[str, Any] = {name: pa.array(values) for name, values in cells.items()}
    kind = pick(rng, (None, None, pa.float32(), pa.float16()))
    if kind is not None and not case.what:
        for name in columns.states:
            with np.errstate(over="ignore"):
                reals = np.asarray(cells[name], kind.to_pandas_dtype())
            if np.isfinite(reals).all():
                arrays[name] = pa.array(reals)
                columns.states[name] = reals.astype(float)
    if rng.integers(4) == 0 and not case.what:
        rows = np.column_stack([columns.states[name] for name in columns.states]).tolist()
        width = len(columns.states)
        kind = pick(rng, (pa.list_(pa.float64()), pa.list_(pa.float64(), width)))
        place = "observation.state"
        arrays = {n: a for n, a in arrays.items() if n not in columns.states}
        arrays[place] = pa.array(rows, kind)
        names = [place] if width == 1 else [f"{place}.{i}" for i in range(width)]
        columns.states = dict(zip(names, np.array(rows).T, strict=True))
        columns.columns |= columns.states
    if rng.integers(4) == 0:
        arrays["picture"] = pa.array([b"x"] * len(columns.number))
    pq.write_table(pa.table(arrays), path, int(rng.integers(5, 100)))
    columns.expect()


def write_text(columns: Columns, cells: dict[str, list[Any]], folder: Path) -> None:
    """Write a text file in a random dialect."""
    rng, case, header = columns.rng, columns.case, columns.header
    names = [*cells]
    commented = header in ("# ", "% ", "#")
    separator = pick(rng, ",;\t ")
    texts = any(isinstance(v, str) and set(v) & set(" ,;") for vs in cells.values() for v in vs)
    words = [n for n in (*names, *case.what) if " " in n]
    if separator == " " and (texts or words or any("" in map(str, vs) for vs in cells.values())):
        separator = ";"
    if commented and (texts or any(set(n) & set(" ,;") for n in names)):
        header, commented = "plain", False
    decimal = bool(rng.integers(3) == 0)
    quoted = "all" if header == "quoted" else pick(rng, ("minimal", "minimal", "all"))
    if separator == " ":
        quoted = "none"
    if decimal and separator == "," and quoted != "all" and header == "none":
        decimal = False  # 1,5 may be two integers
    index = header != "none" and rng.integers(5) == 0
    rows = [[cell(cells[name][i], decimal) for name in names] for i in range(len(columns.number))]
    first = names
    if index and not commented and separator != " ":
        first = [pick(rng, ("", "Unnamed: 0")), *names]
        rows = [[str(i), *row] for i, row in enumerate(rows)]
    end = pick(rng, ("\n", "\n", "\r\n", "\r"))
    style = {"all": csv.QUOTE_ALL, "minimal": csv.QUOTE_MINIMAL}.get(quoted, csv.QUOTE_NONE)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=style)
    for _ in range(int(rng.integers(3)) if commented else 0):
        out.write(f"# saved by a recorder{end}")
    if commented:
        out.write(f"{header}{separator.join(first)}{end}")
    elif header != "none":
        if separator != " " and rng.integers(8) == 0:
            out.write(f"sep={separator}{end}")
        writer.writerow(first)
    if decimal and separator == "," and quoted != "all":
        for row in rows:  # as written by programs without quoting
            out.write(f"{','.join(row)}{end}")
        if any("," in value for row in rows for value in row):
            case.outcome = REFUSED
    else:
        writer.writerows(rows)
    text = out.getvalue() + end * int(rng.integers(3))
    if rng.integers(5) == 0:
        text = text.rstrip("\r\n")
    if decimal and case.outcome == READ and (columns.digits == 3 or len(first) == 1):
        case.outcome = EITHER  # 1,234 may be a thousand or two columns
    suffix = pick(rng, (".csv", ".csv", ".CSV", ".tsv", ".txt"))
    case.path = folder / f"a{suffix}"
    encoding = pick(rng, ("utf-8", "utf-8", "utf-8-sig"))
    case.path.write_bytes(text.encode(encoding))
    case.what.append(
        f"{separator!r} {decimal=} {header!r} {quoted} {end!r} {columns.kind} {encoding}"
    )


def cell(value: Any, decimal: bool) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text.replace(".", ",") if decimal and isinstance(value, float) else text
