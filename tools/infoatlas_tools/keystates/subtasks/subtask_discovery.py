"""Finds sub-tasks: cuts at contacts with objects, and the sequence with most information.

Where poses of objects are known, contacts cut the demonstrations: an object that begins to move has
been reached. If no object is moved or visited, key states are the cuts. The chosen
sequence of parts between cuts has the most information between the ends of the parts and their
reference objects. Data generation uses such parts (MimicGen, Mandlekar et al. 2023).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator

from ...array_types import Int
from ..contacts.event_names import END, EventKind
from ..contacts.gripper import Switch
from ..contacts.keystate_steps import ENOUGH, MOST
from ..motion.durations import NEAR
from .cuts import Cuts, make_cuts
from .object_motions import object_cuts
from .poses import Track, as_bodies, as_body, tracks
from .reference_information import (
    FLOOR,
    STEPS,
    ReferenceInformation,
    orientation,
    reference_information,
)
from .subtask_results import WORLD, Subtask, Subtasks

COST = 1.0  # nats that each part costs: cuts that inform about nothing are left out
PARTS = 8  # parts of a sequence, at most: the time grows with them
SHIPPED = 32  # demonstrations that the shipped model needs


def ordered_parts(
    name: str,
    tool: Sequence[Track],
    objects: Mapping[str, Sequence[Track]],
    cuts: Cuts,
    estimator: Estimator | None = None,
) -> list[Subtask]:
    """The sequence of parts, at most 8, that has the most information.

    A part adds its information minus 1 nat. Its reference differs from that of the part before it.
    The reference of the part before it has less than 1 nat here, or 1 nat less than the new one.
    The model of the estimator estimates the information of the chosen parts, too, if there are as
    many demonstrations as it needs.
    """
    ordered = cuts.in_order()
    steps, there = ordered.filled(), ordered.present
    count = steps.shape[1] - 1  # the last column is the end
    # value[j][o, m]: best sequence of m parts up to cut j whose last part has reference o.
    names = [WORLD, *objects]
    value = np.full((count + 1, len(names), PARTS + 1), -np.inf)
    came: dict[tuple[int, int, int], tuple[int, int]] = {}
    found: dict[tuple[int, int], ReferenceInformation] = {}
    for j in range(1, count + 1):
        for i in range(j):
            both = there[:, i] & there[:, j]
            one = reference_information(tool, objects, steps[:, i], steps[:, j], both)
            if one is None:
                continue
            found[i, j] = one
            for o, reference in enumerate(names):
                if reference != WORLD and one.nats.get(reference, 0.0) < COST:
                    continue
                gain = one.nats[reference] - COST
                # An informative reference is kept unless another one has `COST` nats more.
                least = max(gain, COST)
                kept = np.array([q == reference or one.nats.get(q, 0.0) > least for q in names])
                for m in range(1, PARTS + 1):
                    if i == 0:
                        before, source = (0.0 if m == 1 else -np.inf), -1
                    else:
                        others = np.where(kept, -np.inf, value[i, :, m - 1])
                        source = int(others.argmax())
                        before = float(others[source])
                    if before + gain > value[j, o, m]:
                        value[j, o, m] = before + gain
                        came[j, o, m] = (i, source)
    if not np.isfinite(value[count]).any():
        return plain_parts(name, cuts, WORLD)
    o, m = (int(x) for x in np.unravel_index(value[count].argmax(), value[count].shape))
    j, chosen = count, []
    while j > 0:
        i, before = came[j, o, m]
        chosen.append((i, j, names[o]))
        j, o, m = i, before, m - 1
    if {reference for _, _, reference in chosen} == {WORLD}:  # the cuts remain as parts
        return plain_parts(name, cuts, WORLD)
    until = (None, *cuts.events, END)
    parts = [Subtask(name, steps[:, i], steps[:, j], until[j], o) for i, j, o in reversed(chosen)]
    about = [found[i, j] for i, j, _ in reversed(chosen)]
    return [_part(one, tool, objects, of, estimator) for one, of in zip(parts, about, strict=True)]


def unordered_parts(
    name: str,
    tool: Sequence[Track],
    objects: Mapping[str, Sequence[Track]],
    cuts: Cuts,
    estimator: Estimator | None = None,
) -> list[Subtask]:
    """Parts in an order that differs between demonstrations, each with its best reference.

    Arguments are those of `ordered_parts`. A part begins at the cut that precedes it in the
    demonstration.
    """
    parts = []
    for event, start, end in cuts.spans():
        part = Subtask(name, start, end, event, WORLD)
        about = reference_information(tool, objects, start, end, end > start)
        if about is not None:
            best = about.best()
            part = replace(part, reference=best if about.nats[best] >= COST else WORLD)
            part = _part(part, tool, objects, about, estimator)
        parts.append(part)
    return parts


def rare_parts(parts: Sequence[Subtask]) -> list[str]:
    """A note if parts between key states are missing from many demonstrations."""
    rare = sum(2 * int((part.end > part.start).sum()) < len(part.end) for part in parts)
    if not rare:
        return []
    return [
        f"{rare} of {len(parts)} sub-tasks are in fewer than half of the demonstrations: find "
        "fewer key states (count auto), label two demonstrations, or name tool and objects."
    ]


def plain_parts(name: str, cuts: Cuts, reference: str = "") -> list[Subtask]:
    """All parts between cuts, in the order of each demonstration."""
    return [Subtask(name, start, end, event, reference) for event, start, end in cuts.spans()]


def _part(
    part: Subtask,
    tool: Sequence[Track],
    objects: Mapping[str, Sequence[Track]],
    about: ReferenceInformation,
    estimator: Estimator | None,
) -> Subtask:
    """A part with the information about its reference."""
    others = {o: nats for o, nats in about.nats.items() if o != part.reference}
    runner_up = max(others, key=lambda o: others[o]) if others else ""
    rows, held = about.rows, about.held
    first, last = part.start[rows], part.end[rows] - 1
    body = objects.get(part.reference)
    carried = objects[held] if held not in ("", part.reference) else None
    model = (float("nan"), float("nan"))
    if estimator is not None and body is not None and len(rows) >= estimator.model_file.n_min:
        lies = np.array([body[i].position[s] for i, s in zip(rows, first, strict=True)])
        estimate = estimator.estimate(about.place, lies)
        model = (estimate.mi, estimate.stderr)
    return replace(
        part,
        orientation=orientation(tool, body, rows, first, last, carried),
        held=held,
        information=about.nats[part.reference],
        runner_up=runner_up,
        runner_up_information=others.get(runner_up, float("nan")),
        stderr=about.stderr(part.reference, runner_up) if runner_up else float("nan"),
        model_information=model[0],
        model_stderr=model[1],
    )


def _without_reference(tool: str, parts: Sequence[Subtask], lengths: Int) -> list[str]:
    """Why parts have the world as their reference."""
    reasons: dict[str, list[str]] = {}
    for part, name in zip(parts, Subtasks(tuple(parts), lengths).names, strict=True):
        if part.reference == WORLD:
            few = (part.end - part.start >= STEPS).sum() < max(ENOUGH, len(part.end) / 2)
            why = (
                "too few demonstrations have it" if few else "the end depends on no object's place"
            )
            reasons.setdefault(why, []).append(repr(name))
    return [f"{tool}: about world: {', '.join(n)}, because {why}." for why, n in reasons.items()]


def find_subtasks(
    states: Sequence[Any],
    names: Sequence[str],
    steps: Any,
    events: Sequence[EventKind],
    frequency: float,
    tool: Any,
    objects: Any,
    switches: Sequence[Sequence[Switch]],
    estimator: Estimator | str | os.PathLike[str] | None,
    labelled: bool,
) -> tuple[list[Subtask], dict[str, tuple[int, ...]], list[str]]:
    """Sub-tasks of demonstrations; see `KeyStates.subtasks`.

    `steps` [N, K] are key states that are shared, `switches` those of the grippers. If a person
    marked the key states (`labelled`), cuts at the same contacts have their steps. Returns the
    parts, the columns of the position of each tool and object, and notes.
    """
    lengths = np.array([len(s) for s in states], np.int64)
    if tool is None or not objects:
        if tool is not None or objects:
            raise InputError(
                "tool and objects go together: pass both, as in subtasks(tool=Pose('tool'), "
                "objects={'cube': Pose('cube')}), or neither"
            )
        note = "No objects were named: sub-tasks lie between key states, without references."
        plain = plain_parts("tool", make_cuts(steps, events, lengths, 0.0))
        return plain, {}, [note, *rare_parts(plain)]
    bodies, things = as_bodies(tool, "tool", "tool"), as_bodies(objects, "objects", "object")
    both = (set(bodies) & set(things)) | ({WORLD} & set(things))
    if both:
        raise InputError(f"{', '.join(sorted(both))} names two bodies: give each its own name")
    used = as_estimator(estimator) if estimator or len(lengths) >= SHIPPED else None
    lying, hands = (
        {name: tracks(states, names, where, name) for name, where in some.items()}
        for some in (things, bodies)
    )
    positions = {
        name: as_body(names, np.shape(states[0])[1], where, name)
        for name, where in {**bodies, **things}.items()
    }
    every = object_cuts(positions, hands, lying, states, switches, frequency)
    parts: list[Subtask] = []
    notes = [
        f"{name} begins at the same place in all demonstrations: whether a sub-task is about it "
        "cannot be known."
        for name, own in lying.items()
        if np.ptp([t.position[0] for t in own], axis=0).max() < FLOOR
    ]
    keystates = make_cuts(steps, events, lengths)
    for name, hand in hands.items():
        cuts = every[name].moved_to(steps, events, NEAR * frequency) if labelled else every[name]
        new, own_notes = _parts_of_tool(name, hand, lying, cuts, keystates, used)
        parts += new
        notes += own_notes
    return parts, {name: body.columns for name, body in positions.items()}, notes


def _parts_of_tool(
    name: str,
    hand: Sequence[Track],
    lying: Mapping[str, Sequence[Track]],
    contacts: Cuts,
    keystates: Cuts,
    estimator: Estimator | None,
) -> tuple[list[Subtask], list[str]]:
    """The parts of one tool, and notes; they end at contacts, or at key states without any."""
    cuts, count, notes = contacts if contacts.events else keystates, len(hand), list[str]()
    span = max(float(np.ptp(t.position, axis=0).max()) for t in hand)
    if not 0.02 < span < 20.0:  # hardly metres
        notes.append(
            f"{name} moves over {span:.3g}: if positions are not in metres, convert them, for "
            "references are found by distances."
        )
    if contacts.rare:
        notes.append(f"{name}: too rare to end a sub-task: {', '.join(contacts.rare)}.")
    notes.append(
        f"{name}: a sub-task may end at {', '.join(cuts.names)}."
        if contacts.events
        else f"{name}: it moves or visits an object in less than {MOST:.0%} of the demonstrations; "
        "sub-tasks may end at key states."
    )
    if not cuts.ordered:
        notes.append(f"{name}: the order of these differs between demonstrations.")
    if count < ENOUGH:
        notes.append(
            f"{name}: {count} demonstrations are too few for references, which take {ENOUGH}."
        )
        parts = plain_parts(name, cuts)
    else:
        choose = ordered_parts if cuts.ordered else unordered_parts
        parts = choose(name, hand, lying, cuts, estimator)
        notes += _without_reference(name, parts, cuts.lengths)
    lacking = int(np.any([part.end <= part.start for part in parts], axis=0).sum())
    if cuts.ordered and lacking:
        notes.append(
            f"{name}: {lacking} of {count} demonstrations lack a sub-task, or have it in another "
            "order; it is empty there, and other labels may be wrong."
        )
    return parts, notes
