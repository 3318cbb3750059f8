"""Sub-tasks of hands that carry things, with known parts, cuts and reference objects."""

from dataclasses import replace

import numpy as np
import pytest

from hands import RATE, carrying, columns
from infoatlas_rt import InputError
from infoatlas_tools import Pose, Position, Subtasks, Trajectories, discover_keystates
from refusals import refuses

PAIRS = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
NEAR = 5  # steps, 0.25 s


def found_in(states, names, rate=RATE, **options):
    return discover_keystates(Trajectories(states, names=names, rate=rate), **options)


def poses(moves):
    return {name: Pose(name) for name in dict.fromkeys(n for move in moves for n in move if n)}


def references(found: Subtasks, tool=None):
    return [part.reference for part in (found.parts if tool is None else found.of(tool))]


@pytest.mark.parametrize("moves", [PAIRS[:1], PAIRS])
@pytest.mark.parametrize("number", [5, 10])
def test_two_to_eight_parts(moves, number):
    states, names, cuts = carrying(number, moves, seed=len(moves))
    found = found_in(states, names).subtasks(Pose("tool"), poses(moves))
    assert references(found) == [name for move in moves for name in move]
    assert [part.held for part in found.parts] == [h for a, _ in moves for h in ("", a)]
    ends = np.array([part.end for part in found.parts]).T
    assert np.abs(ends[:, 0::2] - cuts[:, 0::2]).max() <= NEAR
    assert (np.abs(ends[:, 1:-1:2] - cuts[:, 1:-1:2]) <= 12).all()  # the hand rests for 8 steps
    assert all(part.certain and part.information > 3 for part in found.parts) and not found.warnings


@pytest.mark.parametrize("goals", [("a",), ("a", "b"), ("b", "a", "c")])
def test_goals_that_never_move_are_visited(goals):
    states, names, cuts = carrying(10, [(goal, "") for goal in goals], seed=1)
    found = found_in(states, names).subtasks(Pose("tool"), {goal: Position(goal) for goal in goals})
    assert references(found) == list(goals)
    ends = np.array([part.end for part in found.parts[:-1]]).T
    assert np.abs(ends - cuts[:, ::2][:, :-1]).max(initial=0) <= NEAR


def test_an_event_at_a_goal_and_a_thing_that_is_carried():
    moves = [("button", ""), ("a", "b")]
    states, names, _ = carrying(8, moves)
    found = found_in(states, names).subtasks(Pose("tool"), poses(moves))
    assert references(found) == ["button", "a", "b"]
    assert found.names == ("reach button", "reach a", "carry a to b")
    button, _, carry = found.parts
    twice = [part for part in (button, replace(carry, reference="object 1")) for _ in range(2)]
    names = ("reach button", "reach button 2", "carry a to object 1", "carry a to object 1 (2)")
    assert replace(found, parts=tuple(twice)).names == names


def test_each_of_two_arms_has_its_own_parts():
    left, names, _ = carrying(10, PAIRS[:1], seed=1)
    right, _, _ = carrying(10, [("c", "d"), ("e", "f")], seed=2)
    states = []
    for one, other in zip(left, right, strict=True):
        length = max(len(one), len(other))
        pad = [np.pad(s, ((0, length - len(s)), (0, 0)), mode="edge") for s in (one, other)]
        pad[1][:, :3] += [0, 1.0, 0]
        for i in range(1, 5):
            pad[1][:, 7 * i : 7 * i + 3] += [0, 1.0, 0]
        states.append(np.concatenate(pad, axis=1))
    names = columns("left", "a", "b", "right", "c", "d", "e", "f")
    found = found_in(states, names).subtasks(
        {"left": Pose("left"), "right": Pose("right")}, {n: Pose(n) for n in "abcdef"}
    )
    assert found.tools == ("left", "right") and references(found, "left") == ["a", "b"]
    assert references(found, "right") == ["c", "d", "e", "f"] and found.names[0] == "left: reach a"
    for tool in found.tools:
        active = found.active(3, tool)
        assert (active >= 0).all() and (np.diff(active) >= 0).all()


def test_orientation_of_the_reference():
    rng = np.random.default_rng(0)
    states, names, _ = carrying(12, [("a", "b")])
    follows, ignores, turned = [], [], []
    for s in states:
        yaw = rng.uniform(-np.pi, np.pi)
        q = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
        s = s.copy()
        s[:, 10:14] = q  # of object a
        ignores.append(s)
        # The tool points down: (0, 1, 0, 0) rotated about the vertical.
        for kept, extra in ((follows, 0.0), (turned, rng.integers(0, 4) * np.pi / 2)):
            own = s.copy()
            half = (yaw + extra) / 2
            own[:, 3:7] = [0, np.cos(half), np.sin(half), 0]
            kept.append(own)
    for rows, wanted in ((follows, "pose"), (turned, "quarter turns"), (ignores, "position")):
        found = found_in(rows, names).subtasks(Pose("tool"), poses([("a", "b")]))
        assert found.parts[0].orientation == wanted
        assert found.parts[1].orientation == "position"  # b never rotates


