"""The settings of a run, each with its source: the method's file, the recipe of its network, and the user.

``experiments/methods/METHOD.toml`` holds what is the method's own, ``experiments/recipes/RECIPE.toml`` how a network is
trained on a data set, for all methods, and in ``[methods.X]`` what method X was tuned to there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from hashbench.contract import PIXELS
from hashbench.datasets.card import Card
from hashbench.features import FEATURES, model_and_weights, split_checksum
from hashbench.foundation import config, paths
from hashbench.foundation.config import Setting, Strict, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.paths import read_once
from hashbench.methods import METHODS, Method
from hashbench.models import MODELS, at_any_size
from hashbench.runs.space import Space
from hashbench.training.settings import DeepSettings

SETTLED = ("model", "base", "features")  # the settings on which other settings depend, so they are chosen first
RECIPES = ("experiments", "recipes")  # the folder of the recipes in a root
Layer = tuple[dict[str, str], dict[str, "Sourced"]]  # the conditions of some values, and these
FORM = "hash_functions"  # the setting of shallow methods that says what a model says: linear, kernel
DATA = ("dataset", "protocol", "budget")  # the names that decide the default model of a run
CUSTOM = "custom"  # the name that a run on a custom data set has besides
FORMS = ("linear", "kernel", "mlp")  # models that are hash functions of given features; any other is a network
# tracks: what the closest recipe tunes the method to, or without that
TUNED = "tuned"
PUBLISHED = "published"


@dataclass(frozen=True)
class Sourced:
    """The value of a setting, its source, and a note; source ``run``: it follows from the run that needs its base."""

    value: Setting
    source: Literal["paper", "code", "ours", "recipe", "command line", "default", "run"]
    note: str = ""
    recipe: str | None = None
    released: Setting | None = None

    @property
    def of_authors(self) -> Setting | None:
        """The value that the authors printed or released; None if none is known."""
        if self.released is None and self.source in ("paper", "code"):
            return self.value
        return self.released


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


Parameters = dict[str, Parameter]


def _sourced(parameters: Parameters, why: str = "", recipe: str | None = None) -> dict[str, Sourced]:
    """The values with their sources, perhaps of a ``recipe``; ``why`` is the note of a value without one."""
    of_file = {key: Sourced(p.value, p.source, p.note or why, released=p.released) for key, p in parameters.items()}
    if recipe is None:
        return of_file
    return {
        key: Sourced(p.value, "recipe", ": ".join(filter(None, (p.source, parameters[key].note))), recipe, p.of_authors)
        for key, p in of_file.items()
    }


class When(Strict):
    """The names that a run must match; ``features`` without a checksum, ``base`` is the loss of a metric network."""

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
    parameters: Parameters


class Tuned(Strict):
    """The ``[methods.X]`` of a recipe: settings, ``why``, ``tuned`` (the search); or ``skip``, why it has none."""

    why: str = ""
    tuned: str = ""
    skip: str = ""
    parameters: Parameters = {}

    @model_validator(mode="before")
    @classmethod
    def _with_sources(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        texts = {key: values[key] for key in ("why", "tuned", "skip") if key in values}
        parameters = dict[str, Any]()
        for key, value in values.items():
            if key not in texts:
                table = value if isinstance(value, dict) else {"value": value}
                parameters[key] = {"source": "ours", **table}
        return {**texts, "parameters": parameters}

    @property
    def reason(self) -> str:
        """Why the values are what they are, and the search that found them."""
        return "; ".join(filter(None, (self.why, self.tuned)))

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if bool(self.skip) == bool(self.parameters):
            raise ValueError("a method of a recipe has settings, or skip, the reason why it has none")
        if self.parameters and not (self.why or self.tuned):
            raise ValueError("the settings of a method need why, or tuned, the search that found them")
        return self


class Recipe(Strict):
    """A file of experiments/recipes/: how a network is trained; ``extends`` names one whose values it also has."""

    title: str
    why: str
    when: When
    default_model: bool | Literal["features"] = False  # of a run that names none; features: on data sets of these
    extends: str | None = None
    heads: str | None = None  # the recipe whose settings the heads have from which its runs start; else the closest one
    parameters: dict[str, Parameter] = {}
    variants: list[Variant] = []
    methods: dict[str, Tuned] = {}

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if not self.parameters and self.extends is None:
            raise ValueError("a recipe has parameters, or extends the recipe whose values it has")
        if self.heads is not None and not self.parameters:
            raise ValueError("a recipe that names heads has parameters: without any, its values are those of another")
        if self.when.model is None:
            raise ValueError("the condition of a recipe names its model: when = { model = ... }")
        return self


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
    """All recipes by name; raises HashbenchError if one of the files is not valid."""
    recipes = {name: _recipe(path) for name, path in paths.entries(*RECIPES).items()}
    for name, recipe in recipes.items():
        _line(name, recipes)
        if recipe.heads is not None and recipe.heads not in recipes:
            raise HashbenchError(f"{'/'.join(RECIPES)}: {name}: heads names another recipe, not {recipe.heads}")
    return recipes


def sourced(
    method: Method, names: Mapping[str, str], settings: Mapping[str, Setting], *, track: str = TUNED
) -> dict[str, Sourced]:
    """All hyper-parameters of the run with these ``names``, with their sources.

    The names are data set, protocol, method, budget, and ``names_of_data``. Later values win: the method's
    file, its variants that match, the recipe that matches, its variants, its settings of the method, ``given``. A
    recipe's values for all are for ``DeepSettings``, those of a method for shallow ones too; a metric network draws its
    batches by class and has no recipe. The ``track`` PUBLISHED leaves the settings of the method out, and the name of a
    recipe takes those of that one; HashbenchError if it has none.

    On a custom data set all hash functions of features, shallow or trained, have the features and the scaling that the
    recipe of a linear network has there.
    """
    if track not in (TUNED, PUBLISHED) and tuned_in(track, names["method"]) is None:
        tuning = [name for name in recipes() if _tuned(name, names["method"])]
        raise unknown(f"track of {names['method']}", track, [TUNED, PUBLISHED, *tuning])
    of_method = _layers_of_method(names["method"])
    typed = {key: Sourced(value, "command line") for key, value in settings.items()}
    if "bits" in settings:
        names = {**names, "bits": str(settings["bits"])}
    general = {**_matching(of_method, names, without=SETTLED), **typed}
    is_deep = issubclass(method.settings, DeepSettings)
    fields = method.settings.model_fields
    if is_deep and "model" not in general:
        general = {**_default_network(names, general), **general}
    takes_features = "model" not in fields or ("model" in general and general["model"].value in FORMS)
    is_custom = CUSTOM in names and takes_features
    of_data = dict[str, Sourced]()
    if is_custom and "features" not in settings:
        of_data = _features_of_custom_data(names)
        general |= of_data
    if is_deep and "features" not in general and (taken := MODELS.get(str(general["model"].value)).takes):
        general["features"] = Sourced(taken, "default", "the input of the model")
    settled = {key: general[key] for key in SETTLED if key in general}
    known = {**names, "features": PIXELS, **{key: str(source.value) for key, source in settled.items()}}
    known["features"] = split_checksum(known["features"])[0]
    if is_custom and "normalise" in fields:
        of_data |= _scaling_of_custom_data(known)
    chosen = recipe_of(method, known, general)
    of_recipe = dict[str, Sourced]()
    if chosen is not None and is_deep:
        of_recipe = _matching(_layers_of_recipe(chosen), known)
    if track != TUNED:
        chosen = track
    of_search = _values_tuned(chosen, names["method"])
    return {**settled, **_matching(of_method, known), **of_data, **of_recipe, **of_search, **typed}


def names_of_data(card: Card) -> dict[str, str]:
    """The names of a run that its data set decides: the ``kind``, images or features, and whether it is CUSTOM."""
    names: dict[str, str] = {"kind": card.kind}
    if card.custom:
        names[CUSTOM] = "yes"
    return names


def _features_of_custom_data(names: Mapping[str, str]) -> dict[str, Sourced]:
    """The features of a network that nobody names; empty where these are the items as they are stored."""
    features = _default_network(names, {}).get("features")
    if features is None:
        return {}
    note = f"of a custom data set of images, as in recipe {features.recipe}"
    return {"features": Sourced(features.value, "default", note)}


def _scaling_of_custom_data(known: Mapping[str, str]) -> dict[str, Sourced]:
    """The scaling of a linear network of the features that are ``known``."""
    chosen = recipe_of_linear_network(known)
    if chosen is None:
        return {}
    scaling = _matching(_layers_of_recipe(chosen), known).get("normalise")
    if scaling is None:
        return {}
    note = f"as in recipe {scaling.recipe}, for all methods on these data"
    return {"normalise": Sourced(scaling.value, "default", note)}


def recipe_of(method: Method, known: Mapping[str, str], general: Mapping[str, Sourced]) -> str | None:
    """The recipe for a run with the ``known`` names; of shallow methods the form of the hash functions is the model."""
    is_deep = issubclass(method.settings, DeepSettings)
    if not is_deep and method.group != "shallow":
        return None
    form = "linear"
    if is_deep:
        form = known["model"]
    elif FORM in general:
        form = str(general[FORM].value)
    conditions = _conditions_for(known["method"], is_deep=is_deep).get(form, {})
    return _recipe_for(conditions, {**known, "model": form})


def _recipe_for(conditions: Mapping[str, Mapping[str, str]], known: Mapping[str, str]) -> str | None:
    """The closest of the recipes with these ``conditions`` for a run with the ``known`` names, its model among them."""
    # a recipe for these features is closer than one for a protocol's items, whatever else that one names; next is one
    # for features of the same network from images of another size
    for alike in (str, at_any_size):
        of_features = {
            name: {**names, "features": known["features"]}
            for name, names in conditions.items()
            if alike(names.get("features", "")) == alike(known["features"])
        }
        if closest := _closest(of_features, known):
            return closest
    return _closest(conditions, known)


def recipe_of_linear_network(known: Mapping[str, str]) -> str | None:
    """The recipe of a linear network for a run with the ``known`` names, its features among them."""
    conditions = _conditions_for(known["method"], is_deep=True).get("linear", {})
    return _recipe_for(conditions, {**known, "model": "linear"})


def resolve(method: Method, names: Mapping[str, str], settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The values of ``sourced``."""
    return {key: source.value for key, source in sourced(method, names, settings).items()}


