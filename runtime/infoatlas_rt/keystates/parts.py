"""Find sub-tasks: cuts by the motions of objects, and the sequence with the most information.

Where poses of objects are known, their motions cut the demonstrations: an object that begins to
move has been reached. If no object is moved or visited, key states are the cuts. Of all sequences
of parts between cuts, the one with the most information between each part's end and its reference
object is taken. Data generation uses such parts (MimicGen, Mandlekar et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator
from .motions import PRESENT, Cuts, in_order, object_cuts
from .poses import Track, as_bodies, tracks
from .references import FEWEST, Evidence, evidence, orientation
from .subtasks import WORLD, Subtask

Int = NDArray[np.int64]

COST = 1.0  # nats that a part has to bring
MOST = 8  # parts
SHIPPED = 32  # demonstrations that the shipped model needs


def key_state_cuts(steps: Any, lengths: Int) -> Cuts:
    """Cuts by key states [N, K]."""
    labels = [f"key state {j + 1}" for j in range(steps.shape[1])]
    return in_order(steps, labels, lengths)


def informed_parts(
    name: str,
    tool: Sequence[Track],
    objects: Mapping[str, Sequence[Track]],
    cuts: Cuts,
    estimator: Estimator | None = None,
) -> list[Subtask]:
    """The sequence of parts, with different references in a row, that has the most information.

    Parameters
    ----------
    name : str
        Of the tool.
    tool : sequence of N Track
    objects : dict of str to sequence of N Track
    cuts : Cuts
    estimator : Estimator, optional
        Its model estimates the information of the chosen parts, too, if there are as many
        demonstrations as it needs; the shipped model unless given.

    Returns
    -------
    list of Subtask
        At most 8.
    """
    lengths = np.array([len(t.position) for t in tool], np.int64)
    steps = _filled(cuts, lengths)
    count = steps.shape[1] - 1  # the last column is the end
    # value[j][o, m]: best sequence of m parts up to cut j whose last part has reference o.
    names = [WORLD, *objects]
    value = np.full((count + 1, len(names), MOST + 1), -np.inf)
    came: dict[tuple[int, int, int], tuple[int, int]] = {}
    found: dict[tuple[int, int], Evidence] = {}
    for j in range(1, count + 1):
        for i in range(j):
            one = evidence(tool, objects, steps[:, i], steps[:, j])
            if one is None:
                continue
            found[i, j] = one
            for o, reference in enumerate(names):
                if reference not in one.nats:
                    continue
                gain = one.nats[reference] - COST
                for m in range(1, MOST + 1):
                    if i == 0:
                        before, source = (0.0 if m == 1 else -np.inf), -1
                    else:
                        others = value[i, :, m - 1].copy()
                        others[o] = -np.inf
                        source = int(others.argmax())
                        before = float(others[source])
                    if before + gain > value[j, o, m]:
                        value[j, o, m] = before + gain
                        came[j, o, m] = (i, source)
    if not np.isfinite(value[count]).any():
        start, end = np.zeros_like(lengths), lengths
        return [Subtask(name, start, end, WORLD)]
    o, m = (int(x) for x in np.unravel_index(value[count].argmax(), value[count].shape))
    if estimator is None and len(tool) >= SHIPPED:
        estimator = Estimator()
    j, chosen = count, []
    while j > 0:
        i, before = came[j, o, m]
        chosen.append((i, j, names[o]))
        j, o, m = i, before, m - 1
    return [
        _part(name, tool, objects, steps[:, i], steps[:, j], reference, found[i, j], estimator)
        for i, j, reference in reversed(chosen)
    ]


def plain_parts(name: str, cuts: Cuts, lengths: Int) -> list[Subtask]:
    """All parts between cuts, without references."""
    steps = _filled(cuts, lengths)
    return [Subtask(name, steps[:, j], steps[:, j + 1]) for j in range(steps.shape[1] - 1)]


def _filled(cuts: Cuts, lengths: Int) -> Int:
    """Steps [N, C + 2] with start and end; a missing cut is where the next one is."""
    n, count = cuts.steps.shape
    steps = np.zeros((n, count + 2), np.int64)
    steps[:, -1] = lengths
    own = np.ma.filled(cuts.steps, -1)
    for j in range(count, 0, -1):
        steps[:, j] = np.where(own[:, j - 1] < 0, steps[:, j + 1], own[:, j - 1])
    return steps


def _part(
    name: str,
    tool: Sequence[Track],
    objects: Mapping[str, Sequence[Track]],
    start: Int,
    end: Int,
    reference: str,
    about: Evidence,
    estimator: Estimator | None,
) -> Subtask:
    others = {o: nats for o, nats in about.nats.items() if o != reference}
    runner_up = max(others, key=lambda o: others[o]) if others else ""
    rows = about.rows
    body = objects.get(reference)
    held = about.held
    model = (float("nan"), float("nan"))
    if estimator is not None and body is not None and len(rows) >= estimator.model_file.n_min:
        lies = np.array([body[i].position[start[i]] for i in rows.tolist()])
        estimate = estimator.estimate(about.place, lies)
        model = (estimate.mi, estimate.stderr)
    return Subtask(
        tool=name,
        start=start,
        end=end,
        reference=reference,
        orientation=orientation(
            tool,
            body,
            rows,
            start[rows],
            end[rows] - 1,
            objects[held] if held not in ("", reference) else None,
        ),
        held=held,
        information=about.nats[reference],
        runner_up=runner_up,
        runner_up_information=others.get(runner_up, float("nan")),
        stderr=about.stderr(reference, runner_up) if runner_up else float("nan"),
        model_information=model[0],
        model_stderr=model[1],
    )


def find_subtasks(
    states: Sequence[Any],
    names: Sequence[str],
    steps: Any,
    frequency: float,
    tool: Any,
    objects: Any,
    estimator: Estimator | None,
) -> tuple[list[Subtask], list[str]]:
    """Sub-tasks of demonstrations; see `KeyStates.subtasks`.

    Parameters
    ----------
    states : sequence of [T_i, d] float64
    names : sequence of str
    steps : [N, K] masked array of int64
        Key states that are shared.
    frequency : float
        Recorded steps a second, Hz.

    Returns
    -------
    parts : list of Subtask
    notes : list of str
    """
    lengths = np.array([len(s) for s in states], np.int64)
    by_key_states = key_state_cuts(steps, lengths)
    if tool is None or not objects:
        if tool is not None or objects:
            raise InputError(
                "tool and objects go together: pass both, as in subtasks(tool=Pose('tool'), "
                "objects={'cube': Pose('cube')}), or neither"
            )
        note = "No objects were named: the parts lie between key states, without references."
        return plain_parts("tool", by_key_states, lengths), [note]
    bodies, things = as_bodies(tool, "tool", "tool"), as_bodies(objects, "objects", "object")
    both = (set(bodies) & set(things)) | ({WORLD} & set(things))
    if both:
        raise InputError(f"{', '.join(sorted(both))} names two bodies: give each its own name")
    lying = {name: tracks(states, names, where, name) for name, where in things.items()}
    parts: list[Subtask] = []
    notes: list[str] = []
    for name, where in bodies.items():
        hand = tracks(states, names, where, name)
        cuts = object_cuts(hand, lying, frequency)
        if cuts.labels:
            notes.append(f"{name}: cuts are looked for where {', '.join(cuts.labels)}.")
        else:
            cuts = by_key_states
            notes.append(
                f"{name}: it moves or visits no object in {PRESENT:.0%} of the demonstrations; "
                "cuts are looked for at key states."
            )
        late = int(np.ma.getmaskarray(cuts.steps).any(axis=1).sum())
        if late:
            notes.append(
                f"{name}: {late} of {len(lengths)} demonstrations lack one of these, or have it in "
                "another order; a part that ends there is empty."
            )
        if len(lengths) < FEWEST:
            notes.append(
                f"{name}: {len(lengths)} demonstrations are too few for references, which take "
                f"{FEWEST}."
            )
            parts += plain_parts(name, cuts, lengths)
        else:
            parts += informed_parts(name, hand, lying, cuts, estimator)
    return parts, notes
