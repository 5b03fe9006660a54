"""``hashbench list``: the catalogues."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hashbench.cli._broken import say
from hashbench.errors import HashbenchError, unknown
from hashbench.registry import each_usable

if TYPE_CHECKING:
    from hashbench.registry import Catalogue

T = TypeVar("T")


def command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="methods|datasets|features|metrics|models|tables|conventions|papers", help="Which catalogue."
        ),
    ],
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the papers as BibTeX entries.")] = False,
) -> None:
    """List a catalogue: on each line a name, the key of its paper, and what it is.

    hashbench list papers gives the title for each key; with --bibtex it prints entries to copy.
    """
    if what not in CATALOGUES:
        raise unknown("catalogue", what, CATALOGUES)
    if bibtex:
        _print_bibtex(what)
        return
    lines = CATALOGUES[what]()
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(2)]
    for name, paper, summary in lines:
        typer.echo(f"{name:{widths[0]}}  {paper:{widths[1]}}  {summary}".rstrip())


def _print_bibtex(what: str) -> None:
    from hashbench.tables import papers

    if what != "papers":
        raise HashbenchError("--bibtex is for papers: hashbench list papers --bibtex")
    typer.echo("\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers(say).items()))


Lines = list[tuple[str, str, str]]  # name, paper or what else belongs to it, summary


def _each(catalogue: "Catalogue[Any]", load: Callable[[str], T]) -> Iterator[tuple[str, T]]:
    """Each entry by name; one that cannot be used is a line on stderr, and the rest follows."""
    return each_usable(catalogue.names, load, say)


def _methods() -> Lines:
    from hashbench.methods import METHODS
    from hashbench.runs import hyperparameters

    files = _each(METHODS, hyperparameters.load)
    return [(name, file.paper, f"{file.title}: {file.summary}") for name, file in files]


def _datasets() -> Lines:
    from hashbench.datasets.card import cards, load_card

    entries = each_usable(cards(), load_card, say)
    return [(name, ",".join(card.protocols), card.title) for name, card in entries]


def _features() -> Lines:
    """The extractors of hashbench, and the pretrained networks; any classifier of torchvision is one too."""
    from hashbench.features import FEATURES
    from hashbench.models import MODELS

    own = [(name, "", extractor.summary) for name, extractor in _each(FEATURES, FEATURES.get)]
    networks = _each(MODELS, MODELS.get)
    return [*own, *((name, "", model.summary) for name, model in networks if model.pretrained is not None)]


def _metrics() -> Lines:
    from hashbench.metrics import METRICS

    return [(name, metric.paper, metric.summary) for name, metric in _each(METRICS, METRICS.get)]


def _models() -> Lines:
    from hashbench.models import MODELS

    return [(name, "", model.summary) for name, model in _each(MODELS, MODELS.get)]


def _tables() -> Lines:
    from hashbench.tables import spec

    return [(name, table.paper, table.title) for name, table in each_usable(spec.names(), spec.load, say)]


def _conventions() -> Lines:
    from hashbench.evaluation.conventions import CONVENTIONS

    entries = _each(CONVENTIONS, CONVENTIONS.get)
    return [(name, convention.source, convention.summary) for name, convention in entries]


def _papers() -> Lines:
    from hashbench.tables.papers import papers

    return [(key, str(paper.year or ""), paper.title) for key, paper in papers(say).items()]


CATALOGUES: dict[str, Callable[[], Lines]] = {
    "methods": _methods,
    "datasets": _datasets,
    "features": _features,
    "metrics": _metrics,
    "models": _models,
    "tables": _tables,
    "conventions": _conventions,
    "papers": _papers,
}