def recipe_in(sources: Mapping[str, Sourced]) -> str | None:
    """The recipe that gives some of the ``sources`` of a run, which has at most one; None without any."""
    return next((source.recipe for source in sources.values() if source.recipe is not None), None)


def track_of_base(sources: Mapping[str, Sourced], method: str) -> str:
    """The track of a run's base: the ``heads`` of its recipe, or of the closest one that this extends; else TUNED."""
    recipe = recipe_in(sources)
    if recipe is None:
        return TUNED
    heads = [parent.heads for parent in _line(recipe, recipes()).values() if parent.heads is not None]
    if heads and tuned_in(heads[-1], method) is not None:
        return heads[-1]
    return TUNED


def tuned(method: str) -> dict[str, Tuned]:
    """The settings to which ``method`` was tuned for each recipe with values of its own, by its name."""
    tuned_by_recipe = {name: _tuned(name, method) for name, recipe in recipes().items() if recipe.parameters}
    return {name: tuned for name, tuned in tuned_by_recipe.items() if tuned is not None and not tuned.skip}


def tuned_in(recipe: str, method: str) -> Tuned | None:
    """The settings to which ``method`` is tuned in the ``recipe``, or else in the closest one that it extends."""
    if recipe in recipes():
        return _tuned(recipe, method)
    return None


