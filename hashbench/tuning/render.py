"""A search as a table: its choices in Markdown, or every trial as CSV."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hashbench.datasets.protocol import first_splits
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import csv_text, write_text
from hashbench.runs.settings import method_file
from hashbench.tuning.choice import FINALISTS, Choice, choices, on_each_dataset
from hashbench.tuning.search import Search, path_of

FORMATS = ("markdown", "csv")
HEADINGS = ("of its studies", "trial", "failed", "chosen")
ON_EACH = ("of its best trial there", "of the trial chosen", "of the one chosen on the others")


def as_text(name: str, output: str) -> str:
    """The search called ``name``, which is here, in the format ``output``; HashbenchError for another format."""
    if output not in FORMATS:
        raise HashbenchError(f"--format {output}: a search, {name}, is printed as markdown or csv")
    return as_markdown(Search.named(name)) if output == "markdown" else as_csv(Search.named(name))


def write(name: str) -> Path:
    """Writes what was chosen as Markdown beside the search called ``name``; the path."""
    path = path_of(name).with_suffix(".md")
    write_text(path, as_markdown(Search.named(name)))
    return path


def as_markdown(search: Search) -> str:
    """A line for each method, the best first: the score of the chosen trial, and its settings."""
    question, found = search.question, choices(search)
    n_studies = len({trial.study for trial in search.trials.values()})
    data = f"{', '.join(question.left_out)} ({question.protocol})"
    left_out = sorted({name for names in question.left_out.values() for name in names})
    fixed = ", ".join(f"{key} = {value}" for key, value in question.settings.items())
    fixed += "".join(f", bits of {name} = {bits}" for name, bits in question.fewer_bits.items())
    lines = [
        f"# The search {search.name}: {data}",
        "",
        "| " + " | ".join(["method", f"held-out {question.metric_title}", *HEADINGS]) + " |",
        "|---|---:|---|---:|---:|---|",
    ]
    for each in found:
        chosen = [f"{key} = {value}" for key, value in each.searched.items()]
        n_failed = f"{each.n_failed} of {each.n_trials}"
        cells = [method_file(each.method).title, f"{each.score:.3f}", f"{each.lowest:.3f} to {each.highest:.3f}"]
        cells += [each.number, n_failed, ", ".join(chosen)]
        if each.failure is not None:
            reason = each.failure.replace("|", r"\|")
            cells[1:] = ["failed", "", f"none of {each.n_trials}", n_failed, f"nothing: {reason}"]
        lines.append("| " + " | ".join(cells) + " |")
    note = f"{fixed}. {_method_of_search(search, n_studies)} The queries are held out of the database; "
    if question.splits is None:
        note += f"no query of {', '.join(left_out)} is in any list."
    else:
        note += f"none of them is a query of {first_splits(question.splits)} of {', '.join(left_out)}."
    return "\n".join([*lines, *_to_be_searched_again(found), "", note, *_on_each_dataset(search, found)]) + "\n"


def _to_be_searched_again(found: list[Choice]) -> Iterator[str]:
    """A line for each method whose choice cannot stand: too many trials failed, or it is at an end of a range."""
    faulty = [choice for choice in found if choice.search_again]
    if faulty:
        yield ""
    for choice in faulty:
        yield f"- to be searched again: {method_file(choice.method).title} ({'; '.join(choice.search_again)})"


def _method_of_search(search: Search, n_studies: int) -> str:
    """The sentences that say which trials were run how often, and what chose among them."""
    if not search.question.is_two_stage:
        runs = f"Each trial is run in {n_studies} studies, with another seed and other queries"
    else:
        runs = f"Each trial is run once, and the best {FINALISTS} in {n_studies} studies, with other training items too"
    metric = search.question.metric_title
    return f"{runs}; the median of its tie-aware {metric} chooses, and a trial that fails counts as 0."


def as_object(choice: Choice) -> dict[str, Any]:
    """The choice as a JSON object, in which the score has the name of its metric."""
    return {choice.metric if key == "score" else key: value for key, value in vars(choice).items()}


def _on_each_dataset(search: Search, found: list[Choice]) -> list[str]:
    """A line for each method and data set: what its own best trial has there, and what the common choice has."""
    lines = []
    for choice in found:
        title = method_file(choice.method).title
        for each in on_each_dataset(search, choice.method):
            cells = [title, each.dataset, *(f"{ap:.3f}" for ap in (each.best, each.of_all, each.of_others))]
            lines.append("| " + " | ".join(cells) + " |")
    first, *others = ON_EACH
    title = search.question.metric_title
    head = [
        "",
        "| " + " | ".join(["method", "data set", f"{title} {first}", *others]) + " |",
        "|---|---|---:|---:|---:|",
    ]
    note = f"A best trial is the best of many on the same queries, so its {title} is a little too high."
    note += " The values are those of the first study." if search.question.is_two_stage else ""
    return [*head, *lines, "", note] if lines else []


def as_csv(search: Search) -> str:
    """A line for each trial and study, with the settings of all methods as columns."""
    settings = list(dict.fromkeys(key for space in search.question.spaces.values() for key in space))
    lines = (
        [*key, trial.score, trial.seconds, trial.reason, *(trial.searched.get(name) for name in settings)]
        for key, trial in sorted(search.trials.items())
    )
    return csv_text(
        ["method", "trial", "dataset", "study", search.question.metric, "seconds", "reason", *settings], lines
    )
