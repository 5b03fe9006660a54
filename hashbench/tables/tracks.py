"""What a stored row is a result of: its task, and its line in a comparison (the method, and whose its settings are)."""

import json
from contextlib import suppress
from typing import Literal, NamedTuple

from hashbench.contract import PIXELS
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import HELD_OUT, TO_CHOOSE, Protocol
from hashbench.foundation.config import Setting, canonical_json
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.paths import read_once
from hashbench.methods import METHODS
from hashbench.runs import settings as settings_files
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.tables.footnotes import search_in

Kind = Literal["supervised", "unsupervised", "shallow", "deep"]  # of a method
INPUT = ("bits", "features", "normalise", "model", "width", "weights", "head")  # what a method is stated
TUNED = "tuned"
PUBLISHED = "our defaults"
BY_HAND = "by hand"
ELSEWHERE = "made elsewhere"


Names = tuple[str, str, str]  # of a data set, a protocol and a method
Values = dict[str, Setting]


class Task(NamedTuple):
    """What methods are compared on: equal data, equal codes and equal input; ``features`` or a network of its own."""

    dataset: str
    protocol: str
    bits: int
    features: str

    @staticmethod
    def of(row: Row) -> "Task":
        """The task of a row of binary codes, on whatever split; of other codes with 0 bits."""
        bits, model, features = map(row.config.get("settings", {}).get, ("bits", "model", "features"))
        if model in (None, *settings_files.FORMS):
            model = features or PIXELS
        if row.is_imported and model == PIXELS:
            model = ELSEWHERE  # of images, but nobody knows the network
        return Task(row.dataset, row.protocol, bits if isinstance(bits, int) else 0, str(model))


class Name(NamedTuple):
    """What a line is: a method, the settings that name its runs, and whose the others are."""

    method: str
    form: tuple[tuple[str, Setting], ...]
    track: str


def task_of(row: Row) -> Task | None:
    """The task of a row; None without an AP of binary codes, on another split, or where settings were chosen."""
    value = row.metrics.get("ap")
    task = Task.of(row)
    if row.status != "ok" or row.split_seed is not None or value is None or value.mean is None or not task.bits:
        return None
    if isinstance(protocol_of(row), TO_CHOOSE) or row.protocol.endswith(HELD_OUT):
        return None
    return task


def protocol_of(row: Row) -> Protocol | None:
    """Its protocol; None where the card is not here."""
    with suppress(HashbenchError):  # the card of a data set of somebody's own may not be here
        return load_card(row.dataset).protocols.get(row.protocol)
    return None


def name_of(row: Row) -> Name | None:
    """The line of a row, by what the files of method and recipes give today; None for settings that no track has.

    The form is what must be said beside the input: a loss, or a form of hash functions, but no value of a recipe.
    """
    if row.is_imported:
        return Name(row.method, (), ELSEWHERE)
    if row.method not in METHODS:
        return None
    settings = canonical_json([row.config["settings"], row.settings])
    return _name_of_cell((row.dataset, row.protocol, row.method), row.cell_hash, settings)


@read_once  # the page and its figures need it of the same rows
def _name_of_cell(names: Names, cell_hash: str, settings: str) -> Name | None:
    config, identity = json.loads(settings)
    with suppress(HashbenchError):
        for recipe in (settings_files.OUR_DEFAULTS, None):
            if name := _of_recipe(names, cell_hash, config, identity, recipe):
                return name
    return None


def _of_recipe(names: Names, cell_hash: str, settings: Values, identity: Values, recipe: str | None) -> Name | None:
    stated = {key: settings[key] for key in INPUT if key in settings}
    run = _resolved(names, tuple(stated.items()), recipe)
    usual = run.settings.model_dump()
    form = {key: identity[key] for key in run.method.identity if key in identity and identity[key] != usual[key]}
    if any(isinstance(value, int | float) and not isinstance(value, bool) for value in form.values()):
        return None  # a rate or a scale that somebody chose
    if form:
        sources = run.sources
        if any(sources[key].recipe is not None for key in form):
            return None
        stated |= form
        run = _resolved(names, tuple(stated.items()), recipe)
    if run.name.cell_hash != cell_hash:
        return None
    if settings.get("model") in settings_files.FORMS:
        form["model"] = settings["model"]
    if recipe is not None:
        whose = PUBLISHED
    elif any(search_in(setting.note) for setting in run.sources.values()):
        whose = TUNED
    else:
        whose = BY_HAND
    return Name(names[2], tuple(sorted(form.items())), whose)


@read_once  # the cells of a search differ in one value, and what is given is the same
def _resolved(names: Names, stated: tuple[tuple[str, Setting], ...], recipe: str | None) -> Run:
    return Run.resolve(*names, dict(stated), recipe=recipe)


def title_of(method: str) -> str:
    """The title of a method; its name where it is not installed here."""
    if method not in METHODS:
        return method
    return settings_files.method_file(method).title
