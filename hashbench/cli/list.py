"""``hashbench list``: the catalogues."""

from collections.abc import Callable
from typing import Annotated

import typer

from hashbench.errors import HashbenchError, unknown


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
    typer.echo("\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers().items()))


Lines = list[tuple[str, str, str]]  # name, paper or what else belongs to it, summary


def _methods() -> Lines:
    from hashbench.methods import METHODS, _file

    files = {name: _file.load(name) for name in METHODS.names}
    return [(name, file.paper, f"{file.title}: {file.summary}") for name, file in files.items()]


def _datasets() -> Lines:
    from hashbench.datasets.card import cards, load_card

    entries = {name: load_card(name) for name in cards()}
    return [(name, ",".join(card.protocols), card.title) for name, card in entries.items()]


def _features() -> Lines:
    """The extractors of hashbench, and the pretrained networks; any classifier of torchvision is one too."""
    from hashbench.features import FEATURES
    from hashbench.models import MODELS

    own = [(name, "", FEATURES.get(name).summary) for name in FEATURES.names]
    networks = {name: MODELS.get(name) for name in MODELS.names}
    return [*own, *((name, "", model.summary) for name, model in networks.items() if model.pretrained is not None)]


def _metrics() -> Lines:
    from hashbench.metrics import METRICS

    entries = {name: METRICS.get(name) for name in METRICS.names}
    return [(name, metric.paper, metric.summary) for name, metric in entries.items()]


def _models() -> Lines:
    from hashbench.models import MODELS

    return [(name, "", MODELS.get(name).summary) for name in MODELS.names]


def _tables() -> Lines:
    from hashbench.tables import spec

    tables = [spec.load(name) for name in spec.names()]
    return [(table.name, table.paper, table.title) for table in tables]


def _conventions() -> Lines:
    from hashbench.evaluation.conventions import CONVENTIONS

    entries = {name: CONVENTIONS.get(name) for name in CONVENTIONS.names}
    return [(name, convention.source, convention.summary) for name, convention in entries.items()]


def _papers() -> Lines:
    from hashbench.tables.papers import papers

    return [(key, str(paper.year or ""), paper.title) for key, paper in papers().items()]


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
