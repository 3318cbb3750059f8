"""Recipes: files with all settings of a model (recipes/NAME.toml)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from infoatlas_rt.errors import InputError
from infoatlas_train.config import HypernetworkConfig, check_positive
from infoatlas_train.data.atlas import Atlas
from infoatlas_train.fit_correction import KINDS, Plan
from infoatlas_train.model.infoatlas import parameters_by_part
from infoatlas_train.model.objective import OBJECTIVES
from infoatlas_train.options import LOCAL, Options

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


class RecipeError(InputError):
    """The recipe is invalid, or does not match the files of the folder."""


@dataclass(frozen=True)
class Correction:
    """Section [correction]."""

    seed: int
    steps: int
    metrics: int
    share: float = 0.0
    times: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_positive(self, "steps metrics")
        HypernetworkConfig(gap=self.metrics, gap_share=self.share)


@dataclass(frozen=True)
class Calibration:
    """Section [calibration]."""

    seed: int
    draws: int
    wide: int

    def __post_init__(self) -> None:
        check_positive(self, "draws wide")


@dataclass(frozen=True)
class Evaluation:
    """Section [evaluation]."""

    seed: int
    draws: int
    sizes: list[int]

    def __post_init__(self) -> None:
        check_positive(self, "draws")
        if not self.sizes or not all(type(n) is int and n > 0 for n in self.sizes):
            raise ValueError(f"sizes is {self.sizes}: use numbers of samples")


# Types of values by the annotation of a field, and what to write in a recipe.
VALUES: dict[type, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number, 0 or more"),
    float: ((int, float), "a number, 0 or more"),
    bool: ((bool,), "true or false"),
    str: ((str,), "a text in quotes"),
    dict: ((dict,), "a section of its own"),
    list: ((list,), "a list"),
}
TABLES: dict[str, Any] = {
    "network": HypernetworkConfig, "pretrain": Options, "examples": Plan,
    "correction": Correction, "calibration": Calibration, "evaluation": Evaluation,
}  # fmt: skip
SECTIONS = ("name", "version", *TABLES)
# Fields that a recipe does not set.
NOT_SET = {HypernetworkConfig: {"gap", "gap_share"}, Options: {*LOCAL, "preset"}, Atlas: {"dim"}}
PRETRAIN = {f.name for f in fields(Options)} - NOT_SET[Options]  # names in [pretrain]
OPTIONAL = ("start",)  # a smaller network that is trained first: other settings, or a recipe


def read_recipe(path: str | Path, started_by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read and check a recipe, and the recipe that it starts with, if any.

    RecipeError if a section is missing, a name is unknown, or a recipe starts with itself.
    """
    own = Path(path).resolve()
    if own in started_by:
        raise RecipeError(f"{path} starts with itself: name another recipe in its [start]")
    try:
        recipe = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error
    if set(recipe) - set(OPTIONAL) != set(SECTIONS):
        wrong = ", ".join(sorted((set(recipe) - set(OPTIONAL)) ^ set(SECTIONS)))
        raise RecipeError(f"{path}: {wrong} missing or unknown; a recipe has {', '.join(SECTIONS)}")
    for name in ("name", "version"):
        if not isinstance(recipe[name], str) or not recipe[name]:
            raise RecipeError(f"{path}: {name} is {recipe[name]!r}: write a text in quotes")
    for section, of in TABLES.items():
        _check_section(f"{path}: [{section}]", recipe[section], of)
    start = recipe.get("start", {})
    if not isinstance(start, dict):
        raise RecipeError(f"{path}: start is a section: write [start] on a line of its own")
    if "recipe" in start:
        if not isinstance(start["recipe"], str):
            raise RecipeError(f"{path}: recipe in [start] has to be the name of a file, in quotes")
        check_names(f"{path}: [start]", start, {"recipe"})
        other = own.parent / start["recipe"]
        recipe["start"] = {"recipe": read_recipe(other, (*started_by, own))}
    elif start:
        check_names(f"{path}: [start]", start, {"network", "pretrain"})
        for section, given in start.items():
            place = f"{path}: [start.{section}]"
            check_names(place, given, {f.name for f in fields(TABLES[section])})
            _check_section(place, recipe[section] | given, TABLES[section])
    times = recipe["correction"].get("times", {})
    check_names(f"{path}: [correction.times]", times, set(recipe["examples"].get("kinds", KINDS)))
    for kind, count in times.items():
        if not isinstance(count, int) or count < 1:
            raise RecipeError(f"{path}: [correction.times] has {kind} = {count!r}: 1, 2, 3, ...")
    return recipe


def _check_section(place: str, given: Any, of: Any) -> None:
    """Raise RecipeError unless a section has known names, of the right types and values."""
    if not isinstance(given, dict):
        raise RecipeError(f"{place} is {given!r}: write it as a section of its own")
    own = [f for f in fields(of) if f.name not in NOT_SET.get(of, ())]
    check_names(place, given, {f.name for f in own})
    for f in own:
        kind = get_args(f.type)[0] if isinstance(f.type, UnionType) else f.type  # without `| None`
        types, wanted = VALUES[get_origin(kind) or kind]
        value = given.get(f.name, f.default)
        if f.name in given and (type(value) not in types or (int in types and value < 0)):
            raise RecipeError(f"{place} has {f.name} = {value!r}: write {wanted}")
        for key, number in value.items() if isinstance(value, dict) and f.name != "atlas" else ():
            if type(number) not in (int, float) or (of is Options and not key.isdecimal()):
                raise RecipeError(f"{place} has {f.name}.{key} = {number!r}: write numbers")
    if "atlas" in given:
        _check_section(f"{place[:-1]}.atlas]", given["atlas"], Atlas)
    if given.get("objective", OBJECTIVES[0]) not in OBJECTIVES:
        raise RecipeError(
            f"{place} has objective = {given['objective']!r}: {', '.join(OBJECTIVES)}"
        )
    try:
        made = of(**with_sizes(given) if of is Options else given)
        if of is HypernetworkConfig:
            parameters_by_part(made)
    except (TypeError, ValueError, AssertionError, RuntimeError) as error:
        raise RecipeError(f"{place} cannot be used: {error}") from error


def with_sizes(section: dict[str, Any]) -> dict[str, Any]:
    """A section [pretrain] with sizes as numbers: keys of a TOML table are strings."""
    tables = {name: section[name] for name in ("sizes", "held_out") if name in section}
    return section | {name: {int(n): v for n, v in of.items()} for name, of in tables.items()}


def check_names(section: str, given: Iterable[str], known: set[str]) -> None:
    """Raise RecipeError if a section has unknown names."""
    unknown = sorted(set(given) - known)
    if unknown:
        raise RecipeError(
            f"{section} has no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
