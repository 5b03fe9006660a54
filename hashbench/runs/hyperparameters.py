"""The hyper-parameters of a run: what a method's file, the recipe of its network and the user say.

``experiments/methods/METHOD.toml`` holds what is the method's own and what its authors set.
``experiments/recipes/RECIPE.toml`` says how a network is trained, whatever the method. Each value names its source.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from hashbench import config, paths
from hashbench.config import Setting, Strict, parse
from hashbench.errors import HashbenchError, unknown
from hashbench.methods import METHODS
from hashbench.models import MODELS
from hashbench.training.settings import DeepSettings, TrainingSettings

SETTLED = ("model", "base")  # the settings that others depend on
DATA = ("dataset", "protocol", "budget")  # what decides the network of a run that names none


class Parameter(Strict):
    """A hyper-parameter, who says so, and where."""

    value: Setting
    source: Literal["paper", "code", "ours"]
    note: str = ""


class Conditional(Strict):
    """Values for the runs that agree with every name given here; a name that is left out does not matter."""

    dataset: str | None = None
    protocol: str | None = None
    model: str | None = None
    budget: str | None = None
    why: str
    parameters: dict[str, Parameter]

    def conditions(self) -> dict[str, str]:
        """The names that a run has to agree with."""
        named = ((key, getattr(self, key, None)) for key in (*DATA, *SETTLED, "recipe"))
        return {key: value for key, value in named if value is not None}

    def fits(self, names: Mapping[str, str]) -> bool:
        """Whether the run of those names agrees with all the conditions."""
        return self.conditions().items() <= names.items()

    def values(self) -> dict[str, Setting]:
        """The values without their sources."""
        return {key: parameter.value for key, parameter in self.parameters.items()}


class Variant(Conditional):
    """Values of one method over its general ones, for some data, network, base or recipe; later variants win."""

    base: str | None = None  # of the methods that are built on a metric network: how that one was trained
    recipe: str | None = None  # the recipe that the run is trained by: what differs from it for this method


class Recipe(Conditional):
    """How a network is trained: a file of experiments/recipes/.

    It sets what every trained method has (``TrainingSettings``) and nothing of one method's own, so that a method
    never lacks a setting that a recipe gives. ``default_model``: whether a run that names no network has this one.
    """

    title: str
    model: str
    default_model: bool = False


class MethodFile(Strict):
    """A file of experiments/methods/.

    ``budgets`` says what each budget that the method can be run at is; the first is the one that nobody has to name.
    ``without_recipes`` are the recipes that the method is not trained by, each with the reason.
    """

    title: str
    paper: str
    summary: str
    budgets: dict[str, str] = Field({"full": "as the method's file says"}, min_length=1)
    parameters: dict[str, Parameter]
    without_recipes: dict[str, str] = {}
    variants: list[Variant] = []

    def budget(self, asked: str | None) -> str:
        """``asked``, or the usual budget; raises HashbenchError for one that the method does not have."""
        if asked is None:
            return next(iter(self.budgets))
        if asked not in self.budgets:
            raise unknown(f"budget of {self.title}", asked, self.budgets)
        return asked


def location(method: str) -> Path:
    """Where the method's hyper-parameters are: those of another package's method lie beside its module."""
    folder = METHODS.folder(method) or paths.root() / "experiments" / "methods"
    return folder / f"{method}.toml"


def load(method: str) -> MethodFile:
    """The hyper-parameters of ``method``; raises HashbenchError when the file is not as it should be."""
    return config.load(MethodFile, location(method))


def recipes() -> dict[str, Recipe]:
    """All recipes by name; raises HashbenchError when a file of them is not as it should be."""
    return {path.stem: _recipe(path) for path in sorted(_recipes_folder().glob("*.toml"))}


def resolve(file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting]) -> dict[str, Any]:
    """All values for the run of those names (data set, protocol, method, budget).

    They are put together in this order, the later ones win:

    1. the general values of the method's ``file`` and its variants that fit, which are what the authors set;
    2. the recipe that fits, which replaces the authors' schedule for its network;
    3. the variants that name this recipe: what differs from it for this method;
    4. what is ``given``.

    Model and base are settled first, because the rest depends on them. Recipes are for the deep methods of binary
    codes (``DeepSettings``): a metric network draws its batches by class, on its authors' schedule.
    """
    by_recipes = _recipes_of(file, names["method"])
    settled = _settled(file, names, given, by_recipes)
    known = {**names, **{key: str(value) for key, value in settled.items()}}
    chosen = _closest({name: recipe.conditions() for name, recipe in by_recipes.items()}, known)
    own = [variant for variant in file.variants if variant.recipe is None]
    on_recipe = [variant for variant in file.variants if variant.recipe is not None]
    layers: list[Conditional] = [*own, *([by_recipes[chosen]] if chosen else []), *on_recipe]
    values = {**_general(file), **settled}
    for layer in layers:
        if layer.fits({**known, "recipe": chosen or ""}):
            values.update(layer.values())
    return {**values, **given}


def _general(file: MethodFile) -> dict[str, Setting]:
    return {key: parameter.value for key, parameter in file.parameters.items()}


def _settled(
    file: MethodFile, names: Mapping[str, str], given: Mapping[str, Setting], by_recipes: Mapping[str, Recipe]
) -> dict[str, Setting]:
    """Model and base: given, or of the method's file, or (the model) the default of a recipe for these data."""
    values = _general(file)
    for variant in file.variants:
        if not variant.conditions().keys() & {*SETTLED, "recipe"} and variant.fits(names):
            values.update(variant.values())
    values.update(given)
    if by_recipes and "model" not in values:
        values["model"] = _default_model(by_recipes, names)
    return {key: values[key] for key in SETTLED if key in values}