def test_a_demonstration_that_lacks_a_part_has_an_empty_one():
    moves = PAIRS[:2]
    states, names, _ = carrying(10, moves)
    first = carrying(1, moves[:1], seed=5)[0][0]
    short = np.concatenate([first, np.tile(states[0][:1, 21:], (len(first), 1))], axis=1)
    found = found_in([*states[:-1], short], names).subtasks(Pose("tool"), poses(moves))
    assert references(found) == ["a", "b", "c", "d"]
    spans = [(int(part.start[-1]), int(part.end[-1])) for part in found.parts]
    assert [end > start for start, end in spans] == [True, True, False, False]
    assert spans[0][0] == 0 and spans[-1][1] == len(short)
    assert min(part.information for part in found.parts) > 4  # it has no effect there
    assert any("1 of 10 demonstrations lack" in note for note in found.notes)


def test_an_unknown_reference_is_reported():
    states, names, _ = carrying(10, [("a", "b")])
    beside = []  # c is at the same place from b in all demonstrations
    for s in states:
        c = s[:, 14:21].copy()
        c[:, 0] += 0.3
        beside.append(np.concatenate([s, c], axis=1))
    keystates = found_in(beside, (*names, *columns("c")))
    found = keystates.subtasks(Pose("tool"), {n: Pose(n) for n in "abc"})
    part = found.parts[1]
    assert {part.reference, part.runner_up} == {"b", "c"} and not part.certain
    assert "carry a to" in found.warnings[0] and "uncertain" in found.warnings[0]


def test_an_object_that_lies_at_one_place():
    states, names, _ = carrying(10, [("a", "")])
    rows = []
    for s in states:
        s = s.copy()
        s[:, 0:3] -= s[0, 7:10]
        s[:, 7:10] -= s[0, 7:10]
        rows.append(s)
    found = found_in(rows, names).subtasks(Pose("tool"), {"a": Pose("a")})
    assert set(references(found)) == {"world"}
    assert any("same place in all" in note for note in found.notes)
    assert any("depends on no object's place" in note for note in found.notes)


def test_the_model_is_asked_from_its_smallest_number_on():
    states, names, _ = carrying(32, PAIRS[:1])
    found = found_in(states, names).subtasks(Pose("tool"), poses(PAIRS[:1]))
    assert references(found) == ["a", "b"]
    for part in found.parts:
        assert part.model_information == pytest.approx(part.information, abs=2)
        assert part.model_stderr > 0
    few = found_in(states[:31], names).subtasks(Pose("tool"), poses(PAIRS[:1]))
    assert np.isnan(few.parts[0].model_information)


def test_too_few_demonstrations_have_parts_without_references():
    states, names, cuts = carrying(3, PAIRS[:1])
    found = found_in(states, names).subtasks(Pose("tool"), poses(PAIRS[:1]))
    assert set(references(found)) == {""} and np.abs(found.parts[0].end - cuts[:, 0]).max() <= NEAR
    assert any("too few" in note for note in found.notes)


def test_without_objects_the_parts_lie_between_key_states():
    states, names, _ = carrying(6, PAIRS[:1])
    keystates = found_in(states, names)
    found = keystates.subtasks()
    assert len(found.parts) == keystates.shared.sum() + 1 and found.names[0].startswith("until ")
    assert found.names[-1] == "until end"
    for i, length in enumerate(found.lengths):
        assert (found.active(i) >= 0).all() and len(found.active(i)) == length


def test_parts_in_any_order():
    """Half of the demonstrations move the second object first."""
    states, names, _ = carrying(8, PAIRS[:2], seed=1)
    other, swapped, _ = carrying(8, PAIRS[1::-1], seed=2)
    columns_of = [swapped.index(name) for name in names]
    pairs = zip(states, (s[:, columns_of] for s in other), strict=True)
    states = [s for pair in pairs for s in pair]
    found = found_in(states, names).subtasks(Pose("tool"), poses(PAIRS[:2]))
    assert any("order of these differs" in note for note in found.notes)
    by_end = {part.until: part for part in found.parts}
    for thing, target in PAIRS[:2]:
        assert by_end[f"{thing} begins to move"].reference == thing
        assert by_end[f"{thing} comes to rest"].reference in (target, thing)
    for i, length in enumerate(found.lengths):
        active = found.active(i)
        assert len(active) == length and (active >= 0).all()
    early = by_end["c begins to move"].end < by_end["a begins to move"].end
    assert early.tolist() == [False, True] * 8


def test_an_object_that_is_moved_twice_has_two_motions():
    moves = [("a", "b"), ("c", "d"), ("a", "e")]
    states, names, cuts = carrying(8, moves)
    found = found_in(states, names).subtasks(Pose("tool"), poses(moves))
    taken = [part for part in found.parts if part.until.startswith("a begins to move")]
    assert [part.until for part in taken] == ["a begins to move", "a begins to move 2"]
    for part, column in zip(taken, (0, 4), strict=True):
        assert np.abs(part.end - cuts[:, column]).max() <= NEAR


