"""Seeded data for the fuzzers: samples, equivalent forms of them, and invalid ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

NOW = 1_763_800_000_123_456_789  # nanoseconds; floats resolve 256 of them


def pick(rng: Rng, options: Any) -> Any:
    """One element of a sequence, unchanged (NumPy's choice would convert it)."""
    options = list(options)
    return options[rng.integers(len(options))]


def counts(rng: Rng, n: int, d: int) -> np.ndarray:
    """Integers [n, d] within the range of int16, some with many ties."""
    levels = pick(rng, (2, 5, 40, 30000))
    return rng.integers(0, levels, (n, d)).astype(np.float64)


def dependent(rng: Rng, x: np.ndarray, dy: int) -> np.ndarray:
    """Integers [n, dy] that depend on x to a random degree."""
    noise = pick(rng, (0, 1, 10, 1000))
    mixed = x[:, rng.integers(x.shape[1], size=dy)]
    return mixed + rng.integers(0, noise + 1, mixed.shape)


def clothes(rng: Rng, x: np.ndarray, *, large: bool) -> tuple[str, Any]:
    """The integers x [n, d] in another type, container or layout; `large`: also beyond 2^53.

    Returns
    -------
    str
        Description of the form.
    array-like
        Samples whose estimate has to equal that of x.
    """
    n, d = x.shape
    whole = x.astype(np.int64)

    def strided() -> np.ndarray:
        backing = np.full((2 * n, d + 1), np.nan)
        backing[::2, 1:] = x
        return backing[::2, 1:]

    def readonly() -> np.ndarray:
        copy = x.copy()
        copy.flags.writeable = False
        return copy

    forms: dict[str, Callable[[], Any]] = {
        **{
            kind: (lambda kind=kind: x.astype(kind))
            for kind in (
                *("int32", "int64", "uint16", "uint32", "uint64", "float32", "float64"),
                *("longdouble", ">f8", ">i4", "object"),
            )
        },
        "list": x.tolist,
        "list of integers": whole.tolist,
        "tuples": lambda: tuple(map(tuple, x.tolist())),
        "list of arrays": lambda: list(x),
        "list of mixed arrays": lambda: [
            row if i % 2 else row.astype(np.float64) for i, row in enumerate(whole)
        ],
        "Fortran": lambda: np.asfortranarray(x),
        "strided": strided,
        "reversed": lambda: x[::-1].copy()[::-1],
        "read-only": readonly,
        "mask of nothing": lambda: np.ma.array(x, mask=np.zeros(x.shape, bool)),
        "masked rows of nothing": lambda: [np.ma.array(row) for row in x],
        "scaled": lambda: x * 2.0**-30,
    }
    if d == 1:
        forms["flat"] = lambda: x[:, 0]
        forms["flat list"] = x[:, 0].tolist
    if large:
        forms |= {
            "nanoseconds": lambda: whole + NOW,
            "largest uint64": lambda: np.uint64(2**64 - 1) - (30000 * 3 - whole).astype(np.uint64),
            "smallest int64": lambda: whole + np.iinfo(np.int64).min,
            "list beyond int64": lambda: [[v + 2**66 for v in row] for row in whole.tolist()],
            "objects": lambda: (whole + NOW).astype(object),
            "monotone": lambda: np.expm1(x / 4000) ** 3,
        }
    name = pick(rng, forms)
    return name, forms[name]()


def broken(rng: Rng, x: np.ndarray) -> tuple[str, Any]:
    """Samples [n, d] with something that has to be refused."""
    row, column = rng.integers(len(x)), rng.integers(x.shape[1])

    def with_(value: float, kind: str = "float64") -> np.ndarray:
        copy = x.astype(kind)
        copy[row, column] = value
        return copy

    at = np.zeros(x.shape, bool)
    at[row, column] = True
    kind = pick(rng, ("float16", "float32", "float64", "longdouble"))
    rows: list[Any] = x.tolist()
    forms: dict[str, Callable[[], Any]] = {
        "NaN": lambda: with_(np.nan, kind),
        "infinity": lambda: with_(pick(rng, (np.inf, -np.inf)), kind),
        "masked": lambda: np.ma.array(x, mask=at),
        "masked integers": lambda: np.ma.array(x.astype(np.int64), mask=at),
        "list of masked": lambda: [
            np.ma.array(values, mask=m) for values, m in zip(x, at, strict=True)
        ],
        "masked constant": lambda: [*rows[:row], [np.ma.masked] * x.shape[1], *rows[row + 1 :]],
        "None": lambda: [*rows[:row], [None] * x.shape[1], *rows[row + 1 :]],
        "text": lambda: x.astype(str),
        "bytes": lambda: x.astype("S8"),
        "complex": lambda: x + 1j,
        "dates": lambda: x.astype("datetime64[s]"),
        "records": lambda: np.zeros(len(x), [("a", float)]),
        "ragged": lambda: [*rows[:row], [1.0] * (x.shape[1] + 1), *rows[row + 1 :]],
        "three dimensions": lambda: x[None],
        "number": lambda: 3.0,
        "nothing": lambda: None,
        "mapping": lambda: {"x": rows},
        "generator": lambda: (value for value in rows),
        "empty": lambda: x[:, :0],
        "too short": lambda: x[:-1],
        "too long": lambda: np.vstack([x, x[:1]]),
        "beyond floats": lambda: [*rows[:row], [10**400] * x.shape[1], *rows[row + 1 :]],
        "object": lambda: object(),
    }
    name = pick(rng, forms)
    return name, forms[name]()


def extreme(rng: Rng, n: int, d: int) -> tuple[str, np.ndarray]:
    """Samples [n, d] that are unusual but valid."""
    normal = rng.standard_normal((n, d))
    rare = np.zeros((n, d))
    rare[rng.integers(n, size=rng.integers(1, 6))] = 1
    glitch = normal.copy()
    glitch[rng.integers(n), rng.integers(d)] = pick(rng, (1e12, -1e100, 1e300))
    forms: dict[str, Callable[[], np.ndarray]] = {
        "normal": lambda: normal,
        "constant": lambda: np.full((n, d), pick(rng, (0.0, -0.0, 7.5, 1e308, 5e-324))),
        "rare flag": lambda: rare,
        "flags": lambda: (normal > pick(rng, (-1, 0, 2))).astype(float),
        "zeros mostly": lambda: np.where(rng.random((n, d)) < 0.95, 0.0, normal),
        "levels": lambda: np.round(normal * pick(rng, (0.5, 1, 3))),
        "glitch": lambda: glitch,
        "Cauchy": lambda: rng.standard_cauchy((n, d)) ** 3,
        "largest": lambda: normal * 1e307,
        "smallest": lambda: normal * 5e-320,
        "tiny steps": lambda: 1.0 + 2.0**-52 * rng.integers(0, 50, (n, d)),
        "walk": lambda: np.cumsum(normal, axis=0),
        "copies of a column": lambda: np.repeat(normal[:, :1], d, axis=1),
        "few distinct": lambda: normal[rng.integers(0, 4, n)],
        "signs": lambda: np.sign(normal) * pick(rng, (1.0, 1e-300)),
        "integers": lambda: rng.integers(-(2**62), 2**62, (n, d)),
    }
    name = pick(rng, forms)
    return name, forms[name]()


JUNK: tuple[Any, ...] = (
    *(None, True, "3", b"3", 2.5, -1, 0, float("nan"), float("inf"), 1j, object(), {}, [1], (2, 3)),
    *(
        np.nan,
        np.zeros(3),
        np.array("3"),
        range(2),
        int,
        10**30,
        -(10**30),
        "auto ",
        np.datetime64(0, "s"),
    ),
)
