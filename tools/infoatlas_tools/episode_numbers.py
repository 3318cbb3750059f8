"""Numbers of demonstrations: where a number that a person gives is in the data."""

import re
from collections.abc import Sequence

from infoatlas_rt.errors import InputError

from .presentation import first_names

_DIGITS = re.compile("[0-9]+")


def episode_numbers(names: Sequence[str]) -> list[str]:
    """The number in each name, without leading zeros; empty where it is not clear.

    If names differ in digits alone, it is the only number that differs. Otherwise it is the only
    number of the name.
    """
    every = [[digits.lstrip("0") or "0" for digits in _DIGITS.findall(name)] for name in names]
    if len({_DIGITS.sub("0", name) for name in names}) == 1:
        differing = [own for own in zip(*every, strict=True) if len(set(own)) > 1 or len(own) == 1]
        return list(differing[0]) if len(differing) == 1 else [""] * len(every)
    return [own[0] if len(own) == 1 else "" for own in every]


def find_episode(given: str, names: Sequence[str]) -> int:
    """Place of the demonstration with this name, or with this number in its name.

    Without digits in any name, a number is the place. InputError if there is no such demonstration,
    or more than one.
    """
    number = given.lstrip("0") or "0" if _DIGITS.fullmatch(given) else None
    found = [i for i, name in enumerate(names) if name == given]
    if number is not None and not found:
        own = episode_numbers(names)
        own = own if any(map(_DIGITS.search, names)) else [str(i) for i in range(len(names))]
        found = [i for i, each in enumerate(own) if each == number]
    if len(found) != 1:
        several = f"several demonstrations {given}" if found else f"no demonstration {given}"
        shown = first_names([names[i] for i in found] or names, 8)
        raise InputError(f"there is {several}, but {shown}: give the number or the name of one")
    return found[0]
