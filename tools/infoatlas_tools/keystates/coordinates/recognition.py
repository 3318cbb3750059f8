"""Finds the columns of recorded states that are a rotation or an angle that wraps.

Recognition is by values. A quaternion has norm 1 in all rows, although its components vary. A
rotation matrix is orthonormal. An angle jumps by a full turn (`wraps.py`). A rotation vector, or
Euler angles, jump to other numbers of the same rotation. Names decide the order of
columns. Euler angles and rotation vectors without jumps are recognised by names alone.

A wrong recognition would change the motion. So the values have to fit in all rows except a few, and
those have to be far off (`outliers.py` replaces them).
"""

import re
from collections.abc import Sequence

import numpy as np

from infoatlas_rt.live.quaternions import (
    EULER,
    MATRIX,
    QUATERNION,
    SIX,
    VECTOR,
    Group,
    quaternions,
    valid,
)

from ...array_types import Bool, Float
from ...columns import without_unit
from .outliers import jumps
from .wraps import TURN, allowed, angles_between, few_values, find_angles, find_last_good, some_rows

UNIT = 5e-3  # tolerance of squared norms and products of unit vectors with three decimals
UNITS = ("deg", 360.0), ("rad", TURN)
# Roll, pitch and yaw of these joints are single joint angles, not Euler angles of a body.
JOINTS = re.compile(
    r"shoulder|hip|waist|torso|wrist|ankle|elbow|neck|head|knee|finger|thumb|leg|arm|joint"
)
NO_ANGLES = re.compile(
    r"vel|rate|acc|omega|torque|force|effort|wrench|/ ?s|s\^?-1|dps|[\[(][cm]?m[\])]|^p_"
)
VECTORS = re.compile(r"rot_?vec|rotation_?vector|axis_?angle|axang")
HINTS = re.compile(r"q|rot|ori")


def recognise(columns: Float, first: Bool, names: Sequence[str], free: Bool) -> list[Group]:
    """Groups of columns that hold a rotation or an angle, in order; no column is in two of them.

    The columns [d, n] are all demonstrations end to end, and `first` [n] the first row of each.
    There are d names, or none. `free` [d] are the columns that may be used.
    """
    free = free.copy()
    if max(columns.max(), -columns.min()) > 1e30:
        columns = columns.astype(np.float64).clip(-1e30, 1e30)  # squares of others overflow
    varying = (columns != columns[:, :1]).any(axis=1)
    lower = [name.lower() for name in names]
    found: list[Group] = []

    def take(groups: list[Group]) -> None:
        for group in groups:
            at = list(group.columns)
            if free[at].all() and varying[at].sum() >= min(2, len(at)):
                free[at] = False
                found.append(group)

    # Matrices first: four entries of a matrix can be a unit quaternion.
    take(_matrices(columns))
    take(_quaternions(columns, first, lower))
    take(_named_triples(columns, first, lower))
    top = np.array([jumps(column, first).max() for column in columns])
    apart = np.array([bool(JOINTS.search(name) or NO_ANGLES.search(name)) for name in lower])
    take(_jumping_triples(columns, top, first, free & ~apart if names else free))
    take(find_angles(columns, first, free))
    return sorted(found, key=lambda group: min(group.columns))


def turn_of(values: Float) -> float:
    """A full turn of angles [m, n]: degrees are above a turn in radians, and at most 720."""
    size = np.abs(values).max(axis=0).astype(np.float64)
    return 360.0 if (size[size <= 720.0] > 2.1 * np.pi).sum() > allowed(values.shape[1]) else TURN


def label(columns: Sequence[int], names: Sequence[str]) -> str:
    """The beginning that the names of a group's columns share, or their numbers."""
    if not names:
        low, high = min(columns), max(columns)
        return str(low) if low == high else f"{low}-{high}"
    own = [names[c] for c in columns]
    if len(own) == 1:
        return own[0]
    stem = own[0][: _count_shared(own)]
    # "tool.q" of tool.qw to tool.qz, "tool.r" of tool.rx to tool.rz
    return re.sub(r"(^|[._/ -])[qr]$", r"\1", stem).rstrip("._/ -[(")


def _near(error: Float, tolerance: float) -> Bool | None:
    """Rows within the tolerance, if the others are few and far off (faults); None otherwise."""
    near = np.asarray(error <= tolerance)
    others = error[~near]
    return near if len(others) <= allowed(len(error)) and (others > 0.2).all() else None


def _compensate(squares: Float) -> bool:
    """Whether squares [m, n] vary while their sum over m does not."""
    single = squares.std(axis=1).max()
    return bool(single > 0 and squares.sum(axis=0).std() <= 0.1 * single)


