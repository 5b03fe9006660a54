"""Methods compared on a data set with labels: the table that declares its cells, and the search of their settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from hashbench.foundation import paths
from hashbench.foundation.config import Setting, toml_value
from hashbench.foundation.errors import HashbenchError, counted, printable
from hashbench.foundation.execution import Execution
from hashbench.foundation.progress import note
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import Card
from hashbench.running.features import model_and_weights, named, path_of, split_checksum, width_of
from hashbench.running.runs.data import require_supervision
from hashbench.running.runs.needs import require_pytorch
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Plan
from hashbench.running.runs.settings import RECIPES, Task, method_file, names_of_data, recipe_for, recipes
from hashbench.running.tuning.choice import choices
from hashbench.running.tuning.recipe import put_into_recipe
from hashbench.running.tuning.run import Budget, finish, missing, planned
from hashbench.running.tuning.search import Question
from hashbench.showing.bench.declared import HEAD, place, table_text, write
from hashbench.showing.search_sheet import failure_of, sheet_of_choices
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables.searches import question_of, search_called

CENTROIDS = "Product quantisation, by asymmetric distances"
LENGTHS = (16, 32)  # of codes, unless other ones are asked for


@dataclass(frozen=True)
class Bench:
    """What is compared: ``question`` has the methods with their settings; ``n_trials`` of each are searched before."""

    stem: str
    dataset: Card
    question: Question
    lengths: Sequence[int]
    n_trials: int = 0

    def runs(self) -> list[Run]:
        """The run with seed 0 of each cell; HashbenchError where a method has no such cell."""
        question = self.question
        runs = []
        for method in question.spaces:
            for bits in self.lengths:
                settings = {**question.given(method), "bits": bits}
                run = Run.resolve(self.dataset.name, question.protocol, method, settings)
                runs.append(run.with_metrics([question.metric]))
        return runs


def usual_lengths(dataset: Card, features: str | None) -> list[int]:
    """The code lengths where none are given: no more bits than an item has numbers."""
    most = prod(dataset.item_shape)
    if dataset.kind == "images" or features:
        most = LENGTHS[-1]
    return [bits for bits in LENGTHS if bits <= most] or [most]


def stored_name(dataset: Card, features: str) -> str:
    """The name under which the features are stored, or will be; HashbenchError for a network that is not here."""
    if path_of(dataset.name, features).is_file():
        return features
    if Path(features).is_file():
        extract = f"hashbench features {dataset.name} --model MODEL --weights {features}"
        raise HashbenchError(f"--features {features} is a file: {extract} extracts them, and names them")
    return named(*model_and_weights(features))[0]


def require_possible(bench: Bench, network: str | None) -> None:
    """Raises HashbenchError, in one line for all runs, where a method cannot make codes of such items.

    The features of a ``network`` may not be extracted yet. A search of the name is refused if it is another run.
    """
    faults = []
    for run in bench.runs():
        require_supervision(run)
        require_pytorch(run)
        if run.method.require is None:
            continue
        try:
            features = run.settings.features
            weights: str | None = None
            if network is not None:
                features, weights = model_and_weights(network)
            n_train = run.protocol.n_train or bench.dataset.n_items
            run.method.require(run.settings, width_of(bench.dataset, features, weights), n_train)
        except HashbenchError as error:
            faults.append(f"{run.name.method}: {error}")
    if faults:
        raise HashbenchError(f"{'; '.join(faults)}: other --bits, or without this method")
    if bench.n_trials:
        # two recipes for the same runs: these could take the settings of neither
        when = _task(bench)
        stem = bench.stem
        if stem in recipes() and recipes()[stem].when != when:
            path = paths.shown(paths.entries("experiments", "recipes")[stem])
            raise HashbenchError(f"{path}: it has settings of other features, data or functions: give another --name")
        if same := [name for name, recipe in recipes().items() if name != stem and recipe.when == when]:
            path = paths.shown(paths.entries("experiments", "recipes")[same[0]])
            raise HashbenchError(f"{path}: it has the settings of these runs already: --name {same[0]}, or remove it")
        place("recipes", stem)
        question = bench.question.model_copy(update={"recipe": bench.stem})
        budget = Budget([*question.spaces], bench.n_trials)
        missing(
            search_called(f"{bench.stem}_search", question), budget.methods, budget.trials, budget.repeats, retry=False
        )


def search(bench: Bench, execution: Execution, plan: Plan) -> tuple[Sheet, list[str]]:
    """Searches the settings and writes them into the recipe; a footnote where no trial of a method has a score."""
    lengths = sorted(bench.lengths)
    path = place("recipes", bench.stem)
    if not path.exists():  # else a search has put its values into it
        write(path, _recipe(bench))
    if len(lengths) > 1:
        others = ", ".join(map(str, lengths[:-1]))
        note(f"note: settings are searched at {lengths[-1]} bits alone, and the same are taken at {others}")
    settings: dict[str, Setting] = {"bits": lengths[-1]}
    if "features" in bench.question.settings:
        settings["features"] = bench.question.settings["features"]
    names = [*bench.question.spaces, bench.dataset.name]
    question = question_of(names, bench.question.protocol, bench.stem, settings, bench.question.metric)
    budget = Budget([*question.spaces], bench.n_trials)
    search = search_called(f"{bench.stem}_search", question)
    search = finish(search, budget, planned(search, budget), execution, plan)
    chosen = [choice for choice in choices(search) if choice.method in question.spaces]
    put_into_recipe(bench.stem, chosen, search.name, write=True)
    paths.read_again()
    error = failure_of(chosen)
    failures = []
    if error is not None:
        failures = [f"Failed: the search of settings: {error}."]
    return sheet_of_choices(search, chosen, []), failures


def failed_cells(failures: Sequence[tuple[Run, str]], seeds: int) -> Iterator[str]:
    """A footnote for each cell of which runs failed, with the first reason."""
    reasons: dict[tuple[str, Any], list[str]] = {}
    for run, reason in failures:
        reasons.setdefault((run.name.method, run.name.identity["bits"]), []).append(reason)
    for (method, bits), of_cell in reasons.items():
        title = method_file(method).title
        yield f"Failed: {title} at {bits} bits, {len(of_cell)} of {seeds} runs: {printable(of_cell[0], 300)}."


def table(bench: Bench, failures: Sequence[str] = ()) -> str:
    """The file that declares the table: a row for each method, a column for each length."""
    dataset = bench.dataset
    question = bench.question
    of_codes = [method for method in question.spaces if METHODS.get(method).main_search == "database"]
    of_centroids = [method for method in question.spaces if method not in of_codes]
    columns = [{"label": f"{bits} bits", "settings": {"bits": bits}} for bits in bench.lengths]
    defaults = {"dataset": dataset.name, "protocol": question.protocol, "metric": question.metric, "tie_aware": True}
    title = f"{counted(len(question.spaces), 'method')} on {dataset.name}: {question.metric_title}"
    groups: list[dict[str, object]] = []
    for section, evaluation, methods in (("", "database", of_codes), (CENTROIDS, "asymmetric", of_centroids)):
        rows = []
        for method in methods:
            settings = {key: value for key, value in question.given(method).items() if key != "bits"}
            rows.append({"label": method_file(method).title, "method": method, "settings": settings})
        if rows:
            groups.append({"section": section, "evaluation": evaluation, "columns": columns, "rows": rows})
    return table_text(title, [*_notes(bench, of_centroids), *failures], defaults, groups)


def _notes(bench: Bench, of_centroids: Sequence[str]) -> Iterator[str]:
    """The footnotes: what is measured of which queries, the input of the methods, the search of their settings."""
    dataset = bench.dataset
    question = bench.question
    rule = dataset.protocol(question.protocol)
    queries = "the queries"
    if rule.n_queries:
        queries = f"the {rule.n_queries:,} queries"
    measured = f"{question.metric_title}, tie-aware, over {queries} of {dataset.name} {question.protocol}"
    yield f"Each value is the mean of {measured}."
    yield f"All hash functions are {question.settings['model']}, of the same items, where the method has a choice."
    inputs = dict[str, list[str]]()
    for run in bench.runs():
        features = run.settings.features
        normalise = getattr(run.settings, "normalise", "none")
        what = f"the features {features}"
        if features == "pixels":
            what = "the items as they are stored"
        methods = inputs.setdefault(f"{what}, normalise = {normalise}", [])
        if run.name.method not in methods:
            methods.append(run.name.method)
    if len(inputs) == 1:
        yield f"All methods have the same input: {next(iter(inputs))}."
    else:
        differing = "; ".join(f"{what} ({', '.join(methods)})" for what, methods in inputs.items())
        yield f"The input differs: {differing}."
    if bench.n_trials:
        lengths = sorted(bench.lengths)
        at = f"at {lengths[-1]} bits"
        if len(lengths) > 1:
            at += ", not at each length"
        best = f"the best of {bench.n_trials} trials by {question.metric_title} {at}, by validation queries"
        yield f"The settings of each method are {best}, which the database does not have."
    if of_centroids:
        yield "A query of a product quantiser is real numbers: a reference, not ranked among Hamming distances."


def _task(bench: Bench) -> Task:
    """The runs of the table, which its recipe is for."""
    question = bench.question
    features = None
    if "features" in question.settings:
        features = split_checksum(str(question.settings["features"]))[0]
    model = str(question.settings["model"])
    return Task(model=model, features=features, dataset=bench.dataset.name, protocol=question.protocol)


def _recipe(bench: Bench) -> str:
    """The file of the recipe into which the search writes."""
    run = bench.runs()[0]
    names = {key: getattr(run.name, key) for key in ("dataset", "method", "budget")} | names_of_data(run.card)
    names["protocol"] = run.protocol.stands_for(run.name.protocol)
    names["features"] = split_checksum(run.settings.features)[0]
    # what a linear network has on these data, where the search gives no other value
    like = paths.entries(*RECIPES)[recipe_for("linear", names) or "linear"].read_text("utf-8")
    values = like[like.index("[parameters]") :]
    title = toml_value(f"Searched for the table {bench.stem}")
    task = toml_value(_task(bench).model_dump(exclude_none=True))
    lines = [HEAD, f"title = {title}", 'why = "hashbench bench --tune"', f"when = {task}"]
    return "\n".join([*lines, "", values])
