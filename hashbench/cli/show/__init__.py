"""``hashbench show``: all about one method, data set, table, run, metric, model or set of features."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer

from hashbench.cli import _complete
from hashbench.foundation.errors import HashbenchError, nearest, unknown


@dataclass(frozen=True)
class Kind:
    """What can be shown: its names, and the module that describes an entry.

    ``module.describe(name)`` returns what --json prints, and ``module.lines(described)`` the same as text.
    """

    names: Callable[[], list[str]]
    module: str

    def describe(self, name: str) -> dict[str, Any]:
        """All about the entry, as --json prints it."""
        found: dict[str, Any] = self._module().describe(name)
        return found

    def lines(self, described: dict[str, Any]) -> Iterator[str]:
        """The same as lines of text."""
        found: Iterator[str] = self._module().lines(described)
        return found

    def _module(self) -> Any:  # its functions have the same names in each module
        return import_module(f"hashbench.cli.show.{self.module}")


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A method, data set, table, figure, metric, model, features, or a run or the start of its name.",
            autocompletion=_complete.entries,
        ),
    ],
    kind: Annotated[
        str | None, typer.Option(help="Only this kind, where several have the name: method, dataset, table, ...")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, its keys the kinds.")] = False,
) -> None:
    """Show all about one entry.

    Of a method: its paper, its settings with their sources, what it needs. Of a data set: its items, licence,
    protocols, and whether it is here. Of a table: its rows, columns, what is measured. Of a figure: its kind, what
    of it is measured. Of a run: its configuration, scores, provenance and commands.
    """
    from hashbench.foundation.config import canonical_json

    if kind is not None and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    kinds = {kind: KINDS[kind]} if kind else KINDS
    described = {each: kinds[each].describe(found) for each, found in _found(name, kinds).items()}
    if as_json:
        typer.echo(canonical_json(described))
        return
    typer.echo("\n\n".join("\n".join(kinds[each].lines(entry)) for each, entry in described.items()))


def _found(name: str, kinds: dict[str, Kind]) -> dict[str, str]:
    """The kinds that have an entry called ``name``, with its name; else the run whose name begins so."""
    from hashbench.foundation.registry import canonical

    names = {each: kind.names() for each, kind in kinds.items()}
    exact = {each: spelt for each in kinds for spelt in dict.fromkeys((canonical(name), name)) if spelt in names[each]}
    if exact:
        return exact
    begun = [run for run in names.get("run", []) if run.startswith(name) and "~" not in run]
    if len(begun) == 1:
        return {"run": begun[0]}
    raise _unknown(name, names, len(begun))


def _unknown(name: str, names: dict[str, list[str]], n_runs: int) -> HashbenchError:
    """The error for a name that no entry has: the nearest names of all kinds, and how many runs begin so."""
    kind_of = {entry: kind for kind, entries in reversed(names.items()) if kind != "run" for entry in entries}
    close = [f"{entry} ({kind_of[entry]})" for entry in nearest(name, kind_of)]
    begun = [f"the start of {n_runs} runs (hashbench list runs)"] if n_runs else []
    hints = [*begun, *(["near to " + ", ".join(close)] if close else [])]
    return HashbenchError(
        f"nothing is called {name!r}; it is {' and '.join(hints)}" if hints else _nothing(name, names)
    )


def _nothing(name: str, names: dict[str, list[str]]) -> str:
    return f"nothing is called {name!r} of the kinds {', '.join(names)}: hashbench list shows what there is"


def _catalogue(module: str, catalogue: str) -> Callable[[], list[str]]:
    return lambda: list(getattr(import_module(module), catalogue).names)


def _cards() -> list[str]:
    from hashbench.datasets.card import cards

    return cards()


def _tables() -> list[str]:
    from hashbench.tables import spec

    return spec.names()


def _figures() -> list[str]:
    from hashbench import figures

    return figures.names()


def _runs() -> list[str]:
    return _complete.runs("")


KINDS = {
    "method": Kind(_catalogue("hashbench.methods", "METHODS"), "_method"),
    "dataset": Kind(_cards, "_dataset"),
    "table": Kind(_tables, "_table"),
    "figure": Kind(_figures, "_figure"),
    "run": Kind(_runs, "_run"),
    "metric": Kind(_catalogue("hashbench.metrics", "METRICS"), "_metric"),
    "model": Kind(_catalogue("hashbench.models", "MODELS"), "_model"),
    "features": Kind(_catalogue("hashbench.features", "FEATURES"), "_features"),
}