def test_cuts_are_key_states():
    states, names, _ = carrying(8, PAIRS[:2])
    keystates = found_in(states, names, count=8)
    dates = dict(zip(keystates.found.names, keystates.steps.T, strict=True))
    parts = keystates.subtasks(Pose("tool"), poses(PAIRS[:2])).parts
    common = [part for part in parts if part.until in dates]
    assert {"a begins to move", "c begins to move"} <= {part.until for part in common}
    for part in common:
        assert (part.end == dates[part.until]).all()


def test_a_second_grasp_of_few_demonstrations_is_told():
    once, names, _ = carrying(6, PAIRS[:1])
    again, _, _ = carrying(2, [*PAIRS[:1], PAIRS[0]], seed=1)
    found = found_in([*once, *again], names).subtasks(Pose("tool"), poses(PAIRS[:1]))
    assert references(found) == ["a", "b"]
    assert any("too rare to end a sub-task: a begins to move 2 (2 of 8)" in n for n in found.notes)


def test_the_standard_error_is_that_of_other_draws():
    leads, errors = [], []
    for seed in range(20):
        states, names, _ = carrying(8, PAIRS[:1], seed=seed, noise=0.004)
        part = found_in(states, names).subtasks(Pose("tool"), poses(PAIRS[:1])).parts[0]
        leads.append(part.information - part.runner_up_information)
        errors.append(part.stderr)
    assert 0.5 * np.std(leads) < np.median(errors) < 2 * np.std(leads)


def test_table_and_text():
    states, names, _ = carrying(6, PAIRS[:1])
    found = found_in(states, names).subtasks(Pose("tool"), poses(PAIRS[:1]))
    assert "carry a to b" in str(found)
    table = pytest.importorskip("pandas") and found.table()
    assert list(table["name"][:2]) == ["reach a", "carry a to b"]
    assert (table["end_seconds"] == table["end"] / RATE).all()


@pytest.mark.parametrize(
    ("tool", "objects", "message"),
    [
        (Pose("tool"), None, "tool and objects go together"),
        (None, {"a": Pose("a")}, "tool and objects go together"),
        ("tool", {"a": Pose("a")}, "tool is 'tool'"),
        (Pose("hand"), {"a": Pose("a")}, "'hand', and there is no such column"),
        (Pose("tool"), {"a": Pose([0, 1, 2, 3])}, "a: columns tool.x, tool.y"),
        (Pose("tool"), {"a": Position([0, 1, 2, 3])}, "up to 3 columns"),
        (Pose("tool"), {"tool": Pose("a")}, "two bodies"),
        (Pose("tool"), {"world": Pose("a")}, "two bodies"),
        (Pose("tool"), {"a": Pose("a", "wxyz")}, "orientation is 'wxyz'"),
        (Pose("tool"), {"a": Pose([7, 8, 9, 7, 8, 9, 7], "quaternion_wxyz")}, "no quaternion"),
        (Pose("tool"), [Pose("a")], "objects is"),
    ],
)
def test_refused(tool, objects, message):
    states, names, _ = carrying(4, PAIRS[:1])
    refuses(message, found_in(states, names).subtasks, tool, objects)


def test_columns_without_names_need_the_kind_of_orientation():
    states, _, _ = carrying(5, PAIRS[:1])
    keystates = found_in(states, ())
    with pytest.raises(InputError, match=r"kind of orientation.*Options: NAME:quaternion_wxyz="):
        keystates.subtasks(Pose(range(7)), {"a": Pose(range(7, 14))})
    found = keystates.subtasks(
        Pose(range(7), "quaternion_wxyz"),
        {"a": Pose(range(7, 14), "quaternion_wxyz"), "b": Position([14, 15, 16])},
    )
    assert references(found) == ["a", "b"]


def test_arrays_without_names_of_positions_ask_for_them():
    states, names, _ = carrying(5, PAIRS[:1])
    numbered = (*(f"eef_pos.{i}" for i in range(7)), *(f"object.{i}" for i in range(14)))
    (note,) = (n for n in found_in(states, numbered).notes if "names of positions" in n)
    assert "eef_pos.0 to eef_pos.6 (7 values) and object.0 to object.13 (14 values)" in note
    assert not any("names of positions" in n for n in found_in(states, names).notes)


def test_positions_in_other_units_are_noticed():
    states, names, _ = carrying(5, PAIRS[:1])
    thousandfold = [s.copy() for s in states]
    for s in thousandfold:
        for i in (0, 7, 14):
            s[:, i : i + 3] *= 1000
    metres, millimetres = (
        found_in(rows, names).subtasks(Pose("tool"), poses(PAIRS[:1]))
        for rows in (states, thousandfold)
    )
    assert not any("not in metres" in note for note in metres.notes)
    assert any("not in metres" in note for note in millimetres.notes)
    assert (metres.parts[0].end == millimetres.parts[0].end).all()
