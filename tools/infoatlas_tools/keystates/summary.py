"""Key states as a table: a DataFrame, text, and values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infoatlas_rt.estimation.presentation import require_pandas

from .steps import Steps


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, with None for NaN, which JSON lacks."""
    return {key: None if value != value else value for key, value in values.items()}


def data_frame(found: Steps, names: Sequence[str], rate: float | None) -> Any:
    """A pandas DataFrame with a row for each key state of each demonstration.

    Parameters
    ----------
    found : Steps
    names : sequence of K str
        Labels of the columns, or "".
    rate : float or None
        Recorded steps a second (Hz).

    Raises
    ------
    InputError
        pandas is not installed.
    """
    pandas = require_pandas("table()")
    which, column = np.nonzero(~np.ma.getmaskarray(found.steps))
    step = found.steps.filled(-1)[which, column]
    order = np.lexsort((step, which))
    which, column, step = which[order], column[order], step[order]
    return pandas.DataFrame(
        {
            "demonstration": which,
            "key_state": column,
            "kind": found.kind[column],
            "name": [names[j] for j in column.tolist()],
            "shared": found.shared[column],
            "step": step,
            "seconds": step / (np.nan if rate is None else rate),
            "strength": found.strength[column],
        }
    )


def lines(found: Steps, names: Sequence[str]) -> list[str]:
    """A line for each column, below a header; none without columns.

    Columns that are not shared have the name "(others)".
    """
    rows = [("key state", "median step (quartiles)", "in demonstrations")]
    for column, name in enumerate(names):
        own = found.steps[:, column].compressed()
        low, middle, high = np.percentile(own, [25, 50, 75])
        place = f"{middle:.0f} ({low:.0f} to {high:.0f})"
        name = name if found.shared[column] else "(others)"
        rows.append((f"{column + 1} {name}".rstrip(), place, f"{len(own)}/{len(found.steps)}"))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    text = [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
    return text if names else []