def _has_few_values(values: Float) -> bool:
    """Whether the column of [m, n] that varies most has few values, as in one-hot codes."""
    return few_values(values[values.clip(-1, 1).std(axis=1).argmax()])


def _matrices(columns: Float) -> list[Group]:
    """Orthonormal rows, next to each other or, in poses of 4 x 4 numbers, every four columns."""
    d = len(columns)
    found: list[Group] = []
    few = some_rows(columns)
    for kind, rows, stride in ((MATRIX, 3, 3), (MATRIX, 3, 4), (SIX, 2, 3)):
        for c in range(d - (rows - 1) * stride - 2):
            at = [c + stride * i + j for i in range(rows) for j in range(3)]
            if any(set(at) & set(group.columns) for group in found):
                continue
            if _orthonormal(few[at], rows) and _orthonormal(columns[at], rows):
                found.append(Group(kind, tuple(at)))
    return found


def _orthonormal(values: Float, rows: int) -> bool:
    m = values.astype(np.float64).reshape(rows, 3, -1)
    products = np.einsum("ijn,kjn->ikn", m, m)
    error = np.abs(products - np.eye(rows)[..., None]).max(axis=(0, 1))
    if rows == 3:
        determinant = (m[0] * np.cross(m[1], m[2], axis=0)).sum(axis=0)
        error = np.maximum(error, np.abs(determinant - 1))
    near = _near(error, 2 * UNIT)
    if near is None:
        return False
    # Constant unit vectors have the right norm, too, but need not be a rotation.
    return not _has_few_values(values) and any(_compensate(row[:, near] ** 2) for row in m)


def _quaternions(columns: Float, first: Bool, names: Sequence[str]) -> list[Group]:
    d, few = len(columns), some_rows(columns).astype(np.float64)
    found: list[tuple[int, float, Group]] = []
    for c in range(d - 3):
        order = _letters(names[c : c + 4]) if names else None
        hinted = order is not None and all(HINTS.search(name) for name in names[c : c + 4])
        tolerance = 0.1 if hinted else UNIT  # names make up for coarse values
        if names and order is None and not anonymous(names[c : c + 4]):
            continue
        if _near(np.abs((few[c : c + 4] ** 2).sum(axis=0) - 1), tolerance) is None:
            continue
        values = columns[c : c + 4].astype(np.float64)
        error = np.abs((values**2).sum(axis=0) - 1)
        near = _near(error, tolerance)
        if near is None or _has_few_values(values):
            continue
        if not hinted and not _compensate(values[:, near] ** 2):
            good = near[1:] & near[:-1] & ~first[1:]
            if not ((values[:, 1:] * values[:, :-1]).sum(axis=0)[good] < -0.9).any():
                continue
        at = tuple(c + i for i in (order or (0, 1, 2, 3)))
        found.append((0 if hinted else 1, float(error[near].mean()), Group(QUATERNION, at)))
    return [group for _, _, group in sorted(found, key=lambda entry: entry[:2])]


def _letters(names: Sequence[str]) -> tuple[int, ...] | None:
    """Places of w, x, y, z among four names that end in these letters, and in what all share."""
    bare = [without_unit(name) for name in names]
    shared = _count_shared([name[::-1] for name in bare])
    last = [name[: len(name) - shared][-1:] for name in bare]
    return tuple(last.index(a) for a in "wxyz") if sorted(last) == sorted("wxyz") else None


def _count_shared(texts: Sequence[str]) -> int:
    """Number of characters at the beginning that texts share."""
    low, high = min(texts), max(texts)
    return next((i for i, a in enumerate(low) if a != high[i : i + 1]), len(low))


def anonymous(names: Sequence[str]) -> bool:
    """Whether names differ by their numbers alone, as "state_3" and "state_4" do, or are none."""
    return len({re.sub(r"\d+", "#", name) for name in names}) <= 1


def _named_triples(columns: Float, first: Bool, names: Sequence[str]) -> list[Group]:
    found = []
    for c in range(len(names) - 2):
        own = names[c : c + 3]
        kinds = [] if any(map(NO_ANGLES.search, own)) else _kinds([*map(without_unit, own)])
        choices = []
        for kind, order in kinds:
            at = tuple(c + i for i in order)
            units = [name[len(without_unit(name)) :] for name in own]
            stated = [size for unit, size in UNITS if all(unit in text for text in units)]
            group = Group(kind, at, stated[0] if stated else turn_of(columns[list(at)]))
            values = columns[list(at)].T.astype(np.float64)
            good = valid(group, values)
            if (~good).sum() <= allowed(len(good)):
                pair = good[1:] & good[:-1] & ~first[1:]
                q = quaternions(group, values[find_last_good(good, first)])
                angle = angles_between(q[:-1], q[1:])[pair]
                choices.append((float(angle.max(initial=0.0)), group))
        if choices:
            # Names such as "rx" are used for both kinds; the true one has no jumps.
            least = min(angle for angle, _ in choices)
            found.append(next(group for angle, group in choices if angle <= 1.05 * least + 1e-9))
    return found


