"""The reference object of each part, by a camera: points that inform about the joints at a cut.

A part is about the object whose point in the first images has the most information about the
joints at the part's end. The object is named if points of permuted demonstrations hardly ever have
as much, and no other informative object comes near it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.result import INTERVAL

from ...array_types import Float, Int
from ...cameras.camera import Camera
from ...cameras.first_image_objects import ImageObject, colour_of, find_objects, locate, unusual
from ...cameras.images import FEWEST, MOVING
from ...cameras.information import components, information, jackknife, permute
from ...cameras.leave_and_arrive import find_changes
from ...cameras.scene import Image, Scene, read_between, read_scene, same_view
from ..contacts.event_names import PUTS, TAKES, EventKind
from ..contacts.gripper import Switch
from ..motion.durations import ONE_EVENT
from .cuts import Cuts
from .places_left import SURE, agree, moved, shares_below, shares_left, windows, with_left
from .subtask_results import WORLD, SeenObjects, Subtask, Subtasks

WARNED = 20  # demonstrations, below which references may be missed
INFORMS = 0.2  # nats of a reference, at least: less is within the error of most sets


class Measured(NamedTuple):
    """Information of one object about the joints at one cut."""

    nats: float
    stderr: float
    chance: Float  # nats of permuted demonstrations
    odd: int = -1  # the demonstration without which the information is clear, if one spoils it


def camera_subtasks(
    camera: Camera,
    states: Sequence[Any],
    columns: Sequence[int],
    cuts: Cuts,
    frequency: float,
    object_names: Mapping[int, str],
    switches: Sequence[Sequence[Switch]] = (),
    closing: Mapping[str, float] | None = None,
) -> Subtasks:
    """Sub-tasks between key states, with the objects that a camera sees as references.

    The columns are the joints, or the pose of the tool; the cuts are key states at which parts may
    end. `object_names` are by their numbers, as {1: "bottle"} for "object 1". The frequency (Hz) is
    of recorded steps. At labels and changes of the motion, the `switches` of grippers show whether
    something is taken or put; `closing` has the sign of the change by which each closes. The result
    is without `seen` if there can be no references; the notes say why. InputError if `object_names`
    has numbers of objects that do not exist, or a name twice.
    """
    if len(states) < FEWEST:
        return _without(
            cuts,
            f"{len(states)} demonstrations are too few for references from a camera, which take "
            f"{FEWEST}.",
        )
    scene = read_scene(camera, frequency)
    share = float(unusual(scene.first, scene).mean())
    if share > MOVING:
        why = (
            f"Camera {camera.name} sees another scene in every demonstration ({share:.0%} "
            "of the pixels differ): no references. Take a camera that starts at one place."
        )
        return _without(cuts, why)
    objects, palette = find_objects(scene)
    things = moved(find_changes(camera, states, frequency)[0], scene)
    objects = with_left(objects, things, scene, palette)
    why = _unusable(scene, objects, camera.name)
    if why:
        return _without(cuts, why)
    joints = [np.asarray(s, np.float64)[:, list(columns)] for s in states]
    steps = np.ma.filled(cuts.steps, -1).T
    numbers, objects, first = _not_of_robot(objects, joints, steps)
    if not objects:
        return _without(cuts, f"Camera {camera.name} sees no object but the robot: no references.")
    names = _names(numbers, object_names)
    notes = dict[EventKind, str]()
    held, put, on = "", dict[int, Int](), dict[str, str]()
    references, carried = list[str](), list[str]()
    nats, errors = np.full((2, len(steps), len(objects)), np.nan)
    left = np.zeros((len(steps), len(objects)))
    handles = [
        _handles(event, own, switches, closing or {}, frequency)
        for event, own in zip(cuts.events, steps, strict=True)
    ]
    spans = windows(steps, handles, cuts.lengths, ONE_EVENT * frequency)
    for c, (event, own) in enumerate(zip(cuts.events, steps, strict=True)):
        row = [measured[c] for measured in first]
        for o, after in put.items():
            points = _put_places(camera, scene, palette, objects[o], after, own)
            row[o] = _measure(points, joints, own)
        nats[c], errors[c] = [m.nats for m in row], [m.stderr for m in row]
        reference, note = _choose(row, [o.twin for o in objects], names, on, camera.episodes)
        stays: set[str] = set()
        if handles[c] < 0:
            # What lies on an object, if it is known, hides where the next one is put.
            gone = {*put, *(names.index(name) for name in (held, *on.values()) if name in names)}
            if WORLD not in on.values():
                left[c] = shares_below(objects, things, *spans[c], gone)
        else:
            left[c] = shares_left(objects, things, *spans[c])
            if handles[c] and any(o.left for o in objects):
                stays = {name for name, o in zip(names, objects, strict=True) if not o.left}
        reference, note = agree(left[c], names, reference, note)
        if reference in stays:
            note = f"the joints depend on {reference}, which stays where it is: it is not taken."
            reference = WORLD
        notes |= {event: note} if note else {}
        references, carried = [*references, reference], [*carried, "" if held == WORLD else held]
        if handles[c] > 0:
            held = reference
        elif handles[c] < 0:
            if held in names:
                put[names.index(held)] = own
            on[held] = "" if held == reference else reference  # it is not on itself
            held = ""
    called = _with_objects(cuts.events, references, carried)
    seen = SeenObjects(
        camera.name, names, tuple(numbers), scene.images,
        np.stack([o.boxes for o in objects], axis=1),
        tuple(called[event].name for event in cuts.events), nats, errors, tuple(references),
        scene.after, left,
    )  # fmt: skip
    unclear = [f"{called[event].name}: {note}" for event, note in notes.items()]
    return Subtasks(
        tuple(_parts(cuts, seen, carried, called)), cuts.lengths, seen=seen,
        keystate_names={old.name: new.name for old, new in called.items() if old != new},
        notes=(*_notes(scene, len(states), camera.name), *unclear),
    )  # fmt: skip


def _not_of_robot(
    objects: Sequence[ImageObject], joints: Sequence[Float], steps: Int
) -> tuple[list[int], list[ImageObject], list[list[Measured]]]:
    """Numbers of the objects, from 1, the objects, and their information at steps [C, N].

    An object that informs most about the joints at the beginning is a part of the robot. The others
    have the same numbers with any cuts.
    """
    numbers, kept, measured = [], [], []
    for number, o in enumerate(objects, 1):
        own = [_measure(o.points, joints, at) for at in steps]
        begin = _measure(o.points, joints, np.zeros(len(joints), np.int64)).nats
        best = max((m.nats for m in own if m.nats == m.nats), default=0.0)
        if o.left or not begin > max(best, INFORMS):
            numbers.append(number)
            kept.append(o)
            measured.append(own)
    return numbers, kept, measured


def _put_places(
    camera: Camera, scene: Scene, palette: Image, thing: ImageObject, after: Int, before: Int
) -> Float:
    """Points [N, 2] of an object that was put at steps [N], and seen before others; or NaN."""
    later = read_between(camera, scene, after, before)
    points = np.full((len(later), 2), np.nan)
    if same_view(later, scene):  # not from a wrist
        points = locate(colour_of(later, scene, palette), thing.colours).points
    points[(after < 0) | (before <= after)] = np.nan  # it still lies where it lay, or is held
    return points


def _with_objects(
    events: Sequence[EventKind], references: Sequence[str], carried: Sequence[str]
) -> dict[EventKind, EventKind]:
    """Each event with the object near it, or the one that is carried, as its body."""
    found, counts = dict[EventKind, EventKind](), Counter[EventKind]()
    for event, reference, held in zip(events, references, carried, strict=True):
        about = event.with_object("" if reference == WORLD else reference, held)
        counts[about] += 1
        found[event] = event if about == event else replace(about, occurrence=counts[about])
    return found


def _handles(
    event: EventKind,
    steps: Int,
    switches: Sequence[Sequence[Switch]],
    closing: Mapping[str, float],
    frequency: float,
) -> int:
    """1 if something is taken at a cut at steps [N], -1 if it is put, or 0.

    At a label or a change of the motion, the switches that are near in most demonstrations show it.
    """
    if event.what in (*TAKES, *PUTS):
        return 1 if event.what in TAKES else -1
    near = [
        np.sign(switch.change) * closing[switch.gripper]
        for step, row in zip(steps.tolist(), switches, strict=bool(switches))
        for switch in sorted(row, key=lambda s: max(s.begin - step, step - s.end))[:1]
        if step >= 0 and max(switch.begin - step, step - switch.end) <= ONE_EVENT * frequency
    ]
    return int(np.sign(sum(near))) if abs(sum(near)) > len(steps) / 2 else 0


def _measure(points: Float, joints: Sequence[Float], steps: Int) -> Measured:
    """Information of points [N, 2] about the joints at steps [N], -1 where there is none."""
    rows = np.flatnonzero((steps >= 0) & np.isfinite(points[:, 0]))
    if len(rows) < FEWEST:
        return Measured(np.nan, np.nan, np.zeros(1))
    y = components(np.array([joints[i][steps[i]] for i in rows.tolist()]))
    x = points[rows]
    nats, (stderr, without) = information(x, y), jackknife(x, y)
    spoils = np.arange(len(rows)) == without.argmax()
    odd = nats <= INTERVAL * stderr and (
        without.max() > INTERVAL * jackknife(x[~spoils], y[~spoils])[0]
    )
    return Measured(nats, stderr, permute(x, y), int(rows[spoils][0]) if odd else -1)


def _choose(
    row: Sequence[Measured],
    twins: Sequence[bool],
    names: Sequence[str],
    on: Mapping[str, str],
    episodes: Sequence[str],
) -> tuple[str, str]:
    """Name of the reference, or "world", and a note on why there is none if it is not clear."""
    values = np.array([m.nats if m.nats == m.nats else -np.inf for m in row])
    if not len(values) or values.max() < INFORMS:
        return WORLD, ""
    chance = np.max([m.chance for m in row if len(m.chance) > 1], axis=0)
    likely = [o for o, v in enumerate(values) if (chance >= v).mean() <= 0.01]  # at the 1% level
    informs = [o for o in likely if values[o] >= INFORMS]
    if not informs:
        return WORLD, ""
    best = max(informs, key=lambda o: values[o])
    if values[best] <= INTERVAL * row[best].stderr:
        odd, advice = row[best].odd, "more demonstrations decide it."
        if odd >= 0:
            who = f"demonstration {episodes[odd]}"
            advice = f"it is clear without {who}: check whether that one differs."
        about = f"{values[best]:.1f} +- {row[best].stderr:.1f} nats"
        return WORLD, f"{names[best]} may be meant ({about}): {advice}"
    if twins[best]:
        why = "is one of two of the same colour, which cannot be distinguished."
        return WORLD, f"{names[best]} {why}"
    upper = [o for o, name in enumerate(names) if on.get(name) in (names[best], WORLD)]
    unseen = [names[o] for o in upper if np.isnan(row[o].nats)]
    if on.get(WORLD) == names[best] or unseen:
        what = " and ".join(unseen) or "something else"
        return WORLD, f"{what} may lie on {names[best]}, where the camera does not see it."
    errors = np.hypot([m.stderr for m in row], row[best].stderr)
    near = values[best] - values <= INTERVAL * errors
    rivals = [o for o in sorted({*informs, *upper}) if o != best and near[o]]
    if not rivals:
        return names[best], ""
    together = [names[o] for o in (best, *rivals)]
    for name in together:
        if on.get(name) in together:  # a tower, or a tray
            return WORLD, f"{name} lies on {on[name]}: it is not clear which of them is meant."
    shown = " and ".join(
        f"{names[o]} ({values[o]:.1f} nats)" for o in (best, max(rivals, key=lambda o: values[o]))
    )
    return WORLD, (
        f"{shown} cannot be distinguished: record them at places that depend less on each other."
    )


def _parts(
    cuts: Cuts, seen: SeenObjects, carried: Sequence[str], called: Mapping[EventKind, EventKind]
) -> list[Subtask]:
    """Parts between cuts."""
    found = []
    for event, start, end in cuts.spans():
        part = Subtask("tool", start, end, called.get(event, event), WORLD)
        if event in cuts.events:
            c = cuts.events.index(event)
            part = _add_information(replace(part, held=carried[c]), seen, c)
        found.append(part)
    return found


def _add_information(part: Subtask, seen: SeenObjects, c: int) -> Subtask:
    """A part with the information of its reference and the next best object."""
    if seen.references[c] == WORLD:
        return part
    nats, error, best = seen.nats[c], seen.stderr[c], seen.names.index(seen.references[c])
    others = [o for o in range(len(nats)) if o != best and nats[o] > 0]
    other = max(others, key=lambda o: nats[o], default=-1)
    return replace(
        part,
        reference=seen.references[c],
        information=float(nats[best]),
        runner_up=seen.names[other] if other >= 0 else WORLD,
        runner_up_information=float(nats[other]) if other >= 0 else 0.0,
        stderr=float(np.hypot(error[best], error[other]) if other >= 0 else error[best]),
        left=float(seen.left[c, best]) if seen.left[c, best] >= SURE else 0.0,
    )


def _without(cuts: Cuts, why: str) -> Subtasks:
    """Parts without references, and the reason."""
    parts = [Subtask("tool", start, end, event) for event, start, end in cuts.spans()]
    return Subtasks(tuple(parts), cuts.lengths, notes=(why,))


def _names(numbers: Sequence[int], given: Mapping[int, str]) -> tuple[str, ...]:
    wrong = [number for number in given if number not in numbers]
    if wrong:
        raise InputError(
            f"object_names has {wrong[0]}: the objects have the numbers "
            f"{', '.join(map(str, numbers))}"
        )
    names = tuple(given.get(k, f"object {k}") for k in numbers)
    if len({*names, WORLD, ""}) < len(numbers) + 2:
        raise InputError(f"object_names is {dict(given)}: give each object a name of its own")
    return names


def _unusable(scene: Scene, objects: Sequence[ImageObject], camera: str) -> str:
    """Why the images have no references; "" if they may have some."""
    colours = np.ptp(np.percentile(scene.first[..., 1:], (1, 99), axis=(1, 2)), axis=0)
    if np.median(colours) < 2.0 and not any(
        one.left for one in objects
    ):  # delta E, which hardly anybody sees
        return f"Camera {camera} is grey, and objects are found by colour: no references."
    if not objects:
        return (
            f"Camera {camera} sees nothing that lies at different places in different "
            "demonstrations: no references."
        )
    return ""


def _notes(scene: Scene, count: int, camera: str) -> list[str]:
    notes = []
    displaced = np.linalg.norm(scene.shift, axis=1)
    if displaced.any():
        many, most = int((displaced > 0).sum()), displaced.max() / scene.first.shape[2]
        notes.append(
            f"Camera {camera} is displaced in {many} demonstration{'s' if many > 1 else ''}, by up "
            f"to {most:.1%} of the width: the images were moved back."
        )
    if count < WARNED:
        notes.append(
            f"{count} demonstrations: references by a camera may be missed with fewer than "
            f"{WARNED}."
        )
    return notes
