"""Key states as a table: a DataFrame, text, and values for JSON."""

from typing import Any

import numpy as np

from ..array_types import Float
from ..presentation import Rows, require_pandas, with_count
from ..trajectories import Trajectories
from .contacts.event_names import CONTACT, GRIPPER, LABEL, What
from .contacts.keystate_steps import Steps
from .trust.trust import REPEATS


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, with None for NaN, which JSON lacks."""
    return {key: None if value != value else value for key, value in values.items()}


def data_frame(found: Steps, begins: Any, ends: Any, data: Trajectories) -> Any:
    """A pandas DataFrame with a row for each key state of each demonstration."""
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
            "begins": begins.filled(-1)[which, column],
            "ends": ends.filled(-1)[which, column],
            "seconds": [data.seconds(i)[t] for i, t in zip(which.tolist(), step, strict=True)],
            "strength": found.strength[column],
        }
    )


def agreement(share: float) -> list[str]:
    """A sentence with `KeyStates.agreement`, or none if it is not known."""
    if share != share:
        return []
    text = "with contacts, switches and the motion of other demonstrations"
    scale = "0: as evenly spaced steps; 1: all, where those find none"
    return [f"Agreement {text}: {share:.2f} ({scale})."]


def how_sure(found: Steps, reproduced: Float) -> list[str]:
    """What each column rests on.

    "contact seen", "switch seen" or "labelled in 3, followed in 23"; other changes of the motion:
    "repeats" if detectors fitted to other demonstrations find it again, "unsure" if not.
    """
    texts = []
    for column, (source, own) in enumerate(zip(found.source, found.steps.T, strict=True)):
        repeats = found.shared[column] and reproduced[column] >= REPEATS
        words = {CONTACT: "contact seen", GRIPPER: "switch seen"}
        if source == LABEL and found.certainty is not None:
            given = int((found.certainty[:, column][~np.ma.getmaskarray(own)] == 1).sum())
            words[LABEL] = f"labelled in {given}, followed in {own.count() - given}"
        texts.append(words.get(source, "repeats" if repeats else "unsure"))
    return texts


def rows(found: Steps, reproduced: Float) -> tuple[Rows, list[str]]:
    """A row for each shared column, below the headers, and lines about the rows.

    Columns that are not shared are counted in one line. There are none without columns.
    """
    sure = how_sure(found, reproduced)
    cells: Rows = [("key state", "median step (quartiles)", "in demonstrations", "how sure")]
    for column, (name, word) in enumerate(zip(found.names, sure, strict=True)):
        own = found.steps[:, column].compressed()
        low, middle, high = np.percentile(own, [25, 50, 75])
        place = f"{middle:.0f} ({low:.0f} to {high:.0f})"
        if not found.shared[column]:
            continue
        cells.append((name, place, f"{len(own)}/{len(found.steps)}", word))
    others, text = int((~found.shared).sum()), list[str]()
    if others:
        text.append(f"  and {with_count(others, 'more key state')}, each in few demonstrations")
    shared = [event for event, own in zip(found.events, found.shared, strict=True) if own]
    if any(event.what is What.CHANGE and not event.words for event in shared):
        text.append("change A, B, ...: changes of the motion, the strongest first; lines: by time")
    return (cells, text) if sure else ([], [])


def lines(rows: Rows) -> list[str]:
    """The rows as text, in columns."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in rows]
