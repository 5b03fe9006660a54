"""A declared table, loaded from experiments/tables/: its cells, and whether the names that they use exist."""

from collections.abc import Iterator
from pathlib import Path

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.learning.methods import METHODS
from hashbench.learning.models import MODELS
from hashbench.running.datasets.card import Card, cards
from hashbench.running.datasets.protocol import TO_CHOOSE, Neighbours, Protocol
from hashbench.running.features import FEATURES, model_and_weights, split_checksum
from hashbench.running.runs.row import IMPORTED
from hashbench.running.runs.settings import OUR_DEFAULTS, method_file, recipes
from hashbench.running.runs.store import Store
from hashbench.scoring.metrics import METRICS
from hashbench.showing.tables.cell import Cell, OtherBudget, Repeats, TableFile


class TableSpec(Strict):
    """A table with its cells in order of appearance; ``name`` is the stem of its file."""

    name: str
    title: str
    paper: str
    source: str
    notes: list[str]
    not_installed: list[str] = []  # those methods of other packages that are not here, though rows of them are
    cells: list[Cell]
    distinct: bool = False  # the number of distinct codes is shown beside each AP
    substitute_budget: str | None = None  # the budget of all cells, where it is not the one that the file declares
    picture: str | None = None  # the figure that is its picture
    repeats: Repeats = "seeds"  # of "splits" repeat r is seed r on split r; the protocol's own split is the first

    @property
    def methods(self) -> list[str]:
        """The methods that are here, sorted; not those of codes made elsewhere."""
        methods = {cell.method for cell in self.cells if cell.budget != IMPORTED}
        return sorted(methods - {*self.not_installed})

    def is_installed(self, cell: Cell) -> bool:
        """Whether the method of the cell is here, or needs not be here: its codes are imported."""
        return cell.budget == IMPORTED or cell.method not in self.not_installed

    def at_budget(self, budget: str) -> "TableSpec":
        """The same table with every cell run at another budget, and without tolerances; name and title say so.

        Raises HashbenchError where a method does not have that budget.
        """
        for method in self.methods:
            method_file(method).budget(budget)
        changes = {"budget": budget, "tolerance": None}
        cells = [cell if cell.budget == IMPORTED else cell.model_copy(update=changes) for cell in self.cells]
        names = {"name": f"{self.name}_{budget}", "title": f"{self.title}, on the schedule {budget}"}
        return self.model_copy(update={**names, "cells": cells, "picture": None, "substitute_budget": budget})


def names() -> list[str]:
    """The declared tables, sorted."""
    return list(paths.entries("experiments", "tables"))


def load(name: str) -> TableSpec:
    """The table called ``name``; of TABLE@BUDGET all cells are at that budget.

    Raises HashbenchError for an unknown table, a wrong file, and a cell whose names do not exist.
    """
    table, _, budget = name.partition("@")
    stem = canonical(table)
    files = paths.entries("experiments", "tables")
    if stem not in files:
        raise unknown("table", table, files)
    path = files[stem]
    values = read_toml(path)
    if "of" in values:
        spec = _at_other_budget(stem, parse(OtherBudget, values, str(path)), path)
    else:
        spec = _without_packages(from_file(stem, parse(TableFile, values, str(path)), path))
        check_names(spec)
    if budget:
        spec = spec.at_budget(budget)
    return spec


def files_of(name: str) -> list[Path]:
    """The files that declare the table ``name``: its own, and that of the table which it is at another budget."""
    files = paths.entries("experiments", "tables")
    other = read_toml(files[name]).get("of")
    return [files[stem] for stem in (name, other) if stem is not None]


