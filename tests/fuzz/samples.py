"""Strategies of samples: integers, the same integers in another form, and invalid ones."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fuzz.outcomes import chosen, seeds

NOW = 1_763_800_000_123_456_789  # nanoseconds; floats resolve 256 of them
TYPES = ("int32", "int64", "uint16", "uint32", "uint64", "float32", "float64", "longdouble", ">f8",
         ">i4", "object")  # fmt: skip


@st.composite
def integers(draw: Any, least: int = 1, most: int = 3) -> np.ndarray:
    """Integers [n, d] within the range of int16, some with many ties."""
    n, d = draw(st.integers(32, 120)), draw(st.integers(least, most))
    levels = draw(chosen((2, 5, 40, 30000)))
    return draw(seeds).integers(0, levels, (n, d)).astype(float)


@st.composite
def pairs(draw: Any, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Integers x [n, d], and integers y that depend on x to a random degree."""
    x, rng, noise = draw(integers(least)), draw(seeds), draw(chosen((0, 1, 10, 1000)))
    mixed = x[:, rng.integers(x.shape[1], size=draw(st.integers(least, 3)))]
    return x, mixed + rng.integers(0, noise + 1, mixed.shape)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def strided(x: np.ndarray) -> np.ndarray:
    backing = np.full((2 * len(x), x.shape[1] + 1), np.nan)
    backing[::2, 1:] = x
    return backing[::2, 1:]


# The estimate of each form of x [n, d] equals that of x.
FORMS: dict[str, Any] = {
    **{kind: (lambda x, kind=kind: x.astype(kind)) for kind in TYPES},
    "list": lambda x: x.tolist(),
    "integers": lambda x: x.astype(int).tolist(),
    "tuples": lambda x: tuple(map(tuple, x.tolist())),
    "mixed rows": lambda x: [r if i % 2 else r.astype(int) for i, r in enumerate(x)],
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "read-only": read_only,
    "mask of nothing": lambda x: np.ma.array(x, mask=np.zeros(x.shape, bool)),
    "masked rows of nothing": lambda x: [np.ma.array(row) for row in x],
    "scaled": lambda x: x * 2.0**-30,
    "flat": lambda x: x[:, 0] if x.shape[1] == 1 else x,
}
LARGE = FORMS | {  # also beyond 2^53
    "nanoseconds": lambda x: x.astype(int) + NOW,
    "largest": lambda x: np.uint64(2**64 - 1) - (90000 - x.astype(int)).astype(np.uint64),
    "smallest": lambda x: x.astype(int) + np.iinfo(np.int64).min,
    "beyond int64": lambda x: [[v + 2**66 for v in row] for row in x.astype(int).tolist()],
    "objects": lambda x: (x.astype(int) + NOW).astype(object),
    "monotone": lambda x: np.expm1(x / 4000) ** 3,
}


def with_value(value: Any, kind: str = "float64") -> Any:
    """Replace an element by a value."""

    def put(x: np.ndarray, row: int) -> np.ndarray:
        x = x.astype(kind)
        x[row, -1] = value
        return x

    return put


def with_row(*values: Any) -> Any:
    """Replace a row of a list by these values, repeated."""
    return lambda x, row: [*x[:row].tolist(), [*values] * x.shape[1], *x[row + 1 :].tolist()]


# Functions of samples [n, d] and a row; all results have to be refused.
BROKEN: dict[str, Any] = {
    **{f"{v} as {t}": with_value(v, t) for v in (np.nan, np.inf, -np.inf)
       for t in ("float16", "float32", "float64", "longdouble")},
    "integers far apart": with_value(-(2**62) - 1, "int64"),
    "masked": lambda x, row: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == row),
    "masked integers": lambda x, row: np.ma.masked_equal(x.astype(int), int(x[row, 0])),
    "list of masked": lambda x, row: [np.ma.array(r, mask=i == row) for i, r in enumerate(x)],
    "masked constant": with_row(np.ma.masked),
    "None": with_row(None),
    "beyond floats": with_row(10**400),
    "ragged": with_row(1.0, 2.0),
    "text": lambda x, row: x.astype(str),
    "bytes": lambda x, row: x.astype("S8"),
    "complex": lambda x, row: x + 1j,
    "dates": lambda x, row: x.astype("datetime64[s]"),
    "records": lambda x, row: np.zeros(len(x), [("a", float)]),
    "three dimensions": lambda x, row: x[None],
    "number": lambda x, row: 3.0,
    "nothing": lambda x, row: None,
    "mapping": lambda x, row: {"x": x.tolist()},
    "generator": lambda x, row: (value for value in x.tolist()),
    "empty": lambda x, row: x[:, :0],
    "too short": lambda x, row: x[:-1],
    "too long": lambda x, row: np.vstack([x, x[:1]]),
    "object": lambda x, row: object(),
}  # fmt: skip

# Functions of normal numbers [n, d] and a generator; unusual but valid samples.
UNUSUAL: dict[str, Any] = {
    "constant": lambda x, rng: np.full_like(x, rng.choice([0.0, -0.0, 7.5, 1e308, 5e-324])),
    "rare flag": lambda x, rng: (rng.random(x.shape) < 0.03).astype(float),
    "flags": lambda x, rng: (x > rng.integers(-1, 3)).astype(float),
    "zeros mostly": lambda x, rng: np.where(rng.random(x.shape) < 0.95, 0.0, x),
    "levels": lambda x, rng: np.round(x * rng.choice([0.5, 1, 3])),
    "glitch": lambda x, rng: with_value(rng.choice([1e12, -1e100, 1e300]))(x, 5),
    "Cauchy": lambda x, rng: rng.standard_cauchy(x.shape) ** 3,
    "largest": lambda x, rng: x * 1e307,
    "smallest": lambda x, rng: x * 5e-320,
    "tiny steps": lambda x, rng: 1.0 + 2.0**-52 * rng.integers(0, 50, x.shape),
    "walk": lambda x, rng: np.cumsum(x, axis=0),
    "copies of a column": lambda x, rng: np.repeat(x[:, :1], x.shape[1], axis=1),
    "few distinct": lambda x, rng: x[rng.integers(0, 4, len(x))],
    "signs": lambda x, rng: np.sign(x) * rng.choice([1.0, 1e-300]),
    "integers": lambda x, rng: rng.integers(-(2**51), 2**51, x.shape),
}


@st.composite
def unusual(draw: Any, n: int) -> np.ndarray:
    """Samples [n, d] of any finite numbers."""
    shape = (n, draw(st.integers(1, 3)))
    if draw(st.booleans()):
        floats = st.floats(allow_nan=False, allow_infinity=False)
        return draw(arrays(float, shape, elements=floats))
    rng = draw(seeds)
    return draw(chosen(UNUSUAL.values()))(rng.standard_normal(shape), rng)
