"""The kinds of entries, such as methods and tables: how one kind is listed, one entry shown, a name completed.

``list``, ``show`` and the completion of the shell use it. Importing it imports nothing heavy.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hashbench.cli._terminal import in_columns, print_error
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.registry import each_usable

if TYPE_CHECKING:
    from hashbench.cli._sheet import Sheet
    from hashbench.runs.row import Row


@dataclass(frozen=True)
class Entry:
    """An entry of a list: its name, the text beside it, its group if there are groups, and more for --json."""

    name: str
    text: str
    group: str = ""
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of entries: its description, its entries, their names, and for ``show`` what one of them is called.

    ``show`` calls the function ``one`` of ``_sheets`` with a name; ``shown`` has the names that it takes, if they are
    not all ``names``. ``typed`` gives the names that a shell completes, without importing anything heavy.
    """

    what: str
    entries: Callable[[], Iterable[Entry]]
    names: Callable[[], Collection[Any]]
    one: str | None = None
    shown: Callable[[], list[str]] | None = None
    typed: Callable[[], Iterable[str]] | None = None

    def sheet(self, name: str) -> "Sheet":
        """All about one entry."""
        found: Sheet = getattr(import_module("hashbench.cli._sheets"), str(self.one))(name)
        return found


def text_of(entries: Iterable[Entry]) -> str:
    """The names of entries with their texts beside them, each group under its heading."""
    lines: list[str] = []
    for group, members in groupby(entries, key=lambda entry: entry.group):
        lines += [*([""] if lines else []), *([group] if group else [])]
        lines += in_columns(((each.name, each.text) for each in members), "  " if group else "")
    return "\n".join(lines)


def complete(*kinds: str) -> Callable[[str], list[str]]:
    """A function that returns the names of these kinds that begin as what is typed, with its - or _."""

    def completions(incomplete: str) -> list[str]:
        with suppress(HashbenchError, OSError):  # the command reports a wrong --root, the completion does not
            # runs may be thousands: among other kinds they are offered only once something is typed
            wanted = [KINDS[kind].typed for kind in kinds if incomplete or kind != "runs" or len(kinds) == 1]
            names = {name for typed in wanted if typed is not None for name in typed()}
            spelt = {name if "-" not in incomplete or "-" in name else name.replace("_", "-") for name in names}
            return sorted(name for name in spelt if name.startswith(incomplete))
        return []

    return completions


def _usable(module: str, catalogue: str) -> Iterator[tuple[str, Any]]:
    """Each entry of a catalogue by name; one that cannot be used is a line on stderr, and the rest follows."""
    entries = getattr(import_module(module), catalogue)
    return each_usable(entries.names, entries.get, print_error)


def _with_citations() -> Callable[[str, str], str]:
    """A function of a text and the key of a paper: the text, and after it a citation such as "He et al. (2018)"."""
    from hashbench.tables.papers import cited, papers

    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    return lambda text, key: f"{text}. {cited(key, entries)}" if key else text  # another package may cite nothing


def _methods() -> list[Entry]:
    from hashbench.methods import METHODS
    from hashbench.runs.settings import method_file

    cite, found = _with_citations(), []
    usable = each_usable(METHODS.names, lambda name: (method_file(name), METHODS.get(name)), print_error)
    for name, (file, method) in usable:
        text = cite(f"{file.title}: {file.summary}", file.paper)
        found.append(Entry(name, text, method.group, file.model_dump(include={"title", "paper", "summary"})))
    return sorted(found, key=lambda entry: entry.group)  # deep, shallow, sparse; each in the order of names


def _datasets() -> Iterator[Entry]:
    from hashbench.datasets.card import cards, load_card

    for name, card in each_usable(cards(), load_card, print_error):
        protocols = list(card.protocols)
        more = {"title": card.title, "n_items": card.n_items, "protocols": protocols}
        yield Entry(name, f"{card.title} [{', '.join(protocols)}]", more=more)


def _protocols() -> list[Entry]:
    from hashbench.datasets.card import cards, load_card

    return [
        Entry(name, rule.title, dataset, {"dataset": dataset, "title": rule.title, "paper": rule.citation})
        for dataset, card in each_usable(cards(), load_card, print_error)
        for name, rule in card.protocols.items()
    ]


def _tables() -> Iterator[Entry]:
    from hashbench.tables import spec

    cite = _with_citations()
    for name, table in each_usable(spec.names(), spec.load, print_error):
        yield Entry(name, cite(table.title, table.paper), more={"title": table.title, "paper": table.paper})


