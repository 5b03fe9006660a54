"""``hashbench bench`` compares methods on one data set: it declares a table, measures it and writes it."""

import re
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli import _interrupts
from hashbench.cli._command import Answer
from hashbench.cli._fill import fill_tables
from hashbench.cli._options import DATASETS, Device, ProtocolName, given, program
from hashbench.cli._options import SEEDS as RUNS
from hashbench.cli._terminal import rows_read
from hashbench.cli.catalogue import card_of
from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted
from hashbench.foundation.execution import Execution
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical, refuse
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.protocol import Neighbours
from hashbench.running.features import extract, model_and_weights
from hashbench.running.runs.needs import require_device
from hashbench.running.runs.run_all import Plan
from hashbench.running.runs.store import Store
from hashbench.showing.bench import labels, vectors
from hashbench.showing.bench.declared import note_what_is_replaced, place, stem_of, write
from hashbench.showing.report import files
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import Rows, collect
from hashbench.showing.tables.fill import Failure, RunsFailed, work_of
from hashbench.showing.tables.searches import question_of
from hashbench.showing.tables.sheet import sheet_of

SEEDS = 3
TARGET = 0.95  # recall of the smallest code that is named
FACTORS = (2, 4, 10)  # times as many candidates as neighbours that are rescored


def command(
    context: Context,
    data: Annotated[
        str,
        Argument(
            metavar="DATASET|FILE", help="A data set, or a file of vectors without labels.", autocompletion=DATASETS
        ),
    ],
    methods: Annotated[
        str | None, Option(metavar="A,B,...", help="Methods; needed with labels: hashbench list methods.")
    ] = None,
    bits: Annotated[
        str | None,
        Option(
            metavar="N,N,...",
            help="Code lengths. Default: 16,32; of vectors 64,128,256 too.",
        ),
    ] = None,
    k: Annotated[int | None, Option(min=1, help="Vectors: the nearest that are to be found. Default: 10.")] = None,
    rescore: Annotated[
        str | None,
        Option(
            metavar="N,N,...",
            help="Vectors: N times k candidates. Default: 2,4,10.",
        ),
    ] = None,
    target: Annotated[
        float | None, Option(min=0, max=1, help="Vectors: recall of the smallest code. Default: 0.95.")
    ] = None,
    seeds: Annotated[int | None, Option(min=1, help=f"{RUNS} Default: 3.")] = None,
    tune_trials: Annotated[
        int, Option("--tune", min=0, metavar="N", help="First search settings, N trials a method.")
    ] = 0,
    features: Annotated[str | None, Option(metavar="MODEL", help="Hash the features of this network.")] = None,
    model: Annotated[str | None, Option(help="The form of hash functions. Default: linear.")] = None,
    protocol: ProtocolName = None,
    metric: Annotated[
        str | None,
        Option(metavar="METRIC", help="What is compared: hashbench list metrics. Default: ap."),
    ] = None,
    name: Annotated[str | None, Option(help="Name of the table. Default: bench_ and the data set.")] = None,
    jobs: Annotated[int | None, Option(min=1, help="Runs at a time. Default: 1; of vectors one a core.")] = None,
    device: Device = "auto",
) -> Answer:
    """Compare methods on a data set with labels, or codes of vectors without.

    The table is declared in experiments/tables/ of the current folder, or of --root. All its cells are trained and
    scored, and it is written to results/tables/. --tune searches settings first, by validation queries out of the
    database. If a run fails, a footnote names it, and the exit status is 1. After an interruption the same command
    continues.

    Of vectors (vectors.npy, or a data set of such) the table has the recall of the nearest, by codes alone and after
    candidates are rescored by the floats. Files are in results/bench/.
    """
    Execution(device)  # refuses the name of no device
    require_device(device)
    _interrupts.say_that_it_continues()
    of_vectors = {"k": k, "rescore": rescore, "target": target}
    of_labels = {"seeds": seeds, "tune": tune_trials or None, "features": features, "model": model, "metric": metric}
    names = None if methods is None else _methods(methods)
    lengths = None if bits is None else _whole_numbers("--bits", bits)
    is_of_vectors = _has_neighbours(data, protocol)
    if others := given(of_labels if is_of_vectors else of_vectors):
        fault = (
            "not for vectors without labels" if is_of_vectors else f"for vectors without labels, and {data} has labels"
        )
        raise HashbenchError(f"{others}: {fault}")
    if is_of_vectors:
        factors: Sequence[int] = FACTORS
        if rescore is not None:
            factors = sorted({*_whole_numbers("--rescore", rescore)} - {1})  # 1 is there
        goal = TARGET if target is None else target
        choice = vectors.Choice(names, lengths, k, factors, goal, protocol)
        return _compare_codes(data, choice, name, program(context), jobs=jobs, device=device)
    dataset = card_of(data)
    if names is None:
        raise HashbenchError(f"--methods is missing: those that are compared on {dataset.name}, such as itq,lsh")
    stem = stem_of(name, dataset.name)
    lengths = lengths or labels.usual_lengths(dataset, features)
    settings: dict[str, Setting] = {"bits": max(lengths), "model": model or "linear"}
    if features is not None:
        settings["features"] = labels.stored_name(dataset, features)
    question = question_of([*names, dataset.name], protocol, None, settings, metric or "ap")
    bench = labels.Bench(stem, dataset, question, lengths, tune_trials)
    return _compare_methods(bench, features, seeds or SEEDS, Execution(device=device, progress=True), Plan(jobs or 1))


