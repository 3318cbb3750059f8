"""Features of a LeRobot data set: which ones to read, and the names of their columns.

`meta/info.json` describes each feature by `dtype`, `shape` and `names`. `names` may be a list, a
list of lists, a dictionary of lists or of dictionaries, a dictionary of places, or absent.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

STATE = "observation.state"
COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
OBSERVED = ("observation", "observations", "obs", "state", "states", "qpos")
DEEPEST_NAMES = 8  # lists in lists of names
FEATURES_SHOWN = 20  # features in a message, at most
NUMBERS, FLAGS, PICTURES, OTHER = "numbers", "truth values", "pictures", "neither numbers nor flags"


def choose_features(
    features: dict[str, Any], wanted: Sequence[str] | None, folder: Path
) -> tuple[list[str], list[str]]:
    """Features to read, and sentences about the choice.

    `features` are those of `meta/info.json`, and `folder` is for messages. `wanted` are names of
    features. If None, `observation.state`. If that is absent, all features of numbers that begin
    with "observation.state."; if those are absent, the only observation of numbers.
    """
    kinds = {name: kind_of_feature(about) for name, about in features.items()}
    if wanted is None:
        return _default(features, kinds, folder)
    if not isinstance(wanted, list | tuple) or not all(isinstance(n, str) for n in wanted):
        raise InputError(f"features are {wanted!r}: pass a list of names, as [{STATE!r}]")
    chosen = list(wanted)
    missing = [name for name in chosen if name not in kinds]
    if missing or not chosen:
        what = f"has no feature {', '.join(missing)}" if missing else "was given no feature"
        raise InputError(f"{folder} {what}: {_ways(features, kinds)}")
    if len(set(chosen)) < len(chosen):
        raise InputError(f"features are {chosen}: name each of them once")
    notes = []
    for name in chosen:
        if kinds[name] in (PICTURES, OTHER):
            raise InputError(f"{folder}: {name} contains {kinds[name]}: {_ways(features, kinds)}")
        if kinds[name] == FLAGS:
            notes.append(f"{name} contains truth values: key states that follow it are no finding.")
    return chosen, notes


def kind_of_feature(about: Any) -> str:
    """Kind of content of a feature, by its `dtype`; without one it counts as numbers."""
    dtype = about.get("dtype") if isinstance(about, dict) else about
    if dtype is None:
        return NUMBERS
    for kind, beginnings in (
        (NUMBERS, ("float", "int", "uint", "double", "half")),
        (FLAGS, ("bool",)),
        (PICTURES, ("image", "video")),
    ):
        if isinstance(dtype, str) and dtype.startswith(beginnings) and isinstance(about, dict):
            return kind
    return OTHER


def shape_of(about: Any) -> tuple[int, ...] | None:
    """Shape of a feature; None if `meta/info.json` has no valid one."""
    given = about.get("shape") if isinstance(about, dict) else None
    sizes = given if isinstance(given, list) else [given]
    if not all(type(size) is int and size > 0 for size in sizes):
        return None
    return tuple(sizes)


def _default(
    features: dict[str, Any], kinds: dict[str, str], folder: Path
) -> tuple[list[str], list[str]]:
    if kinds.get(STATE) == NUMBERS:
        return [STATE], []
    parts = [name for name in kinds if name.startswith(f"{STATE}.")]
    observed = [
        name
        for name, kind in kinds.items()
        if kind == NUMBERS and name.split(".")[0] in OBSERVED and name not in parts
    ]
    chosen = [name for name in parts if kinds[name] == NUMBERS]
    if not chosen and len(observed) == 1:
        chosen = observed
    if not chosen:
        raise InputError(f"{folder} has no numbers {STATE}: {_ways(features, kinds)}")
    note = f"There is no {STATE}: {', '.join(chosen)} is read instead (--features chooses)."
    flags = [name for name in parts if kinds[name] == FLAGS]
    if flags:
        note += f" Truth values are left out: {', '.join(flags)}."
    return chosen, [note]


def _ways(features: dict[str, Any], kinds: dict[str, str]) -> str:
    """Text for a choice that does not work: the features that can be read."""
    texts = []
    for kind in (NUMBERS, FLAGS):
        found = [
            f"{name} {list(shape_of(features[name]) or ['?'])}".replace("'", "")
            for name, own in kinds.items()
            if own == kind and name not in COUNTERS
        ]
        more = f" and {len(found) - FEATURES_SHOWN} others" if len(found) > FEATURES_SHOWN else ""
        if found:
            texts.append(f"{kind} are {', '.join(found[:FEATURES_SHOWN])}{more}")
    listed = "; ".join(texts) or "it has none of numbers"
    return f"pass --features NAME (features=[NAME] in Python); {listed}"


def column_names(feature: str, about: Any, width: int) -> tuple[list[str], str]:
    """Names of the columns of a feature, and a note if the given names cannot be used.

    `about` is its entry in `meta/info.json`. The `width` names are different and begin with that of
    the feature. Columns of several dimensions are flattened, the last one fastest.
    """
    about = about if isinstance(about, dict) else {}
    given, shape = about.get("names"), shape_of(about) or (width,)
    found = _different(_fitting(given, width, shape))
    if found:
        return [f"{feature}.{name}" for name in found], ""
    count = len(list(_leaves(given)))
    axes = count == len(shape) or given is None or count == 0  # a name of a dimension, as ["state"]
    note = "" if axes else f"{count} names of {feature} are given to {width} columns"
    if math.prod(shape) == width and len(shape) > 1:
        numbered = [".".join(map(str, place)) for place in product(*map(range, shape))]
        how = f"{note}: they are numbered by row and column." if note else ""
        return [f"{feature}.{number}" for number in numbered], how
    numbered = [feature] if width == 1 else [f"{feature}.{column}" for column in range(width)]
    return numbered, f"{note}: they are numbered." if note else ""


Leaf = tuple[tuple[str, ...], Any]


def _leaves(given: Any, path: tuple[str, ...] = (), depth: int = 0) -> Iterator[Leaf]:
    """Values in lists and dictionaries, in their order, and the path of keys to each."""
    if isinstance(given, dict | list) and depth < DEEPEST_NAMES:
        pairs = given.items() if isinstance(given, dict) else ((None, value) for value in given)
        for key, value in pairs:
            yield from _leaves(value, path if key is None else (*path, str(key)), depth + 1)
    else:
        yield path, given


def _fitting(given: Any, width: int, shape: tuple[int, ...]) -> list[Leaf]:
    """As many names as columns, with the keys above each; empty if there are none."""
    leaves = list(_leaves(given))
    if len(leaves) == width:
        if all(type(leaf) is int for _, leaf in leaves) and all(path for path, _ in leaves):
            return _sort_by_place(leaves)  # {"x": 0, "y": 1}
        return leaves if all(_is_name(leaf) for _, leaf in leaves) else []
    if isinstance(given, dict) and len(given) == width:  # {"shoulder": [1, "sts3215"]}
        return [((), str(key)) for key in given]
    if len(shape) != 2 or math.prod(shape) != width or not all(_is_name(n) for _, n in leaves):
        return []
    texts = [str(leaf) for _, leaf in leaves]
    rows, columns = ([str(i) for i in range(size)] for size in shape)
    if isinstance(given, list) and [len(part) for part in given if isinstance(part, list)] == [
        *shape
    ]:
        rows, columns = texts[: shape[0]], texts[shape[0] :]
    elif len(texts) == shape[1]:
        columns = texts
    elif len(texts) == shape[0]:
        rows = texts
    else:
        return []
    return [((), f"{row}.{column}") for row in rows for column in columns]


def _sort_by_place(leaves: list[Leaf]) -> list[Leaf]:
    """Keys in the order of their places; empty if the places are not 0, 1, 2, and so on."""
    places = [place for _, place in leaves]
    keys: list[Leaf] = [((), ".".join(path)) for path, _ in leaves]
    order = sorted(range(len(places)), key=lambda i: places[i])
    consecutive = [places[i] - places[order[0]] for i in order] == list(range(len(places)))
    ascending = order == list(range(len(places))) and len(set(places)) == len(places)
    return [keys[i] for i in order] if consecutive or ascending else []


def _different(leaves: list[Leaf]) -> list[str]:
    """Names, made unique by the keys above them or by their place; empty if that fails."""
    names = [str(leaf) for _, leaf in leaves]
    if len(set(names)) < len(names):
        names = [".".join((*path, str(leaf))) for path, leaf in leaves]
    counts = Counter(names)
    names = [f"{name}.{i}" if counts[name] > 1 else name for i, name in enumerate(names)]
    return names if len(set(names)) == len(names) else []


def _is_name(leaf: Any) -> bool:
    return type(leaf) in (int, float) or (isinstance(leaf, str) and leaf.strip() != "")