def _matching(layers: list[Layer], names: Mapping[str, str], without: Iterable[str] = ()) -> dict[str, Sourced]:
    """The values of the ``layers`` that match ``names`` and have no condition on ``without``; later ones win."""
    matching: dict[str, Sourced] = {}
    for when, values in layers:
        if when.items() <= names.items() and not when.keys() & set(without):
            matching |= values
    return matching


@read_once
def _layers_of_method(method: str) -> list[Layer]:
    file = method_file(method)
    variants = [(variant.when.names, _sourced(variant.parameters, variant.why)) for variant in file.variants]
    return [({}, _sourced(file.parameters)), *variants]


@read_once
def _layers_of_recipe(recipe: str) -> list[Layer]:
    """The values of a recipe for all methods, of those that it extends, and of their variants."""
    line = _line(recipe, recipes())
    layers = list[Layer]()
    # a recipe without values of its own says that its data are like those of another, and the values are the other's
    source = [recipe, *(name for name, parent in line.items() if parent.parameters)][-1]
    for parent in line.values():
        layers.append(({}, _sourced(parent.parameters, recipe=source)))
        for variant in parent.variants:
            layers.append((variant.when.names, _sourced(variant.parameters, recipe=source)))
    return layers


@read_once
def _values_tuned(recipe: str | None, method: str) -> dict[str, Sourced]:
    """What ``method`` is tuned to by the ``recipe``; nothing without one, or if it is PUBLISHED."""
    if recipe in (None, PUBLISHED):
        return {}
    tuned = _tuned(recipe, method)
    if tuned is None:
        return {}
    return _sourced(tuned.parameters, tuned.reason)


