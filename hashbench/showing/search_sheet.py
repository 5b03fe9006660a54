"""A search as a sheet: its choices, and in its records every trial."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import CheckFailed
from hashbench.foundation.files import write_text
from hashbench.running.datasets.protocol import first_splits
from hashbench.running.runs.command import command_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import method_file
from hashbench.running.tuning.choice import FINALISTS, Choice, choices, on_each_dataset
from hashbench.running.tuning.search import Question, Search, path_of
from hashbench.showing import ink
from hashbench.showing.sheet import Cell, Grid, Number, Sheet

HEADINGS = ("of its repeats", "trial", "failed", "chosen")
ON_EACH = ("of its best trial there", "of the trial chosen", "of the one chosen on the others")
SCORE = ".3f"


def named(name: str) -> Sheet:
    """The sheet of the search called ``name``, which is here."""
    return sheet_of(Search.named(name))


def write(name: str) -> Path:
    """Writes what was chosen as Markdown beside the search called ``name``; the path."""
    path = path_of(name).with_name(f"{name}.md")
    write_text(path, ink.write(named(name), "markdown", level=1))
    return path


def sheet_of(search: Search) -> Sheet:
    """A row for each method, the best first: the score of the chosen trial, and its settings."""
    question = search.question
    chosen = choices(search)
    again = [
        f"to be searched again: {method_file(choice.method).title} ({'; '.join(choice.search_again)})"
        for choice in chosen
        if choice.search_again
    ]
    columns = ["method", f"validation {question.metric_title}", *HEADINGS]
    grids = [Grid([[*_cells(choice)] for choice in chosen], columns)]
    texts = [_method_of_search(search)]
    if on_each := [row for choice in chosen for row in _rows_on_each_dataset(search, choice)]:
        first, *others = ON_EACH
        grids.append(Grid(on_each, ["method", "data set", f"{question.metric_title} {first}", *others]))
        of_repeat = ""
        if question.is_two_stage:
            of_repeat = " The values are those of the first repeat."
        too_high = f"so its {question.metric_title} is a little too high"
        again.append(f"A best trial is the best of many on the same queries, {too_high}.{of_repeat}")
    return Sheet(
        f"The search {search.name}: {', '.join(question.left_out)} ({question.protocol})",
        grids,
        texts,
        again,
        values=lambda: {"search": search.name, "choices": [as_object(choice) for choice in chosen]},
        records=lambda: _records(search),
    )


def _cells(choice: Choice) -> Iterator[Cell]:
    yield method_file(choice.method).title
    if choice.failure is None:
        yield Number(choice.score, SCORE)
        yield f"{choice.lowest:.3f} to {choice.highest:.3f}"
        yield Number(choice.trial, "d", after=choice.number.removeprefix(str(choice.trial)))
    else:
        yield from ("failed", "", f"none of {choice.n_trials}")
    yield Number(choice.n_failed, "d", after=f" of {choice.n_trials}")
    values = [f"{key} = {value}" for key, value in choice.searched.items()]
    if choice.failure is None:
        yield ", ".join(values)
    else:
        yield f"nothing: {choice.failure}"


def _method_of_search(search: Search) -> str:
    """What all trials share, which were run how often, what chose among them, and what the validation queries are."""
    question = search.question
    n_repeats = len({trial.study for trial in search.trials.values()})
    fixed = ", ".join(f"{key} = {value}" for key, value in question.settings.items())
    fixed += "".join(f", bits of {name} = {bits}" for name, bits in question.fewer_bits.items())
    runs = f"Each trial is run in {n_repeats} repeats, with another seed and other queries"
    if question.is_two_stage:
        runs = f"Each trial is run once, and the best {FINALISTS} in {n_repeats} repeats, with other training items too"
    chooses = f"the median of its tie-aware {question.metric_title} chooses, and a trial that fails counts as 0"
    protocols = ", ".join(sorted({name for names in question.left_out.values() for name in names}))
    left_out = f"no query of {protocols} is in any list"
    if question.splits is not None:
        left_out = f"none of them is a query of {first_splits(question.splits)} of {protocols}"
    return f"{fixed}. {runs}; {chooses}. The validation queries are taken out of the database; {left_out}."


def as_object(choice: Choice) -> dict[str, Any]:
    """The choice as a JSON object, in which the score has the name of its metric."""
    return {choice.metric if key == "score" else key: value for key, value in vars(choice).items()}


def _rows_on_each_dataset(search: Search, choice: Choice) -> Iterator[list[Cell]]:
    """A row for each data set: what the method's own best trial has there, and what the common choice has."""
    for on_dataset in on_each_dataset(search, choice.method):
        scores = (on_dataset.best, on_dataset.of_all, on_dataset.of_others)
        yield [method_file(choice.method).title, on_dataset.dataset, *(Number(score, SCORE) for score in scores)]


def _records(search: Search) -> Grid:
    """A line for each trial and repeat, with the settings of all methods as columns."""
    settings = list(dict.fromkeys(key for space in search.question.spaces.values() for key in space))
    rows: list[list[Cell]] = []
    for key, trial in sorted(search.trials.items()):
        values = [_cell(value) for value in (trial.score, trial.seconds, trial.reason)]
        rows.append([*map(_cell, key), *values, *(_cell(trial.searched.get(name)) for name in settings)])
    return Grid(rows, ["method", "trial", "dataset", "study", search.question.metric, "seconds", "reason", *settings])


def _cell(value: Any) -> Cell:
    """A value as it is stored: a number with all its digits."""
    return Number(value, "") if isinstance(value, float) else value


def sheet_of_choices(search: Search, chosen: Sequence[Choice], commands: Sequence[str]) -> Sheet:
    """The search as a sheet with commands to copy; its JSON has what was ``chosen``."""
    values = {"search": search.name, "choices": [as_object(choice) for choice in chosen]}
    return replace(sheet_of(search), commands=commands, values=lambda: values)


def failure_of(chosen: Sequence[Choice]) -> CheckFailed | None:
    """The error where every trial of a method failed."""
    failed = [f"{choice.method}: {choice.failure}" for choice in chosen if choice.failure is not None]
    if not failed:
        return None
    return CheckFailed(f"every trial failed of {'; '.join(failed)}")


def commands_of(question: Question, chosen: Sequence[Choice]) -> Iterator[str]:
    """The command that trains each method with what was chosen, on each data set."""
    for choice in (choice for choice in chosen if choice.failure is None):
        for dataset in question.left_out:
            settings = {**question.given(choice.method, dataset), **choice.searched}
            run = Run.resolve(dataset, question.protocol, choice.method, settings)
            yield command_of(run.name, run.name.identity)
