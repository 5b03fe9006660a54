"""``hashbench list``: what there is of each kind."""

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hashbench.cli import _complete, _table_settings
from hashbench.cli._broken import say
from hashbench.cli._options import AsJson
from hashbench.foundation.errors import HashbenchError, printable, unknown
from hashbench.foundation.registry import each_usable

if TYPE_CHECKING:
    from hashbench.foundation.registry import Catalogue
    from hashbench.runs.store import Row

T = TypeVar("T")
SETTINGS = "settings"  # a kind that is listed for one table only


@dataclass(frozen=True)
class Entry:
    """An entry of a list: its name, what is printed beside it, its group if there are some, and more for --json."""

    name: str
    text: str
    group: str = ""
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """What can be listed: what it is, the names (which are counted), and the entries."""

    what: str
    names: Callable[[], Sized]
    entries: Callable[[], list[Entry]]


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="methods, datasets, protocols, tables, figures, settings, runs, metrics, models, features, "
            "conventions or papers.",
            autocompletion=lambda incomplete: [kind for kind in (*KINDS, SETTINGS) if kind.startswith(incomplete)],
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Only runs, or protocols, of this data set.", autocompletion=_complete.datasets),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Only runs of this method.", autocompletion=_complete.methods)
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="The table whose settings are listed: list settings --table NAME.", autocompletion=_complete.tables
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the settings as a Markdown page.")] = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the papers as BibTeX entries.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the entries of a kind, or without KIND the kinds and how many entries each has.

    hashbench show NAME tells more of one entry. hashbench list papers --bibtex prints entries to copy.
    hashbench list settings --table NAME prints the settings of a table's runs beside those that the authors released.
    """
    from hashbench.foundation.config import canonical_json

    if kind != SETTINGS and (table is not None or markdown):
        raise HashbenchError("--table and --markdown are for hashbench list settings --table NAME")
    if bibtex:
        _print_bibtex(kind)
    elif kind == SETTINGS:
        _table_settings.show(table, markdown=markdown, as_json=as_json)
    elif kind is None:
        counts = {name: len(each.names()) for name, each in KINDS.items()}
        typer.echo(canonical_json({"kinds": counts}) if as_json else _overview(counts))
    else:
        found = _entries(kind, dataset, method)
        listed = [{"name": each.name, **({"group": each.group} if each.group else {}), **each.more} for each in found]
        text = canonical_json({kind: listed}) if as_json else _as_text(found)
        if text:
            typer.echo(text)


def _overview(counts: dict[str, int]) -> str:
    from hashbench.cli._columns import in_columns

    width = max(len(f"{n:,}") for n in counts.values())
    lines = in_columns((name, f"{n:{width},}  {KINDS[name].what}") for name, n in counts.items())
    return "\n".join([*lines, "", "hashbench list KIND lists them, hashbench show NAME shows one"])


def _entries(kind: str, dataset: str | None, method: str | None) -> list[Entry]:
    from hashbench.foundation.registry import canonical

    if kind not in KINDS:
        raise unknown("kind", kind, [*KINDS, SETTINGS])
    for option, value, kinds in (("dataset", dataset, ("runs", "protocols")), ("method", method, ("runs",))):
        if value is not None and kind not in kinds:
            raise HashbenchError(f"--{option} is for hashbench list {' and '.join(kinds)}")
    wanted = {key: canonical(value) for key, value in (("dataset", dataset), ("method", method)) if value is not None}
    return [each for each in KINDS[kind].entries() if wanted.items() <= each.more.items()]


def _as_text(entries: list[Entry]) -> str:
    from hashbench.cli._columns import in_columns

    lines: list[str] = []
    for group, members in groupby(entries, key=lambda entry: entry.group):
        lines += [*([""] if lines else []), *([group] if group else [])]
        lines += in_columns(((each.name, each.text) for each in members), "  " if group else "")
    return "\n".join(lines)


def _print_bibtex(kind: str | None) -> None:
    from hashbench.tables import papers

    if kind != "papers":
        raise HashbenchError("--bibtex is for papers: hashbench list papers --bibtex")
    typer.echo("\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers(say).items()))


def _each(catalogue: "Catalogue[Any]", load: Callable[[str], T]) -> Iterator[tuple[str, T]]:
    """Each entry by name; one that cannot be used is a line on stderr, and the rest follows."""
    return each_usable(catalogue.names, load, say)


def _cite() -> Callable[[str], str]:
    """What returns a citation, such as "He et al. (2018)", for the key of a paper."""
    from hashbench.tables.papers import cited, papers

    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    return lambda key: cited(key, entries)


def _cited(text: str, citation: str) -> str:
    """The text and the citation after it; an entry of another package may have none."""
    return f"{text}. {citation}" if citation else text


def _methods() -> list[Entry]:
    from hashbench.methods import METHODS
    from hashbench.runs import hyperparameters

    cite, found = _cite(), []
    for name, (file, method) in _each(METHODS, lambda name: (hyperparameters.load(name), METHODS.get(name))):
        text = _cited(f"{file.title}: {file.summary}", cite(file.paper))
        more = {"title": file.title, "paper": file.paper, "summary": file.summary}
        found.append(Entry(name, text, method.group, more))
    return sorted(found, key=lambda entry: entry.group)  # deep, shallow, sparse; each in the order of names


def _datasets() -> list[Entry]:
    from hashbench.datasets.card import cards, load_card

    found = []
    for name, card in each_usable(cards(), load_card, say):
        protocols = list(card.protocols)
        more = {"title": card.title, "n_items": card.n_items, "protocols": protocols}
        found.append(Entry(name, f"{card.title} [{', '.join(protocols)}]", more=more))
    return found


def _protocols() -> list[Entry]:
    from hashbench.datasets.card import cards, load_card

    return [
        Entry(name, rule.title, dataset, {"dataset": dataset, "title": rule.title, "paper": rule.citation})
        for dataset, card in each_usable(cards(), load_card, say)
        for name, rule in card.protocols.items()
    ]


def _protocol_names() -> list[str]:
    return [entry.name for entry in _protocols()]


def _features() -> list[Entry]:
    """The extractors of hashbench, and the pretrained networks; any classifier of torchvision is one too."""
    from hashbench.features import FEATURES
    from hashbench.models import MODELS

    own = [(name, extractor.summary) for name, extractor in _each(FEATURES, FEATURES.get)]
    networks = [(name, model.summary) for name, model in _each(MODELS, MODELS.get) if model.pretrained is not None]
    return [Entry(name, summary, more={"summary": summary}) for name, summary in [*own, *networks]]


def _metrics() -> list[Entry]:
    from hashbench.metrics import METRICS

    cite = _cite()
    return [
        Entry(name, _cited(metric.summary, cite(metric.paper)), more={"paper": metric.paper, "summary": metric.summary})
        for name, metric in _each(METRICS, METRICS.get)
    ]


def _models() -> list[Entry]:
    from hashbench.models import MODELS

    return [Entry(name, model.summary, more={"summary": model.summary}) for name, model in _each(MODELS, MODELS.get)]


def _tables() -> list[Entry]:
    from hashbench.tables import spec

    cite = _cite()
    return [
        Entry(name, _cited(table.title, cite(table.paper)), more={"title": table.title, "paper": table.paper})
        for name, table in each_usable(spec.names(), spec.load, say)
    ]


def _figures() -> list[Entry]:
    from hashbench import figures

    cite, found = _cite(), []
    for name, figure in each_usable(figures.names(), figures.load, say):
        file = figure.file
        found.append(Entry(name, _cited(file.title, cite(file.paper)), more={"title": file.title, "paper": file.paper}))
    return found


def _runs() -> list[Entry]:
    from hashbench.runs.store import Store

    return [replace(_run(row), name=path.stem) for path, row in Store.default().files(say)]


def _run(row: "Row") -> Entry:
    metrics = {name: value.mean for name, value in row.metrics.items()}
    first = next(((name, mean) for name, mean in metrics.items() if mean is not None), None)
    shown = row.status if first is None else f"{printable(first[0])} {first[1]:.4f}"
    of_row = {"dataset", "protocol", "method", "settings", "seed", "split_seed", "budget", "status", "utc"}
    more = {**row.model_dump(include=of_row), "metrics": metrics}
    return Entry(row.run, f"{shown}  {row.utc[:10]}", more=more)


def _run_names() -> list[str]:
    return _complete.runs("")


def _conventions() -> list[Entry]:
    from hashbench.evaluation.conventions import CONVENTIONS

    entries = _each(CONVENTIONS, CONVENTIONS.get)
    return [
        Entry(name, f"{each.summary}. {each.source}", more={"source": each.source, "summary": each.summary})
        for name, each in entries
    ]


def _papers() -> list[Entry]:
    from hashbench.tables.papers import papers

    return [
        Entry(key, " ".join(filter(None, [str(paper.year or ""), paper.title])), more=paper.model_dump())
        for key, paper in papers(say).items()
    ]


def _names_of(module: str, catalogue: str) -> Callable[[], Sized]:
    """The names of a catalogue, whose module is imported when they are asked for."""
    from importlib import import_module

    return lambda: list(getattr(import_module(module), catalogue).names)


def _cards() -> list[str]:
    from hashbench.datasets.card import cards

    return cards()


def _table_names() -> list[str]:
    from hashbench.tables import spec

    return spec.names()


def _figure_names() -> list[str]:
    from hashbench import figures

    return figures.names()


KINDS = {
    "methods": Kind("methods that learn codes", _names_of("hashbench.methods", "METHODS"), _methods),
    "datasets": Kind("data sets", _cards, _datasets),
    "protocols": Kind("splits of the data sets into queries, database and training", _protocol_names, _protocols),
    "tables": Kind("tables of papers, and of our own", _table_names, _tables),
    "figures": Kind("figures of papers, and of our own", _figure_names, _figures),
    "runs": Kind("stored runs with their scores", _run_names, _runs),
    "metrics": Kind("metrics of a ranking or of a bucket search", _names_of("hashbench.metrics", "METRICS"), _metrics),
    "models": Kind("networks that deep methods train", _names_of("hashbench.models", "MODELS"), _models),
    "features": Kind("features that shallow methods hash", _features, _features),
    "conventions": Kind(
        "what the evaluation code of other projects computes",
        _names_of("hashbench.evaluation.conventions", "CONVENTIONS"),
        _conventions,
    ),
    "papers": Kind("papers that are cited", _papers, _papers),
}