def _kinds(names: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Possible kinds of three columns by their names, the likelier one first, with the order."""
    ends = [re.search(r"(roll|pitch|yaw)$", name) for name in names]
    tails = [end.group() if end else "" for end in ends]
    if sorted(tails) == ["pitch", "roll", "yaw"]:
        if any(JOINTS.search(name) for name in names):
            return []
        return [(EULER, tuple(tails.index(a) for a in ("roll", "pitch", "yaw")))]
    last = "".join(re.sub(r"[\])]$", "", name)[-1:] for name in names)
    if last not in ("xyz", "012", "123"):
        return []
    for pattern, kinds in (
        (VECTORS.pattern, [VECTOR]),
        (r"euler|rpy", [EULER]),
        (r"((^|[._/ -])r|rot|rotation)[._/ \[-]?[xyz]\]?$", [VECTOR, EULER]),
    ):
        if all(re.search(pattern, name) for name in names):
            return [(kind, (0, 1, 2)) for kind in kinds]
    return []


def _jumping_triples(columns: Float, top: Float, first: Bool, free: Bool) -> list[Group]:
    """Triples that jump to other numbers of the same rotation: rotation vectors, Euler angles.

    `top` [d] are the largest increments of the columns [d, n].
    """
    found = []
    for c in range(len(columns) - 2):
        at = [c, c + 1, c + 2]
        if not free[at].all() or np.sort(top[at])[1:].sum() < 2.0:
            continue
        for group in (Group(VECTOR, tuple(at)), Group(EULER, tuple(at), turn_of(columns[at]))):
            worst = _jumps_explained(group, columns[at], first)
            if worst is not None:
                found.append((worst, group))
                break
    return [group for _, group in sorted(found, key=lambda entry: entry[0])]


def _jumps_explained(group: Group, columns: Float, first: Bool) -> float | None:
    """The largest turn at jumps of the numbers [3, n], if there are jumps without a turn.

    None if there are no such jumps, or if others are not few.
    """
    columns = columns.astype(np.float64)
    good = valid(group, columns.T)
    if (~good).sum() > allowed(len(good)):
        return None
    values = columns.T[find_last_good(good, first)]
    size = values * (2 * np.pi / group.turn)
    inner = np.flatnonzero(~first[1:])
    before, after = size[inner], size[inner + 1]
    change = np.abs(after - before)
    length = np.sqrt((change**2).sum(axis=1))
    if group.kind == VECTOR:
        jumps = length > 5.0
        if np.abs(size).max() > 2 * np.pi + 0.1 or length[~jumps].max(initial=0.0) > 3.5:
            return None
    else:
        jumps = length > 2.0
        limits = np.array([np.pi, np.pi / 2, np.pi]) + 0.02
        if (np.abs(size) > limits).any():
            return None
    at = inner[jumps]
    turns = angles_between(quaternions(group, values[at]), quaternions(group, values[at + 1]))
    if (turns > 1.0).sum() > len(turns) / 2:  # no rotation: skip the other rows
        return None
    q = quaternions(group, values)
    angle = angles_between(q[:-1], q[1:])[inner]
    explained = turns <= 2 * float(angle[~jumps].max(initial=0.0)) + 0.05
    if not explained.any() or (~explained).sum() > min(6, explained.sum()):
        return None
    if group.kind == EULER:  # past the gimbal lock, roll and yaw jump by half a turn
        proof = bool(((change[jumps][explained] > 2.0).sum(axis=1) >= 2).any())
    else:
        # In such a jump all components change their signs. If only one angle wraps, the others do
        # not.
        rows = np.arange(int(jumps.sum()))[explained]
        small = np.argsort(change[jumps][explained], axis=1)[:, :2]
        old, new = (np.take_along_axis(v[jumps][rows], small, axis=1) for v in (before, after))
        usual = np.median(np.abs(change[~jumps]))
        flip, stay = np.abs(new - old).sum(), np.abs(new + old).sum()
        proof = bool(2 * stay < flip and flip > 5 * usual * small.size)
    return float(turns[explained].max()) if proof else None