def _figures() -> Iterator[Entry]:
    from hashbench import figures

    cite = _with_citations()
    for name, figure in each_usable(figures.names(), figures.load, print_error):
        file = figure.file
        yield Entry(name, cite(file.title, file.paper), more={"title": file.title, "paper": file.paper})


def _runs() -> Iterator[Entry]:
    from hashbench.runs.store import Store

    return (replace(run_entry(row), name=name) for name, row in Store.default().named_rows(print_error))


def run_entry(row: "Row") -> Entry:
    """A run with its first score and its day."""
    metrics = {name: value.mean for name, value in row.metrics.items()}
    score = next((f"{printable(name)} {mean:.4f}" for name, mean in metrics.items() if mean is not None), row.status)
    of_row = {"dataset", "protocol", "method", "settings", "seed", "split_seed", "budget", "status", "utc"}
    return Entry(row.run, f"{score}  {row.utc[:10]}", more={**row.model_dump(include=of_row), "metrics": metrics})


def _run_names() -> list[str]:
    from hashbench.runs.line import lines_in

    files = (paths.results() / "rows").glob("*.jsonl")
    return [line.name for path in files for line in lines_in(path.read_text("utf-8", "replace"), path)]


def _metrics() -> Iterator[Entry]:
    cite = _with_citations()
    for name, metric in _usable("hashbench.metrics", "METRICS"):
        more = {"paper": metric.paper, "summary": metric.summary}
        yield Entry(name, cite(metric.summary, metric.paper), more=more)


def _models() -> Iterator[Entry]:
    for name, model in _usable("hashbench.models", "MODELS"):
        yield Entry(name, model.summary, more={"summary": model.summary})


def _features() -> list[Entry]:
    """The extractors of hashbench, and the pretrained networks; any classifier of torchvision is one too."""
    own = list(_usable("hashbench.features", "FEATURES"))
    networks = [(name, model) for name, model in _usable("hashbench.models", "MODELS") if model.pretrained is not None]
    return [Entry(name, each.summary, more={"summary": each.summary}) for name, each in [*own, *networks]]


def _conventions() -> Iterator[Entry]:
    for name, each in _usable("hashbench.evaluation.conventions", "CONVENTIONS"):
        yield Entry(name, f"{each.summary}. {each.source}", more={"source": each.source, "summary": each.summary})


def _papers() -> list[Entry]:
    from hashbench.tables.papers import papers

    return [
        Entry(key, " ".join(filter(None, [str(paper.year or ""), paper.title])), more=paper.model_dump())
        for key, paper in papers(print_error).items()
    ]


def _names(module: str, attribute: str) -> Callable[[], list[str]]:
    """The names that a function of a module returns, or that its catalogue has; it is imported when they are needed."""

    def names() -> list[str]:
        found = getattr(import_module(module), attribute)
        return list(found() if callable(found) else found.names)

    return names


KINDS = {
    "methods": Kind(
        "methods that learn codes",
        _methods,
        _names("hashbench.methods", "METHODS"),
        "method",
        typed=lambda: paths.entries("experiments", "methods"),
    ),
    "datasets": Kind(
        "data sets",
        _datasets,
        _names("hashbench.datasets.card", "cards"),
        "dataset",
        typed=lambda: {**paths.entries("datasets"), **paths.toml_files([paths.own_cards()])},
    ),
    "protocols": Kind("splits of the data sets into queries, database and training", _protocols, _protocols),
    "tables": Kind(
        "tables of papers, and of our own",
        _tables,
        _names("hashbench.tables.spec", "names"),
        "table",
        typed=lambda: paths.entries("experiments", "tables"),
    ),
    "figures": Kind(
        "figures of papers, and of our own",
        _figures,
        _names("hashbench.figures", "names"),
        "figure",
        typed=lambda: paths.entries("experiments", "figures"),
    ),
    "runs": Kind("stored runs with their scores", _runs, _run_names, "run", typed=_run_names),
    "metrics": Kind(
        "metrics of a ranking or of a bucket search", _metrics, _names("hashbench.metrics", "METRICS"), "metric"
    ),
    "models": Kind("networks that deep methods train", _models, _names("hashbench.models", "MODELS"), "model"),
    "features": Kind(
        "features that shallow methods hash",
        _features,
        _features,
        "features",
        shown=_names("hashbench.features", "FEATURES"),
    ),
    "conventions": Kind(
        "what the evaluation code of other projects computes",
        _conventions,
        _names("hashbench.evaluation.conventions", "CONVENTIONS"),
    ),
    "papers": Kind("papers that are cited", _papers, _papers),
}