def _at_other_budget(name: str, file: OtherBudget, path: Path) -> TableSpec:
    files = paths.entries("experiments", "tables")
    if file.of not in files:
        raise HashbenchError(f"{path}: of: {unknown('table', file.of, files)}")
    if "of" in read_toml(files[file.of]):
        raise HashbenchError(f"{path}: of: {file.of} is itself another table at another budget: name that one")
    other = load(file.of).at_budget(file.budget)
    cells = [cell.model_copy(update={"settings": {**cell.settings, **file.settings}}) for cell in other.cells]
    spec = other.model_copy(update={"name": name, "notes": [*other.notes, *file.notes], "cells": cells})
    check_names(spec)
    return spec


def from_file(name: str, file: TableFile, path: Path) -> TableSpec:
    """The table that a file declares; its names are not checked."""
    return TableSpec(
        name=name,
        title=file.title,
        paper=file.paper,
        source=file.source or name,
        notes=file.notes,
        cells=list(file.cells(path)),
        distinct=file.distinct,
        picture=file.picture,
        repeats=file.repeats,
    )


def _without_packages(spec: TableSpec) -> TableSpec:
    """The table, whose unknown methods of which rows are stored are of packages that are not installed here."""
    if not (others := {*spec.methods} - {*METHODS.names}):
        return spec
    stored = {line.name for line in Store.default().lines(lambda _: None)}
    not_installed = sorted(method for method in others if any(f"-{method}-" in run for run in stored))
    return spec.model_copy(update={"not_installed": not_installed})


def shown_protocols(card: Card, protocol: str) -> list[str]:
    """``protocol``, and those of the data set whose queries a declared table shows, sorted.

    No protocol by neighbours is among them, unless it is ``protocol``: what is chosen by labels is not taken there.
    """
    cells = (cell for name in names() for cell in load(name).cells)
    shown = {cell.protocol for cell in cells if cell.dataset == card.name} & card.protocols.keys()
    return sorted({protocol} | {name for name in shown if _is_left_out(card.protocol(name))})


def _is_left_out(protocol: Protocol) -> bool:
    """Whether a search by labels does not choose by the queries of the protocol."""
    return not isinstance(protocol, TO_CHOOSE) and not isinstance(protocol.relevance, Neighbours)


def names_of(cell: Cell) -> Iterator[tuple[str, str]]:
    """The (kind, name) pairs that must exist before the cell can be run, such as ("protocol", "cifar10/s1")."""
    yield "dataset", cell.dataset
    yield "protocol", f"{cell.dataset}/{cell.protocol}"
    if cell.budget != IMPORTED:  # codes made elsewhere may have any name
        yield "method", cell.method
    yield "metric", cell.metric_name.metric
    yield "recipe", cell.recipe or OUR_DEFAULTS
    for key in ("model", "features"):
        if key in cell.settings:
            name = str(cell.settings[key])
            if key == "features":
                name = split_checksum(model_and_weights(name)[0])[0]
            if name not in FEATURES.names:
                yield "model", name


def why_not_here(cell: Cell, spec: TableSpec) -> str | None:
    """Why the cell cannot be run: the method that it needs; None where it can."""
    if spec.is_installed(cell):
        return None
    return f"needs method {cell.method}, which is not installed here"


def check_names(table: TableSpec) -> None:
    """Raises HashbenchError unless each name of a cell exists, or is that of a method of which only rows are here."""
    datasets = cards()
    here = {cell.dataset: cell.card for cell in table.cells if cell.dataset in datasets}
    known = {
        "dataset": datasets,
        "protocol": [f"{name}/{protocol}" for name, card in here.items() for protocol in card.protocols],
        "method": [*METHODS.names, *table.not_installed],
        "metric": METRICS.names,
        "model": MODELS.names,
        "recipe": [OUR_DEFAULTS, *recipes()],
    }
    for kind, name in sorted({pair for cell in table.cells for pair in names_of(cell)}):
        is_there = name in known[kind] or (kind == "model" and name in MODELS)  # torchvision's are listed in seconds
        if not is_there:
            raise HashbenchError(f"table {table.name}: {unknown(kind, name, known[kind])}")