def _default_model(by_recipes: Mapping[str, Recipe], names: Mapping[str, str]) -> str:
    """The network of a run that names none."""
    usual = {name: recipe.conditions() for name, recipe in by_recipes.items() if recipe.default_model}
    of_data = {name: {key: own[key] for key in DATA if key in own} for name, own in usual.items()}
    chosen = _closest(of_data, names)
    if chosen is None:
        raise HashbenchError(
            f"{_recipes_folder()}: no recipe has a default model for {names['dataset']}: name one (model = ...)"
        )
    return by_recipes[chosen].model


def _closest(conditions: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> str | None:
    """The recipe whose conditions hold and include those of all the others that hold; None where none holds."""
    holding = {name: own.items() for name, own in conditions.items() if own.items() <= names.items()}
    closest = [name for name, own in holding.items() if not any(own < other for other in holding.values())]
    if len(closest) > 1:
        run = " ".join(names[key] for key in (*DATA[:2], "model") if key in names)
        raise HashbenchError(
            f"{_recipes_folder()}: {' and '.join(closest)} fit {run} equally: give one of them another condition"
        )
    return closest[0] if closest else None


def _recipes_of(file: MethodFile, method: str) -> dict[str, Recipe]:
    """The recipes that the method can be trained by, by name; none for a method that is no deep one of binary codes."""
    found = recipes() if issubclass(METHODS.get(method).settings, DeepSettings) else {}
    for name in (*file.without_recipes, *(variant.recipe for variant in file.variants)):
        if name is not None and name not in found:
            raise HashbenchError(f"{location(method)}: {unknown('recipe', name, found)}")
    return {name: recipe for name, recipe in found.items() if name not in file.without_recipes}


def _recipes_folder() -> Path:
    return paths.root() / "experiments" / "recipes"


def _recipe(path: Path) -> Recipe:
    recipe = config.load(Recipe, path)
    parse(_some_training_settings(), recipe.values(), str(path))
    if recipe.model not in MODELS.names:
        raise HashbenchError(f"{path}: {unknown('model', recipe.model, MODELS.names)}")
    return recipe


@cache
def _some_training_settings() -> type[Strict]:
    """The type of what a recipe may set: each training setting as strict as among all, none of them required."""
    of_network = {key: field for key, field in TrainingSettings.model_fields.items() if key != "model"}
    fields: dict[str, Any] = {
        key: (Annotated[(field.annotation, Field(), *field.metadata)], None) for key, field in of_network.items()
    }
    return create_model("RecipeParameters", __base__=Strict, **fields)
