"""The settings of a run, each with its source, in three layers: the method's file, a recipe, and what is given.

``experiments/methods/METHOD.toml`` holds what is the method's own, ``experiments/recipes/RECIPE.toml`` how a network is
trained in one task, for all methods, and in ``[methods.X]`` what method X was tuned to there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from hashbench.foundation import config, paths
from hashbench.foundation.config import Setting, Strict, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.paths import read_once
from hashbench.learning.contract import PIXELS
from hashbench.learning.methods import METHODS, Method
from hashbench.learning.models import MODELS, at_any_size
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import Card
from hashbench.running.features import FEATURES, model_and_weights, split_checksum
from hashbench.running.runs.space import Space

Key = tuple[str, str | None, str | None, str | None]  # model, features, data set and protocol
SETTLED = ("model", "base", "features")  # the settings on which other settings depend, so they are chosen first
RECIPES = ("experiments", "recipes")  # the folder of the recipes in a root
FORM = "hash_functions"  # the setting of shallow methods that says what a model says: linear, kernel
CUSTOM = "custom"  # the name that a run on a custom data set has besides
FORMS = ("linear", "kernel", "mlp")  # models that are hash functions of given features; any other is a network
OUR_DEFAULTS = "our_defaults"  # in place of a recipe: that of the run, without what it tunes the method to


@dataclass(frozen=True)
class Sourced:
    """The value of a setting, its source, and a note; source ``run``: it follows from the run that needs its base."""

    value: Setting
    source: Literal["paper", "code", "ours", "recipe", "command line", "default", "run"]
    note: str = ""
    recipe: str | None = None
    released: Setting | None = None  # the value that the authors printed or released; None if none is known


class Parameter(Strict):
    """The value of a hyper-parameter, and its source; ``released`` is the authors' own value if it is another one."""

    value: Setting
    source: Literal["paper", "code", "ours"]
    note: str = ""
    released: Setting | None = None

    @model_validator(mode="after")
    def _a_difference_is_explained(self) -> Self:
        if self.released is not None and not self.note:
            raise ValueError("a released value that is not ours needs a note that says why")
        return self

    def sourced(self, note: str, recipe: str | None = None) -> Sourced:
        """The value of a method's file, or of a ``recipe``."""
        of_authors = self.released
        if of_authors is None and self.source != "ours":
            of_authors = self.value
        return Sourced(self.value, self.source if recipe is None else "recipe", note, recipe, of_authors)


Parameters = dict[str, Parameter]


