"""Recipes: files with all settings of a model (recipes/NAME.toml)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from infoatlas_train.config import HypernetworkConfig
from infoatlas_train.fit_correction import KINDS, Plan
from infoatlas_train.options import LOCAL, Options

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

SECTIONS = (
    "name", "version", "network", "pretrain", "examples", "correction", "calibration", "evaluation",
)  # fmt: skip
PRETRAIN = {f.name for f in fields(Options)} - {*LOCAL, "preset"}  # names in [pretrain]
OPTIONAL = ("start",)  # a smaller network that is trained first: other settings, or a recipe


class RecipeError(ValueError):
    """The recipe is invalid, or does not match the files of the folder."""


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
    known = {
        "network": {f.name for f in fields(HypernetworkConfig)} - {"gap", "gap_share"},
        "pretrain": PRETRAIN,
        "examples": {f.name for f in fields(Plan)},
        "correction": {"seed", "steps", "metrics", "share", "times"},
        "calibration": {"seed", "draws", "wide"},
        "evaluation": {"seed", "draws", "sizes"},
    }
    parts = {section: recipe[section] for section in known}
    if not isinstance(recipe.get("start", {}), dict):
        raise RecipeError(f"{path}: start is a section: write [start] on a line of its own")
    if "recipe" in recipe.get("start", {}):
        if not isinstance(recipe["start"]["recipe"], str):
            raise RecipeError(f"{path}: recipe in [start] has to be the name of a file, in quotes")
        known["start"], parts["start"] = {"recipe"}, recipe["start"]
        other = own.parent / recipe["start"]["recipe"]
        recipe["start"] = {"recipe": read_recipe(other, (*started_by, own))}
    elif "start" in recipe:
        known |= {"start": {"network", "pretrain"}}
        parts |= {"start": recipe["start"]}
        for section in known["start"]:
            known[f"start.{section}"] = known[section]
            parts[f"start.{section}"] = recipe["start"].get(section, {})
    for section, names in known.items():
        check_names(f"{path}: [{section}]", parts[section], names)
    correction = recipe["correction"]
    try:
        HypernetworkConfig(gap=correction["metrics"], gap_share=correction.get("share", 0.0))
    except ValueError as error:
        raise RecipeError(f"{path}: [correction] has {error}") from error
    times = correction.get("times", {})
    check_names(f"{path}: [correction.times]", times, set(recipe["examples"].get("kinds", KINDS)))
    for kind, count in times.items():
        if not isinstance(count, int) or count < 1:
            raise RecipeError(f"{path}: [correction.times] has {kind} = {count!r}: 1, 2, 3, ...")
    return recipe


def check_names(section: str, given: Iterable[str], known: set[str]) -> None:
    """Raise RecipeError if a section has unknown names."""
    unknown = sorted(set(given) - known)
    if unknown:
        raise RecipeError(
            f"{section} has no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
