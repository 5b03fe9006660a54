"""``hashbench bench`` compares methods on one data set: it declares a table, measures it and writes it."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from hashbench.cli import _bench_vectors, _interrupts, run, tune
from hashbench.cli._command import Answer
from hashbench.cli._options import DATASETS, Device, ProtocolName, given, program
from hashbench.cli._terminal import rows_read
from hashbench.cli.catalogue import card_of
from hashbench.datasets.card import Card
from hashbench.datasets.protocol import Neighbours
from hashbench.features import extract, model_and_weights, named, path_of, split_checksum, width_of
from hashbench.foundation import paths
from hashbench.foundation.config import Setting, toml_value
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted, printable
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical, refuse
from hashbench.methods import METHODS
from hashbench.report import files
from hashbench.runs.data import require_supervision
from hashbench.runs.needs import require_pytorch
from hashbench.runs.run import Run
from hashbench.runs.settings import method_file, names_of_data, recipe_of_linear_network, recipes
from hashbench.showing.sheet import Sheet
from hashbench.tables import spec
from hashbench.tables.collect import Rows, collect
from hashbench.tables.sheet import sheet_of
from hashbench.tuning.run import missing
from hashbench.tuning.search import NAME, Question

CENTROIDS = "Product quantisation, by asymmetric distances"
SEEDS = 3
TARGET = 0.95  # recall of the smallest code that is named
FACTORS = (2, 4, 10)  # times as many candidates as neighbours that are rescored
LENGTHS = (16, 32)  # of codes, unless other ones are asked for
MADE = "# Written by hashbench bench, and again by the next one of this name. To change it, rename it."


def command(
    context: Context,
    data: Annotated[
        str,
        Argument(
            metavar="DATASET|FILE", help="A data set, or a file of vectors without labels.", autocompletion=DATASETS
        ),
    ],
    methods: Annotated[
        str | None, Option(metavar="METHOD,METHOD,...", help="The methods that are compared; needed with labels.")
    ] = None,
    bits: Annotated[
        str | None,
        Option(
            metavar="N,N,...",
            help="Code lengths. Default: 16,32, or as many numbers as an item has; of vectors 64,128,256 and these.",
        ),
    ] = None,
    k: Annotated[int | None, Option(min=1, help="Of vectors: the nearest that are to be found. Default: 10.")] = None,
    rescore: Annotated[
        str | None,
        Option(
            metavar="F,F,...",
            help="Of vectors: how many times k candidates are rescored; 4, or the most, chooses. Default: 2,4,10.",
        ),
    ] = None,
    target: Annotated[
        float | None, Option(min=0, max=1, help="Of vectors: the recall that the smallest code must reach. Def.: 0.95.")
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Number of runs of each cell, with seeds 0 .. SEEDS - 1. Default: 3.")
    ] = None,
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
    model: Annotated[
        str | None, Option(help="The form of all methods' hash functions that have a choice. Default: linear.")
    ] = None,
    protocol: ProtocolName = None,
    metric: Annotated[
        str | None,
        Option(metavar="METRIC", help="What is compared, such as ndcg: hashbench list metrics. Default: ap."),
    ] = None,
    name: Annotated[str | None, Option(help="Name of the table. Default: bench_ and the name of the data set.")] = None,
    jobs: Annotated[
        int | None, Option(min=1, help="Number of runs at the same time. Default: 1; of vectors one for each core.")
    ] = None,
    device: Device = "auto",
) -> Answer:
    """Compare methods on a data set, from training to the table; or codes of vectors without labels.

    The table is declared in experiments/tables/ of the current folder, or of --root; --tune puts what it finds into a
    recipe beside it, by queries that are held out of the database, at the largest of the code lengths. Then all cells
    are trained and scored, and the table is printed and written to results/tables/, with a picture. run, table, report
    and bundle take it like any other. After an interruption the same command continues.

    Of vectors without labels (a file such as vectors.npy, which becomes a data set, or a data set of such) the nearest
    by floats are to be found: the table has the recall by codes alone and after candidates are rescored by the floats,
    and the bytes of a vector. The last line names the smallest code that reaches the target, and the command that makes
    it. Files are in results/bench/.

    What cannot work is refused before anything is written. If a run fails all the same, the table has the others, a
    footnote names it, and the exit status is 1.
    """
    _interrupts.say_that_it_continues()
    of_vectors = {"k": k, "rescore": rescore, "target": target}
    of_labels = {
        "seeds": seeds,
        "tune": tune_trials or None,
        "features": features,
        "weights": weights,
        "model": model,
        "metric": metric,
    }
    if _has_neighbours(data, protocol):
        if others := given(of_labels):
            raise HashbenchError(f"{others}: not for vectors without labels, whose recall is compared: --k, --rescore")
        chosen = _bench_vectors.Choice(
            None if methods is None else _methods(methods),
            None if bits is None else _whole_numbers("--bits", bits),
            k,
            FACTORS if rescore is None else sorted({*_whole_numbers("--rescore", rescore)} - {1}),  # 1 is there anyway
            TARGET if target is None else target,
            protocol,
        )
        return _compare_codes(data, chosen, name, program(context), jobs=jobs, device=device)
    dataset = card_of(data)
    if others := given(of_vectors):
        raise HashbenchError(f"{others}: for vectors without labels, and {dataset.name} has labels: --metric")
    if methods is None:
        raise HashbenchError(f"--methods is missing: those that are compared on {dataset.name}, such as itq,lsh")
    model, metric, seeds = model or "linear", metric or "ap", seeds or SEEDS
    names, stem = _methods(methods), _stem(name, dataset)
    lengths = _lengths(dataset, bits, features)
    of_all: dict[str, Setting] = {"bits": max(lengths), "model": model}
    if features is not None:
        of_all["features"] = _stored_name(dataset, features, weights)
    elif weights is not None:
        raise HashbenchError("--weights are those of a network: --features MODEL is missing")
    question = tune.question_of([*names, dataset.name], protocol, None, of_all, metric)
    runs = _runs(dataset, question, lengths)
    _require_possible(dataset, runs, None if features is None else _network(features, weights))
    path = _place("tables", stem)
    if tune_trials:
        _require_search(stem, dataset, question, tune_trials)
    # all that can be refused is refused by now: from here on files are written
    declared = _table(dataset, question, runs, tune_trials)
    _note_what_is_replaced(path, declared)
    if features is not None:
        extract(dataset, *_network(features, weights), device=device, progress=True)
    _write(path, declared)
    how: dict[str, Any] = {"jobs": jobs or 1, "device": device}
    searched, failures = _tune(stem, dataset, question, runs, tune_trials, **how) if tune_trials else ([], [])
    runs = _runs(dataset, question, lengths)  # again: the search may have chosen another input
    failures += _train(stem, seeds, **how)
    _write(path, _table(dataset, question, runs, tune_trials, failures))
    store = rows_read()
    table = collect(spec.load(stem), Rows(store.rows(refuse)), store)
    written = files.write(store.folder, [table], [])
    fault = f"{stem}: {len(failures)} of its cells or searches failed: its footnotes name them"
    sheet = Sheet(parts=[*searched, sheet_of(table)], values=sheet_of(table).values)
    return Answer(sheet, [*map(paths.shown, written)], CheckFailed(fault) if failures else None)


def _has_neighbours(data: str, protocol: str | None) -> bool:
    """Whether ``data`` is a file of vectors, or a data set by whose protocol, or all of whose, the nearest count."""
    if _bench_vectors.is_file(data):
        return True
    card = card_of(data)
    rules = card.protocols.values() if protocol is None else [card.protocol(protocol)]
    return bool(rules) and all(isinstance(rule.relevance, Neighbours) for rule in rules)


def _compare_codes(
    data: str, chosen: _bench_vectors.Choice, name: str | None, program: Sequence[str], *, jobs: int | None, device: str
) -> Answer:
    """Compares codes of vectors without labels; all that can be refused is refused before a file is written."""
    with _bench_vectors.card_and_items(data) as (card, items):
        stem = _stem(name, card)
        path = _place("tables", stem)
        comparison, left_out = _bench_vectors.comparison_of(card, chosen)
        warnings = _bench_vectors.warnings_of(comparison)
    for line in [*left_out, *(f"note: {warning}" for warning in warnings)]:
        note(line)
    declared = f"{MADE}\n{_bench_vectors.declared(comparison)}"
    _note_what_is_replaced(path, declared)
    _write(path, declared)
    return _bench_vectors.compare(comparison, stem, chosen.target, items, program, warnings, jobs=jobs, device=device)


def _note_what_is_replaced(path: Path, declared: str) -> None:
    """Notes that a table of the same name has other cells; the notes above its cells may name what failed."""
    cells = declared.partition("[defaults]")[2]
    if path.exists() and path.read_text(encoding="utf-8").partition("[defaults]")[2] != cells:
        note(f"note: the table {path.stem} gets other cells: another --name keeps those that it had")


def _methods(names: str) -> list[str]:
    found = [each.strip() for each in names.split(",")]
    if unknown := [each for each in found if canonical(each) not in METHODS.names]:
        raise HashbenchError(f"--methods: {unknown[0] or 'an empty name'} is no method: hashbench list methods")
    if len({canonical(each) for each in found}) < len(found):
        raise HashbenchError(f"--methods {names}: methods are expected each once")
    return found


def _stem(name: str | None, dataset: Card) -> str:
    stem = canonical(name or f"bench_{dataset.name}")
    if not NAME.fullmatch(stem):
        raise HashbenchError(f"--name {name}: letters, digits, _, - and dots are expected")
    return stem


def _require_search(stem: str, dataset: Card, question: Question, n_trials: int) -> None:
    """Raises HashbenchError where the search of this name, or its recipe, is another one."""
    _require_no_other_recipe(stem, _condition(dataset, question))
    _place("recipes", stem)
    search = tune.search_called(f"{stem}_search", question.model_copy(update={"recipe": stem}))
    missing(search, [*question.spaces], n_trials, tune.STUDIES, retry=False)


def _tune(
    stem: str, dataset: Card, question: Question, runs: Sequence[Run], n_trials: int, *, jobs: int, device: str
) -> tuple[list[Sheet], list[str]]:
    """Searches the settings and writes them into the recipe; a footnote where no trial of a method has a score."""
    lengths = sorted({int(one.name.identity["bits"]) for one in runs})
    path, failures = _place("recipes", stem), list[str]()
    if not path.exists():  # else a search has put its values into it
        _write(path, _recipe(_condition(dataset, question), stem, _extended(runs[0])))
    if len(lengths) > 1:
        others = ", ".join(map(str, lengths[:-1]))
        note(f"note: settings are searched at {lengths[-1]} bits alone, and the same are taken at {others}")
    settings = [f"{key}={value}" for key, value in question.settings.items() if key == "features"]
    what = [*question.spaces, dataset.name], question.protocol, stem, lengths[-1], None, settings, n_trials
    how: dict[str, Any] = {"name": f"{stem}_search", "jobs": jobs, "device": device, "metric": question.metric}
    answer = tune.command(*what, **how, write=True)
    assert isinstance(answer, Answer)
    if answer.error is not None:
        failures.append(f"Failed: the search of settings: {answer.error}.")
    paths.read_again()
    return [answer.sheet], failures


def _train(stem: str, seeds: int, *, jobs: int, device: str) -> list[str]:
    """Trains and scores the cells; a footnote for each of which runs failed."""
    try:
        run.command([stem], seeds=seeds, jobs=jobs, device=device, retry_failed=True)
    except run.RunsFailed as error:
        return [*_failed_cells(error.failures, seeds)]
    return []


def _lengths(dataset: Card, bits: str | None, features: str | None) -> list[int]:
    if bits is None:
        most = LENGTHS[-1] if dataset.kind == "images" or features else prod(dataset.item_shape)
        return [each for each in LENGTHS if each <= most] or [most]
    return _whole_numbers("--bits", bits)


def _whole_numbers(option: str, text: str) -> list[int]:
    """The numbers in a text such as 16,32; HashbenchError unless each is whole, above 0, and there once."""
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or len(set(found)) < len(found):
        fault = f"whole numbers from 1, each once, are expected, such as {option} 4,8"
        raise HashbenchError(f"{option} {text}: {fault}")
    return found


def _stored_name(dataset: Card, features: str, weights: str | None) -> str:
    """The name under which the features are stored, or will be; HashbenchError for a network that is not here."""
    if weights is None and path_of(dataset.name, features).is_file():
        return features
    if weights is None and Path(features).is_file():
        raise HashbenchError(f"--features {features} is a file: --features MODEL --weights {features}")
    return named(*_network(features, weights))[0]


def _network(features: str, weights: str | None) -> tuple[str, str | None]:
    """The network of the features, and its weights."""
    return (features, weights) if weights is not None else model_and_weights(features)


def _runs(dataset: Card, question: Question, lengths: Sequence[int]) -> list[Run]:
    """The run with seed 0 of each cell; HashbenchError where a method has no such cell."""
    found = []
    for method in question.spaces:
        for n in lengths:
            one = Run.resolve(dataset.name, question.protocol, method, {**question.given(method), "bits": n})
            found.append(one.with_metrics([question.metric]))
    return found


def _require_possible(dataset: Card, runs: Sequence[Run], network: tuple[str, str | None] | None) -> None:
    """Raises HashbenchError, in one line for all runs, where a method cannot make codes of such items.

    The features of a ``network`` and its weights may not be extracted yet.
    """
    faults = []
    for one in runs:
        require_supervision(one)
        require_pytorch(one)
        if one.method.require is None:
            continue
        try:
            n_train = one.protocol.n_train or dataset.n_items
            width = width_of(dataset, *(network or (one.settings.features, None)))
            one.method.require(one.settings, width, n_train)
        except HashbenchError as error:
            faults.append(f"{one.name.method}: {error}")
    if faults:
        raise HashbenchError(f"{'; '.join(faults)}: other --bits, or without this method")


def _failed_cells(failures: Sequence[tuple[Run, str]], seeds: int) -> Iterator[str]:
    """A footnote for each cell of which runs failed, with the first reason."""
    reasons: dict[tuple[str, Any], list[str]] = {}
    for one, reason in failures:
        reasons.setdefault((one.name.method, one.name.identity["bits"]), []).append(reason)
    for (method, bits), of_cell in reasons.items():
        title = method_file(method).title
        yield f"Failed: {title} at {bits} bits, {len(of_cell)} of {seeds} runs: {printable(of_cell[0], 300)}."


def _table(dataset: Card, question: Question, runs: Sequence[Run], n_trials: int, failures: Sequence[str] = ()) -> str:
    """The file that declares the table: a row for each method, a column for each length."""
    of_codes = [method for method in question.spaces if METHODS.get(method).main_search == "database"]
    of_centroids = [method for method in question.spaces if method not in of_codes]
    lengths = dict.fromkeys(one.name.identity["bits"] for one in runs)
    columns = [{"label": f"{n} bits", "settings": {"bits": n}} for n in lengths]
    defaults = {"dataset": dataset.name, "protocol": question.protocol, "metric": question.metric, "tie_aware": True}
    title = f"{counted(len(question.spaces), 'method')} on {dataset.name}: {question.metric_title}"
    lines = [MADE, f"title = {toml_value(title)}", "notes = ["]
    lines += _items([*_notes(dataset, question, runs, n_trials, of_centroids), *failures])
    lines += ["]", "", "[defaults]", *(f"{key} = {toml_value(value)}" for key, value in defaults.items())]
    for section, evaluation, methods in (("", "database", of_codes), (CENTROIDS, "asymmetric", of_centroids)):
        if methods:
            lines += ["", "[[groups]]", f"section = {toml_value(section)}", f"evaluation = {toml_value(evaluation)}"]
            lines += ["columns = [", *_items(columns), "]", "rows = [", *_items(_rows(question, methods)), "]"]
    return "\n".join([*lines, ""])


def _rows(question: Question, methods: Sequence[str]) -> list[dict[str, object]]:
    rows = list[dict[str, object]]()
    for method in methods:
        settings = {key: value for key, value in question.given(method).items() if key != "bits"}
        rows.append({"label": method_file(method).title, "method": method, "settings": settings})
    return rows


def _notes(
    dataset: Card, question: Question, runs: Sequence[Run], n_trials: int, of_centroids: Sequence[str]
) -> Iterator[str]:
    """The footnotes: what is measured of which queries, the input of the methods, the search of their settings."""
    rule = dataset.protocol(question.protocol)
    queries = f"the {rule.n_queries:,} queries" if rule.n_queries else "the queries"
    of = f"{queries} of {dataset.name} {question.protocol}"
    yield f"Each value is the mean of {question.metric_title}, tie-aware, over {of}."
    yield f"All hash functions are {question.settings['model']}, of the same items, where the method has a choice."
    inputs = dict[str, list[str]]()
    for one in runs:
        features, normalise = one.settings.features, getattr(one.settings, "normalise", "none")
        what = "the items as they are stored" if features == "pixels" else f"the features {features}"
        methods = inputs.setdefault(f"{what}, normalise = {normalise}", [])
        methods += [one.name.method] if one.name.method not in methods else []
    if len(inputs) == 1:
        yield f"All methods have the same input: {next(iter(inputs))}."
    else:
        yield "The input differs: " + "; ".join(f"{what} ({', '.join(of)})" for what, of in inputs.items()) + "."
    if n_trials:
        lengths = sorted({int(one.name.identity["bits"]) for one in runs})
        at = f"at {lengths[-1]} bits" + (", not at each length" if len(lengths) > 1 else "")
        best = f"the best of {n_trials} trials by {question.metric_title} {at}, by queries that"
        yield f"The settings of each method are {best} are held out of the database."
    if of_centroids:
        yield "A query of a product quantiser is real numbers: a reference, not ranked among Hamming distances."


def _condition(dataset: Card, question: Question) -> dict[str, Setting]:
    """The runs of the table, for the condition of its recipe."""
    when = {"dataset": dataset.name, "protocol": question.protocol, "model": question.settings["model"]}
    if "features" in question.settings:
        when["features"] = split_checksum(str(question.settings["features"]))[0]
    return when


def _require_no_other_recipe(stem: str, when: dict[str, Setting]) -> None:
    """Raises HashbenchError if another recipe is for the same runs, which could then take the settings of neither."""
    if stem in recipes() and recipes()[stem].when.names != when:
        path = paths.shown(paths.entries("experiments", "recipes")[stem])
        raise HashbenchError(f"{path}: it has settings of other features, data or functions: give another --name")
    if same := [name for name, recipe in recipes().items() if name != stem and recipe.when.names == when]:
        path = paths.shown(paths.entries("experiments", "recipes")[same[0]])
        raise HashbenchError(f"{path}: it has the settings of these runs already: --name {same[0]}, or remove it")


def _extended(one: Run) -> str:
    """The recipe that a linear network has on these data, whose values the new recipe has where it gives no other."""
    names = {key: getattr(one.name, key) for key in ("dataset", "method", "budget")} | names_of_data(one.card)
    names |= {"protocol": one.protocol.stands_for(one.name.protocol)}
    names |= {"features": split_checksum(one.settings.features)[0]}
    return recipe_of_linear_network(names) or "linear"


def _recipe(when: dict[str, Setting], stem: str, extended: str) -> str:
    """The file of the recipe into which the search writes."""
    lines = [MADE, f"title = {toml_value(f'Searched for the table {stem}')}", 'why = "hashbench bench --tune"']
    return "\n".join([*lines, f"when = {toml_value(when)}", f"extends = {toml_value(extended)}", ""])


def _items(values: Sequence[object]) -> list[str]:
    return [f"  {toml_value(value)}," for value in values]


def _place(kind: str, stem: str) -> Path:
    """The file; HashbenchError if one is there that is not by ``bench``, also one of this name in hashbench."""
    path = paths.own_root() / "experiments" / kind / f"{stem}.toml"
    there = path if path.exists() else paths.entries("experiments", kind).get(stem)
    if there is not None and not there.read_text(encoding="utf-8").startswith(MADE):
        raise HashbenchError(f"{paths.shown(there)}: it is there already: give another --name")
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    paths.read_again()