class When(Strict):
    """The names that a run must match; ``features`` without a checksum, ``base`` is the loss of a metric network."""

    dataset: str | None = None
    protocol: str | None = None
    budget: str | None = None
    model: str | None = None
    base: str | None = None
    features: str | None = None
    bits: int | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names that are given."""
        return {key: str(value) for key, value in self.model_dump(exclude_none=True).items()}


class Variant(Strict):
    """Values for the runs that match ``when``: they replace the general ones. Where two match, the later one wins."""

    when: When
    why: str
    parameters: Parameters


class Tuned(Strict):
    """The ``[methods.X]`` of a recipe: settings, ``why`` they are these, and ``tuned``, the search that found them."""

    why: str = ""
    tuned: str = ""
    parameters: Parameters = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _with_sources(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        parameters = dict(values)
        texts = {key: parameters.pop(key) for key in ("why", "tuned") if key in values}
        for key, value in parameters.items():
            table = value if isinstance(value, dict) else {"value": value}
            parameters[key] = {"source": "ours", **table}
        return {**texts, "parameters": parameters}

    @property
    def reason(self) -> str:
        """Why the values are what they are, and the search that found them."""
        return "; ".join(filter(None, (self.why, self.tuned)))

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if not self.reason:
            raise ValueError("the settings of a method need why, or tuned, the search that found them")
        return self


class Task(Strict):
    """The runs that a recipe is for: all of this ``model``, or those with these features, data set or protocol."""

    model: str
    features: str | None = None
    dataset: str | None = None
    protocol: str | None = None

    @property
    def key(self) -> Key:
        """The same for two recipes of the same runs; images of every size give features of the same network."""
        features = self.features
        if features is not None:
            features = at_any_size(features)
        return self.model, features, self.dataset, self.protocol


class Recipe(Strict):
    """A file of experiments/recipes/: how networks are trained in one task, and what each method was tuned to there."""

    former_keys = {
        "extends": "a recipe is one complete file: copy the parameters and methods of the other one",
        "skip": "a recipe is one complete file: leave out what is not for it",
        "variants": "a recipe is one complete file: write another recipe with its own when",
        "default_model": 'when = { model = "NAME" } and default_for = "images" or "features"',
    }
    title: str
    why: str
    when: Task
    default_for: str | None = None  # the data set, or "images" or "features" of any other, whose runs name no model
    heads: str | None = None  # the recipe of the heads from which its runs start; None: the one of their task
    parameters: Parameters
    methods: dict[str, Tuned] = {}


class MethodFile(Strict):
    """A file of experiments/methods/: ``budgets`` have a description each, the first is the default; ``search``."""

    title: str
    paper: str
    summary: str
    is_reference: bool = False  # it learns no hash function: what methods are compared with
    budgets: dict[str, str] = Field({"full": "as the method's file says"}, min_length=1)
    parameters: dict[str, Parameter]
    search: Space = {}
    variants: list[Variant] = []

    def budget(self, name: str | None) -> str:
        """``name``, or the default budget if it is None; raises HashbenchError if the method has no such budget."""
        if name is not None and name not in self.budgets:
            raise unknown(f"budget of {self.title}", name, self.budgets)
        return next(iter(self.budgets)) if name is None else name


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
    """All recipes by name; HashbenchError if a file is not valid, or if two are for the same runs."""
    recipes = {name: _recipe(path) for name, path in paths.entries(*RECIPES).items()}
    names_by_use: dict[Any, str] = {}
    for name, recipe in recipes.items():
        for use in filter(None, (recipe.when.key, recipe.default_for)):
            other = names_by_use.setdefault(use, name)
            if other != name:
                fault = f"{other} and {name} are for the same runs: change when or default_for of one"
                raise HashbenchError(f"{'/'.join(RECIPES)}: {fault}")
        if recipe.heads is not None and recipe.heads not in recipes:
            raise HashbenchError(f"{'/'.join(RECIPES)}: {name}: heads names another recipe, not {recipe.heads}")
    return recipes


@read_once
def _names_by_key() -> dict[Key, str]:
    return {recipe.when.key: name for name, recipe in recipes().items()}


def recipe_for(model: str, known: Mapping[str, str]) -> str | None:
    """The recipe of the runs of a ``model`` with the ``known`` features, data set and protocol; None without any.

    Of several, one for these features, of images of any size, comes before one for all features; then one for this
    data set and protocol, for this data set, and for this protocol.
    """
    names = _names_by_key()
    dataset = known["dataset"]
    protocol = known["protocol"]
    for features in (at_any_size(known["features"]), None):
        for data in ((dataset, protocol), (dataset, None), (None, protocol), (None, None)):
            if name := names.get((model, features, *data)):
                return name
    return None


def sourced(
    method: Method, names: Mapping[str, str], given: Mapping[str, Setting], *, recipe: str | None = None
) -> dict[str, Sourced]:
    """All hyper-parameters of the run with these ``names``, with their sources.

    The names are data set, protocol, method, budget, and ``names_of_data``. Later values win: the method's file with
    its values for these names, the ``recipe`` (None: the one of the task), ``given``. A recipe's values for all are for
    ``DeepSettings``, those of a method for shallow ones too; ``OUR_DEFAULTS`` leaves the latter out. A metric network
    has no recipe. HashbenchError if a named recipe has no values of the method.

    On a custom data set all hash functions of features, shallow or trained, have the features and the scaling that the
    recipe of a linear network has there.
    """
    if "bits" in given and has_conditions_on_bits(names["method"]):
        names = {**names, "bits": str(given["bits"])}
    choosing = {key: str(given[key]) for key in (*SETTLED, FORM) if key in given}
    of_files = _of_files(method, tuple(sorted(names.items())), tuple(choosing.items()), recipe)
    return {**of_files, **{key: Sourced(value, "command line") for key, value in given.items()}}


@read_once
def _of_files(
    method: Method, sorted_names: tuple[tuple[str, str], ...], choosing: tuple[tuple[str, str], ...], recipe: str | None
) -> dict[str, Sourced]:
    """The hyper-parameters that files give: the same for all runs with these names, and these settings that choose."""
    names = dict(sorted_names)
    name = names["method"]
    if recipe not in (None, OUR_DEFAULTS) and recipe not in tuned(name):
        raise unknown(f"recipe of {name}", recipe, [OUR_DEFAULTS, *tuned(name)])
    typed = {key: Sourced(value, "command line") for key, value in choosing}
    is_deep = issubclass(method.settings, DeepSettings)
    general = {**_of_method(name, names), **typed}
    if is_deep and "model" not in general:
        general = {**_default_network(names, general), **general}
    has_model = "model" in method.settings.model_fields
    is_custom = CUSTOM in names and (not has_model or ("model" in general and general["model"].value in FORMS))
    if is_custom and "features" not in typed and (features := _default_network(names, {}).get("features")):
        note = f"of a custom data set of images, as in recipe {features.recipe}"
        general["features"] = Sourced(features.value, "default", note)
    if is_deep and "features" not in general and (taken := MODELS.get(str(general["model"].value)).takes):
        general["features"] = Sourced(taken, "default", "the input of the model")
    settled = {key: general[key] for key in SETTLED if key in general}
    known = {**names, "features": PIXELS, **{key: str(setting.value) for key, setting in settled.items()}}
    known["features"] = split_checksum(known["features"])[0]
    values = {**_of_method(name, known), **settled}
    if is_custom and "normalise" in method.settings.model_fields:
        values |= _scaling_of_custom_data(known)
    if not is_deep and method.group != "shallow":
        return values
    chosen = recipe
    if recipe in (None, OUR_DEFAULTS):
        form = general.get("model" if is_deep else FORM)
        chosen = recipe_for("linear" if form is None else str(form.value), known)
    if chosen is not None:
        values |= _of_recipe(chosen, name, is_deep=is_deep, is_tuned=recipe != OUR_DEFAULTS)
    return values


@read_once
def _of_recipe(recipe: str, method: str, *, is_deep: bool, is_tuned: bool) -> dict[str, Sourced]:
    """The values of a recipe: those for all methods if it trains a network, and what it tunes this one to."""
    values = dict[str, Sourced]()
    if is_deep:
        for key, parameter in recipes()[recipe].parameters.items():
            note = ": ".join(filter(None, (parameter.source, parameter.note)))
            values[key] = parameter.sourced(note, recipe)
    of_method = recipes()[recipe].methods.get(method)
    if is_tuned and of_method is not None:
        for key, parameter in of_method.parameters.items():
            values[key] = parameter.sourced(parameter.note or of_method.reason, recipe)
    return values


def names_of_data(card: Card) -> dict[str, str]:
    """The names of a run that its data set decides: the ``kind``, images or features, and whether it is CUSTOM."""
    names: dict[str, str] = {"kind": card.kind}
    if card.custom:
        names[CUSTOM] = "yes"
    return names


def _scaling_of_custom_data(known: Mapping[str, str]) -> dict[str, Sourced]:
    """The scaling of a linear network of the features that are ``known``."""
    linear = recipe_for("linear", known)
    scaling = None
    if linear is not None:
        scaling = recipes()[linear].parameters.get("normalise")
    if scaling is None:
        return {}
    return {"normalise": Sourced(scaling.value, "default", f"as in recipe {linear}, for all methods on these data")}


def _default_network(names: Mapping[str, str], general: Mapping[str, Sourced]) -> dict[str, Sourced]:
    """The model, and the features if it is for some, of a run that names no model, with the ``general`` settings."""
    by_default = {recipe.default_for: name for name, recipe in recipes().items()}
    kind = names["kind"]
    if "features" in general and general["features"].value != PIXELS:
        kind = "features"
    chosen = by_default.get(kind)
    if kind == names["kind"]:
        chosen = by_default.get(names["dataset"], chosen)
    if chosen is None:
        advice = f"no recipe has a default model for {names['dataset']}: name one with --model"
        raise HashbenchError(f"{'/'.join(RECIPES)}: {advice}")
    when = recipes()[chosen].when
    network = {"model": Sourced(when.model, "recipe", recipe=chosen)}
    if when.features is not None:
        network["features"] = Sourced(when.features, "recipe", recipe=chosen)
    return network


def recipe_in(sources: Mapping[str, Sourced]) -> str | None:
    """The recipe that gives some of the ``sources`` of a run, which has at most one; None without any."""
    return next((source.recipe for source in sources.values() if source.recipe is not None), None)


def recipe_of_base(sources: Mapping[str, Sourced], method: str) -> str | None:
    """The recipe of a run's base: the ``heads`` of its own, if these have values of the base's ``method``."""
    recipe = recipe_in(sources)
    if recipe is None:
        return None
    heads = recipes()[recipe].heads
    return heads if heads in tuned(method) else None


def tuned(method: str) -> dict[str, Tuned]:
    """The settings to which ``method`` was tuned in each recipe, by the recipe's name."""
    return {name: recipe.methods[method] for name, recipe in recipes().items() if method in recipe.methods}


