"""``hashbench list``: the catalogues."""

from collections.abc import Callable
from typing import Annotated

import typer

from hashbench.errors import unknown


def command(
    what: Annotated[
        str,
        typer.Argument(metavar="methods|datasets|features|metrics|models|tables|conventions", help="Which catalogue."),
    ],
) -> None:
    """List a catalogue: a name a line, with its paper and what it is."""
    if what not in CATALOGUES:
        raise unknown("catalogue", what, CATALOGUES)
    lines = CATALOGUES[what]()
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(2)]
    for name, paper, summary in lines:
        typer.echo(f"{name:{widths[0]}}  {paper:{widths[1]}}  {summary}".rstrip())


Lines = list[tuple[str, str, str]]


def _methods() -> Lines:
    from hashbench.methods import METHODS
    from hashbench.runs import hyperparameters

    files = {name: hyperparameters.load(name) for name in METHODS.names}
    return [(name, file.paper, f"{file.title}: {file.summary}") for name, file in files.items()]


def _datasets() -> Lines:
    from hashbench.datasets.card import cards, load_card

    entries = {name: load_card(name) for name in cards()}
    return [(name, ",".join(card.protocols), card.title) for name, card in entries.items()]


def _features() -> Lines:
    """Those of this package, and of the pretrained networks; any classifier of torchvision has features too."""
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


CATALOGUES: dict[str, Callable[[], Lines]] = {
    "methods": _methods,
    "datasets": _datasets,
    "features": _features,
    "metrics": _metrics,
    "models": _models,
    "tables": _tables,
    "conventions": _conventions,
}
