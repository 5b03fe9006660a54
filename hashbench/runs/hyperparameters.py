"""The hyper-parameters of a run, from the method's file, the recipe of its network, and the user.

``experiments/methods/METHOD.toml`` holds the values that belong to the method and those that its authors set.
``experiments/recipes/RECIPE.toml`` says how a network is trained on a data set, for all methods. Each value names its
source.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from hashbench.contract import PIXELS
from hashbench.features import FEATURES, split_checksum
from hashbench.foundation import config, paths
from hashbench.foundation.config import Setting, Strict, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.keeping import kept
from hashbench.methods import METHODS
from hashbench.models import MODELS
from hashbench.training.settings import DeepSettings, TrainingSettings

SETTLED = ("model", "base", "features")  # the settings on which other settings depend, so they are chosen first
RECIPES = ("experiments", "recipes")  # the folder of the recipes in a root
DATA = ("dataset", "protocol", "budget")  # the names that decide the default model of a run


class Parameter(Strict):
    """The value of a hyper-parameter, the kind of its source, and a note on where it comes from.

    ``released`` is the authors' own value where ``value`` is another one; ``note`` then says why it is another.
    """

    value: Setting
    source: Literal["paper", "code", "ours"]
    note: str = ""
    released: Setting | None = None

    @model_validator(mode="after")
    def _a_difference_is_explained(self) -> Self:
        if self.released is not None and not self.note:
            raise ValueError("a released value that is not ours needs a note that says why")
        return self

    def sourced(self) -> "Sourced":
        """The value with its source."""
        return Sourced(self.value, self.source, self.note, released=self.released)


@dataclass(frozen=True)
class Sourced:
    """The value of a setting of a run, where it comes from, and a note on that.

    ``source`` is paper, code or ours (the method's file), recipe (then ``recipe`` is its name), command line, default
    (of the method's settings), or run: a setting of the base's run that follows from the run that needs it.
    ``released`` is the authors' own value, if it is known and is not ``value``.
    """

    value: Setting
    source: Literal["paper", "code", "ours", "recipe", "command line", "default", "run"]
    note: str = ""
    recipe: str | None = None
    released: Setting | None = None

    @property
    def of_authors(self) -> Setting | None:
        """The value that the authors printed or released; None if none is known."""
        return self.value if self.released is None and self.source in ("paper", "code") else self.released


class Conditional(Strict):
    """Values for the runs that match all names given here; a name that is left out matches every run.

    ``features`` is a kind of features: ``resnet9`` for those of all weights, such as ``resnet9_0123456789ab``.
    """

    dataset: str | None = None
    protocol: str | None = None
    model: str | None = None
    features: str | None = None
    budget: str | None = None
    why: str
    parameters: dict[str, Parameter]

    def conditions(self) -> dict[str, str]:
        """The names that a run must match."""
        named = ((key, getattr(self, key, None)) for key in (*DATA, *SETTLED, "bits", "recipe"))
        return {key: str(value) for key, value in named if value is not None}

    def fits(self, names: Mapping[str, str]) -> bool:
        """Whether a run with these ``names`` matches all conditions."""
        return self.conditions().items() <= names.items()

    def values(self) -> dict[str, Setting]:
        """The values without their sources."""
        return {key: parameter.value for key, parameter in self.parameters.items()}

    def sourced(self, recipe: str | None) -> dict[str, Sourced]:
        """The values with their sources; ``recipe`` is the name of the recipe that this is, None: it is none.

        A value of a variant without a note of its own has the reason of the variant.
        """
        if recipe is None:
            own = _sourced(self.parameters)
            return {key: each if each.note else replace(each, note=self.why) for key, each in own.items()}
        notes = {key: f"{own.source}: {own.note}" if own.note else own.source for key, own in self.parameters.items()}
        return {
            key: Sourced(own.value, "recipe", notes[key], recipe, own.sourced().of_authors)
            for key, own in self.parameters.items()
        }


def _sourced(parameters: Mapping[str, Parameter]) -> dict[str, Sourced]:
    return {key: own.sourced() for key, own in parameters.items()}


class Variant(Conditional):
    """Values of one method for some data, network, bits, base or recipe: they replace its general ones.

    Where two match, the later one wins.
    """

    bits: int | None = None
    base: str | None = None  # the loss of the metric network, for methods that start from one
    recipe: str | None = None  # the recipe of the run: the variant holds this method's differences from it


class Recipe(Conditional):
    """How a network is trained: a file of experiments/recipes/.

    It sets what every trained method has (``TrainingSettings``) and nothing of one method's own, so that a method
    never lacks a setting that a recipe gives. ``default_model``: whether a run that names no network has this one.
    ``variants`` are its values for some of the data, which replace its general ones. ``same_as`` names a recipe for
    other data whose values this one has, and whose variants in the methods' files; it then has no values of its own.
    """

    title: str
    model: str
    default_model: bool = False
    same_as: str | None = None
    parameters: dict[str, Parameter] = {}
    variants: list[Conditional] = []

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if (self.same_as is None) != bool(self.parameters) or (self.same_as and self.variants):
            raise ValueError("a recipe has parameters, or the name of another one, same_as, whose values it has")
        return self


class MethodFile(Strict):
    """A file of experiments/methods/.

    ``budgets`` are the budgets of the method with a description each; the first one is the default.
    ``without_recipes`` are the recipes that are not used for the method, with the reason for each.
    """

    title: str
    paper: str
    summary: str
    budgets: dict[str, str] = Field({"full": "as the method's file says"}, min_length=1)
    parameters: dict[str, Parameter]
    without_recipes: dict[str, str] = {}
    variants: list[Variant] = []

    def budget(self, name: str | None) -> str:
        """``name``, or the default budget if it is None; raises HashbenchError if the method has no such budget."""
        if name is None:
            return next(iter(self.budgets))
        if name not in self.budgets:
            raise unknown(f"budget of {self.title}", name, self.budgets)
        return name


def location(method: str) -> Path:
    """The path of the method's file; for a method of another package it is beside the method's module."""
    if folder := METHODS.folder(method):
        return folder / f"{method}.toml"
    missing = paths.shipped() / "experiments" / "methods" / f"{method}.toml"
    return paths.entries("experiments", "methods").get(method, missing)


@kept
def load(method: str) -> MethodFile:
    """The file of ``method``; raises HashbenchError if it is missing or not valid."""
    return config.load(MethodFile, location(method))


@kept
def recipes() -> dict[str, Recipe]:
    """All recipes by name; raises HashbenchError if one of the files is not valid."""
    found = {name: _recipe(path) for name, path in paths.entries(*RECIPES).items()}
    for name, recipe in found.items():
        other = found.get(recipe.same_as or name)
        if other is None or (recipe.same_as and other.same_as) or other.model != recipe.model:
            raise HashbenchError(
                f"{'/'.join(RECIPES)}: {name}: same_as is the name of a recipe of {recipe.model} with values of "
                f"its own, not {recipe.same_as}"
            )
    return found


def resolve(file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Any]:
    """The values of all hyper-parameters of the run with these ``names``, as ``sourced`` finds them."""
    return {key: found.value for key, found in sourced(file, names, given).items()}


def sourced(file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Sourced]:
    """All hyper-parameters of the run with these ``names`` (data set, protocol, method, budget), with their sources.

    They are combined in this order; later values win:

    1. the general values of the method's ``file`` and its variants that match, which the authors set;
    2. the recipe that matches, which replaces the authors' schedule for its network, and its own variants that match;
    3. the variants that name this recipe: the method's differences from it;
    4. the values in ``given``.

    Model, base and features are chosen first, because the other values depend on them, as they do on the bits. Recipes
    apply to the deep methods of binary codes only (``DeepSettings``): a metric network draws its batches by class, on
    its authors' schedule.
    """
    by_recipes = _recipes_of(file, names["method"])
    typed = {key: Sourced(value, "command line") for key, value in given.items()}
    if "bits" in given:
        names = {**names, "bits": str(given["bits"])}
    settled = _settled(file, names, typed, by_recipes)
    known = {**names, **_known(settled)}
    chosen = _closest({name: recipe.conditions() for name, recipe in by_recipes.items()}, known)
    if chosen:
        chosen = by_recipes[chosen].same_as or chosen
    own = [variant for variant in file.variants if variant.recipe is None]
    on_recipe = [variant for variant in file.variants if variant.recipe is not None]
    of_recipe: list[Conditional] = [by_recipes[chosen], *by_recipes[chosen].variants] if chosen else []
    layers: list[Conditional] = [*own, *of_recipe, *on_recipe]
    found = {**_sourced(file.parameters), **settled}
    for layer in layers:
        is_chosen = chosen is not None and layer is by_recipes[chosen]  # perhaps by a recipe for other data
        if is_chosen or layer.fits({**known, "recipe": chosen or ""}):
            found.update(layer.sourced(None if isinstance(layer, Variant) else chosen))
    return {**found, **typed}


def _settled(
    file: MethodFile, names: Mapping[str, str], given: Mapping[str, Sourced], by_recipes: Mapping[str, Recipe]
) -> dict[str, Sourced]:
    """Model, base and features: as given, or from the method's file, or (model) the default model of a recipe."""
    found = _sourced(file.parameters)
    for variant in file.variants:
        if not variant.conditions().keys() & {*SETTLED, "recipe"} and variant.fits(names):
            found.update(variant.sourced(None))
    found.update(given)
    if by_recipes and "model" not in found:
        found["model"] = _default_model(by_recipes, names)
    return {key: found[key] for key in SETTLED if key in found}


def _known(settled: Mapping[str, Sourced]) -> dict[str, str]:
    """What conditions are compared with: the settled values; of features their kind, ``pixels`` if none are named."""
    known = {"features": PIXELS, **{key: str(found.value) for key, found in settled.items()}}
    return {**known, "features": split_checksum(known["features"])[0]}


def _default_model(by_recipes: Mapping[str, Recipe], names: Mapping[str, str]) -> Sourced:
    """The model of a run that does not name one."""
    usual = {name: recipe.conditions() for name, recipe in by_recipes.items() if recipe.default_model}
    of_data = {name: {key: own[key] for key in DATA if key in own} for name, own in usual.items()}
    chosen = _closest(of_data, names)
    if chosen is None:
        raise HashbenchError(
            f"{'/'.join(RECIPES)}: no recipe has a default model for {names['dataset']}: name one with --model"
        )
    return Sourced(by_recipes[chosen].model, "recipe", recipe=chosen)


def _closest(conditions: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> str | None:
    """The name of the most specific recipe whose ``conditions`` all match ``names``; None if none matches.

    Raises HashbenchError if two are equally specific.
    """
    holding = {name: own.items() for name, own in conditions.items() if own.items() <= names.items()}
    closest = [name for name, own in holding.items() if not any(own < other for other in holding.values())]
    if len(closest) > 1:
        run = " ".join(names[key] for key in (*DATA[:2], "model") if key in names)
        raise HashbenchError(
            f"{'/'.join(RECIPES)}: {' and '.join(closest)} fit {run} equally: give one of them another condition"
        )
    return closest[0] if closest else None


def _recipes_of(file: MethodFile, method: str) -> dict[str, Recipe]:
    """The recipes for the method, by name; none unless it is a deep method of binary codes."""
    found = recipes() if issubclass(METHODS.get(method).settings, DeepSettings) else {}
    for name in (*file.without_recipes, *(variant.recipe for variant in file.variants)):
        if name is not None and name not in found:
            raise HashbenchError(f"{location(method)}: {unknown('recipe', name, found)}")
    return {name: recipe for name, recipe in found.items() if name not in file.without_recipes}


def _recipe(path: Path) -> Recipe:
    recipe = config.load(Recipe, path)
    for each in (recipe, *recipe.variants):
        parse(_some_training_settings(), each.values(), str(path))
    if recipe.model not in MODELS.names:
        raise HashbenchError(f"{path}: {unknown('model', recipe.model, MODELS.names)}")
    kinds = [PIXELS, *FEATURES.names, *MODELS.names]
    if recipe.features is not None and recipe.features not in kinds:
        raise HashbenchError(f"{path}: {unknown('features', recipe.features, kinds)}")
    return recipe


@cache
def _some_training_settings() -> type[Strict]:
    """The type of a recipe's values: all training settings, with their checks, but none of them required."""
    of_network = {key: field for key, field in TrainingSettings.model_fields.items() if key != "model"}
    fields: dict[str, Any] = {
        key: (Annotated[(field.annotation, Field(), *field.metadata)], None) for key, field in of_network.items()
    }
    return create_model("RecipeParameters", __base__=Strict, **fields)