def has_conditions_on_bits(method: str) -> bool:
    """Whether the settings of a method may depend on the bits; else runs of all bits share what files give."""
    return any(variant.when.bits is not None for variant in method_file(method).variants)


def _of_method(method: str, names: Mapping[str, str]) -> dict[str, Sourced]:
    """The values of the method's file for ``names``; later ones win."""
    values = dict[str, Sourced]()
    for when, layer in _layers_of_method(method):
        if when.items() <= names.items():
            values |= layer
    return values


@read_once
def _layers_of_method(method: str) -> list[tuple[Mapping[str, str], dict[str, Sourced]]]:
    """The values of the method's file for all runs, and those of its variants, each with its condition."""
    file = method_file(method)
    layers: list[tuple[dict[str, str], str, Parameters]] = [
        ({}, "", file.parameters),
        *((v.when.names, v.why, v.parameters) for v in file.variants),
    ]
    return [
        (when, {key: parameter.sourced(parameter.note or why) for key, parameter in parameters.items()})
        for when, why, parameters in layers
    ]


def _recipe(path: Path) -> Recipe:
    recipe = config.load(Recipe, path)
    parse(_some_training_settings(), {key: stated.value for key, stated in recipe.parameters.items()}, str(path))
    known_methods = [*METHODS.names, *paths.entries("experiments", "methods")]  # a bundle has those of other packages
    named = [("model", recipe.when.model, MODELS.names), *(("method", name, known_methods) for name in recipe.methods)]
    if recipe.when.features is not None:
        kinds = [PIXELS, *FEATURES.names, *MODELS.names]
        named.append(("features", model_and_weights(recipe.when.features)[0], kinds))
    for kind, name, known in named:
        # torchvision's models are listed in seconds, so they come last; a size in pixels is no part of a listed name
        if name not in known and not (kind != "method" and name in MODELS):
            raise HashbenchError(f"{path}: {unknown(kind, name, known)}")
    return recipe


@cache
def _some_training_settings() -> type[Strict]:
    """The type of a recipe's values: all training settings, with their checks, but none of them required."""
    fields: dict[str, Any] = {
        key: (Annotated[(field.annotation, Field(), *field.metadata)], None)
        for key, field in DeepSettings.model_fields.items()
        if key not in ("model", "bits")
    }
    return create_model("RecipeParameters", __base__=Strict, **fields)
