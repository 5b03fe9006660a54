"""The settings of a run, each with its source: the method's file, the recipe of its network, and the user.

``experiments/methods/METHOD.toml`` holds the values that belong to the method and those that its authors set.
``experiments/recipes/RECIPE.toml`` says how a network is trained on a data set, for all methods, and in ``[methods.X]``
what method X was tuned to there. Each value names its source.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from hashbench.contract import PIXELS
from hashbench.features import FEATURES, split_checksum
from hashbench.foundation import config, paths
from hashbench.foundation.config import Setting, Strict, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.paths import read_once
from hashbench.methods import METHODS, Method
from hashbench.models import MODELS
from hashbench.training.settings import DeepSettings, TrainingSettings

SETTLED = ("model", "base", "features")  # the settings on which other settings depend, so they are chosen first
RECIPES = ("experiments", "recipes")  # the folder of the recipes in a root
DATA = ("dataset", "protocol", "budget")  # the names that decide the default model of a run


@dataclass(frozen=True)
class Sourced:
    """The value of a setting of a run, where it comes from, and a note on that.

    ``source`` is paper, code or ours (a file's own word for it), recipe (then ``recipe`` is its name), command line,
    default (of the method's settings), or run: a setting of the base's run that follows from the run that needs it.
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

    def sourced(self, why: str = "") -> Sourced:
        """The value with its source; ``why`` is its note where it has none of its own."""
        return Sourced(self.value, self.source, self.note or why, released=self.released)

    def of_recipe(self, name: str) -> Sourced:
        """The value as one of the recipe called ``name``."""
        note = f"{self.source}: {self.note}" if self.note else self.source
        return Sourced(self.value, "recipe", note, name, self.sourced().of_authors)


class When(Strict):
    """The names that a run must match; a name that is left out matches every run.

    ``features`` is a kind of features: ``resnet9`` for those of all weights, such as ``resnet9_0123456789ab``. ``base``
    is the loss of the metric network, for methods that start from one.
    """

    dataset: str | None = None
    protocol: str | None = None
    budget: str | None = None
    model: str | None = None
    base: str | None = None
    features: str | None = None
    bits: int | None = None

    @cached_property
    def names(self) -> dict[str, str]:
        """The names that are given."""
        return {key: str(value) for key, value in self.model_dump(exclude_none=True).items()}


class Variant(Strict):
    """Values for the runs that match ``when``: they replace the general ones. Where two match, the later one wins."""

    when: When
    why: str
    parameters: dict[str, Parameter]

    def fits(self, names: Mapping[str, str]) -> bool:
        """Whether a run with these ``names`` matches all conditions."""
        return self.when.names.items() <= names.items()

    @cached_property
    def sourced(self) -> dict[str, Sourced]:
        """The values with their sources; ``why`` is the note of a value that has none of its own."""
        return {key: own.sourced(self.why) for key, own in self.parameters.items()}


class Tuned(Strict):
    """What a method was tuned to for a recipe: its ``[methods.X]``, which has settings beside these keys.

    A setting is a value, or a table of value and note; its source is ours. ``why`` says what was chosen, ``tuned``
    names the search. ``skip`` is the reason why the recipe is not used for the method.
    """

    why: str = ""
    tuned: str = ""
    skip: str = ""
    parameters: dict[str, Parameter] = {}

    @model_validator(mode="before")
    @classmethod
    def _with_sources(cls, values: dict[str, Any]) -> dict[str, Any]:
        found = {key: value for key, value in values.items() if key in ("why", "tuned", "skip")}
        settings = {key: value if isinstance(value, dict) else {"value": value} for key, value in values.items()}
        own = {key: {"source": "ours", **value} for key, value in settings.items() if key not in found}
        return {**found, "parameters": own}

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if bool(self.skip) == bool(self.parameters):
            raise ValueError("a method of a recipe has settings, or skip, the reason why it has none")
        if self.parameters and not (self.why or self.tuned):
            raise ValueError("the settings of a method need why, or tuned, the search that found them")
        return self

    def sourced(self) -> dict[str, Sourced]:
        """The settings with their sources."""
        why = self.why or f"searched: {self.tuned}"
        return {key: own.sourced(why) for key, own in self.parameters.items()}


class Recipe(Strict):
    """How a network is trained: a file of experiments/recipes/.

    Its parameters and variants set what every trained method has (``TrainingSettings``) and nothing of one method's
    own, so that a method never lacks a setting that a recipe gives. ``default_model``: whether a run that names no
    network has this one. ``methods`` are the settings that single methods were tuned to. ``extends`` names a recipe
    whose values this one has where it gives no other; a method's settings are replaced as a whole.
    """

    title: str
    why: str
    when: When
    default_model: bool = False
    extends: str | None = None
    parameters: dict[str, Parameter] = {}
    variants: list[Variant] = []
    methods: dict[str, Tuned] = {}

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if not self.parameters and self.extends is None:
            raise ValueError("a recipe has parameters, or extends the recipe whose values it has")
        if self.when.model is None:
            raise ValueError("the condition of a recipe names its model: when = { model = ... }")
        return self

    @property
    def model(self) -> str:
        """The network that it trains."""
        return str(self.when.model)


class MethodFile(Strict):
    """A file of experiments/methods/; ``budgets`` have a description each, and the first one is the default."""

    title: str
    paper: str
    summary: str
    budgets: dict[str, str] = Field({"full": "as the method's file says"}, min_length=1)
    parameters: dict[str, Parameter]
    variants: list[Variant] = []

    def budget(self, name: str | None) -> str:
        """``name``, or the default budget if it is None; raises HashbenchError if the method has no such budget."""
        if name is None:
            return next(iter(self.budgets))
        if name not in self.budgets:
            raise unknown(f"budget of {self.title}", name, self.budgets)
        return name

    def sourced(self, names: Mapping[str, str], without: Iterable[str] = ()) -> dict[str, Sourced]:
        """Its values for a run with these ``names``, of variants only those without a condition on ``without``."""
        found = dict(self._general)
        for variant in self.variants:
            if variant.fits(names) and not variant.when.names.keys() & set(without):
                found |= variant.sourced
        return found

    @cached_property
    def _general(self) -> dict[str, Sourced]:
        return {key: own.sourced() for key, own in self.parameters.items()}


def method_path(method: str) -> Path:
    """The path of the method's file; for a method of another package it is beside the method's module."""
    if folder := METHODS.folder(method):
        return folder / f"{method}.toml"
    missing = paths.shipped() / "experiments" / "methods" / f"{method}.toml"
    return paths.entries("experiments", "methods").get(method, missing)


@read_once
def method_file(method: str) -> MethodFile:
    """The file of ``method``; raises HashbenchError if it is missing or not valid."""
    return config.load(MethodFile, method_path(method))


@read_once
def recipes() -> dict[str, Recipe]:
    """All recipes by name; raises HashbenchError if one of the files is not valid."""
    found = {name: _recipe(path) for name, path in paths.entries(*RECIPES).items()}
    for name in found:
        seen = [name]
        while (parent := found[seen[-1]].extends) is not None:
            if parent not in found or parent in seen:
                raise HashbenchError(f"{'/'.join(RECIPES)}: {seen[-1]}: extends names another recipe, not {parent}")
            seen.append(parent)
    return found


def sourced(method: Method, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Sourced]:
    """All hyper-parameters of the run with these ``names`` (data set, protocol, method, budget), with their sources.

    They are combined in this order; later values win:

    1. the general values of the method's file and its variants that match, which the authors set;
    2. the recipe that matches, which replaces the authors' schedule for its network, and its own variants that match;
    3. what the recipe says of the method: what it was tuned to there;
    4. the values in ``given``.

    Model, base and features are chosen first, because the other values depend on them, as they do on the bits. Recipes
    apply to the deep methods of binary codes only (``DeepSettings``): a metric network draws its batches by class, on
    its authors' schedule.
    """
    file = method_file(names["method"])
    conditions = _conditions_for(names["method"]) if issubclass(method.settings, DeepSettings) else {}
    typed = {key: Sourced(value, "command line") for key, value in given.items()}
    if "bits" in given:
        names = {**names, "bits": str(given["bits"])}
    settled = {**file.sourced(names, without=SETTLED), **typed}
    if conditions and "model" not in settled:
        settled["model"] = _default_model(_recipes_for(names["method"]), names)
    settled = {key: settled[key] for key in SETTLED if key in settled}
    known = {**names, "features": PIXELS, **{key: str(found.value) for key, found in settled.items()}}
    known["features"] = split_checksum(known["features"])[0]
    chosen = _closest(conditions.get(known["model"], {}), known) if conditions else None
    of_recipe = {} if chosen is None else _of_recipe(chosen, known)
    return {**settled, **file.sourced(known), **of_recipe, **typed}


def resolve(method: Method, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Any]:
    """The values of all hyper-parameters of the run with these ``names``, as ``sourced`` finds them."""
    return {key: found.value for key, found in sourced(method, names, given).items()}


def tuned(method: str) -> dict[str, Tuned]:
    """What each recipe with values of its own was tuned to for ``method``, by the names of the recipes."""
    found = {name: _tuned(name, method) for name, recipe in recipes().items() if recipe.parameters}
    return {name: own for name, own in found.items() if own is not None and not own.skip}


def _of_recipe(chosen: str, names: Mapping[str, str]) -> dict[str, Sourced]:
    """The values that the recipe called ``chosen`` has for a run with these ``names``, with those that it extends."""
    layers = (values for when, values in _layers_of(chosen, names["method"]) if when.items() <= names.items())
    return {key: value for values in layers for key, value in values.items()}


@read_once
def _layers_of(recipe: str, method: str) -> list[tuple[dict[str, str], dict[str, Sourced]]]:
    """The values of a recipe, of those that it extends and of their variants, each with its conditions; then tuned."""
    line = [(name, recipes()[name]) for name in _line(recipe)]
    # a recipe without values of its own says that its data are like those of another, and the values are the other's
    source = [name for name, each in line if each.parameters][-1]
    layers: list[tuple[dict[str, str], dict[str, Parameter]]] = []
    for _, each in line:
        layers += [({}, each.parameters), *((own.when.names, own.parameters) for own in each.variants)]
    own = _tuned(recipe, method)
    found = [(when, {key: value.of_recipe(source) for key, value in values.items()}) for when, values in layers]
    return [*found, ({}, {} if own is None else own.sourced())]


def _tuned(recipe: str, method: str) -> Tuned | None:
    """What the recipe called ``recipe``, or one that it extends, says of ``method``; the closest to the run counts."""
    said = [found for name in _line(recipe) if (found := recipes()[name].methods.get(method)) is not None]
    return said[-1] if said else None


def _line(recipe: str) -> list[str]:
    """The names of the recipes that the one called ``recipe`` extends, the first one first, and its own."""
    parent = recipes()[recipe].extends
    return [recipe] if parent is None else [*_line(parent), recipe]


@read_once
def _recipes_for(method: str) -> dict[str, Recipe]:
    """The recipes that are not skipped for ``method``."""
    return {key: recipe for key, recipe in recipes().items() if not ((own := _tuned(key, method)) and own.skip)}


@read_once
def _conditions_for(method: str) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """The conditions of the recipes that are not skipped for ``method``, by their model."""
    found: dict[str, dict[str, Mapping[str, str]]] = defaultdict(dict)
    for name, recipe in _recipes_for(method).items():
        found[recipe.model][name] = recipe.when.names
    return found


def _default_model(usable: Mapping[str, Recipe], names: Mapping[str, str]) -> Sourced:
    """The model of a run that does not name one."""
    usual = {name: recipe.when.names for name, recipe in usable.items() if recipe.default_model}
    chosen = _closest({name: {key: own[key] for key in DATA if key in own} for name, own in usual.items()}, names)
    if chosen is None:
        raise HashbenchError(
            f"{'/'.join(RECIPES)}: no recipe has a default model for {names['dataset']}: name one with --model"
        )
    return Sourced(usable[chosen].model, "recipe", recipe=chosen)


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


def _recipe(path: Path) -> Recipe:
    recipe = config.load(Recipe, path)
    for parameters in (recipe.parameters, *(variant.parameters for variant in recipe.variants)):
        parse(_some_training_settings(), {key: own.value for key, own in parameters.items()}, str(path))
    kinds = [PIXELS, *FEATURES.names, *MODELS.names]
    named = [("model", recipe.model, MODELS.names), ("features", recipe.when.features, kinds)]
    for kind, name, known in [*named, *(("method", method, METHODS.names) for method in recipe.methods)]:
        if name is not None and name not in known:
            raise HashbenchError(f"{path}: {unknown(kind, name, known)}")
    return recipe


@cache
def _some_training_settings() -> type[Strict]:
    """The type of a recipe's values: all training settings, with their checks, but none of them required."""
    of_network = {key: field for key, field in TrainingSettings.model_fields.items() if key != "model"}
    fields: dict[str, Any] = {
        key: (Annotated[(field.annotation, Field(), *field.metadata)], None) for key, field in of_network.items()
    }
    return create_model("RecipeParameters", __base__=Strict, **fields)
