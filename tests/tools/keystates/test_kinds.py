"""Kinds of changes that have no names, from hand-made signatures."""

import numpy as np

from infoatlas_tools.keystates.kinds import Others, group, number_kinds

AXES = np.eye(4)


def demonstration(*changes):
    """Changes (step, axis of the signature), best first."""
    steps, axes = np.array(changes, np.int64).reshape(-1, 2).T
    return Others(steps, 1 / np.arange(1.0, len(steps) + 1), AXES[axes])


LENGTHS = np.full(6, 100)


def test_changes_with_one_signature_are_one_kind_in_any_order():
    rows = [demonstration((20, 0), (60, 1)), demonstration((70, 1), (25, 0))] * 3
    kinds = [kind for kind in group(rows, LENGTHS) if kind.shared]
    members = sorted(tuple(sorted(kind.members.items())) for kind in kinds)
    assert members == [
        ((0, 20), (1, 25), (2, 20), (3, 25), (4, 20), (5, 25)),
        ((0, 60), (1, 70), (2, 60), (3, 70), (4, 60), (5, 70)),
    ]
    assert [kind.strength for kind in kinds] == sorted((k.strength for k in kinds), reverse=True)


def test_a_demonstration_may_lack_a_kind():
    rows = [demonstration((20, 0), (60, 1))] * 5 + [demonstration((22, 0))]
    assert sorted(len(kind.members) for kind in group(rows, LENGTHS)) == [5, 6]


def test_a_change_like_no_other_is_not_shared():
    kinds = group(([demonstration((20, 0))] * 5 + [demonstration((20, 0), (90, 3))]), LENGTHS)
    assert [(kind.shared, len(kind.members)) for kind in kinds] == [(True, 6), (False, 1)]
    assert kinds[1].members == {5: 90}


def test_a_kind_that_occurs_twice_has_one_number():
    kinds = group([demonstration((20, 0), (80, 0), (50, 2))] * 6, LENGTHS)
    assert [len(kind.members) for kind in kinds] == [6, 6, 6]
    number = number_kinds(kinds)
    steps = [kind.members[0] for kind in kinds]
    assert number[steps.index(20)] == number[steps.index(80)] != number[steps.index(50)]


def test_a_single_demonstration_and_none():
    kinds = group([demonstration((20, 0), (60, 1))], LENGTHS[:1])
    assert [(kind.members, kind.shared) for kind in kinds] == [({0: 20}, True), ({0: 60}, True)]
    assert group([demonstration()] * 3, LENGTHS[:3]) == []