def _compare_methods(bench: labels.Bench, features: str | None, seeds: int, execution: Execution, plan: Plan) -> Answer:
    """Compares methods on a data set with labels; all that can be refused is refused before a file is written."""
    labels.require_possible(bench, features)
    path = place("tables", bench.stem)
    note_what_is_replaced(path, labels.table(bench))
    if features is not None:
        extract(bench.dataset, *model_and_weights(features), device=execution.device, progress=True)
    write(path, labels.table(bench))
    searched: list[Sheet] = []
    failures: list[str] = []
    if bench.n_trials:
        sheet, failures = labels.search(bench, Execution(device=execution.device), plan)
        searched = [sheet]
    failures += labels.failed_cells(_failed_runs(bench.stem, seeds, execution, plan), seeds)
    write(path, labels.table(bench, failures))
    store = rows_read()
    table = collect(spec.load(bench.stem), Rows(store.rows(refuse)), store)
    written = files.write(store.folder, [table], [])
    fault = f"{bench.stem}: {len(failures)} of its cells or searches failed: its footnotes name them"
    shown = sheet_of(table)
    sheets = Sheet(parts=[*searched, shown], values=shown.values)
    return Answer(sheets, [*map(paths.shown, written)], CheckFailed(fault) if failures else None)


def _compare_codes(
    data: str, choice: vectors.Choice, name: str | None, program: Sequence[str], *, jobs: int | None, device: str
) -> Answer:
    """Compares codes of vectors without labels; all that can be refused is refused before a file is written."""
    with vectors.card_and_items(data) as (card, items):
        stem = stem_of(name, card.name)
        path = place("tables", stem)
        comparison, left_out = vectors.comparison_of(card, choice)
        warnings = vectors.warnings_of(comparison)
    for line in [*left_out, *(f"note: {warning}" for warning in warnings)]:
        note(line)
    note_what_is_replaced(path, vectors.declared(comparison))
    write(path, vectors.declared(comparison))
    execution = Execution(device=device, progress=True)
    failures = _failed_runs(stem, 1, execution, vectors.plan_of(comparison, jobs))
    remarks = [*warnings, *(f"Failed: {run.name}: {reason}" for run, reason in failures)]
    sheet, after = vectors.write(comparison, stem, choice.target, items, program, remarks)
    fault = f"{stem}: {counted(len(failures), 'run')} failed: the table has the others"
    return Answer(sheet, after, CheckFailed(fault) if failures else None, ink="text")


def _failed_runs(table: str, seeds: int, execution: Execution, plan: Plan) -> list[Failure]:
    """The runs of the declared table that failed, after all were made."""
    specs = [spec.load(table)]
    store = Store.default()
    try:
        fill_tables(specs, work_of(specs, seeds, store, retry_failed=True), store, execution, plan)
    except RunsFailed as error:
        return error.failures
    return []


def _has_neighbours(data: str, protocol: str | None) -> bool:
    """Whether ``data`` is a file of vectors, or a data set by whose protocol, or all of whose, the nearest count."""
    if vectors.is_file(data):
        return True
    card = card_of(data)
    names = [*card.protocols] if protocol is None else [protocol]
    rules = [card.protocol(name) for name in names]
    return bool(rules) and all(isinstance(rule.relevance, Neighbours) for rule in rules)


def _methods(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if canonical(name) not in METHODS.names]:
        raise HashbenchError(f"--methods: {unknown[0] or 'an empty name'} is no method: hashbench list methods")
    if len({canonical(name) for name in names}) < len(names):
        raise HashbenchError(f"--methods {text}: methods are expected each once")
    return names


def _whole_numbers(option: str, text: str) -> list[int]:
    """The numbers in a text such as 16,32; HashbenchError unless each is whole, above 0, and there once."""
    words = text.split(",")
    if len(set(words)) < len(words) or not all(re.fullmatch("[1-9][0-9]{0,8}", word.strip()) for word in words):
        fault = f"whole numbers from 1, each once, are expected, such as {option} 4,8"
        raise HashbenchError(f"{option} {text}: {fault}")
    return [int(word) for word in words]