def _tuned(recipe: str, method: str) -> Tuned | None:
    """The method's settings of the recipe called ``recipe``, or else of the closest one that it extends."""
    tuned = None
    for parent in _line(recipe, recipes()).values():
        tuned = parent.methods.get(method, tuned)
    return tuned


def _line(name: str, known: Mapping[str, Recipe], after: tuple[str, ...] = ()) -> dict[str, Recipe]:
    """The recipes that the one called ``name`` extends, the first one first, and itself."""
    if name not in known or name in after:
        raise HashbenchError(f"{'/'.join(RECIPES)}: {after[-1]}: extends names another recipe, not {name}")
    parent = known[name].extends
    line = {}
    if parent is not None:
        line = _line(parent, known, (*after, name))
    return {**line, name: known[name]}


@read_once
def _recipes_for(method: str, *, is_deep: bool) -> dict[str, Recipe]:
    """The recipes that the method can have: all that do not skip it, or for a shallow method those that tune it."""
    usable = dict[str, Recipe]()
    for name, recipe in recipes().items():
        tuned = _tuned(name, method)
        is_skipped = tuned is not None and bool(tuned.skip)
        if not is_skipped and (is_deep or tuned is not None):
            usable[name] = recipe
    return usable


@read_once
def _conditions_for(method: str, *, is_deep: bool) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    by_model: dict[str, dict[str, Mapping[str, str]]] = defaultdict(dict)
    for name, recipe in _recipes_for(method, is_deep=is_deep).items():
        by_model[str(recipe.when.model)][name] = recipe.when.names
    return by_model


def _default_network(names: Mapping[str, str], general: Mapping[str, Sourced]) -> dict[str, Sourced]:
    """The model, and the features if it is for some, of a run that names no model, with the ``general`` settings."""
    if "features" in general and general["features"].value != PIXELS:
        names = {**names, "kind": "features"}
    usable = _recipes_for(names["method"], is_deep=True)
    conditions = dict[str, dict[str, str]]()
    for name, recipe in usable.items():
        if recipe.default_model:
            conditions[name] = {key: value for key, value in recipe.when.names.items() if key in DATA}
        if isinstance(recipe.default_model, str):
            conditions[name]["kind"] = recipe.default_model
    chosen = _closest(conditions, names)
    if chosen is None:
        advice = f"no recipe has a default model for {names['dataset']}: name one with --model"
        raise HashbenchError(f"{'/'.join(RECIPES)}: {advice}")
    names_of_recipe = usable[chosen].when.names
    settled = [key for key in ("model", "features") if key in names_of_recipe]
    return {key: Sourced(names_of_recipe[key], "recipe", recipe=chosen) for key in settled}


def _closest(conditions: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> str | None:
    """The most specific recipe whose ``conditions`` match ``names``, if any; HashbenchError for two that are alike."""
    holding = {name: when.items() for name, when in conditions.items() if when.items() <= names.items()}
    closest = [name for name, when in holding.items() if not any(when < other for other in holding.values())]
    if len(closest) > 1:
        run = " ".join(names[key] for key in (*DATA[:2], "model") if key in names)
        fault = f"{' and '.join(closest)} fit {run} equally: give one of them another condition"
        raise HashbenchError(f"{'/'.join(RECIPES)}: {fault}")
    return next(iter(closest), None)


def _recipe(path: Path) -> Recipe:
    recipe = config.load(Recipe, path)
    for parameters in (recipe.parameters, *(variant.parameters for variant in recipe.variants)):
        parse(_some_training_settings(), {key: stated.value for key, stated in parameters.items()}, str(path))
    kinds = [PIXELS, *FEATURES.names, *MODELS.names]
    known_methods = [*METHODS.names, *paths.entries("experiments", "methods")]  # a bundle has those of other packages
    named = [("method", method, known_methods) for method in recipe.methods]
    if recipe.when.features is not None:
        named.insert(0, ("features", model_and_weights(recipe.when.features)[0], kinds))
    if recipe.when.model is not None:
        named.insert(0, ("model", recipe.when.model, MODELS.names))
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
