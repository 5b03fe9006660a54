"""The kinds of entries, such as methods and tables: how one kind is listed, one entry shown, a name completed.

``list``, ``show`` and the completion of the shell use it. Importing it imports nothing heavy.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hashbench.cli._terminal import leave_out, rows_read
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.registry import each_usable
from hashbench.showing.sheet import Grid, Sheet, Value

if TYPE_CHECKING:
    from hashbench.running.datasets.card import Card

RUN = re.compile(r'^\{"run":"([^"\\]+)"', re.MULTILINE)  # in a line of a file of rows


@dataclass(frozen=True)
class Entry:
    """An entry of a list: its name, the text beside it, its group if there are groups, and more for --json."""

    name: str
    text: str
    group: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def properties(self) -> dict[str, Any]:
        """What the entry is chosen by: its settings among what is known of it."""
        return {**self.more.get("settings", {}), **self.more}

    def record(self, columns: Sequence[str]) -> list[Value]:
        """The name, and what the entry has in the columns."""
        known = {"group": self.group, "text": self.text, **self.more}
        for name, mean in self.more.get("metrics", {}).items():
            known |= {"metric": name, "mean": mean}
            break
        return [self.name, *map(known.get, columns)]

    @property
    def values(self) -> dict[str, Any]:
        """The entry as --json prints it."""
        group = {"group": self.group} if self.group else {}
        return {"name": self.name, **group, **self.more}


@dataclass(frozen=True)
class Kind:
    """A kind of entries: its description, its entries, where their names are, and what ``show`` calls one of them.

    ``names_in`` is module:attribute, a catalogue or function. ``show`` calls the function ``one`` of the module
    ``sheets``. ``typed`` gives the names that a shell completes, without importing anything heavy. ``is_longer``: more
    are listed than ``show`` has. ``columns`` are those of a CSV file, after the name.
    """

    what: str
    entries: Callable[[], Iterable[Entry]]
    names_in: str | None = None
    one: str | None = None
    typed: Callable[[], Iterable[str]] = tuple
    is_longer: bool = False
    sheets: str = "_sheet"
    columns: Sequence[str] = ("group", "text")

    def names(self) -> list[str]:
        """The names of the entries."""
        if self.names_in is None:
            return [*self.typed()] or [entry.name for entry in self.entries()]
        module, _, attribute = self.names_in.partition(":")
        names = getattr(import_module(f"hashbench.{module}"), attribute)
        return list(names() if callable(names) else names.names)

    def n(self) -> int:
        """The number of entries in the list."""
        if self.is_longer:
            return len(list(self.entries()))
        return len(self.names())

    def sheet(self, name: str) -> Sheet:
        """All about one entry."""
        sheet: Sheet = getattr(import_module(f"hashbench.cli.{self.sheets}"), str(self.one))(name)
        return sheet


def grids_of(entries: Iterable[Entry]) -> list[Grid]:
    """The names of entries with their texts beside them, a grid for each group."""
    grids = []
    for group, members in groupby(entries, key=lambda entry: entry.group):
        grids.append(Grid([(entry.name, entry.text) for entry in members], title=group))
    return grids


def complete(*kinds: str) -> Callable[[str], list[str]]:
    """A function that returns the names of these kinds that begin like the typed text, with its - or _."""

    def completions(incomplete: str) -> list[str]:
        with suppress(HashbenchError, OSError):  # the command reports a wrong --root, the completion does not
            # runs may be thousands: among other kinds they are offered only once something is typed
            wanted = [kind for kind in kinds if incomplete or kind != "runs" or len(kinds) == 1]
            names = {name for kind in wanted for name in KINDS[kind].typed()}
            if "-" in incomplete:
                names |= {name.replace("_", "-") for name in names if "-" not in name}
            return sorted(name for name in names if name.startswith(incomplete))
        return []

    return completions


def _usable(module: str, catalogue: str) -> Iterator[tuple[str, Any]]:
    """Each entry of a catalogue by name; one that cannot be used is a line on stderr, and the rest follows."""
    entries = getattr(import_module(f"hashbench.{module}"), catalogue)
    return each_usable(entries.names, entries.get, leave_out)


def _with_citations() -> Callable[[str, str], str]:
    """A function of a text and the key of a paper: the text, and after it a citation such as "He et al. (2018)"."""
    from hashbench.showing.tables.papers import cited, papers

    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    return lambda text, key: f"{text}. {cited(key, entries)}" if key else text  # another package may cite nothing


def _methods() -> list[Entry]:
    from hashbench.learning.methods import METHODS
    from hashbench.running.runs.settings import method_file

    cite = _with_citations()
    entries = []
    usable = each_usable(METHODS.names, lambda name: (method_file(name), METHODS.get(name)), leave_out)
    for name, (file, method) in usable:
        text = cite(f"{file.title}: {file.summary}", file.paper)
        entries.append(Entry(name, text, method.group, file.model_dump(include={"title", "paper", "summary"})))
    return sorted(entries, key=lambda entry: entry.group)  # deep, shallow, sparse; each in the order of names


def card_of(name: str) -> "Card":
    """The card of the data set called ``name``: here the names in commands become cards."""
    from hashbench.running.datasets.card import load_card

    return load_card(name)


def _cards() -> "Iterator[tuple[str, Card]]":
    from hashbench.running.datasets.card import cards

    return each_usable(cards(), card_of, leave_out)


def _datasets() -> Iterator[Entry]:
    for name, card in _cards():
        more = {"title": card.title, "n_items": card.n_items, "protocols": list(card.protocols)}
        yield Entry(name, f"{card.title} [{', '.join(card.protocols)}]", more=more)


def _protocols() -> Iterator[Entry]:
    for dataset, card in _cards():
        for name, rule in card.protocols.items():
            yield Entry(name, rule.title, dataset, {"dataset": dataset, "title": rule.title, "paper": rule.citation})


def _tables() -> Iterator[Entry]:
    from hashbench.showing.tables import spec

    return _declared(each_usable(spec.names(), spec.load, leave_out))


def _figures() -> Iterator[Entry]:
    from hashbench.showing import figures

    return _declared(each_usable(figures.names(), lambda name: figures.load(name).file, leave_out))


def _declared(entries: Iterable[tuple[str, Any]]) -> Iterator[Entry]:
    cite = _with_citations()
    for name, file in entries:
        yield Entry(name, cite(file.title, file.paper), more={"title": file.title, "paper": file.paper})


def _runs() -> Iterator[Entry]:
    """The runs, each with its first score and its day."""
    for name, row in rows_read().named_rows(leave_out):
        metrics = {metric: value.mean for metric, value in (row.metrics or row.all_metrics()).items()}
        scores = [f"{printable(key)} {mean:.4f}" for key, mean in metrics.items() if mean is not None]
        text = f"{(scores or [row.status])[0]}  {row.utc[:10]}"
        if row.is_imported:
            text += "  imported"
        if row.maker:
            text += f"  by {row.maker}"
        yield Entry(name, text, more={**row.model_dump(include={*OF_RUN, "settings"}), "metrics": metrics})


def run_names() -> list[str]:
    """The names of all stored rows; that of a further row of a run has part of its digest."""
    from hashbench.running.runs.store import lines_in

    files = (paths.results() / "rows").glob("*.jsonl")
    return [line.name for path in files for line in lines_in(path.read_text("utf-8", "replace"), path)]


def _typed_runs() -> set[str]:
    files = (paths.results() / "rows").glob("*.jsonl")
    return {name for path in files for name in RUN.findall(path.read_text("utf-8", "replace"))}


def _catalogue(module: str, catalogue: str, *keys: str) -> Callable[[], Iterator[Entry]]:
    """The entries of a catalogue, each with these attributes; the text is all of them, a paper as a citation."""

    def entries() -> Iterator[Entry]:
        cite = _with_citations()
        for name, entry in _usable(module, catalogue):
            more = {key: getattr(entry, key) for key in keys}
            text = ". ".join(more[key] for key in keys if key != "paper")
            yield Entry(name, cite(text, more.get("paper", "")), more=more)

    return entries


def _features() -> Iterator[Entry]:
    """The extractors of hashbench, and the pretrained networks; any classifier of torchvision is one too."""
    networks = [(name, model) for name, model in _usable("learning.models", "MODELS") if model.pretrained is not None]
    for name, extractor in (*_usable("running.features", "FEATURES"), *networks):
        yield Entry(name, extractor.summary, more={"summary": extractor.summary})


def _papers() -> Iterator[Entry]:
    from hashbench.showing.tables.papers import papers

    for key, paper in papers(leave_out).items():
        yield Entry(key, " ".join(filter(None, [str(paper.year or ""), paper.title])), more=paper.model_dump())


def _recipes() -> Iterator[Entry]:
    from hashbench.running.runs.settings import recipes

    for name, recipe in recipes().items():
        when = recipe.when.model_dump(exclude_none=True)
        runs = ", ".join(f"{key} {value}" for key, value in when.items())
        yield Entry(name, f"{recipe.title} ({runs})", more={"why": recipe.why, "when": when})


def _files_in(folder: str) -> Callable[[], Iterable[str]]:
    return lambda: paths.entries("experiments", folder)


def _cards_here() -> Iterable[str]:
    return {**paths.entries("datasets"), **paths.toml_files([paths.custom_cards()])}


OF_RUN = ("dataset", "protocol", "method", "seed", "split_seed", "budget", "status", "utc", "maker")
RUN_COLUMNS = (*OF_RUN, "metric", "mean")
KINDS = {
    "methods": Kind(
        "methods, and what they are compared with", _methods, "learning.methods:METHODS", "method", _files_in("methods")
    ),
    "datasets": Kind("data sets", _datasets, "running.datasets.card:cards", "dataset", _cards_here),
    "protocols": Kind("splits of the data sets into queries, database and training", _protocols),
    "tables": Kind(
        "tables of papers, and of our own", _tables, "showing.tables.spec:names", "table", _files_in("tables")
    ),
    "recipes": Kind("how networks are trained, and what methods were tuned to", _recipes, typed=_files_in("recipes")),
    "figures": Kind(
        "figures of papers, and of our own", _figures, "showing.figures:names", "figure", _files_in("figures")
    ),
    "runs": Kind(
        "stored runs with their scores",
        _runs,
        "cli.catalogue:run_names",
        "run",
        _typed_runs,
        sheets="_run_sheet",
        columns=RUN_COLUMNS,
    ),
    "metrics": Kind(
        "metrics of a ranking or of a bucket search",
        _catalogue("scoring.metrics", "METRICS", "summary", "paper"),
        "scoring.metrics:METRICS",
        "metric",
    ),
    "models": Kind(
        "networks that deep methods train",
        _catalogue("learning.models", "MODELS", "summary"),
        "learning.models:MODELS",
        "model",
    ),
    "features": Kind(
        "features that shallow methods hash", _features, "running.features:FEATURES", "features", is_longer=True
    ),
    "conventions": Kind(
        "what the evaluation code of other projects computes",
        _catalogue("scoring.evaluation.conventions", "CONVENTIONS", "summary", "source"),
        "scoring.evaluation.conventions:CONVENTIONS",
    ),
    "papers": Kind("papers that are cited", _papers),
}
