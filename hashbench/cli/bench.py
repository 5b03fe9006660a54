"""``hashbench bench`` compares methods on one data set: it declares a table, measures it and writes it."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from hashbench.cli import run, table, tune
from hashbench.cli._options import Dataset, Device, ProtocolName
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.datasets.card import Card
    from hashbench.foundation.config import Setting
    from hashbench.tuning.search import Question

LENGTHS = (16, 32)  # of codes, unless other ones are asked for
MADE = "# Written by hashbench bench, and again by the next one of this name. To change it, rename it."


def command(
    dataset: Dataset,
    methods: Annotated[str, Option(metavar="METHOD,METHOD,...", help="The methods that are compared.")],
    bits: Annotated[
        str | None, Option(metavar="N,N,...", help="Code lengths. Default: 16,32, or as many numbers as an item has.")
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Number of runs of each cell, with seeds 0 .. SEEDS - 1.")] = 3,
    tune_trials: Annotated[
        int, Option("--tune", min=0, metavar="N", help="First search each method's settings, in N trials.")
    ] = 0,
    features: Annotated[
        str | None, Option(metavar="MODEL", help="Use the features of this network; extracted if they are not there.")
    ] = None,
    weights: Annotated[
        str | None,
        Option(metavar="FILE|NAME|none", help="Weights of that network, as of hashbench features. Default: official."),
    ] = None,
    model: Annotated[str, Option(help="The form of all methods' hash functions that have a choice.")] = "linear",
    protocol: ProtocolName = None,
    name: Annotated[str | None, Option(help="Name of the table. Default: bench_ and the name of the data set.")] = None,
    jobs: Annotated[int, Option(min=1, help="Number of runs at the same time.")] = 1,
    device: Device = "auto",
) -> None:
    """Compare methods on a data set, from training to the table.

    The table is declared in experiments/tables/ of the current folder, or of --root; --tune puts what it finds into a
    recipe beside it, by queries that are held out of the database. Then all cells are trained and scored, and the table
    is printed and written to results/tables/, with a picture. run, table, report and bundle take it like any other.
    After an interruption the same command continues.
    """
    from hashbench.foundation.registry import canonical
    from hashbench.methods import METHODS
    from hashbench.tuning.search import NAME

    names = [each.strip() for each in methods.split(",")]
    if missing := [each for each in names if canonical(each) not in METHODS.names]:
        raise HashbenchError(f"--methods: {missing[0] or 'an empty name'} is no method: hashbench list methods")
    stem = canonical(name or f"bench_{dataset.name}")
    if not NAME.fullmatch(stem):
        raise HashbenchError(f"--name {name}: letters, digits, _, - and dots are expected")
    lengths = _lengths(dataset, bits, features)
    given: dict[str, Setting] = {"bits": max(lengths), "model": model}
    if features is not None:
        given["features"] = _extracted(dataset, features, weights, device)
    elif weights is not None:
        raise HashbenchError("--weights are those of a network: --features MODEL is missing")
    question = tune.question_of([*names, dataset.name], protocol, None, given)
    files = {"tables": _table(dataset, question, lengths, tune_trials)}
    if tune_trials:
        when = _condition(dataset, question)
        _require_no_other_recipe(stem, when)
        files["recipes"] = _recipe(when, stem)
    place = paths.own_root() / "experiments"
    for kind in files:
        _require_place(kind, place / kind / f"{stem}.toml")
    for kind, text in files.items():
        _write(place / kind / f"{stem}.toml", text, keep=kind == "recipes")
    if tune_trials:
        options = [f"features={given['features']}"] if features is not None else []
        search = [*question.spaces, dataset.name], question.protocol, stem, max(lengths), None, options, tune_trials
        tune.command(*search, name=f"{stem}_search", jobs=jobs, device=device, write=True)
        paths.read_again()
    run.command([stem], seeds=seeds, jobs=jobs, device=device)
    table.command([stem], write=True)


def _lengths(dataset: "Card", bits: str | None, features: str | None) -> list[int]:
    if bits is None:
        most = LENGTHS[-1] if dataset.kind == "images" or features else prod(dataset.item_shape)
        return [each for each in LENGTHS if each <= most] or [most]
    try:
        found = [int(each) for each in bits.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or len(set(found)) < len(found):
        raise HashbenchError(f"--bits {bits}: whole numbers from 1, each once, are expected, such as --bits 16,32")
    return found


def _extracted(dataset: "Card", features: str, weights: str | None, device: str) -> str:
    """The name of the stored features, which are extracted if they are not there."""
    from hashbench.features import extract, model_and_weights, path_of

    if weights is None:
        if path_of(dataset.name, features).is_file():
            return features
        if Path(features).is_file():
            raise HashbenchError(f"--features {features} is a file: --features MODEL --weights {features}")
        features, weights = model_and_weights(features)
    return extract(dataset, features, weights, device=device, progress=True).path.stem


def _table(dataset: "Card", question: "Question", lengths: Sequence[int], n_trials: int) -> str:
    """The file that declares the table: a row for each method, a column for each length."""
    from hashbench.foundation.config import toml_value
    from hashbench.runs.settings import method_file

    methods, form = list(question.spaces), question.settings["model"]
    searched = f"The settings of each method are the best of {n_trials} trials, at {max(lengths)} bits, by queries that"
    notes = [f"All hash functions are {form}, of the same items, where the method has a choice."]
    notes += [f"{searched} are held out of the database."] if n_trials else []
    columns = [{"label": f"{n} bits", "settings": {"bits": n}} for n in lengths]
    rows = []
    for method in methods:
        own = {key: value for key, value in question.given(method).items() if key != "bits"}
        rows.append({"label": method_file(method).title, "method": method, "settings": own})
    defaults = {"dataset": dataset.name, "protocol": question.protocol, "metric": "ap", "tie_aware": True}
    lines = [
        MADE,
        f"title = {toml_value(f'{len(methods)} methods on {dataset.name}')}",
        "notes = [",
        *_items(notes),
        "]",
    ]
    lines += ["", "[defaults]", *(f"{key} = {toml_value(value)}" for key, value in defaults.items())]
    lines += ["", "[[groups]]", "columns = [", *_items(columns), "]", "rows = [", *_items(rows), "]", ""]
    return "\n".join(lines)


def _condition(dataset: "Card", question: "Question") -> "dict[str, Setting]":
    """The runs of the table, for the condition of its recipe."""
    when = {"dataset": dataset.name, "protocol": question.protocol, "model": question.settings["model"]}
    if "features" in question.settings:
        from hashbench.features import split_checksum

        when["features"] = split_checksum(str(question.settings["features"]))[0]
    return when


def _require_no_other_recipe(stem: str, when: "dict[str, Setting]") -> None:
    """Raises HashbenchError if another recipe is for the same runs, which could then take the settings of neither."""
    from hashbench.runs.settings import recipes

    if same := [name for name, recipe in recipes().items() if name != stem and recipe.when.names == when]:
        path = paths.shown(paths.entries("experiments", "recipes")[same[0]])
        raise HashbenchError(f"{path}: it has the settings of these runs already: --name {same[0]}, or remove it")


def _recipe(when: "dict[str, Setting]", stem: str) -> str:
    """The file of the recipe into which the search writes."""
    from hashbench.foundation.config import toml_value

    lines = [MADE, f"title = {toml_value(f'Searched for the table {stem}')}", 'why = "hashbench bench --tune"']
    return "\n".join([*lines, f"when = {toml_value(when)}", 'extends = "linear"', ""])


def _items(values: Sequence[object]) -> list[str]:
    from hashbench.foundation.config import toml_value

    return [f"  {toml_value(value)}," for value in values]


def _require_place(kind: str, path: Path) -> None:
    """Raises HashbenchError for a file that is there and not by ``bench``, also one of this name in hashbench."""
    there = path if path.exists() else paths.entries("experiments", kind).get(path.stem)
    if there is not None and not there.read_text(encoding="utf-8").startswith(MADE):
        raise HashbenchError(f"{paths.shown(there)}: it is there already: give another --name")


def _write(path: Path, text: str, *, keep: bool) -> None:
    """Writes a file; ``keep``: leaves the one that is there, with what a search put into it."""
    from hashbench.foundation.files import write_text

    if not (keep and path.exists()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        paths.read_again()
