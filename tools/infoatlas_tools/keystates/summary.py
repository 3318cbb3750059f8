"""Key states as a table: a DataFrame, text, and values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..presentation import counted, require_pandas
from .contacts.event_names import What
from .contacts.keystate_steps import Steps


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, with None for NaN, which JSON lacks."""
    return {key: None if value != value else value for key, value in values.items()}


def data_frame(found: Steps, rate: float | None) -> Any:
    """A pandas DataFrame with a row for each key state of each demonstration; the rate is in Hz."""
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
            "name": [found.names[j] for j in column.tolist()],
            "source": [found.source[j] for j in column.tolist()],
            "shared": found.shared[column],
            "step": step,
            "seconds": step / (np.nan if rate is None else rate),
            "strength": found.strength[column],
        }
    )


def lines(found: Steps, sure: Sequence[str]) -> list[str]:
    """A line for each column, below a header; none without columns.

    Columns that are not shared are counted in one line.
    """
    rows = [("key state", "median step (quartiles)", "in demonstrations", "how sure")]
    for column, (name, word) in enumerate(zip(found.names, sure, strict=True)):
        own = found.steps[:, column].compressed()
        low, middle, high = np.percentile(own, [25, 50, 75])
        place = f"{middle:.0f} ({low:.0f} to {high:.0f})"
        if not found.shared[column]:
            continue
        rows.append((name, place, f"{len(own)}/{len(found.steps)}", word))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    text = [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in rows]
    others = int((~found.shared).sum())
    if others:
        text.append(f"  and {counted(others, 'more key state')}, each in few demonstrations")
    lettered = [event.what is What.CHANGE and not event.words for event in found.events]
    if (found.shared & lettered).any():
        text.append("change A, B, ...: changes of the motion, the strongest first; lines: by time")
    return text if sure else []
